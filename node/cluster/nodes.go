package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/clock"
)

// Member is a node as a cluster's servers know it.
type Member struct {
	State
	Health string  `json:"state"`               // alive, silent, ended
	Age    float64 `json:"last_heard_of_ago_s"` // by the clocks of the servers and of this machine
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
		m := Member{Health: "alive", Age: max(0, clock.Real().Now().Sub(entry.Created()).Seconds())}
		if err := json.Unmarshal(entry.Value(), &m.State); err != nil {
			return nil, fmt.Errorf("cluster: node %s: %w", key, err)
		}
		if m.Ended {
			m.Health = "ended"
		} else if m.Age > defaultLease.Seconds() {
			m.Health = "silent"
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Node, b.Node) })
	return all, nil
}
