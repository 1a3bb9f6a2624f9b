package refresh

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"freshet/schedule/sequence"
)

// An Arrangement makes a cycle of visits to pages numbered from 0: Golden, Balanced or Randomized.
type Arrangement func(pages *sequence.Pages, length int, random *rand.Rand) ([]int32, error)

// Golden gives every page its visits in the lower bound, and places the visits by the golden ratio.
func Golden(pages *sequence.Pages, length int, _ *rand.Rand) ([]int32, error) {
	length, err := sequence.Fibonacci(float64(length))
	if err != nil {
		return nil, err
	}
	counts, err := bounded(pages, length)
	if err != nil {
		return nil, err
	}
	return sequence.Golden(counts)
}

// Balanced gives every page its visits in the lower bound, and splits the cycle by regular words.
func Balanced(pages *sequence.Pages, length int, _ *rand.Rand) ([]int32, error) {
	counts, err := bounded(pages, length)
	if err != nil {
		return nil, err
	}
	return sequence.Balanced(counts), nil
}

// Randomized draws the page of every visit independently, with the optimal probabilities.
func Randomized(pages *sequence.Pages, length int, random *rand.Rand) ([]int32, error) {
	frequencies, _ := pages.Randomized()
	cycle := make([]int32, 0, length)
	for page := range sequence.Draw(frequencies, random) {
		if cycle = append(cycle, page); len(cycle) >= length {
			break
		}
	}
	return cycle, nil
}

// bounded returns the number of visits of each page in a cycle, in the proportions of the lower bound.
func bounded(pages *sequence.Pages, length int) ([]int, error) {
	frequencies, _ := pages.Bound()
	return sequence.Counts(frequencies, length)
}

// visitsPerPage is the mean number of visits of a page in a cycle.
const visitsPerPage = 4

// Sequence follows a cycle of visits (Liu and Nain 2005, section 1.3). It makes a new cycle from its beliefs when the
// last one has ended, and when the number of pages has doubled. A page that is added in between is first visited in
// the next cycle. Next costs O(1) on average, unless most pages are out. A new cycle costs O(n log n).
type Sequence struct {
	learner learner
	arrange Arrangement
	budget  float64
	random  *rand.Rand
	cycle   []ID
	at      int // the next visit
}

// NewSequence returns the policy for a budget in crawls a second, which must be positive. Only arrangements that draw
// use random.
func NewSequence(arrange Arrangement, budget float64, o Learning, random *rand.Rand) (*Sequence, error) {
	if !(budget > 0) || math.IsInf(budget, 1) {
		return nil, fmt.Errorf("refresh: budget of %v crawls a second: want a positive number", budget)
	}
	o.Shared = false
	return &Sequence{learner: newLearner(o), arrange: arrange, budget: budget, random: random}, nil
}

// Add adds the page, for the next cycle.
func (s *Sequence) Add(id ID, page Page) {
	s.learner.add(id, page)
}

// Remove forgets the page.
func (s *Sequence) Remove(id ID) {
	s.learner.remove(id)
}

// Weigh gives the page another weight, from the next cycle on.
func (s *Sequence) Weigh(id ID, weight float64) { s.learner.weigh(id, weight) }

// Visited learns from the visit.
func (s *Sequence) Visited(id ID, v Visit) { s.learner.visited(id, v) }

// Next returns the page of the cycle's next visit. It skips pages that are out or removed.
func (s *Sequence) Next(now float64) (ID, float64, bool) {
	s.learner.learn(now, nil, func(ID) {})
	for range 2 { // what is left of this cycle, then a new one
		if s.learner.doubled() {
			s.at = len(s.cycle)
		}
		for s.at < len(s.cycle) {
			id := s.cycle[s.at]
			s.at++
			if page := &s.learner.pages[id]; page.marks.has(there) && !page.marks.has(out) {
				page.marks.set(out, true)
				return id, now, true
			}
		}
		s.plan()
	}
	return 0, math.Inf(1), false
}

// plan makes the next cycle.
func (s *Sequence) plan() {
	var ids []ID
	var rates, costs []float64
	for i := range s.learner.pages {
		page := &s.learner.pages[i]
		if !page.marks.has(there) {
			continue
		}
		belief := s.learner.posterior(ID(i))
		ids, rates, costs = append(ids, ID(i)), append(rates, belief.Mean()), append(costs, float64(page.weight))
	}
	s.cycle, s.at, s.learner.planned = s.cycle[:0], 0, s.learner.known
	if len(ids) == 0 {
		return
	}
	if slices.Max(costs) == 0 { // then all have equal weight
		costs = nil
	}
	pages, err := sequence.New(rates, costs, sequence.Constant(1/s.budget))
	if err != nil {
		panic(err) // rates of the grid and weights are what New takes
	}
	length := min(max(2, visitsPerPage*len(ids)), sequence.MaxCycle)
	cycle, err := s.arrange(pages, length, s.random)
	if err != nil {
		panic(err) // more pages than a cycle may have visits
	}
	for _, page := range cycle {
		s.cycle = append(s.cycle, ids[page])
	}
}
