package refresh

import (
	"fmt"
	"math"
)

// Uniform visits the page visited longest ago, so it visits all pages equally often.
type Uniform struct{ timed }

// NewUniform returns the policy without pages.
func NewUniform() *Uniform { return &Uniform{} }

// Next returns the page visited longest ago.
func (u *Uniform) Next(now float64) (ID, float64, bool) { return u.first(math.Inf(1)) }

// Fixed visits every page once an interval, whatever the budget: the page first due comes first. If no page is due,
// it returns none.
type Fixed struct {
	timed
	interval float64
}

// NewFixed returns the policy with an interval in seconds, which must be positive.
func NewFixed(interval float64) (*Fixed, error) {
	if !(interval > 0) || math.IsInf(interval, 1) {
		return nil, fmt.Errorf("refresh: interval of %v s: want a positive number", interval)
	}
	return &Fixed{interval: interval}, nil
}

// Next returns the page that has been due longest.
func (f *Fixed) Next(now float64) (ID, float64, bool) {
	id, at, ok := f.first(now - f.interval)
	return id, at + f.interval, ok
}

// A timed policy sorts its pages by the time of the last visit, successful or not.
type timed struct {
	queue Queue
	out   []bool // by ID: known, and out for a visit
}

// Add counts the page's copy as its last visit.
func (t *timed) Add(id ID, page Page) {
	if t.known(id) {
		panic(fmt.Sprintf("refresh: page %d is added twice", id))
	}
	t.out = Grown(t.out, id)
	t.queue.Set(id, page.Fresh)
}

// Remove forgets the page.
func (t *timed) Remove(id ID) {
	t.must(id)
	t.queue.Drop(id)
	t.out[id] = false
}

// Weigh changes nothing: all pages have equal weight.
func (t *timed) Weigh(id ID, _ float64) { t.must(id) }

// Visited records the time, whatever the outcome.
func (t *timed) Visited(id ID, visit Visit) {
	t.must(id)
	t.out[id] = false
	t.queue.Set(id, visit.At)
}

// first takes out the page visited longest ago, if that was not after until.
func (t *timed) first(until float64) (id ID, at float64, ok bool) {
	if t.queue.Len() == 0 {
		return 0, math.Inf(1), false
	}
	id, at = t.queue.First()
	if at > until {
		return 0, at, false
	}
	t.queue.Pop()
	t.out[id] = true
	return id, at, true
}

func (t *timed) known(id ID) bool {
	return int(id) < len(t.out) && (t.out[id] || t.queue.Has(id))
}

func (t *timed) must(id ID) {
	if !t.known(id) {
		panic(fmt.Sprintf("refresh: no page %d", id))
	}
}
