package allocate

import "math"

const (
	sampledOf  = 8    // the first multiplier is guessed from a sample: one page in sampledOf,
	sampled    = 1024 // at least sampled pages,
	plenty     = 8192 // and at most plenty pages,
	plentyOf   = 997  // or one page in plentyOf: a prime, as similar pages may stand at regular distances
	fullPasses = 8    // passes over all pages before the heap settles whatever is left
	bins       = 4096 // of gains relative to the multiplier
)

// Multiplier returns the optimal allocation in time linear in the pages, whatever the budget.
//
// It guesses the multiplier, the least gain worth taking, from a sample of the pages; counts every
// page's gains above it, by Problem.Crawls and one or two gains to be sure; and repeats that only if the
// sum misses the budget by more than an eighth of the pages. What is still missing, or too much, is
// settled one crawl at a time by a heap of just those pages whose next (or last) gain can matter, which a
// histogram picks. Exact, ties included. It needs 20 bytes a page, the result among them. The error is
// an *InfeasibleError.
func Multiplier(p Problem, budget int) ([]int32, error) {
	least, err := feasible(p, budget)
	if err != nil {
		return nil, err
	}
	if int64(budget) == least {
		return minimums(p), nil
	}
	n := p.Len()
	s := &search{problem: p, crawls: make([]int32, n), next: make([]float64, n), last: make([]float64, n), budget: int64(budget)}
	s.run(guess(p, budget))
	return s.crawls, nil
}

// A search is the state of Multiplier: it has taken all gains above mu.
type search struct {
	problem    Problem
	budget     int64
	mu         float64
	crawls     []int32
	next, last []float64 // the gains of one crawl more and of the last one; -1 and +Inf beyond the bounds
	sum        int64     // of crawls
}

// run brings the sum to the budget, from a first multiplier.
func (s *search) run(mu float64) {
	low, high := 0.0, math.Inf(1) // multipliers known to be too small and too large
	var before float64            // the last pass's multiplier and sum, in logarithms
	var sumBefore float64
	for pass := range fullPasses {
		s.pass(mu, pass > 0)
		missing := s.budget - s.sum
		if max(missing, -missing) <= int64(len(s.crawls)/8+64) {
			break
		}
		if missing < 0 {
			low = mu
		} else {
			high = mu
		}
		// The sum falls about as a power of the multiplier; the last two passes say which.
		log, sumLog := math.Log(mu), math.Log(float64(s.sum)+1)
		power := -0.6
		if pass > 0 && log != before && sumLog != sumBefore {
			power = math.Min(-0.05, (sumLog-sumBefore)/(log-before))
		}
		before, sumBefore = log, sumLog
		mu = math.Exp(log + (math.Log(float64(s.budget)+1)-sumLog)/power)
		if !(mu > low && mu < high) {
			mu = middle(low, high)
		}
		if !(mu > low && mu < high) {
			break
		}
	}
	s.settle()
}

// middle returns a positive number between low and high, 0 ≤ low < high, in the middle on a scale of
// powers.
func middle(low, high float64) float64 {
	return math.Sqrt(math.Max(low, math.SmallestNonzeroFloat64)) * math.Sqrt(math.Min(high, math.MaxFloat64))
}

// pass takes all gains above mu. If warm, it starts from the counts of the previous pass.
func (s *search) pass(mu float64, warm bool) {
	s.mu, s.sum = mu, 0
	for i := range s.crawls {
		start := float64(s.crawls[i])
		if !warm {
			start = math.Ceil(s.problem.Crawls(i, mu))
		}
		x, next, last := count(s.problem, i, mu, start)
		s.crawls[i], s.next[i], s.last[i] = int32(x), next, last
		s.sum += int64(x)
	}
}

