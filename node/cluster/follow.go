package cluster

import (
	"context"
	"errors"

	"freshet/log"
	"freshet/store"
	"freshet/weburl"
)

// catchUp carries out the part of the plan that move leaves: it follows other nodes and forgets partitions. It runs
// beside move, because it can take long to load a snapshot. It stops at the errors at which move does.
func (c *Cluster) catchUp(ctx context.Context) {
	c.mu.Lock()
	plan := c.members.plan(c.options.Clock.Now())
	plan.follow = c.members.inTurn(plan.follow)
	c.mu.Unlock()
	for _, p := range plan.forget {
		err := c.alone(p, func() error { return c.forget(p) })
		if ctx.Err() != nil || !c.report(ctx, err, "a partition cannot be forgotten", "partition", p) {
			return
		}
	}
	for _, p := range plan.follow {
		err := c.alone(p, func() error { return c.follow(ctx, p) })
		if ctx.Err() != nil || !c.report(ctx, err, "a partition cannot be followed", "partition", p) {
			return
		}
	}
}

// follow applies the new entries in the log of another node's partition. If the log begins later, follow first loads a
// snapshot. Until then the node cannot take the partition.
func (c *Cluster) follow(ctx context.Context, p weburl.Partition) error {
	if c.has(p) {
		return nil
	}
	atEnd := false
	next := func(f *reader) error {
		for r, err := range c.log.Read(ctx, p, f.from) {
			if err != nil {
				return err
			}
			if err := f.add(r); err != nil {
				return err
			}
			if f.applied > mostFollowed {
				return f.apply() // the other partitions wait
			}
		}
		atEnd = true
		return f.apply()
	}
	err := c.read(p, next)
	if errors.Is(err, log.ErrTruncated) {
		c.mu.Lock()
		delete(c.members.followed, p)
		c.mu.Unlock()
		if err = c.load(ctx, p); err == nil {
			err = c.read(p, next)
		}
	}
	c.lacks(ctx, p, err)
	if err == nil && atEnd {
		c.mu.Lock()
		c.members.follows(p)
		c.mu.Unlock()
	}
	return err
}

// read calls do to read a partition's log after the node's place in it.
func (c *Cluster) read(p weburl.Partition, do func(*reader) error) error {
	from, err := c.node.Place(p)
	if err != nil {
		return err
	}
	return do(&reader{node: c.node, p: p, from: from})
}

// lacks records that the node cannot have a partition, if an error means that.
func (c *Cluster) lacks(ctx context.Context, p weburl.Partition, err error) {
	if ofPartition(err) && ctx.Err() == nil {
		c.mu.Lock()
		c.members.lacks(p, err, c.options.Clock.Now())
		c.mu.Unlock()
	}
}

// ofPartition reports whether an error concerns one partition: its log begins later, its rows or its log are damaged,
// or a newer build wrote it.
func ofPartition(err error) bool {
	return errors.Is(err, log.ErrTruncated) || errors.Is(err, log.ErrBroken) ||
		errors.Is(err, store.ErrNewer) || store.IsDamage(err)
}

// reader applies entries of a partition's log to the node.
type reader struct {
	node    Node
	p       weburl.Partition
	from    log.Place
	joined  log.Joined
	waiting []store.Group
	bytes   int // of them
	applied int // bytes of groups that have been applied
}

const (
	mostWaiting  = 4 << 20  // bytes of groups that are applied at once
	mostFollowed = 32 << 20 // … of one partition before the next one's turn
)

func (f *reader) add(r log.Read) error {
	data, whole := f.joined.Add(r.Entry)
	switch {
	case r.Taken:
		f.waiting = append(f.waiting, store.Group{Partition: f.p, Place: r.At})
	case whole:
		f.waiting = append(f.waiting, store.Group{Partition: f.p, Place: r.At, Data: data})
		f.bytes += len(data)
	}
	if f.bytes < mostWaiting {
		return nil
	}
	return f.apply()
}

func (f *reader) apply() error {
	if len(f.waiting) == 0 {
		return nil
	}
	all := f.waiting
	f.applied += f.bytes
	f.waiting, f.bytes = nil, 0
	return f.node.Follow(f.p, all...)
}
