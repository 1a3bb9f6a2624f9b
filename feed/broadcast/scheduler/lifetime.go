package scheduler

import "math/bits"

// Lifetime sends the chunk that bought the most fresh life a byte for the clients that lack it. With a price w on
// sending, each chunk can be decided alone. Changes are Poisson processes and have no memory. So all that matters
// of a chunk is how many of its pages are missing. Let j pages be missing for t_j on average before one more goes
// missing, and let a page be worth V. A policy that sends the chunk whenever d pages are missing costs (w +
// V·Σ_{j<d} j·t_j)/Σ_{j<d} t_j a second. The cost is least at the d where it equals the cost of waiting, V·d. So d
// is best at the price
//
//	w = V·Σ_{j<d} (d-j)·t_j,   V = Σ_k weight_k/N_k
//
// (over data V = Σ_k weight_k). This is an index in the sense of Whittle (1988): the expected fresh lives that have
// ended. A chunk that misses only one fast page waits and collects changes. 1/t_j is the sum of the change rates of
// the pages that were not missing then. The rate of a page is
//
//	(1 + changes seen)/(Interval + time known),
//
// A page that goes missing adds a term to sums of its group (see group.lives); no other page is read. The changes
// of a missing page still tell its rate. Whenever they have doubled, the sums of the groups that lack the page are
// computed again. Only a touch changes an index, so one ranking holds all of them.
//
// If pages have sizes, only the missing pages are sent. A page that goes missing while the chunk waits adds its
// bytes later. By the same argument the bytes of the missing pages enter w times
//
//	1 - r·Σ_{j<d} t_j/d,
//
// where r is the change rate of the pages that are not missing. The factor is 1 for the last page of a chunk. It is
// small for a slow page among fast ones: such a page need not wait if a sending has no fixed cost.
//
// For age the missing pages cost Σ (now - since) instead of d. With the observed lives,
//
//	w = V·Σ ((now - taken)² - (since - taken)²)/2,
//
// This is a parabola in time. A kinetic tournament holds it (see tournament).
//
// A downloader that waits for n chunks adds Patience/n to each of them: Smith's rule, in units of fresh life. Over
// data the term is multiplied by its N. For age Patience²/2 replaces Patience: the cost of a page that is stale for
// that long. When a downloader gets a chunk, its other chunks get new keys.
//
// A touch is mostly O(1) and at most O(log n); a pick is O(1). For age both are O(log² n) on average. When a
// downloader gets a chunk, each chunk that it still waits for costs O(log n). Memory: 17 bytes a chunk (56 for
// age), and 2 a page.
type Lifetime struct {
	objective Objective
	d         *Demand
	ranking   ranking    // for freshness
	parabolas tournament // for age
	haste     []float64  // by chunk: Σ of the waiting downloaders' pace
	pace      []float64  // by client: what a downloader adds to each of its chunks
	counted   []int32    // by client: the chunks whose haste includes its pace
}

// NewLifetime returns a Lifetime with the given objective.
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

// hasteOf returns what the downloaders add to a chunk. It is exactly 0 if none waits for it.
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
