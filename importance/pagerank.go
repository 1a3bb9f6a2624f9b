package importance

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Damping is the probability with which PageRank's surfer follows a link.
const Damping = 0.85

// Ranker computes the PageRank of one graph. It takes 4 bytes per link and 8 per page, and 24 more per page while it
// computes ranks. It is immutable and safe for concurrent use.
type Ranker struct {
	in  *Graph   // the transposed graph, without repeated links and links from a page to itself
	out []uint32 // out-degree of each page in it
}

// NewRanker returns a Ranker for g. It does not keep g. Repeated links of a page count once; links from a page to
// itself do not count. O(pages + links).
func NewRanker(g *Graph) *Ranker {
	r := &Ranker{in: g.Transpose(), out: make([]uint32, g.Pages())}
	r.in.simplify()
	for _, source := range r.in.targets {
		r.out[source]++
	}
	return r
}

// simplify removes self-links. It also removes repeats, if each page's links are sorted.
func (g *Graph) simplify() {
	kept, begin := uint32(0), uint32(0)
	for page := range g.Pages() {
		end := g.start[page+1]
		last := uint32(page) // none equals it after self-links are skipped
		for _, target := range g.targets[begin:end] {
			if target != uint32(page) && target != last {
				g.targets[kept] = target
				kept++
				last = target
			}
		}
		begin = end
		g.start[page+1] = kept
	}
	g.targets = g.targets[:kept]
}

// Rerank computes the ranks of a graph that has grown since before was computed. before has a rank for each page, or
// for the first ones, or is nil. A dozen iterations are enough, because they start from before. workers is
// RankOptions.Workers.
func Rerank(g *Graph, before []float64, workers int) ([]float64, error) {
	if len(before) == 0 {
		before = nil
	}
	ranks, err := NewRanker(g).Rank(RankOptions{Start: before, Iterations: 12, Tolerance: 1e-7, Workers: workers})
	return ranks.Of, err
}

// RankOptions configure the computation of ranks. The zero value is the textbook's PageRank.
type RankOptions struct {
	Damping    float64   // 0 is Damping
	Teleport   []float64 // weights of the pages in the teleport vector; nil: all equal
	Start      []float64 // ranks to start from, such as those of a smaller graph; missing pages start at 0
	Tolerance  float64   // stop when the sum of all changes is less; 0: 1e-9
	Iterations int       // maximum; 0: 200
	Workers    int       // 0: one per processor
}

// Ranks are the ranks of pages, which sum to 1, and how they were computed.
type Ranks struct {
	Of         []float64 // by page
	Iterations int
	Change     float64 // sum of all pages' changes in the last iteration
}

// Rank computes PageRank by power iteration. With probability Damping the surfer follows one of the page's links, else
// the teleport vector; from a page without links it always follows the teleport vector. The order of the sums does not
// depend on the number of workers, so the ranks are the same to the last bit. A graph without pages has no ranks. Rank
// returns an error if an option is out of range. O(pages + links) per iteration.
func (r *Ranker) Rank(o RankOptions) (Ranks, error) {
	if err := o.settle(r.in.Pages()); err != nil {
		return Ranks{}, err
	}
	if r.in.Pages() == 0 {
		return Ranks{}, nil
	}
	s := newIteration(r, o)
	ranks := Ranks{Change: math.Inf(1)}
	for ranks.Iterations < o.Iterations && ranks.Change >= o.Tolerance {
		ranks.Change = s.step()
		ranks.Iterations++
	}
	ranks.Of = s.ranks
	return ranks, nil
}

