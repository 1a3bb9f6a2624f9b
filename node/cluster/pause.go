package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"freshet/crawl"
)

// An entry of the bucket has the state of the whole crawl, paused or not. Nodes that join later or were cut off find it
// there. Each node obeys it before it takes a partition, and reports in its lease which entry it has obeyed.

const pauseKey = "PAUSE"

// pause is the entry.
type pause struct {
	Paused bool `json:"paused"`
}

// knownPause is the last known entry, and the one that is obeyed.
type knownPause struct {
	pause
	revision uint64 // 0: there is none
	obeyed   uint64
	again    bool // a partition was taken, whose own records may say otherwise
}

// PauseAll implements node.Cluster. It returns when all living nodes have obeyed.
func (c *Cluster) PauseAll(ctx context.Context, paused bool) error {
	revision, err := c.writePause(ctx, pause{paused})
	if err != nil {
		return fmt.Errorf("cluster: nothing is changed: the servers do not accept the order: is NATS running? %w", err)
	}
	// This node may not know of a node that has just joined. A node writes its lease before it reads the entry. So
	// either its lease is there now, or it has found the order.
	if err := insist(ctx, c.options.Clock, c.readLeases); err != nil {
		return fmt.Errorf("cluster: the order is stored, but the nodes that must obey it are not known: is NATS running? %w", err)
	}
	for {
		waits := c.disobedient(revision)
		if len(waits) == 0 {
			return nil
		}
		if err := c.options.Clock.Sleep(ctx, tryAgain); err != nil {
			return fmt.Errorf("cluster: the order is stored, but not confirmed yet by %s: it is obeyed as soon as it is read there: "+
				"see freshet cluster status", strings.Join(waits, ", "))
		}
	}
}

// writePause writes the entry, whatever was written before.
func (c *Cluster) writePause(ctx context.Context, its pause) (revision uint64, err error) {
	raw, err := json.Marshal(its)
	if err != nil {
		return 0, fmt.Errorf("cluster: %w", err)
	}
	revision, err = c.replace(ctx, pauseKey, func([]byte) ([]byte, error) { return raw, nil })
	if err == nil {
		c.seePause(its, revision)
	}
	return revision, err
}

// replace writes an entry behind the last one, which next is given: nil if there is none. It calls next again if
// another node was faster.
func (c *Cluster) replace(ctx context.Context, key string, next func(last []byte) ([]byte, error)) (revision uint64, err error) {
	err = insist(ctx, c.options.Clock, func(ctx context.Context) error {
		for {
			var last []byte
			behind := uint64(0)
			entry, err := c.bucket.Get(ctx, key)
			if err == nil {
				last, behind = entry.Value(), entry.Revision()
			} else if !errors.Is(err, jetstream.ErrKeyNotFound) {
				return err
			}
			raw, err := next(last)
			if err != nil {
				return err
			}
			if revision, err = c.bucket.Update(ctx, key, raw, behind); !isOccupied(err) {
				return err
			}
		}
	})
	return revision, err
}

// readPause reads the entry at the start.
func (c *Cluster) readPause(ctx context.Context) error {
	entry, err := c.bucket.Get(ctx, pauseKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	var its pause
	if err == nil {
		err = json.Unmarshal(entry.Value(), &its)
	}
	if err != nil {
		return fmt.Errorf("cluster: whether the crawl is paused: %w", err)
	}
	c.seePause(its, entry.Revision())
	return nil
}

func (c *Cluster) seePause(its pause, revision uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if revision > c.pause.revision {
		c.pause.pause, c.pause.revision = its, revision
	}
}

// readLeases reads the present leases of all nodes from the servers.
func (c *Cluster) readLeases(ctx context.Context) error {
	keys, _, err := c.bucket.Keys(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if !strings.HasPrefix(key, leasePrefix) {
			continue
		}
		entry, err := c.bucket.Get(ctx, key)
		if err != nil {
			return err
		}
		c.see(entry)
	}
	return nil
}

// obeyPause pauses or resumes the node as the entry says.
func (c *Cluster) obeyPause() error {
	c.mu.Lock()
	its := c.pause
	c.pause.again = false
	c.mu.Unlock()
	if its.revision == its.obeyed && !(its.again && its.revision > 0) {
		return nil
	}
	_, err := c.node.Obey(crawl.PauseAll{Paused: its.Paused})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.pause.again = its.again
		return err
	}
	c.pause.obeyed = max(c.pause.obeyed, its.revision)
	return nil
}

// disobedient returns the living nodes that have not reported obeying an entry yet.
func (c *Cluster) disobedient(revision uint64) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pause.obeyed < revision {
		names = append(names, c.options.Node)
	}
	for name, other := range c.members.others {
		if !other.Ended && other.Obeyed < revision {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
