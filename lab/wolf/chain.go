package wolf

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"freshet/allocate"
	"freshet/change"
	"freshet/schedule"
)

// A chain crawls pages whose laws are known, interval after interval: it allocates crawls over some
// intervals ahead, to pages whose copies have the ages that the crawls so far left them with, and schedules
// those that come first into the slots of the interval, quasi-deterministic pages before the others.
//
// It allocates over more than one interval because a page that is worth a crawl every third interval gains
// little by one within the next.
type chain struct {
	problem
	ahead   float64         // intervals
	now     float64         // start of the interval at hand, in intervals
	crawled []float64       // by page, the time of the last crawl
	curves  []*change.Quasi // by page, over the intervals ahead; nil unless quasi-deterministic
	score   chainScore
}

// A chainScore adds up the time from one time on in which copies are expected to be fresh, by weight.
type chainScore struct{ from, fresh, weights float64 }

// newChain returns a chain that begins with copies of ages up to two budgets' turns, and scores from a
// time on.
func newChain(p problem, ahead, perPage, from float64) *chain {
	c := &chain{problem: p, ahead: ahead, crawled: make([]float64, p.Len()), curves: make([]*change.Quasi, p.Len())}
	c.score.from = from
	for i := range c.crawled {
		_, phase := math.Modf(float64(i+1) * (math.Sqrt(5) - 1) / 2)
		c.crawled[i] = -2 * phase / perPage
		c.score.weights += p.weight(i)
	}
	return c
}

// run crawls for some intervals with crawlers of so many slots each, and returns the mean freshness.
func (c *chain) run(ctx context.Context, intervals, slots int) (float64, error) {
	starts, err := schedule.Slots([]schedule.Crawlers{{Count: crawlers, Slots: slots}}, 1)
	if err != nil {
		return 0, err
	}
	for c.now = 0; c.now < float64(intervals); c.now++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := c.interval(starts); err != nil {
			return 0, err
		}
	}
	for i := range c.crawled {
		c.visit(i, c.now)
	}
	return c.score.fresh / (c.now - c.score.from) / c.score.weights, nil
}

// interval allocates, schedules and crawls.
func (c *chain) interval(slots []schedule.Slot) error {
	for i := range c.curves {
		if c.recipe[i%10] != quasi {
			continue
		}
		curve, err := c.quasiAhead(c.rhythm(i), c.crawled[i])
		if err != nil {
			return fmt.Errorf("page %d: %w", i, err)
		}
		c.curves[i] = curve
	}
	crawls, err := allocate.Multiplier(c, int(float64(len(slots))*c.ahead))
	if err != nil {
		return err
	}
	hurried, others := c.first(crawls, len(slots))
	done, free := c.place(hurried, slots)
	rest, _ := c.place(others, free)
	done = append(done, rest...)
	slices.SortFunc(done, func(a, b crawl) int { return cmp.Compare(a.at, b.at) })
	for _, d := range done {
		c.visit(d.page, c.now+d.at)
	}
	return nil
}

// A crawl is that of a page, from the start of the interval at hand.
type crawl struct {
	at   float64
	page int
}

// first returns the ideal times of the n crawls that come first. Those of quasi-deterministic pages are apart, to
// choose their slots before the others: while they wait the copy is stale, but a page of another law loses only by
// the square of what its crawl is off.
func (c *chain) first(crawls []int32, n int) (hurried, others []crawl) {
	var all []crawl
	var times []float64
	for i, x := range crawls {
		times = c.curve(i).Times(times[:0], int(x))
		for _, at := range times {
			all = append(all, crawl{at, i})
		}
	}
	slices.SortFunc(all, func(a, b crawl) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.page, b.page)) })
	for _, ideal := range all[:min(n, len(all))] {
		if c.curves[ideal.page] != nil {
			hurried = append(hurried, ideal)
		} else {
			others = append(others, ideal)
		}
	}
	return hurried, others
}

// place schedules crawls, and returns them at the times of their slots, and the slots that are left. Crawls of
// quasi-deterministic pages are not before their ideal times.
func (c *chain) place(ideal []crawl, slots []schedule.Slot) (placed []crawl, free []schedule.Slot) {
	tasks := make([]schedule.Task, len(ideal))
	for k, at := range ideal {
		tasks[k] = schedule.Task{Ideal: at.at, Release: c.curves[at.page] != nil}
	}
	taken := make([]bool, len(slots))
	for k, slot := range schedule.Solve(tasks, slots).Slot {
		if slot >= 0 {
			taken[slot] = true
			placed = append(placed, crawl{slots[slot].Start, ideal[k].page})
		}
	}
	for k, slot := range slots {
		if !taken[k] {
			free = append(free, slot)
		}
	}
	return placed, free
}

// visit crawls page i, and scores its copy up to then.
func (c *chain) visit(i int, at float64) {
	if from := math.Max(c.crawled[i], c.score.from); at > from {
		c.score.fresh += c.weight(i) * c.fresh(i, from, at)
	}
	c.crawled[i] = at
}

// fresh returns the time in which the copy of page i is expected to be fresh.
func (c *chain) fresh(i int, from, to float64) float64 {
	if c.curves[i] != nil {
		return fresh(c.rhythm(i), c.crawled[i], from, to)
	}
	upTo := func(length float64) float64 {
		_, fresh := c.process(i).Staleness(length)
		return length * fresh
	}
	return upTo(to-c.crawled[i]) - upTo(from-c.crawled[i])
}

// quasiAhead returns the curve of a quasi-deterministic page over the intervals ahead.
func (c *chain) quasiAhead(r change.Rhythm, crawled float64) (*change.Quasi, error) {
	return r.Over(c.now, c.ahead, 1-math.Pow(1-r.Probability, r.Count(crawled, c.now)))
}

// curve returns what crawls of page i save over the intervals ahead. It is good until the next call.
func (c *chain) curve(i int) change.Curve {
	if q := c.curves[i]; q != nil {
		return q
	}
	return change.Page{Process: c.process(i), Interval: c.ahead, Age: math.Max(0, c.now-c.crawled[i])}
}

// Gain returns what one crawl more of page i saves.
func (c *chain) Gain(i, x int) float64 { return c.weight(i) * c.curve(i).Gain(x) }

// Crawls returns about how many crawls of page i save more than gain each.
func (c *chain) Crawls(i int, gain float64) float64 {
	if c.weight(i) == 0 {
		return 0
	}
	return c.curve(i).Crawls(gain / c.weight(i))
}