// settle checks the options and sets the defaults.
func (o *RankOptions) settle(pages int) error {
	if o.Damping == 0 {
		o.Damping = Damping
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-9
	}
	if o.Iterations == 0 {
		o.Iterations = 200
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	switch {
	case !(o.Damping > 0 && o.Damping < 1):
		return fmt.Errorf("importance: damping %v: want more than 0 and less than 1", o.Damping)
	case !(o.Tolerance > 0):
		return fmt.Errorf("importance: tolerance %v: want more than 0", o.Tolerance)
	case o.Iterations < 0:
		return fmt.Errorf("importance: %d iterations: want 1 or more", o.Iterations)
	case o.Teleport != nil && len(o.Teleport) != pages:
		return fmt.Errorf("importance: %d teleport weights: want one for each of %d pages", len(o.Teleport), pages)
	case len(o.Start) > pages:
		return fmt.Errorf("importance: %d ranks to start from: want at most one for each of %d pages", len(o.Start), pages)
	}
	if err := checkWeights("teleport weight", o.Teleport); err != nil {
		return err
	}
	return checkWeights("rank to start from", o.Start)
}

// checkWeights returns an error if a weight is negative or all are 0. No weights are valid.
func checkWeights(what string, weights []float64) error {
	sum := 0.0
	for page, w := range weights {
		if !(w >= 0 && w <= math.MaxFloat64) {
			return fmt.Errorf("importance: %s %v of page %d: want 0 or more", what, w, page)
		}
		sum += w
	}
	if len(weights) > 0 && !(sum > 0 && sum <= math.MaxFloat64) {
		return fmt.Errorf("importance: %ss sum to %v: want more than 0", what, sum)
	}
	return nil
}

// blockPages is the number of pages that a worker processes at a time.
const blockPages = 1 << 13

// iteration is a computation under way.
type iteration struct {
	*Ranker
	o            RankOptions
	ranks, next  []float64
	given        []float64 // what each of a page's links carries
	teleportUnit float64   // one over the sum of the teleport weights, or over the pages
	lost, change []float64 // of each block: rank on dangling pages, sum of changes
}

func newIteration(r *Ranker, o RankOptions) *iteration {
	n := r.in.Pages()
	blocks := (n + blockPages - 1) / blockPages
	s := &iteration{
		Ranker: r, o: o, ranks: make([]float64, n), next: make([]float64, n), given: make([]float64, n),
		teleportUnit: 1 / float64(n), lost: make([]float64, blocks), change: make([]float64, blocks),
	}
	if o.Teleport != nil {
		s.teleportUnit = 1 / sum(o.Teleport)
	}
	if o.Start == nil {
		for page := range s.ranks {
			s.ranks[page] = s.teleport(page)
		}
		return s
	}
	scale := 1 / sum(o.Start)
	for page, rank := range o.Start {
		s.ranks[page] = scale * rank
	}
	return s
}

// teleport returns the probability that the teleport vector leads to a page.
func (s *iteration) teleport(page int) float64 {
	if s.o.Teleport == nil {
		return s.teleportUnit
	}
	return s.teleportUnit * s.o.Teleport[page]
}

// step computes the next ranks and returns the sum of all changes.
func (s *iteration) step() float64 {
	s.blocks(func(block, from, to int) {
		lost := 0.0
		for page := from; page < to; page++ {
			if s.out[page] == 0 {
				lost += s.ranks[page]
			} else {
				s.given[page] = s.o.Damping * s.ranks[page] / float64(s.out[page])
			}
		}
		s.lost[block] = lost
	})
	anywhere := 1 - s.o.Damping + s.o.Damping*sum(s.lost)
	s.blocks(func(block, from, to int) {
		change := 0.0
		for page := from; page < to; page++ {
			rank := anywhere * s.teleport(page)
			for _, source := range s.in.Out(uint32(page)) {
				rank += s.given[source]
			}
			s.next[page] = rank
			change += math.Abs(rank - s.ranks[page])
		}
		s.change[block] = change
	})
	s.ranks, s.next = s.next, s.ranks
	return sum(s.change)
}

// blocks calls work for all pages, block by block, from as many goroutines as there are workers.
func (s *iteration) blocks(work func(block, from, to int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(s.o.Workers, len(s.lost)) {
		workers.Go(func() {
			for {
				block := int(next.Add(1)) - 1
				if block >= len(s.lost) {
					return
				}
				work(block, block*blockPages, min((block+1)*blockPages, len(s.ranks)))
			}
		})
	}
	workers.Wait()
}

func sum(x []float64) (total float64) {
	for _, v := range x {
		total += v
	}
	return total
}
