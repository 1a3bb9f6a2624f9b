package allocate

import "math"

// Pages that share a budget may be divided into parts, each on a different machine. The optimum has one threshold:
// every part takes those crawls of its pages that gain more. So the parts need to agree on one number. A coordinator
// asks all parts how many crawls they would take at a threshold. It repeats this with other thresholds until the
// answers add up to the budget. Each part then plans its own pages with its share, and together they have the plan of
// all.

// Demand is what a part of the pages takes at a threshold.
type Demand struct {
	Above int64   // crawls that gain more than the threshold, and all minimums
	Next  float64 // the largest gain of another crawl; negative: there is none
	Ties  int64   // crawls that gain Next
}

// And returns the demand of two parts together.
func (d Demand) And(o Demand) Demand {
	sum := Demand{Above: d.Above + o.Above, Next: math.Max(d.Next, o.Next)}
	for _, part := range [...]Demand{d, o} {
		if part.Next == sum.Next && part.Next >= 0 {
			sum.Ties += part.Ties
		}
	}
	return sum
}

// DemandOf returns the demand of a problem's pages at a threshold. The threshold may be +Inf. At a negative one the
// pages take all that the bounds allow. O(n).
func DemandOf(p Problem, threshold float64) Demand {
	d := Demand{Next: -1}
	for i := range p.Len() {
		start := 0.0
		if threshold > 0 {
			start = math.Ceil(p.Crawls(i, threshold))
		}
		x, next, _ := count(p, i, threshold, start)
		d.Above += int64(x)
		switch {
		case next < 0 || next < d.Next:
			continue
		case next > d.Next:
			d.Next, d.Ties = next, 0
		}
		d.Ties += ties(p, i, x, next)
	}
	return d
}

// ties returns how many crawls of page i in a row, from crawl x on, have that gain.
func ties(p Problem, i, x int, gain float64) int64 {
	_, most := p.Bounds(i)
	low, step := x, 1 // crawl low+1 gains it
	for low+step < most && p.Gain(i, low+step) == gain {
		low += step
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if low+step < most && p.Gain(i, low+step) == gain {
			low += step
		}
	}
	return int64(low - x + 1)
}

// MostRounds bounds the rounds of questions to the parts.
const MostRounds = 60

// Gains smaller than the largest one by more than indistinct powers of two count as equal.
const indistinct = 64

// Agree divides a budget among parts. In each round it calls ask with a threshold, and ask returns what each part
// takes at it. Crawls whose gain equals the threshold go to the first parts first. So the shares are those of the
// optimum for all pages in the order of the parts. Agree returns the shares and the threshold, or an
// *InfeasibleError, or the error of ask. If the parts cannot use the budget up, they get all that they take.
func Agree(budget int64, ask func(threshold float64) ([]Demand, error)) (shares []int64, threshold float64, err error) {
	all, err := ask(math.Inf(1))
	if err != nil {
		return nil, 0, err
	}
	first := total(all)
	if first.Above > budget {
		return nil, 0, &InfeasibleError{Site: -1, Need: first.Above, Allowed: budget, Minimum: true}
	}
	high, top := all, first.Next // of the parts at a threshold of top: not more than the budget
	var low []Demand             // of the parts at a threshold of bottom: more than the budget; nil: not asked yet
	bottom := math.Max(top, 0) * math.Exp2(-indistinct)
	for range MostRounds - 2 {
		now := total(high)
		if now.Above+now.Ties >= budget || now.Next < 0 {
			return shareTies(high, now.Next, budget-now.Above), math.Max(now.Next, 0), nil
		}
		top = math.Min(top, now.Next) // no other gain lies between
		// The middle of the floating-point numbers between the two: at most 58 rounds in all.
		middle := math.Float64frombits(math.Float64bits(bottom) + (math.Float64bits(math.Max(top, bottom))-math.Float64bits(bottom))/2)
		if !(middle > bottom && middle < top) {
			break
		}
		if all, err = ask(middle); err != nil {
			return nil, 0, err
		}
		if total(all).Above > budget {
			low, bottom = all, middle
		} else {
			high, top = all, middle
		}
	}
	// The remaining gains count as equal.
	if low == nil {
		if low, err = ask(-1); err != nil {
			return nil, 0, err
		}
	}
	left := budget - total(high).Above
	for i := range high {
		high[i].Next, high[i].Ties = bottom, low[i].Above-high[i].Above
	}
	return shareTies(high, bottom, left), bottom, nil
}

// total returns the demand of all parts together.
func total(all []Demand) Demand {
	sum := Demand{Next: -1}
	for _, d := range all {
		sum = sum.And(d)
	}
	return sum
}

// shareTies returns the crawls of each part. It also gives the parts as many crawls of gain next as are left, the
// first parts first.
func shareTies(all []Demand, next float64, left int64) []int64 {
	shares := make([]int64, len(all))
	for i, d := range all {
		shares[i] = d.Above
		if d.Next == next && next >= 0 {
			some := min(left, d.Ties)
			shares[i] += some
			left -= some
		}
	}
	return shares
}
