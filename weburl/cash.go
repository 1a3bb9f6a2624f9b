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

// A Purse gathers the cash that comes to a page in small amounts and hands it on in lots: to tell of each
// amount would move the page in its queue with every link to it. What is held back is less than what was
// handed on, so that the page's place is that of at least half of its cash, and n equal amounts make
// 1 + ⌊log₂ n⌋ lots. The zero value is empty.
type Purse struct{ told, held float32 }

// Add puts an amount in, of 0 or more, and returns what is to be handed on now: all that is held, or 0.
func (p *Purse) Add(cash float64) (lot float64) {
	p.held += float32(cash)
	if p.held < p.told {
		return 0
	}
	lot = float64(p.held)
	p.told, p.held = p.told+p.held, 0
	return lot
}

// Empty hands on what is held, however little.
func (p *Purse) Empty() (lot float64) {
	lot = float64(p.held)
	p.told, p.held = p.told+p.held, 0
	return lot
}

// Told returns all that was handed on.
func (p Purse) Told() float64 { return float64(p.told) }
