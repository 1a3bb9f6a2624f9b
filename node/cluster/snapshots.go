package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/log"
	"freshet/objects"
	"freshet/weburl"
)

// The owner of a partition puts a snapshot of it into an object store now and then. A node that has nothing of a
// partition loads the last one that is whole, and reads the log from there on.

// Snapshots say where the snapshots of partitions are kept. All fields are required.
type Snapshots struct {
	Store objects.Store
	Every time.Duration // how often the owner of a partition takes one
	FS    vfs.FS
	File  string // where one is written before it is uploaded
}

const (
	keptSnapshots = 2
	snapshotRate  = 4 << 20 // bytes a second, on average, that a node writes
)

func (c *Cluster) snapshotPrefix(p weburl.Partition) string {
	return fmt.Sprintf("partitions/%s/%05d/", c.options.Cluster, p)
}

// snapshots returns those of a partition, the last one first.
func (c *Cluster) snapshots(ctx context.Context, p weburl.Partition) (all []objects.Object, err error) {
	for o, err := range c.options.Snapshots.Store.List(ctx, c.snapshotPrefix(p)) {
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	slices.Reverse(all) // their names end in a number of fixed length
	return all, nil
}

// saveAll takes snapshots of all partitions that the node has and that have changed since their last one.
func (c *Cluster) saveAll(ctx context.Context) {
	for p := range weburl.Partition(c.options.Partitions) {
		if ctx.Err() != nil || !c.has(p) {
			continue
		}
		size, err := c.save(ctx, p)
		if err != nil && ctx.Err() == nil {
			c.options.Logger.Error("no snapshot of a partition can be taken; it is tried again", "partition", p, "error", err)
		}
		_ = c.options.Clock.Sleep(ctx, time.Duration(size)*time.Second/snapshotRate)
	}
}

// save takes a snapshot of a partition, reads it back, and removes older ones. It returns how many bytes it has.
func (c *Cluster) save(ctx context.Context, p weburl.Partition) (size int64, err error) {
	there, err := c.snapshots(ctx, p)
	if err != nil {
		return 0, err
	}
	at, err := c.node.Place(p)
	if err != nil || at == (log.Place{}) || len(there) > 0 && there[0].Name == c.snapshotName(p, at) {
		return 0, err
	}
	s := c.options.Snapshots
	f, err := s.FS.Create(s.File, vfs.WriteCategoryUnspecified)
	if err != nil {
		return 0, err
	}
	w := &stopping{ctx: ctx, to: f}
	at, err = c.node.Snapshot(p, c.options.Cluster, w)
	if err = errors.Join(err, f.Close()); err == nil {
		err = c.upload(ctx, c.snapshotName(p, at), w.bytes)
	}
	if err = errors.Join(err, s.FS.Remove(s.File)); err != nil {
		return w.bytes, err
	}
	saved := objects.Object{Name: c.snapshotName(p, at), Bytes: w.bytes}
	if _, err := c.checkSnapshot(ctx, p, saved); err != nil {
		return w.bytes, errors.Join(err, s.Store.Remove(ctx, saved.Name))
	}
	for _, old := range there[min(len(there), keptSnapshots-1):] {
		if err := s.Store.Remove(ctx, old.Name); err != nil {
			return w.bytes, err
		}
	}
	return w.bytes, nil
}

func (c *Cluster) snapshotName(p weburl.Partition, at log.Place) string {
	return fmt.Sprintf("%s%020d", c.snapshotPrefix(p), at.Seq)
}

func (c *Cluster) upload(ctx context.Context, name string, size int64) error {
	s := c.options.Snapshots
	f, err := s.FS.Open(s.File)
	if err != nil {
		return err
	}
	_, err = s.Store.Put(ctx, name, f, size)
	return errors.Join(err, f.Close())
}

// checkSnapshot reads a snapshot, and returns the place in the partition's log that it stands for.
func (c *Cluster) checkSnapshot(ctx context.Context, p weburl.Partition, o objects.Object) (log.Place, error) {
	of, cluster, at, err := c.node.CheckSnapshot(objects.Reader(ctx, c.options.Snapshots.Store, o.Name, o.Bytes))
	if err == nil && (of != p || cluster != c.options.Cluster || o.Name != c.snapshotName(p, at)) {
		err = fmt.Errorf("%w: a snapshot of partition %d of cluster %s up to entry %d", ErrOther, of, cluster, at.Seq)
	}
	if err != nil {
		err = fmt.Errorf("cluster: %s/%s: %w", c.options.Snapshots.Store, o.Name, err)
	}
	return at, err
}

// load loads the last snapshot of a partition that is whole and of this log. Without one the log is read from its
// beginning.
func (c *Cluster) load(ctx context.Context, p weburl.Partition) {
	warn := func(err error) {
		if ctx.Err() == nil {
			c.options.Logger.Warn("a snapshot is passed over", "partition", p, "error", err)
		}
	}
	all, err := c.snapshots(ctx, p)
	if err != nil {
		warn(err)
	}
	for _, o := range all {
		at, err := c.checkSnapshot(ctx, p, o)
		if err == nil {
			err = c.isOfLog(ctx, p, at)
		}
		if err == nil {
			err = c.node.Load(p, objects.Reader(ctx, c.options.Snapshots.Store, o.Name, o.Bytes))
		}
		if err == nil {
			c.options.Logger.Info("loads a snapshot of a partition", "partition", p, "entry", at.Seq)
			return
		}
		warn(err)
	}
}

// isOfLog returns an error if the log does not reach a place, or goes on behind it from another one.
func (c *Cluster) isOfLog(ctx context.Context, p weburl.Partition, at log.Place) error {
	reaches := false
	for _, err := range c.log.Read(ctx, p, log.Place{Seq: at.Seq - 1}) { // the chain before it is not known
		if err != nil && !errors.Is(err, log.ErrBroken) {
			return err
		}
		reaches = true
		break
	}
	if !reaches {
		return fmt.Errorf("%w: the log ends before entry %d", ErrOther, at.Seq)
	}
	for _, err := range c.log.Read(ctx, p, at) {
		return err
	}
	return nil
}

// stopping is a writer that ends with its context, and counts.
type stopping struct {
	ctx   context.Context // of the one snapshot
	to    io.Writer
	bytes int64
}

// Write implements io.Writer.
func (s *stopping) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.to.Write(p)
	s.bytes += int64(n)
	return n, err
}
