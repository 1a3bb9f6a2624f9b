package frontier

import "time"

// A Budget limits how many requests are made.
type Budget interface {
	// Take spends one request of the budget. If none is left, ok is false and wake is when the next one is available.
	Take(now time.Time) (wake time.Time, ok bool)
	// GiveBack returns a request that Take spent and that was not made.
	GiveBack()
}

// NextWithin is Next for a crawl with a budget; a nil budget does not limit. A page spends one request of the budget, a
// robots.txt none.
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
