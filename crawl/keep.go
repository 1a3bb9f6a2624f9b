package crawl

import (
	"context"
	"errors"
	"sync"
	"time"

	"freshet/store"
)

// keepEvery is how often the past is cut down to what Options.Keep asks for, in the crawl's time, but
// not more often than every minute of the machine's.
const keepEvery = time.Hour

// firstPurgeRetry is how long after a purge could not be finished that is tried again, in the crawl's time and at
// least a tenth of a second of the machine's; then twice as long each time, up to what is between two sweeps.
const firstPurgeRetry = 10 * time.Second

// keeper cuts the past down and takes what is purged off the disk, beside the crawl.
type keeper struct {
	purge chan struct{} // one token: a purge has begun

	mu     sync.Mutex
	sum    store.Swept // of all sweeps of this run; FileBytes and LiveBytes as the last one found them
	sweeps int64
	faults int64
}

// keep runs until ctx ends. A sweep that fails is tried again by the next one; a purge is owed to somebody, and is
// tried again sooner.
func (e *Engine) keep(ctx context.Context) {
	every := max(keepEvery, e.opt.Clock.Span(time.Minute))
	first := max(firstPurgeRetry, e.opt.Clock.Span(100*time.Millisecond))
	sweep, again := e.opt.Clock.NewTimer(every), e.opt.Clock.NewTimer(every)
	defer sweep.Stop()
	defer again.Stop()
	again.Stop()
	wait := first
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-e.keeper.purge:
			err = e.inBackground(ctx, "purge", func() error { return e.finishPurges(ctx) })
		case <-again.C:
			err = e.inBackground(ctx, "purge", func() error { return e.finishPurges(ctx) })
		case <-sweep.C:
			err = e.inBackground(ctx, "sweep", func() error { return e.sweep(ctx) })
			e.opt.Clock.Reset(sweep, every)
		}
		if err == nil {
			again.Stop()
			wait = first
			continue
		}
		e.opt.Clock.Reset(again, wait)
		wait = min(2*wait, every)
	}
}

// finishPurges takes what has been purged off the disk. If it cannot, the next call tries again, in the next run
// if need be.
func (e *Engine) finishPurges(ctx context.Context) error {
	report, err := e.store.FinishPurges(ctx)
	if err == nil && len(report.Targets) > 0 {
		e.opt.Logger.Info("purged", "targets", report.Targets, "files", report.Files, "freed_bytes", report.FreedBytes)
	}
	return err
}

// forget takes what is purged out of the files of the directory that are the engine's.
func (e *Engine) forget(ctx context.Context, hit func(url string) bool) error {
	if e.log == nil {
		return errors.New("crawl: the log is not open") // Open has failed: the next one does it
	}
	return e.log.forget(ctx, hit)
}

// sweep cuts the past down, and finishes purges.
func (e *Engine) sweep(ctx context.Context) error {
	if e.opt.Keep == (store.Keep{}) {
		return e.finishPurges(ctx)
	}
	swept, err := e.store.Sweep(ctx, e.opt.Keep, e.opt.Clock.Now())
	k := &e.keeper
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

// swept returns what the sweeps of this run did, their number, and how many of them failed.
func (k *keeper) swept() (sum store.Swept, sweeps, faults int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sum, k.sweeps, k.faults
}

// watchDisk ends the crawl, as if it had been asked to, while there is still room to end in order.
func (e *Engine) watchDisk() {
	if e.opt.MinFree <= 0 || e.short.Load() {
		return
	}
	usage, err := e.opt.FS.GetDiskUsage(e.opt.Dir)
	if err != nil || int64(usage.AvailBytes) >= e.opt.MinFree {
		return
	}
	e.opt.Logger.Error("crawl stops: the disk is nearly full", "free_bytes", usage.AvailBytes, "min_free_bytes", e.opt.MinFree)
	e.short.Store(true)
	e.cancel()
}
