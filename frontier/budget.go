package frontier

import "time"

// A Budget says how many requests may be made.
type Budget interface {
	// Take takes a request out of the budget. If none is left, wake is when there will be one.
	Take(now time.Time) (wake time.Time, ok bool)
	// GiveBack returns a request that was not made.
	GiveBack()
}

// NextWithin is Next for a crawl with a budget; nil is no budget. A request for a page is taken out of it, a request
// for a robots.txt is not.
func (f *Frontier) NextWithin(b Budget, now time.Time) (p Page, wake time.Time, ok bool) {
	if b == nil {
		return f.Next(now)
	}
	if wake, ok = b.Take(now); !ok {
		return p, wake, false
	}
	if p, wake, ok = f.Next(now); !ok || p.Robots {
		b.GiveBack()
	}
	return p, wake, ok
}