// count returns how many crawls page i gets when it takes all gains above mu within its bounds, and the
// gains on both sides. It searches from start by doubling steps: two gains if start is right.
func count(p Problem, i int, mu, start float64) (x int, next, last float64) {
	low, high := p.Bounds(i) // the answer lies between
	next, last = -1, math.Inf(1)
	most := high
	// Clamped before it becomes an int, which may not hold it.
	at := int(math.Max(float64(low), math.Min(start, float64(most))))
	up, down := false, false
	for step := 1; low < high; {
		at = max(low, min(at, high-1))
		if gain := p.Gain(i, at); gain > mu {
			low, last, up = at+1, gain, true
			at += step
		} else {
			high, next, down = at, gain, true
			at -= step
		}
		if step *= 2; up && down {
			at = low + (high-low)/2
		}
	}
	return low, next, last
}

// settle gives or takes the crawls that the sum is off by. If n crawls are missing, only pages whose next gain is
// among the n best can change; the same is true of last gains.
func (s *search) settle() {
	missing := s.budget - s.sum
	switch {
	case missing > 0:
		from, pages := threshold(s.next, missing, func(gain float64) float64 { return gain / s.mu })
		heap := make(queue, 0, pages)
		for i, gain := range s.next {
			if gain >= 0 && bin(gain/s.mu) >= from {
				heap = append(heap, element{gain, int32(i), s.crawls[i]})
			}
		}
		heap.take(s.problem, s.crawls, missing)
	case missing < 0:
		from, pages := threshold(s.last, -missing, func(gain float64) float64 { return s.mu / gain })
		heap := make(queue, 0, pages)
		for i, gain := range s.last {
			if gain < math.Inf(1) && bin(s.mu/gain) >= from {
				heap = append(heap, element{gain, int32(i), s.crawls[i] - 1})
			}
		}
		heap.giveBack(s.problem, s.crawls, -missing)
	}
}

// bin returns the bin of a ratio from 0 to 1.
func bin(ratio float64) int { return int(ratio * (bins - 1)) }

// threshold returns the highest bin such that it and those above hold n gains, and how many they hold; 0 and
// all if they do not.
func threshold(gains []float64, n int64, ratio func(float64) float64) (from int, held int64) {
	var counts [bins]int64
	for _, gain := range gains {
		if gain >= 0 && gain < math.Inf(1) {
			counts[bin(ratio(gain))]++
		}
	}
	for from = bins - 1; from >= 0; from-- {
		if held += counts[from]; held >= n {
			return from, held
		}
	}
	return 0, held
}

// sampleSize returns the size of the sample of n pages for the first guess. With very many pages a good guess saves a
// pass over all.
func sampleSize(n int) int {
	return min(n, max(sampled, min(n/sampledOf, plenty), n/plentyOf))
}

// guess returns a multiplier at which a sample of the pages, one in the middle of every stretch, spends
// its part of the budget, to about one part in a thousand, or a crawl of every 64th page.
func guess(p Problem, budget int) float64 {
	n := p.Len()
	size := sampleSize(n)
	spent := func(mu float64) float64 {
		sum := 0.0
		for k := range size {
			i := int((float64(k) + 0.5) * float64(n) / float64(size))
			least, most := p.Bounds(i)
			sum += math.Max(float64(least), math.Min(math.Ceil(p.Crawls(i, mu)), float64(most)))
		}
		return sum
	}
	target := float64(budget) * float64(size) / float64(n)
	// If pages are alike, there may be no multiplier that comes nearer.
	tolerance := math.Max(1e-3*target, float64(size)/64)
	mu := 0.0 // start at the mean first gain
	for k := range size {
		i := int((float64(k) + 0.5) * float64(n) / float64(size))
		least, _ := p.Bounds(i)
		mu += p.Gain(i, least) / float64(size)
	}
	if !(mu > 0) {
		return math.SmallestNonzeroFloat64
	}
	mu = math.Min(mu, math.MaxFloat64)
	low, high := 0.0, math.Inf(1)
	for range 60 {
		sum := spent(mu)
		if math.Abs(sum-target) <= tolerance {
			break
		}
		if sum > target {
			low = mu
		} else {
			high = mu
		}
		step := mu * math.Pow((sum+0.5)/(target+0.5), 1.5)
		if !(step > low && step < high) {
			step = middle(low, high)
		}
		if high < math.Inf(1) && high-low <= 1e-4*high || !(step > low && step < high) {
			break
		}
		mu = step
	}
	return mu
}
