package crawl

import (
	"math"
	"sync"
	"time"
)

// meter hands out the budget's requests evenly over the interval. What is not asked for is kept for a
// while: a hundredth of the interval's requests, so that no interval sees more than that beyond its budget.
type meter struct {
	mu     sync.Mutex
	perNs  float64 // requests a nanosecond; 0: there is no budget
	most   float64 // requests kept
	kept   float64
	at     time.Time // of kept
	spent  int64     // requests of all time
	window [2]int64  // requests in the last whole interval and in this one
	ends   time.Time // of this interval
	length time.Duration
}

// newMeter returns the meter of a budget a length of time, which begins now.
func newMeter(budget int64, length time.Duration, now time.Time) *meter {
	m := &meter{at: now, ends: now.Add(length), length: length}
	m.perNs = float64(budget) / float64(length)
	m.most = math.Max(1, float64(budget)/100)
	m.kept = 1
	return m
}

// take takes a request out of the budget; if there is none left it returns when there will be.
func (m *meter) take(now time.Time) (wake time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fill(now)
	if m.kept < 1 {
		return now.Add(time.Duration(math.Ceil((1 - m.kept) / m.perNs))), false
	}
	m.kept--
	m.spent++
	m.window[1]++
	return time.Time{}, true
}

// giveBack returns a request that was taken and not made.
func (m *meter) giveBack() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept++
	m.spent--
	m.window[1]--
}

func (m *meter) fill(now time.Time) {
	if passed := now.Sub(m.at); passed > 0 {
		m.kept = math.Min(m.most, m.kept+float64(passed)*m.perNs)
		m.at = now
	}
	if late := now.Sub(m.ends); late >= 0 {
		m.window[0], m.window[1] = m.window[1], 0
		if late >= m.length {
			m.window[0] = 0
		}
		m.ends = m.ends.Add(m.length * (1 + late/m.length))
	}
}

// requests returns how many requests were made in the last whole interval, and in this one so far.
func (m *meter) requests(now time.Time) (last, this int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fill(now)
	return m.window[0], m.window[1]
}
