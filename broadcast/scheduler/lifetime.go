package scheduler

import (
	"math"
	"math/bits"
)

// Lifetime sends the chunk whose pages stayed fresh the longest, a byte, for those that lack them. Let
// d(τ) count the missing pages τ after their copies were taken, and w be the price of a sending. Sending
// whenever the state reaches a threshold costs (V∫d + w)/τ a second, where V is what a page is worth; at the best
// threshold the marginal cost V·d equals that average, so the price at which sending now is just worth it is
//
//	w = V·(d·τ - ∫₀^τ d) = V·Σ_{missing pages} (since - taken),   V = Σ_k weight_k/N_k
//
// (over data V = Σ_k weight_k): an index in the sense of Whittle (1988), the fresh lives that have
// ended. A chunk of which one fast page is missing waits and collects changes. One life says little
// about a page, so each counts by what is to be expected of it: if the page's changes are a Poisson process
// and its mean interval X, a life that has ended by τ lasted
//
//	E = X·(1 - u/(e^u - 1)),   u = τ/X,   X = (Interval + time known)/(1 + changes)
//
// on average. τ is taken at the last change, so that the index moves with the chunk alone and one heap
// holds it. For age the missing pages cost Σ (now - since) instead of d, and the same steps give
//
//	w = V·Σ ((now - taken)² - (since - taken)²)/2,
//
// a parabola in time: a kinetic tournament holds it (see tournament).
//
// A downloader adds Patience/left to each chunk that it waits for, left being how many those are: Smith's
// rule, in units of fresh life; times its N over data, and for age as Patience²/2, the cost of a page that
// is stale for so long. When it gets a chunk, its others are keyed anew.
//
// O(log n + pages) a touch, a pick O(1); for age both O(log² n) on average; O(log n) more for each chunk
// that a downloader still waits for when it gets one. 32 bytes a chunk (80 for age) and 6 a page.
type Lifetime struct {
	objective Objective
	d         *Demand
	heap      heap       // freshness
	parabolas tournament // age
	first     []int32    // by chunk: the place of its first page among those that follow
	changes   []uint16   // by page: how many were seen; no more than 65,535
	intervals []float32  // by page: X in s when a client began to lack it; 0 if none has
	haste     []float64  // by chunk: Σ of the waiting downloaders' pace
	pace      []float64  // by client: what a downloader adds to each of its chunks
	counted   []int32    // by client: the chunks whose haste has its pace
}

// NewLifetime returns a Lifetime with that objective.
func NewLifetime(objective Objective) *Lifetime {
	if objective.Patience == 0 {
		objective.Patience = DefaultPatience
	}
	return &Lifetime{objective: objective}
}

// Attach implements Scheduler.
func (s *Lifetime) Attach(d *Demand) { s.d = d }

// Touch implements Scheduler.
func (s *Lifetime) Touch(i int, now float64) {
	needed := s.d.Needed(i)
	switch {
	case s.objective.Age && needed:
		s.parabolas.set(i, s.parabola(i), now)
	case s.objective.Age:
		s.parabolas.remove(i, now)
	case needed:
		s.heap.set(entry{s.index(i), int32(i), int32(i)})
	default:
		s.heap.remove(int32(i))
	}
}

// Change implements ChangeFollower.
func (s *Lifetime) Change(i, page int, now float64) {
	if s.objective.Age {
		return
	}
	s.learn(i)
	at := int(s.first[i]) + page
	if s.changes[at] < math.MaxUint16 {
		s.changes[at]++
	}
	if s.d.lacked[i]>>page&1 == 0 {
		known := now - s.d.chunks[i].added
		s.intervals[at] = float32((s.d.options.Interval + known) / float64(1+int(s.changes[at])))
	}
}

// learn makes room for the pages of the chunks up to i.
func (s *Lifetime) learn(i int) {
	for len(s.first) <= i {
		s.first = append(s.first, int32(len(s.changes)))
		pages := s.d.chunks[len(s.first)-1].Pages
		s.changes = append(s.changes, make([]uint16, pages)...)
		s.intervals = append(s.intervals, make([]float32, pages)...)
	}
}

// index returns the index of a chunk, for freshness.
func (s *Lifetime) index(i int) float64 {
	c := &s.d.chunks[i]
	index := 0.0
	for at := range c.groups {
		g := &c.groups[at]
		if g.paused || g.downloads {
			continue
		}
		lives := 0.0
		for missing := g.missing; missing != 0; missing &= missing - 1 {
			lives += endedLife(s.interval(i, bits.TrailingZeros64(missing)), g.latest-g.taken)
		}
		index += s.worth(g) * lives
	}
	return (c.Weight*index + s.hasteOf(i)) / s.d.Cost(i)
}

