package keepfresh

import (
	"math"
	"time"
)

// LookAhead is how far ahead pages are picked, in the machine's time, and PicksAtOnce how many at a time.
const (
	LookAhead   = 250 * time.Millisecond
	PicksAtOnce = 256
)

// Pace says how far ahead a Keeper picks.
type Pace struct {
	Gap    time.Duration // between two requests of the budget
	Ahead  int           // picks that can be asked for within a gap, at most
	Slots  time.Duration // how far ahead a slot of the budget is given to a pick
	AtSite int           // picks of one site that stand in its queue, at most
}

// slotLooks is how many looks ahead slots are given.
const slotLooks = 4

// NewPace returns the pace of a budget of requests an interval, for a crawl that waits for delay between two
// requests to a host and calls Keeper.Pick at least once in look.
func NewPace(budget int64, interval, look, delay time.Duration) Pace {
	p := Pace{Gap: time.Duration(float64(interval) / float64(budget)), Slots: slotLooks * look}
	p.Ahead = max(2, int(math.Ceil(float64(budget)*float64(look)/float64(interval))))
	p.AtSite = p.Ahead
	if delay > 0 {
		p.AtSite = min(p.Ahead, 2+int(look/delay))
	}
	return p
}

// Seconds is a time as policies are told it: in seconds since 1970.
func Seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
