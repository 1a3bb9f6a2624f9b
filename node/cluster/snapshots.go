package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/log"
	"freshet/objects"
	"freshet/weburl"
)

// The owner of a partition writes a snapshot of it to an object store at intervals. Once two are complete, the log
// is truncated below the older one; after a take-down, below the new one (takedown.go). If a node's next entry is gone,
// the node loads the last complete snapshot and reads the log from there.

// Snapshots configure where the snapshots of partitions are kept. All fields are required.
type Snapshots struct {
	Store objects.Store
	Every time.Duration // how often the owner of a partition takes one
	FS    vfs.FS
	File  string // where one is written before it is uploaded; beside it, before it is loaded
}

// loading returns the file of a snapshot that is being loaded.
func (s *Snapshots) loading() string { return s.File + ".in" }

const snapshotRate = 4 << 20 // bytes a second, on average, that a node writes

// markerName is the object that names the cluster of the snapshots: an identity without an instance.
const markerName = "cluster.json"

// own checks that the snapshots belong to the node's cluster. If there is no marker, it writes one.
func (o *Options) own(ctx context.Context) error {
	kept, mine := o.Snapshots.Store, o.Directory.its
	mine.Instance = ""
	raw, err := json.Marshal(mine)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	err = kept.Create(ctx, markerName, raw)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	if raw, err = objects.ReadAll(ctx, kept, markerName, 1<<16); err != nil {
		return err
	}
	var its identity
	if err := json.Unmarshal(raw, &its); err != nil {
		return fmt.Errorf("cluster: %s/%s: %w", kept, markerName, err)
	}
	if its != mine {
		return fmt.Errorf("%w: %s has the snapshots of another cluster, called %s: give --partition-snapshots another prefix, or remove all that is below this one",
			ErrOther, kept, its.Cluster)
	}
	return nil
}

// checkSnapshots refuses the snapshots of another cluster. If the store does not answer, the check is repeated with
// the first snapshot.
func (o *Options) checkSnapshots(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	err := o.own(ctx)
	if err == nil || errors.Is(err, ErrOther) || errors.Is(err, objects.ErrRefused) {
		return err
	}
	o.Logger.Warn("the object store does not answer: no snapshots of partitions are taken or loaded meanwhile", "error", err)
	return nil
}

// storeTime is how long a node that starts waits for the object store.
const storeTime = 20 * time.Second

func (c *Cluster) snapshotPrefix(p weburl.Partition) string {
	return fmt.Sprintf("partitions/%s/%05d/", c.options.Cluster, p)
}

