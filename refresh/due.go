package refresh

import (
	"math"

	"freshet/change"
)

// Due returns when a visit to the page will be worth the bar, if nothing happens before.
func (x *Index) Due(id ID, now float64) Due {
	s := x.learner.must(id)
	l := &x.learner
	g := l.forest.group(s.folder)
	belief := l.posterior(id)
	d := Due{At: now, Rate: belief.Mean(), Value: x.value(id, now, l.urgent(id)), Bar: x.ranking.bar}
	shared := l.claimed(id) + l.shared(g, l.days(s.seen), l.days(now))
	d.Rate += l.usual(g)
	d.Stale = 1 - belief.Unchanged(math.Max(0, l.own(id, s.seen, now)))*math.Exp(-shared)
	soon := 0.0
	if d.Bar > 0 {
		d.Every = x.every(id, d.Bar, 0)
		soon = d.Every
		if urgent := l.urgent(id); urgent > 0 {
			soon = x.every(id, d.Bar, urgent)
		}
	}
	if !s.marks.has(out) {
		d.At = math.Max(now, l.tried(id)+soon)
	}
	return d
}

// longest is a time between two visits. A longer one counts as never.
const longest = 1e5 * day

// every returns how long after the last visit a visit to the page is worth the bar. claimed is the number of claimed
// changes. +Inf means never.
func (x *Index) every(id ID, bar, claimed float64) float64 {
	tried := x.learner.tried(id)
	long := day / 1024
	for ; x.value(id, tried+long, claimed) < bar; long *= 2 {
		if long > longest {
			return math.Inf(1)
		}
	}
	short := long / 2
	for range 16 {
		if middle := (short + long) / 2; x.value(id, tried+middle, claimed) < bar {
			short = middle
		} else {
			long = middle
		}
	}
	return long
}

// Copy holds the beliefs about a page's copy.
type Copy struct {
	Stale float64 // the probability that the page has changed since the last visit
	Age   float64 // expected seconds since the first such change; 0 if there was none
}

// Copy returns the beliefs about the page's copy now. It spreads shared and claimed changes evenly over the time
// since the last visit. O(change.Rates).
func (x *Index) Copy(id ID, now float64) Copy {
	l := &x.learner
	s := l.must(id)
	length := now - s.seen
	if !(length > 0) {
		return Copy{}
	}
	g := l.forest.group(s.folder)
	shared := l.claimed(id) + l.shared(g, l.days(s.seen), l.days(now))
	var c Copy
	belief, own := l.posterior(id), l.own(id, s.seen, now)
	for k, p := range belief {
		changes := change.GridRate(k)*own + shared
		stale := -math.Expm1(-changes)
		c.Stale += float64(p) * stale
		if changes > 1e-6 {
			c.Age += float64(p) * length * (1 - stale/changes)
		}
	}
	return c
}
