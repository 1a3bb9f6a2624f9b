package cluster

import (
	"context"

	"freshet/log"
	"freshet/store"
	"freshet/weburl"
)

// follow applies what the log of another node's partition has that is new.
func (c *Cluster) follow(ctx context.Context, p weburl.Partition) error {
	f, err := c.reader(ctx, p)
	if err != nil {
		return err
	}
	for r, err := range c.log.Read(ctx, p, f.from) {
		if err != nil {
			return err
		}
		if err := f.add(r); err != nil {
			return err
		}
		if f.applied > mostFollowed {
			break // the other partitions wait
		}
	}
	return f.apply()
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

// reader returns a reader of what the node does not have of a partition. If it has nothing, it loads a snapshot first.
func (c *Cluster) reader(ctx context.Context, p weburl.Partition) (*reader, error) {
	from, err := c.node.Place(p)
	if err == nil && from == (log.Place{}) && c.options.Snapshots != nil && !c.loaded[p] {
		c.load(ctx, p)
		c.loaded[p] = true
		from, err = c.node.Place(p)
	}
	return &reader{node: c.node, p: p, from: from}, err
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
