package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"freshet/crawl"
	"freshet/store"
	"freshet/store/retain"
)

// keepEvery is the time between two sweeps, which apply Options.Keep: in the crawl's time, but at least a minute of
// machine time.
const keepEvery = time.Hour

// firstPurgeRetry is the first wait before an unfinished purge is tried again, in the crawl's time but at least a tenth
// of a second of machine time. Each wait is twice the one before, up to keepEvery.
const firstPurgeRetry = 10 * time.Second

// keeper sweeps the past and finishes purges, in the background.
type keeper struct {
	purge chan struct{} // one token: a purge has begun

	mu     sync.Mutex
	sum    retain.Swept // of all sweeps of this run; FileBytes and LiveBytes as the last one found them
	sweeps int64
	faults int64
}

// keep runs until ctx ends. A failed sweep is repeated by the next one. A failed purge is tried again sooner, because
// an operator waits for it.
func (n *Node) keep(ctx context.Context) {
	every := max(keepEvery, n.opt.Clock.Span(time.Minute))
	first := max(firstPurgeRetry, n.opt.Clock.Span(100*time.Millisecond))
	sweep, again := n.opt.Clock.NewTimer(every), n.opt.Clock.NewTimer(every)
	defer sweep.Stop()
	defer again.Stop()
	again.Stop()
	wait := first
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-n.keeper.purge:
			err = n.inBackground(ctx, "purge", func() error { return n.finishPurges(ctx) })
		case <-again.C:
			err = n.inBackground(ctx, "purge", func() error { return n.finishPurges(ctx) })
		case <-sweep.C:
			err = n.inBackground(ctx, "sweep", func() error { return n.sweep(ctx) })
			n.opt.Clock.Reset(sweep, every)
		}
		if err == nil {
			again.Stop()
			wait = first
			continue
		}
		n.opt.Clock.Reset(again, wait)
		wait = min(2*wait, every)
	}
}

// finishPurges deletes purged bytes from disk. If it fails, the next call tries again, perhaps in the next run.
func (n *Node) finishPurges(ctx context.Context) error {
	report, err := retain.FinishPurges(ctx, n.store)
	if err == nil && len(report.Targets) > 0 {
		n.opt.Logger.Info("purged", "targets", report.Targets, "files", report.Files, "freed_bytes", report.FreedBytes)
	}
	return err
}

// forget removes purged URLs from files in the directory that are not the store's.
func (n *Node) forget(ctx context.Context, hit func(url string) bool) error {
	if n.log == nil {
		return errors.New("crawl: the log is not open") // Open has failed: the next Open finishes the purge
	}
	err := n.log.forget(ctx, hit)
	if n.opt.OnPurge != nil {
		err = errors.Join(err, n.opt.OnPurge(ctx, hit))
	}
	return err
}

// sweep deletes what Options.Keep does not keep, and finishes purges.
func (n *Node) sweep(ctx context.Context) error {
	if n.opt.Cluster != nil { // records of a cluster are never dropped
		if err := n.finishPurges(ctx); err != nil {
			return err
		}
		return retain.Reclaim(ctx, n.store)
	}
	if n.opt.Keep == (retain.Keep{}) {
		return n.finishPurges(ctx)
	}
	swept, err := retain.Sweep(ctx, n.store, n.opt.Keep, n.opt.Clock.Now())
	k := &n.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sweeps++
	k.sum.Versions += swept.Versions
	k.sum.Captures += swept.Captures
	k.sum.Forgotten += swept.Forgotten
	k.sum.Files += swept.Files
	k.sum.FreedBytes += swept.FreedBytes
	if swept.FileBytes > 0 {
		k.sum.FileBytes, k.sum.LiveBytes = swept.FileBytes, swept.LiveBytes
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
		k.faults++
	}
	return err
}

// swept returns what the sweeps of this run removed, their number, and how many of them failed.
func (k *keeper) swept() (sum retain.Swept, sweeps, faults int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sum, k.sweeps, k.faults
}

// watchDisk ends the crawl cleanly while there is still enough disk space for a clean end.
func (n *Node) watchDisk() {
	if n.opt.MinFree <= 0 || n.short.Load() {
		return
	}
	usage, err := n.opt.FS.GetDiskUsage(n.opt.Dir)
	if err != nil || int64(usage.AvailBytes) >= n.opt.MinFree {
		return
	}
	n.opt.Logger.Info("crawl stops: the disk is nearly full", "free_bytes", usage.AvailBytes,
		"min_free_bytes", n.opt.MinFree)
	n.short.Store(true)
	n.tell(crawl.End{Reason: crawl.DiskFull})
}