// interval returns the mean time between changes of a page, as estimated when it went missing.
func (s *Lifetime) interval(i, page int) float64 {
	if i < len(s.first) {
		if interval := s.intervals[int(s.first[i])+page]; interval > 0 {
			return float64(interval)
		}
	}
	return s.d.options.Interval
}

// endedLife returns the mean length of an exponential life that has ended by tau, if the mean of all is
// mean: mean·(1 - u/(e^u - 1)), u = tau/mean. It is between 0 and mean, and about tau/2 for small u.
func endedLife(mean, tau float64) float64 {
	u := tau / mean
	if u < 1e-5 { // the next term, u²/12 of the mean, is below rounding of what it is added to
		return tau / 2
	}
	return mean * (1 - u/math.Expm1(u))
}

// parabola returns I of a chunk, for age, as a function of time.
func (s *Lifetime) parabola(i int) curve {
	c := &s.d.chunks[i]
	var p curve
	for at := range c.groups {
		if g := &c.groups[at]; !g.paused && !g.downloads && g.missing != 0 {
			p = p.add(s.worth(g)*c.Weight/2, float64(bits.OnesCount64(g.missing)), g.square, g.taken)
		}
	}
	p.level += s.hasteOf(i)
	cost := s.d.Cost(i)
	p.bend, p.slope, p.level = p.bend/cost, p.slope/cost, p.level/cost
	return p
}

// add returns the curve plus worth·(missing·(now-taken)² - square).
func (c curve) add(worth, missing, square, taken float64) curve {
	if c.bend == 0 {
		c.from = taken
	}
	ago := c.from - taken
	c.bend += worth * missing
	c.slope += worth * missing * 2 * ago
	c.level += worth * (missing*ago*ago - square)
	return c
}

// worth returns V of a group: what a page is worth to it.
func (s *Lifetime) worth(g *group) float64 {
	if s.objective.OverData {
		return g.weight
	}
	return g.share
}

// Need implements PairFollower.
func (s *Lifetime) Need(k, slot, i int, now float64) {
	if !s.d.clients[k].Downloader {
		return
	}
	s.know(k, i)
	if s.counted[k] == 0 {
		s.pace[k] = s.paceOf(k)
	}
	s.counted[k]++
	s.haste[i] += s.pace[k]
}

// Drop implements PairFollower.
func (s *Lifetime) Drop(k, slot, i int, now float64) {
	c := &s.d.clients[k]
	if !c.Downloader {
		return
	}
	s.counted[k]--
	s.haste[i] -= s.pace[k]
	pace := s.paceOf(k)
	if pace == s.pace[k] || s.counted[k] == 0 {
		return
	}
	for _, other := range c.chunks {
		if other >= 0 && int(other) != i {
			s.haste[other] += pace - s.pace[k]
			s.Touch(int(other), now)
		}
	}
	s.pace[k] = pace
}

// paceOf returns what a downloader adds to each chunk that it waits for.
func (s *Lifetime) paceOf(k int) float64 {
	c := &s.d.clients[k]
	pace := s.objective.Patience
	if s.objective.Age {
		pace *= pace / 2
	}
	if s.objective.OverData {
		pace *= c.pages
	}
	return pace * c.Weight / float64(max(c.lacks, 1))
}

// hasteOf returns what the downloaders add to a chunk: none, exactly, if none waits for it.
func (s *Lifetime) hasteOf(i int) float64 {
	if i >= len(s.haste) {
		return 0
	}
	for at := range s.d.chunks[i].groups {
		if g := &s.d.chunks[i].groups[at]; g.downloads && !g.paused {
			return s.haste[i]
		}
	}
	s.haste[i] = 0
	return 0
}

// know makes room for a client and a chunk.
func (s *Lifetime) know(k, i int) {
	for len(s.pace) <= k {
		s.pace = append(s.pace, 0)
		s.counted = append(s.counted, 0)
	}
	for len(s.haste) <= i {
		s.haste = append(s.haste, 0)
	}
}

// Pick implements Scheduler.
func (s *Lifetime) Pick(now float64) (int, bool) {
	if s.objective.Age {
		return s.parabolas.top(now)
	}
	top, ok := s.heap.top()
	return int(top.id), ok
}
