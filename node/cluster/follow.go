package cluster

import (
	"context"
	"errors"

	"freshet/log"
	"freshet/store"
	"freshet/weburl"
)

// follow applies the new entries in the log of another node's partition.
func (c *Cluster) follow(ctx context.Context, p weburl.Partition) error {
	atEnd := false
	err := c.read(ctx, p, func(f *reader) error {
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
	})
	if err == nil && atEnd {
		c.mu.Lock()
		c.members.follows(p)
		c.mu.Unlock()
	}
	return err
}

// read calls do to read a partition's log after the node's place in it. If the log begins later, read first loads a
// snapshot. If the node cannot have this partition, read records that.
func (c *Cluster) read(ctx context.Context, p weburl.Partition, do func(*reader) error) error {
	from, err := c.node.Place(p)
	if err != nil {
		return err
	}
	if err = do(&reader{node: c.node, p: p, from: from}); errors.Is(err, log.ErrTruncated) {
		if from, err = c.load(ctx, p); err == nil {
			err = do(&reader{node: c.node, p: p, from: from})
		}
	}
	if ofPartition(err) && ctx.Err() == nil {
		c.mu.Lock()
		c.members.lacks(p, err, c.options.Clock.Now())
		c.mu.Unlock()
	}
	return err
}

// ofPartition reports whether an error concerns one partition: its log begins later, or what the node has or reads of
// it is damaged.
func ofPartition(err error) bool {
	return errors.Is(err, log.ErrTruncated) || errors.Is(err, log.ErrBroken) || store.IsDamage(err)
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
