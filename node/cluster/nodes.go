package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/clock"
)

// Member is a node as a cluster's servers know it.
type Member struct {
	State
	Health string  `json:"state"`               // alive, silent, ended
	Age    float64 `json:"last_heard_of_ago_s"` // by the clocks of the servers and this machine, or this one alone
}

// Nodes returns the nodes that a cluster has and had, by name.
func Nodes(ctx context.Context, conn *nats.Conn, cluster string) ([]Member, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	bucket, err := js.KeyValue(ctx, cluster+"-nodes")
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, fmt.Errorf("cluster: the servers have no cluster %s", cluster)
	} else if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	keys, err := bucket.Keys(ctx)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	var all []Member
	for _, key := range keys {
		if !strings.HasPrefix(key, leasePrefix) {
			continue
		}
		entry, err := bucket.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("cluster: node %s: %w", key, err)
		}
		m := Member{Age: max(0, clock.Real().Now().Sub(entry.Created()).Seconds())}
		if err := json.Unmarshal(entry.Value(), &m.State); err != nil {
			return nil, fmt.Errorf("cluster: node %s: %w", key, err)
		}
		all = append(all, m.judged(defaultLease))
	}
	sortMembers(all)
	return all, nil
}

// judged says how a node is, which is taken for dead after so long without a word.
func (m Member) judged(lease time.Duration) Member {
	switch {
	case m.Ended:
		m.Health = "ended"
	case m.Age > lease.Seconds():
		m.Health = "silent"
	default:
		m.Health = "alive"
	}
	return m
}

func sortMembers(all []Member) {
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Node, b.Node) })
}

// Sum returns what the nodes that have not ended come to together.
func Sum(members []Member) Member {
	sum := Member{State: State{Node: "all"}}
	for _, m := range members {
		if !m.Ended {
			sum.Partitions, sum.Known = append(sum.Partitions, m.Partitions...), append(sum.Known, m.Known...)
			sum.Vitals = sum.Vitals.And(m.Vitals)
		}
	}
	slices.Sort(sum.Partitions)
	sum.Partitions = slices.Compact(sum.Partitions) // one that was just given may stand with two
	return sum
}

// Members returns the nodes as this one knows them, by name. Nobody is asked. Of a node that has ended Age is how long
// this one has known that.
func (c *Cluster) Members() []Member {
	now := c.options.Clock.Now()
	renewed := time.Unix(0, c.valid.Load()).Add(-c.leaseTime())
	c.mu.Lock()
	defer c.mu.Unlock()
	self := Member{State: State{
		Node: c.options.Node, Run: c.members.run, Version: c.options.Version, Partitions: c.members.partitions(), Known: c.pages, Vitals: c.vitals,
	}, Age: max(0, now.Sub(renewed).Seconds())}
	all := []Member{self.judged(c.options.Lease)}
	for _, other := range c.members.others {
		m := Member{State: other.State, Age: max(0, now.Sub(other.Since).Seconds())}
		all = append(all, m.judged(c.options.Lease))
	}
	sortMembers(all)
	return all
}
