package crawl

import (
	"sync"
	"time"

	"freshet/crawl/keepfresh"
)

// meter is a pacer that several goroutines use.
type meter struct {
	mu    sync.Mutex
	pacer *keepfresh.Pacer
}

// newMeter returns the meter of a budget a length of time, which begins now.
func newMeter(budget int64, length time.Duration, now time.Time) *meter {
	return &meter{pacer: keepfresh.NewPacer(budget, length, now)}
}

// take takes a request out of the budget; if there is none left it returns when there will be.
func (m *meter) take(now time.Time) (wake time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pacer.Take(now)
}

// giveBack returns a request that was taken and not made.
func (m *meter) giveBack() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pacer.GiveBack()
}

// requests returns how many requests were made in the last whole interval, and in this one so far.
func (m *meter) requests(now time.Time) (last, this int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pacer.Requests(now)
}
