package weburl

import "math"

// CashOrder returns a number that falls as cash grows, below 2⁶³, so that the page with the most cash is
// the first in a queue by such numbers. Less than 0 counts as 0, and so does NaN.
func CashOrder(cash float64) uint64 {
	if !(cash > 0) {
		cash = 0
	}
	return math.MaxInt64 - math.Float64bits(cash)
}

// OrderCash is the inverse of CashOrder; 0 for numbers that it does not return.
func OrderCash(order uint64) float64 {
	if order > math.MaxInt64 {
		return 0
	}
	return math.Float64frombits(math.MaxInt64 - order)
}

// A Purse collects the cash that a page receives in small amounts, and releases it in larger sums. Every release moves
// the page in its queue, so releasing each amount would move it with every link to it. A Purse holds back less than it
// has released. So the page's place reflects at least half of its cash, and n equal amounts cause 1 + ⌊log₂ n⌋
// releases. The zero value is empty.
type Purse struct{ told, held float32 }

// Add adds cash ≥ 0 and returns the sum to release now: all that is held, or 0.
func (p *Purse) Add(cash float64) (lot float64) {
	p.held += float32(cash)
	if p.held < p.told {
		return 0
	}
	lot = float64(p.held)
	p.told, p.held = p.told+p.held, 0
	return lot
}

// Empty releases all that is held, even a small amount.
func (p *Purse) Empty() (lot float64) {
	lot = float64(p.held)
	p.told, p.held = p.told+p.held, 0
	return lot
}

// Told returns the sum of all releases.
func (p Purse) Told() float64 { return float64(p.told) }
