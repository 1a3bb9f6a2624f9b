package node

import "math"

// Forecast says what is still to come until nothing is left to discover. Spans are in seconds; a span
// nobody can tell is 1e12.
type Forecast struct {
	RemainingS float64 `json:"remaining_s"`          // expected
	EarliestS  float64 `json:"remaining_earliest_s"` // if nothing more were discovered
	LatestS    float64 `json:"remaining_latest_s"`   // if the recent past was lucky, within two standard deviations
	// DiskNeededBytes is what the pages to come will take at the recent bytes a page; 0 if that is not
	// known. DiskFullS is how long the free space lasts. Both count what is received: what is stored is
	// compressed, and rather less.
	DiskNeededBytes int64   `json:"disk_needed_bytes"`
	DiskFullS       float64 `json:"disk_full_in_s"`
}

// recentPast is what the last seconds showed.
type recentPast struct {
	seconds           float64
	pages, discovered int64 // fetched, well or not; met for the first time
	bytes             int64 // received
}

// unknownSeconds stands for a span nobody can tell.
const unknownSeconds = 1e12

// forecast takes the crawl for a branching process: each of n pages fetched lately brought m new ones on
// average, so that q queued pages stand for q/(1-m) to come, if m < 1. Counts are taken for Poisson's:
// the latest end is that of a rate two standard deviations lower and an m as much higher. Politeness
// alone asks for at least bound seconds. Without a page lately nothing is known but the bound.
func forecast(p recentPast, queued int64, bound float64, free int64) Forecast {
	f := Forecast{RemainingS: unknownSeconds, EarliestS: bound, LatestS: unknownSeconds, DiskFullS: unknownSeconds}
	if queued == 0 {
		f.RemainingS, f.EarliestS, f.LatestS = bound, bound, bound
	}
	if p.pages <= 0 || p.seconds <= 0 {
		return f
	}
	n := float64(p.pages)
	rate, m := n/p.seconds, float64(p.discovered)/n
	f.EarliestS = endIn(queued, rate, 0, bound)
	f.RemainingS = endIn(queued, rate, m, bound)
	f.LatestS = endIn(queued, rate*(1-2/math.Sqrt(n)), m+2*math.Sqrt(float64(p.discovered))/n, bound)
	if perPage := float64(p.bytes) / n; m < 1 {
		f.DiskNeededBytes = int64(min(perPage*float64(queued)/(1-m), math.MaxInt64/2))
	}
	if p.bytes > 0 && free > 0 {
		f.DiskFullS = float64(free) / (float64(p.bytes) / p.seconds)
	}
	return f
}

// endIn returns how long the queue lasts at a rate a second and m new pages a page.
func endIn(queued int64, rate, m, bound float64) float64 {
	switch {
	case queued == 0:
		return bound
	case m >= 1 || rate <= 0:
		return unknownSeconds
	}
	return min(max(bound, float64(queued)/(1-m)/rate), unknownSeconds)
}
