package seen

import "time"

// DefaultWait is the default of Options.MaxWait. LookEvery is how often is looked, at least, whether links that wait
// are to be decided, in the machine's time.
const (
	DefaultWait = 100 * time.Millisecond
	LookEvery   = 50 * time.Millisecond
)

// Timing says when links that wait are decided: together, so that a drain has a small part of the time and what comes
// together is told of its cash once, but soon where a fetcher has nothing to do. It takes no note of the reasons that a
// crawl has beside these, and has no clock. The zero value is of a crawl whose fetchers have something to do.
type Timing struct {
	starved bool             // no page may be fetched now
	hungry  bool             // and none is queued
	began   time.Time        // of the last drain
	took    [2]time.Duration // the last two
}

// Waiting are links that wait for a drain. *Test has them.
type Waiting interface {
	// Due reports whether they are many, or have waited for a set time and for wait.
	Due(now time.Time, wait time.Duration) bool
}

// Asked takes note of what an idle fetcher heard: whether there is a page for it, and whether any is queued.
func (t *Timing) Asked(found, queued bool) {
	t.starved = !found
	t.hungry = !found && !queued
}

// restAfterDrain is how many times as long as drains take links wait for the next one, while there are pages to be
// fetched. The shorter of the last two counts: one that a disk or a busy machine held up says nothing of the others,
// and what is known of pages would be old when it comes.
const restAfterDrain = 30

// Due reports whether what waits is to be decided now.
func (t *Timing) Due(links Waiting, now time.Time) bool {
	rest := restAfterDrain * min(t.took[0], t.took[1])
	if t.starved {
		rest = 0
	}
	return t.hungry || links.Due(now, rest)
}

// Began takes note of a drain that begins, and Ended of its end.
func (t *Timing) Began(now time.Time) { t.began = now }

// Ended is told after Began.
func (t *Timing) Ended(now time.Time) { t.took = [2]time.Duration{t.took[1], now.Sub(t.began)} }
