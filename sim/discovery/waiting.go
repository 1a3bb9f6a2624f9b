package discovery

import (
	"time"

	"freshet/seen"
)

// waiting are the links that wait to be decided. As in a live crawl they come page by page and are decided together
// when the live crawl's Timing says so. They are looked up in the crawl's pages instead of a seen.Test, which takes
// no time.
type waiting struct {
	timing  seen.Timing
	longest time.Duration
	pages   []uint32 // whose links wait
	decided []uint32 // reused
	since   time.Time
	looks   int
}

// Due implements seen.Waiting.
func (w *waiting) Due(now time.Time, wait time.Duration) bool {
	return len(w.pages) > 0 && now.Sub(w.since) >= max(w.longest, wait)
}

// offer adds the links of a page to those that wait, or decides them at once if links must not wait.
func (c *crawl) offer(now float64, page uint32) {
	w := &c.waiting
	if len(w.pages) == 0 {
		w.since = instant(now)
	}
	w.pages = append(w.pages, page)
	if w.longest == 0 {
		c.drain(now)
	}
}

// drainIfDue decides the waiting links if it is time, and reports whether it did. If not, it schedules another
// check.
func (c *crawl) drainIfDue(now float64) bool {
	w := &c.waiting
	if len(w.pages) == 0 {
		return false
	}
	t := instant(now)
	if w.timing.Due(w, t) {
		w.timing.Began(t)
		c.drain(now)
		w.timing.Ended(t)
		return true
	}
	w.looks++
	c.events.Push(seconds(t.Add(seen.LookEvery)), happening{kind: looked, look: w.looks})
	return false
}

// drain decides all links that wait.
func (c *crawl) drain(now float64) {
	w := &c.waiting
	w.pages, w.decided = w.decided[:0], w.pages
	for _, page := range w.decided {
		c.reveal(now, page)
	}
	c.tell(now)
}
