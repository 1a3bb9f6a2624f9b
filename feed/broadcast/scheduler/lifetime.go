package scheduler

import "math/bits"

// Lifetime sends the chunk that has bought the most fresh life, a byte, for those that lack it. Under a price
// for sending each chunk stands alone. Changes are Poisson processes, which do not remember, so all that
// matters of a chunk that was sent is how many of its pages are missing by now: j of them for a time t_j, on
// average, before one more is. A page being worth V, to send it whenever d are missing, at a price w, costs
// (w + V·Σ_{j<d} j·t_j)/Σ_{j<d} t_j a second. That is least at the d where waiting on, V·d, costs as much. So
// the price at which d is just right is
//
//	w = V·Σ_{j<d} (d-j)·t_j,   V = Σ_k weight_k/N_k
//
// (over data V = Σ_k weight_k): an index in the sense of Whittle (1988), the fresh lives that have ended, as
// they were to be expected. A chunk of which one fast page is missing waits and collects changes. 1/t_j is the
// changes a second of the pages that were not missing then, each at the rate
//
//	(1 + changes seen)/(Interval + time known),
//
// so a page that goes missing adds a term to sums that its group keeps (see group.lives), and nobody looks at
// the others. A page that changes on while it is missing is better known: whenever its changes have doubled, the
// sums of those who lack it are reckoned again. Nothing but a touch moves the index, and one ranking holds it.
//
// Where pages have sizes, only the missing are sent, and one that will go missing while the chunk waits costs
// its bytes then. The same steps put into w, for the bytes of the missing pages, those times
//
//	1 - r·Σ_{j<d} t_j/d,
//
// r being the changes a second of the pages that are not missing: all of it for the last page of a chunk, little
// for a slow page among fast ones, which need not wait if a sending has no costs of its own.
//
// For age the missing pages cost Σ (now - since) instead of d, and with the lives as they were
//
//	w = V·Σ ((now - taken)² - (since - taken)²)/2,
//
// a parabola in time: a kinetic tournament holds it (see tournament).
//
// A downloader adds Patience/left to each chunk that it waits for, left being how many those are: Smith's
// rule, in units of fresh life; times its N over data, and for age as Patience²/2, the cost of a page that
// is stale for so long. When it gets a chunk, its others are keyed again.
//
// A touch O(1) mostly and O(log n) at most, a pick O(1); for age both O(log² n) on average. O(log n) more for
// each chunk that a downloader still waits for when it gets one. 17 bytes a chunk (56 for age), and 2 a page.
type Lifetime struct {
	objective Objective
	d         *Demand
	ranking   ranking    // for freshness
	parabolas tournament // for age
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
func (s *Lifetime) Attach(d *Demand) {
	s.d = d
	if !s.objective.Age {
		d.countChanges()
	}
}

// Touch implements Scheduler.
func (s *Lifetime) Touch(i int, now float64) {
	needed := s.d.Needed(i)
	switch {
	case s.objective.Age && needed:
		s.parabolas.set(i, s.parabola(i), now)
	case s.objective.Age:
		s.parabolas.remove(i, now)
	case needed:
		s.ranking.set(entry{s.index(i), int32(i), int32(i)})
	default:
		s.ranking.remove(int32(i))
	}
}

// index returns the index of a chunk, for freshness.
func (s *Lifetime) index(i int) (index float64) {
	c := &s.d.chunks[i]
	for g := &c.head; g != nil; g = g.next {
		if g.paused || g.downloads || g.missing == 0 {
			continue
		}
		cost := s.d.costOf(i, g.avoidable(s.d.known(i, g.latest)))
		index += s.worth(g) * c.Weight * float64(g.lives) / cost
	}
	if haste := s.hasteOf(i); haste > 0 {
		index += haste / s.d.Cost(i)
	}
	return index
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

// Pick implements Scheduler.
func (s *Lifetime) Pick(now float64) (int, bool) {
	if s.objective.Age {
		return s.parabolas.top(now)
	}
	top, ok := s.ranking.top()
	return int(top.id), ok
}