// snapshots returns a partition's snapshots, the last one first.
func (c *Cluster) snapshots(ctx context.Context, p weburl.Partition) (all []objects.Object, err error) {
	if !c.owned.Load() {
		if err := c.options.own(ctx); err != nil {
			return nil, err
		}
		c.owned.Store(true)
	}
	for o, err := range c.options.Snapshots.Store.List(ctx, c.snapshotPrefix(p)) {
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	slices.Reverse(all) // their names end in a number of fixed length
	return all, nil
}

// saveInTurn takes snapshots until ctx ends: of all partitions at intervals, and meanwhile of those with take-downs.
func (c *Cluster) saveInTurn(ctx context.Context) {
	every, clock := c.options.Snapshots.Every, c.options.Clock
	for next := clock.Now().Add(every); ctx.Err() == nil; {
		c.saveSome(ctx, c.takenDown)
		if !clock.Now().Before(next) {
			c.saveSome(ctx, func(p weburl.Partition) bool {
				c.saveSome(ctx, c.takenDown) // the others can take hours
				return true
			})
			next = clock.Now().Add(every)
		}
		_ = clock.Sleep(ctx, min(every, c.options.Lease))
	}
}

// saveSome takes snapshots of those partitions that the node has.
func (c *Cluster) saveSome(ctx context.Context, wanted func(weburl.Partition) bool) {
	for p := range weburl.Partition(c.options.Partitions) {
		if ctx.Err() != nil || !c.has(p) || !wanted(p) {
			continue
		}
		size, err := c.save(ctx, p)
		if err != nil && ctx.Err() == nil {
			c.options.Logger.Error("the snapshot of a partition failed; it is tried again", "partition", p, "error", err)
		}
		_ = c.options.Clock.Sleep(ctx, time.Duration(size)*time.Second/snapshotRate)
	}
}

// save takes a snapshot of a partition that has changed since the last one, reads it back, and truncates the log. It
// returns the snapshot's size.
func (c *Cluster) save(ctx context.Context, p weburl.Partition) (size int64, err error) {
	there, err := c.snapshots(ctx, p)
	if err != nil {
		return 0, err
	}
	down := c.takeDownOf(p)
	at, err := c.node.Place(p)
	switch {
	case err != nil || at == (log.Place{}):
		return 0, err
	case len(there) == 0 || there[0].Name != c.snapshotName(p, at):
		last, err := c.saveNow(ctx, p)
		if err != nil {
			return last.Bytes, err
		}
		size, there = last.Bytes, slices.Insert(there, 0, last)
	case down.Pending == 0:
		return 0, nil
	}
	if down.Pending == 0 {
		_, err = c.truncate(ctx, p, there[1:])
		return size, err
	}
	if at, err = c.truncate(ctx, p, there); err == nil && at.Seq >= down.Pending {
		if err = c.writeTakeDown(ctx, p, takeDown{}, down.revision); isOccupied(err) {
			err = nil // there are more
		}
	}
	return size, err
}

// saveNow takes a snapshot of a partition, and reads it back.
func (c *Cluster) saveNow(ctx context.Context, p weburl.Partition) (last objects.Object, err error) {
	s := c.options.Snapshots
	f, err := s.FS.Create(s.File, vfs.WriteCategoryUnspecified)
	if err != nil {
		return last, err
	}
	w := &stopping{ctx: ctx, to: f}
	at, err := c.node.Snapshot(p, c.options.Cluster, w)
	last = objects.Object{Name: c.snapshotName(p, at), Bytes: w.bytes}
	if err = errors.Join(err, f.Close()); err == nil {
		err = c.upload(ctx, last.Name, w.bytes)
	}
	if err = errors.Join(err, s.FS.Remove(s.File)); err != nil {
		return last, err
	}
	if _, err := c.checkSnapshot(ctx, p, last); err != nil {
		return last, errors.Join(err, s.Store.Remove(ctx, last.Name))
	}
	return last, nil
}

// truncate truncates a log below the last complete one of some snapshots, and removes snapshots older than that. It
// returns the place that the log begins at now; the zero value: it is unchanged.
func (c *Cluster) truncate(ctx context.Context, p weburl.Partition, some []objects.Object) (at log.Place, err error) {
	for i, o := range some {
		at, err := c.checkSnapshot(ctx, p, o)
		if err == nil {
			err = c.isOfLog(ctx, p, at)
		}
		if err != nil {
			c.passOver(ctx, p, err)
			continue
		}
		if err := c.log.Truncate(ctx, p, at); err != nil {
			return log.Place{}, err
		}
		for _, old := range some[i+1:] {
			if err := c.options.Snapshots.Store.Remove(ctx, old.Name); err != nil {
				return log.Place{}, err
			}
		}
		return at, nil
	}
	return log.Place{}, nil
}

func (c *Cluster) passOver(ctx context.Context, p weburl.Partition, err error) {
	if ctx.Err() == nil {
		c.options.Logger.Warn("a snapshot is passed over", "partition", p, "error", err)
	}
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

// checkSnapshot reads a snapshot and returns its place in the partition's log.
func (c *Cluster) checkSnapshot(ctx context.Context, p weburl.Partition, o objects.Object) (log.Place, error) {
	return c.checkRead(p, o, objects.Reader(ctx, c.options.Snapshots.Store, o.Name, o.Bytes))
}

func (c *Cluster) checkRead(p weburl.Partition, o objects.Object, r io.Reader) (log.Place, error) {
	of, cluster, at, err := c.node.CheckSnapshot(r)
	if err == nil && (of != p || cluster != c.options.Cluster || o.Name != c.snapshotName(p, at)) {
		err = fmt.Errorf("%w: a snapshot of partition %d of cluster %s up to entry %d", ErrOther, of, cluster, at.Seq)
	}
	if err != nil {
		err = fmt.Errorf("cluster: %s/%s: %w", c.options.Snapshots.Store, o.Name, err)
	}
	return at, err
}

// load replaces what the node has of a partition by the last complete snapshot of this log.
func (c *Cluster) load(ctx context.Context, p weburl.Partition) error {
	has, err := c.node.Place(p)
	if err != nil {
		return err
	}
	behind := fmt.Errorf("%w: this node has partition %d up to entry %d, and what follows is in snapshots", log.ErrTruncated, p, has.Seq)
	if c.options.Snapshots == nil {
		return fmt.Errorf("%w: give it --partition-snapshots, as the other nodes have it", behind)
	}
	all, err := c.snapshots(ctx, p)
	if err != nil {
		return errors.Join(behind, err)
	}
	for _, o := range all {
		if o.Name <= c.snapshotName(p, has) {
			break
		}
		at, err := c.loadFrom(ctx, p, o)
		if err == nil {
			c.options.Logger.Info("loads a snapshot of a partition", "partition", p, "entry", at.Seq)
			return nil
		}
		c.passOver(ctx, p, err)
	}
	return fmt.Errorf("%w: none in %s can be loaded before the next one", behind, c.options.Snapshots.Store)
}

// loadFrom fetches a snapshot, checks it meanwhile, and loads it if it is complete and of this log.
func (c *Cluster) loadFrom(ctx context.Context, p weburl.Partition, o objects.Object) (at log.Place, err error) {
	s := c.options.Snapshots
	f, err := s.FS.Create(s.loading(), vfs.WriteCategoryUnspecified)
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, s.FS.Remove(s.loading())) }()
	at, err = c.checkRead(p, o, io.TeeReader(objects.Reader(ctx, s.Store, o.Name, o.Bytes), f))
	if err = errors.Join(err, f.Close()); err == nil {
		err = c.isOfLog(ctx, p, at)
	}
	if err != nil {
		return at, err
	}
	fetched, err := s.FS.Open(s.loading(), vfs.SequentialReadsOption)
	if err != nil {
		return at, err
	}
	return at, errors.Join(c.node.Load(p, fetched), fetched.Close())
}

// isOfLog returns an error if the log does not reach a place, or if its next entry follows another place.
func (c *Cluster) isOfLog(ctx context.Context, p weburl.Partition, at log.Place) error {
	reaches := false
	for _, err := range c.log.Read(ctx, p, log.Place{Seq: at.Seq - 1}) { // the chain before it is not known
		if err != nil && !errors.Is(err, log.ErrBroken) && !errors.Is(err, log.ErrTruncated) {
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
	ctx   context.Context // of one snapshot
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
