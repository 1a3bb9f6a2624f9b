package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// heart renews the lease.
func (c *Cluster) heart() {
	if err := c.renew(c.life); errors.Is(err, ErrLease) {
		c.lose(err)
	} else if err != nil && c.life.Err() == nil {
		c.options.Logger.Warn("the cluster's servers do not answer", "error", err)
	}
}

// renew writes the node's entry with its present state.
func (c *Cluster) renew(ctx context.Context) error {
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s := &c.lease.state
	if !s.Ended {
		c.mu.Lock()
		c.members.tell(s)
		s.Known, s.Obeyed = c.pages, c.pause.obeyed
		s.Vitals = c.vitals
		c.mu.Unlock()
	} else {
		s.Partitions, s.Followed, s.Known, s.Late = nil, nil, nil, nil
	}
	sent := c.options.Clock.Now()
	if err := c.lease.renew(ctx); err != nil {
		return err
	}
	c.valid.Store(sent.Add(c.leaseTime()).UnixNano())
	return nil
}

// leaseTime is how long the node may work after it has written its entry.
func (c *Cluster) leaseTime() time.Duration { return c.options.Lease * 4 / 5 }

// Leased implements node.Cluster. It ends the node's work if others may soon declare it dead.
func (c *Cluster) Leased() error {
	if c.options.Clock.Now().UnixNano() <= c.valid.Load() {
		return nil
	}
	err := fmt.Errorf("%w: the servers have not answered for %s", ErrLease, c.leaseTime())
	c.lose(err)
	return err
}

// lose ends the node's work.
func (c *Cluster) lose(err error) {
	c.node.Fail(err)
	c.end()
}

// count updates the number of pages that the node knows, and its vitals.
func (c *Cluster) count() {
	pages, vitals := c.node.Pages(), c.node.Vitals()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages, c.vitals = pages, vitals
}
