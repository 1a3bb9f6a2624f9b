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
// on average. τ is taken at the last change, so that the index moves with the chunk alone and one ranking
// holds it. A touch puts a chunk there under a guess, E = τ/2, which is never less; only when that comes
// out highest is E computed, which is needed once or twice a pick, not for each page that goes stale.
//
// For age the missing pages cost Σ (now - since) instead of d, and the same steps give
//
//	w = V·Σ ((now - taken)² - (since - taken)²)/2,
//
// a parabola in time: a kinetic tournament holds it (see tournament).
//
// A downloader adds Patience/left to each chunk that it waits for, left being how many those are: Smith's
// rule, in units of fresh life; times its N over data, and for age as Patience²/2, the cost of a page that
// is stale for so long. When it gets a chunk, its others are keyed anew.
//
// A touch O(1) mostly and O(log n) at most; a pick O(log n + pages) for each chunk under a guess that it
// comes upon, each but once after a touch. For age both O(log² n) on average. O(log n) more for each chunk
// that a downloader still waits for when it gets one. 30 bytes a chunk (80 for age) and 6 a page.
type Lifetime struct {
	objective Objective
	d         *Demand
	ranking   ranking    // for freshness
	parabolas tournament // for age
	guessed   []bool     // by chunk: it stands under a guess
	news      []sighting // changes that are not yet counted
	first     []int32    // by chunk: the place of its first page among those that follow
	changes   []uint16   // by page: how many were seen; no more than 65,535
	intervals []float32  // by page: X in s when a client began to lack it; 0 if none has
	haste     []float64  // by chunk: Σ of the waiting downloaders' pace
	pace      []float64  // by client: what a downloader adds to each of its chunks
	counted   []int32    // by client: the chunks whose haste has its pace
}

// A sighting is a change that was seen.
type sighting struct {
	at    float64
	chunk int32
	page  uint8
	first bool // a client begins to lack the page with it
}

// sightings is how many are noted at most before they are counted.
const sightings = 512

// NewLifetime returns a Lifetime with that objective.
func NewLifetime(objective Objective) *Lifetime {
	if objective.Patience == 0 {
		objective.Patience = DefaultPatience
	}
	return &Lifetime{objective: objective, news: make([]sighting, 0, sightings)}
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
		s.rank(i, s.index(i, true), true)
	default:
		s.ranking.remove(int32(i))
	}
}

// rank puts a chunk under its index, or a guess that is not less.
func (s *Lifetime) rank(i int, index float64, guessed bool) {
	if i >= len(s.guessed) {
		s.guessed = append(s.guessed, make([]bool, len(s.d.chunks)-len(s.guessed))...)
	}
	s.guessed[i] = guessed
	s.ranking.set(entry{index, int32(i), int32(i)})
}

// Change implements ChangeFollower. It only notes the change.
func (s *Lifetime) Change(i, page int, now float64) {
	if s.objective.Age {
		return
	}
	if len(s.news) == cap(s.news) {
		s.learn()
	}
	s.news = append(s.news, sighting{now, int32(i), uint8(page), s.d.lacked[i]>>page&1 == 0})
}

// learn counts the changes noted. Alone each would wait for memory; in a row the processor fetches many
// at once.
func (s *Lifetime) learn() {
	s.meet()
	for _, seen := range s.news {
		at := int(s.first[seen.chunk]) + int(seen.page)
		if s.changes[at] < math.MaxUint16 {
			s.changes[at]++
		}
		if seen.first {
			known := seen.at - s.d.chunks[seen.chunk].added
			s.intervals[at] = float32((s.d.options.Interval + known) / float64(1+int(s.changes[at])))
		}
	}
	s.news = s.news[:0]
}

// meet makes room for the pages of new chunks.
func (s *Lifetime) meet() {
	pages := len(s.changes)
	for len(s.first) < len(s.d.chunks) {
		s.first = append(s.first, int32(pages))
		pages += s.d.chunks[len(s.first)-1].Pages
	}
	s.changes = append(s.changes, make([]uint16, pages-len(s.changes))...)
	s.intervals = append(s.intervals, make([]float32, pages-len(s.intervals))...)
}

// index returns the index of a chunk, for freshness, or a guess that is not less and looks at no page.
func (s *Lifetime) index(i int, guess bool) float64 {
	c := &s.d.chunks[i]
	index := 0.0
	for g := &c.head; g != nil; g = g.next {
		switch {
		case g.paused || g.downloads || g.missing == 0:
		case guess:
			index += s.worth(g) * longestLives(g)
		default:
			index += s.worth(g) * s.expectedLives(i, g)
		}
	}
	return (c.Weight*index + s.hasteOf(i)) / s.d.Cost(i)
}

// longestLives returns no less than expectedLives: a life that has ended by τ lasted at most τ/2 on average.
func longestLives(g *group) float64 {
	const rounding = 1 + 1e-9 // more than that of endedLife
	return float64(bits.OnesCount64(g.missing)) * (g.latest - g.taken) / 2 * rounding
}

// expectedLives returns how long the lives of the pages that a group lacks lasted on average, summed.
func (s *Lifetime) expectedLives(i int, g *group) (lives float64) {
	for missing := g.missing; missing != 0; missing &= missing - 1 {
		lives += endedLife(s.interval(i, bits.TrailingZeros64(missing)), g.latest-g.taken)
	}
	return lives
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
	for g := &c.head; g != nil; g = g.next {
		if !g.paused && !g.downloads && g.missing != 0 {
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
	for g := &s.d.chunks[i].head; g != nil; g = g.next {
		if g.downloads && !g.paused {
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

// Pick implements Scheduler. Whoever stands highest under a guess is put where it belongs, until one does.
func (s *Lifetime) Pick(now float64) (int, bool) {
	if s.objective.Age {
		return s.parabolas.top(now)
	}
	s.learn()
	for {
		top, ok := s.ranking.top()
		if !ok || !s.guessed[top.id] {
			return int(top.id), ok
		}
		s.rank(int(top.id), s.index(int(top.id), false), false)
	}
}
