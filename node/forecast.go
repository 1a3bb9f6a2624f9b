package node

import "math"

// Forecast predicts the rest of the crawl until nothing is left to discover. Spans are in seconds; an unknown span
// is 1e12.
type Forecast struct {
	RemainingS float64 `json:"remaining_s"`          // expected
	EarliestS  float64 `json:"remaining_earliest_s"` // if no more pages are discovered
	LatestS    float64 `json:"remaining_latest_s"`   // if the recent past was lucky by two standard deviations
	// DiskNeededBytes is the size of the pages to come at the recent bytes per page, or 0 if that is not known.
	// DiskFullS is how long the free space lasts. Both are upper estimates: they count received bytes, and the store
	// compresses them.
	DiskNeededBytes int64   `json:"disk_needed_bytes"`
	DiskFullS       float64 `json:"disk_full_in_s"`
}

// recentPast is what happened in the last seconds.
type recentPast struct {
	seconds           float64
	pages, discovered int64 // fetched, with or without success; discovered
	bytes             int64 // received
}

// unknownSeconds represents an unknown span.
const unknownSeconds = 1e12

// forecast models the crawl as a branching process. Each of n recently fetched pages brought m new ones on average. So
// q queued pages mean q/(1-m) pages to come, if m < 1. Counts are assumed to be Poisson distributed: the latest end
// assumes a rate two standard deviations lower and an m two higher. Politeness alone takes at least bound seconds.
// Without a recent page only the bound is known. The bound of a crawl that does not end is unknownSeconds.
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

// endIn returns how long the queue lasts at rate pages per second and m new pages per page.
func endIn(queued int64, rate, m, bound float64) float64 {
	switch {
	case queued == 0:
		return bound
	case m >= 1 || rate <= 0:
		return unknownSeconds
	}
	return min(max(bound, float64(queued)/(1-m)/rate), unknownSeconds)
}
