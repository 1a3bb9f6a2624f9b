package change

import (
	"fmt"
	"math"
	"sort"
)

// MaxUpdates is the largest number of instants of a Quasi page. The exact optimum takes time and memory quadratic in
// it.
const MaxUpdates = 2000

// Quasi is the Curve of a quasi-deterministic page. It may change at the instants u₁ < … < u_Q of the interval, each
// with its own probability. The best times to crawl it are the start and just after an instant. Make it with NewQuasi.
type Quasi struct {
	times    []float64 // u_0 = 0, u_1, …, u_Q, u_{Q+1} = T
	keep     []float64 // 1-k_0, …, 1-k_Q: no change at that instant
	curve    []float64 // staleness with 0 … Q+1 crawls
	gains    []float64 // their differences, adjusted so that they never rise
	interval float64
}

// NewQuasi returns a page that may change at times, in seconds from the interval's start, strictly rising within (0,
// interval]. It changes at times[i] with probabilities[i]. Stale is the probability that the copy is stale at the start
// (k₀). NewQuasi computes the exact optimum for every number of crawls, in O(Q² log Q).
func NewQuasi(times, probabilities []float64, interval, stale float64) (*Quasi, error) {
	if err := positive("interval", interval); err != nil {
		return nil, err
	}
	if err := between("probability that the copy is stale", stale, 0, 1); err != nil {
		return nil, err
	}
	if len(times) != len(probabilities) {
		return nil, fmt.Errorf("change: %d times and %d probabilities: want as many of both", len(times), len(probabilities))
	}
	if len(times) > MaxUpdates {
		return nil, fmt.Errorf("change: %d times of updates: want at most %d", len(times), MaxUpdates)
	}
	q := &Quasi{times: make([]float64, 1, len(times)+2), keep: make([]float64, 1, len(times)+1), interval: interval}
	q.keep[0] = 1 - stale
	for i, u := range times {
		last := q.times[i]
		if !(u > last && u <= interval) {
			return nil, fmt.Errorf("change: time %v of update %d: want more than %v and at most the interval of %v", u, i+1, last, interval)
		}
		if err := between(fmt.Sprintf("probability of update %d", i+1), probabilities[i], 0, 1); err != nil {
			return nil, err
		}
		q.times = append(q.times, u)
		q.keep = append(q.keep, 1-probabilities[i])
	}
	q.times = append(q.times, interval)
	q.solve()
	return q, nil
}

// solve computes the curve.
func (q *Quasi) solve() {
	paths := q.paths()
	q.curve = make([]float64, 0, len(q.times))
	for x := range len(q.times) {
		q.curve = append(q.curve, clamp(1-paths.next(nil)/q.interval))
		if x > 0 {
			// Rounding may break convexity.
			gain := math.Max(0, q.curve[x-1]-q.curve[x])
			if x > 1 {
				gain = math.Min(gain, q.gains[x-2])
			}
			q.gains = append(q.gains, gain)
		}
	}
}

// Updates returns Q, the number of instants at which the page may change.
func (q *Quasi) Updates() int { return len(q.keep) - 1 }

// Staleness returns the least staleness that x crawls can reach. It is constant for x > Q.
func (q *Quasi) Staleness(x int) float64 { return q.curve[min(x, len(q.curve)-1)] }

// Gain returns Staleness(x) - Staleness(x+1). It is 0 for x > Q.
func (q *Quasi) Gain(x int) float64 {
	if x >= len(q.gains) {
		return 0
	}
	return q.gains[x]
}

// Crawls returns the number of crawls that gain more than gain, at most Q+1.
func (q *Quasi) Crawls(gain float64) float64 {
	return float64(sort.Search(len(q.gains), func(x int) bool { return q.gains[x] <= gain }))
}

// Times appends the best times of x crawls to dst, rising: 0 or instants of changes. Crawls beyond Q+1 gain nothing and
// repeat the last time, or 0. Among equal optima it returns the earliest. It solves the page again, in O(x Q log Q +
// Q²).
func (q *Quasi) Times(dst []float64, x int) []float64 {
	best := q.Best(x)
	for _, at := range best {
		dst = append(dst, q.times[at])
	}
	for range x - len(best) {
		last := 0.0
		if len(best) > 0 {
			last = q.times[best[len(best)-1]]
		}
		dst = append(dst, last)
	}
	return dst
}

// Best returns the indices of the best min(x, Q+1) instants, rising. Index 0 is the interval's start, index j the jth
// instant.
func (q *Quasi) Best(x int) []int {
	x = min(x, len(q.keep))
	paths := q.paths()
	from := make([][]int32, x+1)
	for layer := range from {
		from[layer] = make([]int32, len(q.times))
		paths.next(from[layer])
	}
	set := make([]int, x)
	at := int32(len(q.times) - 1)
	for layer := x; layer > 0; layer-- {
		at = from[layer][at]
		set[layer-1] = int(at)
	}
	return set
}

// Mean returns the staleness with crawls at a set of instants, given by rising indices as Best returns them (Wolf et
// al. 2002, eq. 18, with the weights u_{j+1}-u_j and divided by T). O(Q).
func (q *Quasi) Mean(set []int) float64 {
	stale, fresh := 0.0, 1.0
	for j, keep := range q.keep {
		if len(set) > 0 && set[0] == j {
			fresh, set = 1, set[1:]
		} else {
			fresh *= keep
		}
		stale += (q.times[j+1] - q.times[j]) * (1 - fresh)
	}
	return stale / q.interval
}

// Greedy returns the order in which the paper's greedy method adds instants: each time the one that lowers staleness
// most, the earlier of equals. Its sets are nested and not always optimal. O(Q³).
func (q *Quasi) Greedy() []int {
	var order, set []int
	for range q.keep {
		best, bestAt, lowest := []int(nil), 0, math.Inf(1)
		for j := range q.keep {
			at := sort.SearchInts(set, j)
			if at < len(set) && set[at] == j {
				continue
			}
			try := append(append(append(make([]int, 0, len(set)+1), set[:at]...), j), set[at:]...)
			if mean := q.Mean(try); mean < lowest-1e-15 {
				best, bestAt, lowest = try, j, mean
			}
		}
		order, set = append(order, bestAt), best
	}
	return order
}
