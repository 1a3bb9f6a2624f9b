package crawl

import (
	"context"
	"sync"
	"time"

	"freshet/fleet"
	"freshet/frontier"
)

// dispatch hands out pages to fetches until the crawl is over, then waits for the fetches. It is the
// only caller of Next.
func (e *Engine) dispatch(ctx, hard context.Context) Stop {
	var fetches sync.WaitGroup
	defer fetches.Wait()
	now := e.opt.Clock.Now()
	var end time.Time
	if e.opt.For > 0 {
		end = now.Add(e.opt.For)
	}
	timer := e.opt.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		page, stop, ok := e.next(ctx, end, timer)
		if !ok {
			return stop
		}
		e.fleet.tell((*fleet.Controller).Started)
		fetches.Go(func() {
			e.fetch(hard, page)
			e.fleet.tell((*fleet.Controller).Ended)
			signal(e.wake)
		})
	}
}

// next waits for the page to fetch next; ok is false if the crawl is over.
func (e *Engine) next(ctx context.Context, end time.Time, timer *time.Timer) (page frontier.Page, stop Stop, ok bool) {
	for {
		now := e.opt.Clock.Now()
		switch {
		case ctx.Err() != nil:
			return page, Signal, false
		case !end.IsZero() && !now.Before(end):
			return page, TimeUp, false
		}
		page, wake, stop, ok := e.take(now)
		if ok || stop != "" {
			return page, stop, ok
		}
		if !end.IsZero() && (wake.IsZero() || end.Before(wake)) {
			wake = end
		}
		if wake.IsZero() {
			wake = now.Add(time.Hour)
		}
		e.opt.Clock.Reset(timer, max(0, wake.Sub(now)))
		select {
		case <-e.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// take takes a page from the frontier if one may be fetched now. Else it tells why the crawl is over, or when
// there may be one, as far as that is known.
func (e *Engine) take(now time.Time) (page frontier.Page, wake time.Time, stop Stop, ok bool) {
	if e.enough() {
		if e.handedOut.Load() == 0 {
			stop = MaxPages
		}
		return page, wake, stop, false
	}
	if !e.fleet.open() {
		return page, wake, "", false
	}
	if wake, paid := e.afford(now); !paid {
		return page, wake, "", false
	}
	// In this order: whatever is on its way now is in the frontier by the time it is asked.
	idle := e.handedOut.Load() == 0 && !e.undecided.Load() && !e.obeys.busy()
	e.mu.Lock()
	page, wake, ok = e.front.Next(now)
	e.starved.Store(!ok)
	if ok {
		e.handedOut.Add(1)
	}
	queued := e.front.Stats()
	err := e.front.Err()
	e.mu.Unlock()
	if err != nil {
		e.fail(err)
		return page, wake, failed, false
	}
	if !ok || page.Robots {
		e.refund()
	}
	switch {
	case ok || queued.QueuedNew+queued.QueuedDue > queued.Shelved:
	case idle && !e.opt.Wait && e.refresher == nil:
		stop = FrontierEmpty
	default:
		signal(e.hungry)
	}
	return page, wake, stop, ok
}

// afford takes a request out of the budget, if there is one; if nothing is left in it, it tells when there
// will be.
func (e *Engine) afford(now time.Time) (wake time.Time, ok bool) {
	if e.refresher == nil {
		return wake, true
	}
	return e.refresher.meter.take(now)
}

// refund puts back into the budget what afford took, for a request that is not made.
func (e *Engine) refund() {
	if e.refresher != nil {
		e.refresher.meter.giveBack()
	}
}

// enough tells whether the pages stored and those on their way may be all that was asked for.
func (e *Engine) enough() bool {
	limit := e.current().MaxPages
	return limit > 0 && e.tally.pages.Load()+e.handedOut.Load() >= limit
}
