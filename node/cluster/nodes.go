package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Member is a node as a cluster's servers know it.
type Member struct {
	State
	Health string  `json:"state"`               // alive, silent, ended
	Age    float64 `json:"last_heard_of_ago_s"` // by the servers' clock, or by this machine's
}

// Nodes returns the nodes that a cluster has and had, by name.
func Nodes(ctx context.Context, conn *nats.Conn, cluster string) ([]Member, error) {
	bucket, err := openBucket(ctx, conn, cluster)
	if err != nil {
		return nil, err
	}
	return nodes(ctx, bucket)
}

// nodes returns the nodes whose leases are in a bucket.
func nodes(ctx context.Context, bucket bucket) (all []Member, err error) {
	keys, now, err := bucket.Keys(ctx)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	for _, key := range keys {
		if !strings.HasPrefix(key, leasePrefix) {
			continue
		}
		entry, err := bucket.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("cluster: node %s: %w", key, err)
		}
		var s State
		if err := json.Unmarshal(entry.Value(), &s); err != nil {
			return nil, fmt.Errorf("cluster: node %s: %w", key, err)
		}
		all = append(all, member(s, now.Sub(entry.Created()), defaultLease))
	}
	sortMembers(all)
	return all, nil
}

// member returns a node with the age of its last sign of life. It counts as silent after a lease.
func member(s State, age, lease time.Duration) Member {
	m := Member{State: s, Age: max(0, age.Seconds())}
	switch {
	case m.Ended:
		m.Health = "ended"
	case age > lease:
		m.Health = "silent"
	default:
		m.Health = "alive"
	}
	return m
}

func sortMembers(all []Member) {
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Node, b.Node) })
}

// Sum returns the sums over the nodes that have not ended.
func Sum(members []Member) Member {
	sum := Member{State: State{Node: "all"}}
	for _, m := range members {
		if !m.Ended {
			sum.Partitions, sum.Known = append(sum.Partitions, m.Partitions...), append(sum.Known, m.Known...)
			sum.Vitals = sum.Vitals.And(m.Vitals)
		}
	}
	slices.Sort(sum.Partitions)
	sum.Partitions = slices.Compact(sum.Partitions) // a partition that was just given away may be listed twice
	return sum
}

// Troubles returns a sentence for each partition that a node cannot load: whether another node has it, why it cannot be
// loaded, and what to do. It also returns why nodes wait for the log of partitions that they have.
func Troubles(members []Member) (all []string) {
	working := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.Ended })
	for _, m := range working {
		for _, l := range m.Lacking {
			has := slices.IndexFunc(working, func(o Member) bool { return slices.Contains(o.Partitions, l.Partition) })
			if has >= 0 {
				all = append(all, fmt.Sprintf("%s cannot take partition %d, which stays with %s: %s.",
					m.Node, l.Partition, working[has].Node, l.Why))
			} else {
				all = append(all, fmt.Sprintf("No node crawls partition %d. Start a node whose directory has it, or put a whole snapshot of it back. Node %s: %s.",
					l.Partition, m.Node, l.Why))
			}
		}
		for _, sentence := range lateness(m.Node, m.Late) {
			all = append(all, sentence+".")
		}
	}
	return all
}

// Members returns the nodes as this one knows them, by name, without a request. For a node that has ended, Age is
// how long this one has known that.
func (c *Cluster) Members() []Member {
	now := c.options.Clock.Now()
	renewed := time.Unix(0, c.valid.Load()).Add(-c.leaseTime())
	c.mu.Lock()
	defer c.mu.Unlock()
	self := State{Node: c.options.Node, Run: c.members.run, Version: c.options.Version, Known: c.pages, Vitals: c.vitals}
	c.members.tell(&self)
	all := []Member{member(self, now.Sub(renewed), c.options.Lease)}
	for _, other := range c.members.others {
		all = append(all, member(other.State, now.Sub(other.Since), c.options.Lease))
	}
	sortMembers(all)
	return all
}
