package weights

import (
	"fmt"
	"math"
)

// An Estimate is what a log says about b, c and d. The log must not change while it is in use. Safe for concurrent use.
type Estimate struct {
	log      *Log
	strength float64
	clicks   []float64 // c of each slot of the log
	shows    float64   // mean times that a query returns a page, by page
	click    float64   // mean c over what was shown
	wrong    float64   // d over all pages
}

// Estimate estimates b, c and d. strength sets how much the data of all pages and slots counts for each page and slot,
// in sightings of its own; 1 to 10 is sensible. Estimate panics unless strength is positive.
//
//   - c of a slot is shrunk towards that of its result page, and this towards that of all.
//   - b is the mean times that a query returns the page, shrunk towards that of all pages (a gamma
//     prior), times the distribution of its slots, shrunk towards that of all (Dirichlet).
//   - d is the share of the page's judged clicks that were wrong or broken, shrunk towards that of all
//     pages (beta), and that of all towards ½, by a single click.
//
// O(pages + slots).
func (l *Log) Estimate(strength float64) *Estimate {
	if !(strength > 0) || math.IsInf(strength, 1) {
		panic(fmt.Sprintf("weights: strength %v: want a positive number", strength))
	}
	e := &Estimate{log: l, strength: strength}
	shown := e.estimateClicks()
	if l.queries > 0 && l.known > 0 {
		e.shows = shown / float64(l.queries) / float64(l.known)
	}
	judged, wrong := 0, 0
	for _, p := range l.pages {
		judged += p.judged
		wrong += p.wrong
	}
	e.wrong = shrink(wrong, judged, 0.5, 1)
	return e
}

// estimateClicks computes c and its mean. It returns how often pages were shown.
func (e *Estimate) estimateClicks() float64 {
	type sum struct{ shown, clicks int }
	all, pages := sum{}, make(map[int32]sum)
	for _, t := range e.log.tallies {
		all.shown, all.clicks = all.shown+t.shown, all.clicks+t.clicks
		page := pages[t.slot.Page]
		pages[t.slot.Page] = sum{page.shown + t.shown, page.clicks + t.clicks}
	}
	e.click = shrink(all.clicks, all.shown, 0.5, 1)
	e.clicks = make([]float64, len(e.log.tallies))
	mean := 0.0
	for i, t := range e.log.tallies {
		page := pages[t.slot.Page]
		likePage := shrink(page.clicks, page.shown, e.click, e.strength)
		e.clicks[i] = shrink(t.clicks, t.shown, likePage, e.strength)
		mean += e.clicks[i] * float64(t.shown)
	}
	if all.shown > 0 {
		e.click = mean / float64(all.shown)
	}
	return float64(all.shown)
}

// shrink returns the share of hits in n trials and strength more trials, of which the share prior are hits.
func shrink(hits, n int, prior, strength float64) float64 {
	return (float64(hits) + strength*prior) / (float64(n) + strength)
}

// Click returns c, the probability of a click on a result at a slot. For a slot that never occurred it returns the mean
// over everything that was shown.
func (e *Estimate) Click(s Slot) float64 {
	if i, known := e.log.slots[s]; known {
		return e.clicks[i]
	}
	return e.click
}

// Shown returns b, the mean times that a query returns a page at a slot; 0 for a slot that never
// occurred. O(slots at which the page was shown). It panics unless the log knows the page.
func (e *Estimate) Shown(page int, s Slot) float64 {
	slot, known := e.log.slots[s]
	if !known {
		return 0
	}
	p := e.log.page(page)
	of := float64(e.log.tallies[slot].shown) / (e.shows * float64(e.log.queries) * float64(e.log.known))
	return e.returned(p) * shrink(p.times(slot), p.shown, of, e.strength)
}

// returned returns the mean times that a query returns a page, at any slot: the mean of the posterior of
// its rate, under a gamma prior of shape strength.
func (e *Estimate) returned(p *pageTally) float64 {
	if e.shows == 0 {
		return 0
	}
	return (e.strength + float64(p.shown)) / (e.strength/e.shows + float64(e.log.queries))
}

// Wrong returns d, the probability that the page no longer answers after a change. It panics if the log does not know
// the page.
func (e *Estimate) Wrong(page int) float64 {
	p := e.log.page(page)
	return shrink(p.wrong, p.judged, e.wrong, e.strength)
}

// Weight returns w, the expected embarrassments per query while the copy of a page is stale (eq. 8). It is positive if
// anything was shown. O(slots at which the page was shown). It panics if the log does not know the page.
func (e *Estimate) Weight(page int) float64 {
	p := e.log.page(page)
	clicked := e.strength * e.click
	for _, at := range p.at {
		clicked += float64(at.shown) * e.clicks[at.slot]
	}
	return e.Wrong(page) * e.returned(p) * clicked / (float64(p.shown) + e.strength)
}

// New returns the weight of a page that the log does not know: the weight of an average page.
func (e *Estimate) New() float64 { return e.wrong * e.shows * e.click }
