package seen

import "time"

// DefaultWait is the default of Options.MaxWait. LookEvery is the longest time between two checks whether a drain is
// due, in the machine's time.
const (
	DefaultWait = 100 * time.Millisecond
	LookEvery   = 50 * time.Millisecond
)

// Timing decides when waiting links are decided. Usually many are decided together: then drains take a small part of
// the time, and a URL's cash is passed on once. They are decided soon if a fetcher has nothing to do. Timing ignores
// other reasons that a crawl may have, and has no clock. The zero value is for a crawl whose fetchers are busy.
type Timing struct {
	starved bool             // no page may be fetched now
	hungry  bool             // and none is queued
	began   time.Time        // of the last drain
	took    [2]time.Duration // the last two
}

// Waiting are links that wait for a drain; *Test implements it.
type Waiting interface {
	// Due reports whether there are many, or one has waited for a set time and for wait.
	Due(now time.Time, wait time.Duration) bool
}

// Asked records the answer to an idle fetcher: whether there is a page for it, and whether any is queued.
func (t *Timing) Asked(found, queued bool) {
	t.starved = !found
	t.hungry = !found && !queued
}

// restAfterDrain times the duration of a drain is the wait before the next one, while there are pages to fetch. The
// shorter of the last two drains counts, because one that a busy disk or machine delayed says nothing about the
// others.
const restAfterDrain = 30

// Due reports whether waiting links are to be decided now.
func (t *Timing) Due(links Waiting, now time.Time) bool {
	rest := restAfterDrain * min(t.took[0], t.took[1])
	if t.starved {
		rest = 0
	}
	return t.hungry || links.Due(now, rest)
}

// Began records that a drain begins.
func (t *Timing) Began(now time.Time) { t.began = now }

// Ended records that the drain of the last Began has ended.
func (t *Timing) Ended(now time.Time) { t.took = [2]time.Duration{t.took[1], now.Sub(t.began)} }
