package keepfresh

import (
	"math"
	"time"
)

// LookAhead is how far ahead pages are picked, in machine time. PicksAtOnce is the maximum number of pages in one Pick.
const (
	LookAhead   = 250 * time.Millisecond
	PicksAtOnce = 256
)

// Pace is how far ahead a Keeper picks.
type Pace struct {
	Gap    time.Duration // between two requests of the budget
	Ahead  int           // maximum picks that can be requested within a gap
	Slots  time.Duration // how far ahead a pick gets a slot of the budget
	AtSite int           // maximum picks in one site's queue
}

// slotLooks is the number of looks by which slots are assigned in advance.
const slotLooks = 4

// NewPace returns the pace for a budget of requests per interval, in a crawl that waits for delay between two requests
// to a host and calls Keeper.Pick at least once per look.
func NewPace(budget int64, interval, look, delay time.Duration) Pace {
	p := Pace{Gap: time.Duration(float64(interval) / float64(budget)), Slots: slotLooks * look}
	p.Ahead = max(2, int(math.Ceil(float64(budget)*float64(look)/float64(interval))))
	p.AtSite = p.Ahead
	if delay > 0 {
		p.AtSite = min(p.Ahead, 2+int(look/delay))
	}
	return p
}

// Seconds returns a time in the form of policies: in seconds since 1970.
func Seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
