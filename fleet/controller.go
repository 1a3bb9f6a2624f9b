package fleet

import (
	"fmt"
	"math"
	"sort"
)

// Control is what a Controller goes by.
type Control struct {
	Rule    Rule
	Most    int     // r: the most fetchers, at least 1
	Queue   int     // K: places of the queue, those of the pages in processing included
	Workers int     // pages processed at the same time; while the queue has fewer, a worker starves
	Gamma   float64 // γ, in pages a second; 0 is a hundred times μ
}

// defaultGamma is γ/μ: a second in which a worker starves costs as much as a hundred in which as many pages
// as it could have processed keep their fetchers waiting. Fetchers are cheap.
const defaultGamma = 100

// A Controller says how many fetchers a running crawl may have. It is told of every fetch that begins
// and ends, of every page that a fetch brings and of every page that has been processed, measures λ
// and μ from these, and moves the number as a Plan for them says:
//
//	Started ─► Fetched (the page is in the queue, or its fetcher waits for a place) ─► Ended
//	                    Processed (a page has left the queue)
//
// A live crawl loses no page: while the queue is full, fetchers wait for a place with the page they
// hold. What they would have brought meanwhile is the loss:
//
//	loss = λ · fetchers waiting for a place
//
// The model has one server, a live crawl several workers. The queue of the model is the pages beyond
// those that keep all workers but one busy, so that it is empty when a worker starves; μ is counted
// while none does, when pages leave at the rate of all workers together, whatever limits them.
//
// With Auto the number follows the switching curves (see steer), in at most three steps a second, about a balance that
// is corrected by what it comes to (see lean). With Stable it is the best fixed one. Either grows by half if the queue
// has long been empty while fetchers were held back, for then the rates measured are those of another time. Until
// enough is measured, which takes a queue that is not always empty, everything is allowed while no fetcher waits for a
// place: a crawl that its hosts' politeness or its line limits is never held back.
//
// A Controller is pure: times are arguments, in seconds from any origin, and must not fall. The zero
// value is not usable; see NewController. It is not safe for concurrent use.
type Controller struct {
	Control
	allowed int
	plan    *Plan
	rest    []int   // by length of the queue, where the plan's curves are at rest; nil if it has none
	held    bool    // a fetcher was held back since the last Measure
	margin  float64 // what the plan's balance is multiplied by; see lean

	active  int // fetchers, those that wait for a place included
	inside  int // pages in the queue or held by a waiting fetcher
	at      float64
	planned float64 // when the plan was adopted
	moved   float64 // when the number last followed the curves
	loaded  float64 // when last no worker starved
	left    float64 // when a page last left, if no worker has starved since; else NaN

	window  sums // since the last Measure
	recent  sums // before it, forgotten with time
	total   sums
	changes int64
	arrival float64 // λ, 0 if not known
	service float64 // μ, 0 if not known
}

// NewController returns the controller of a crawl that begins at now. It fails if Most or Workers is
// not positive, if the queue has not two places more than there are workers to keep busy, or if γ is
// negative or not finite.
func NewController(c Control, now float64) (*Controller, error) {
	switch {
	case c.Most < 1:
		return nil, fmt.Errorf("fleet: at most %d fetchers: want 1 or more", c.Most)
	case c.Workers < 1:
		return nil, fmt.Errorf("fleet: %d workers: want 1 or more", c.Workers)
	case c.Queue < c.Workers+1:
		return nil, fmt.Errorf("fleet: queue %d: want at least %d, for %d workers", c.Queue, c.Workers+1, c.Workers)
	case !(c.Gamma >= 0) || math.IsInf(c.Gamma, 1):
		return nil, fmt.Errorf("fleet: gamma %v: want 0 or more", c.Gamma)
	}
	allowed := c.Most
	if c.Rule > 0 {
		allowed = min(allowed, int(c.Rule))
	}
	return &Controller{Control: c, allowed: allowed, margin: 1, at: now, moved: math.Inf(-1), loaded: now, left: math.NaN()}, nil
}

// Open reports whether one more fetch may begin.
func (c *Controller) Open() bool {
	if c.active < c.Allowed() {
		return true
	}
	c.held = true
	return false
}

// Allowed returns how many fetchers may be active: from 1 to Most. Before there is a plan it is no more than there are
// while one of them waits for a place in the queue.
func (c *Controller) Allowed() int {
	if c.Rule <= 0 && c.plan == nil && c.inside > c.Queue {
		return min(c.active, c.allowed)
	}
	return c.allowed
}

// Started tells of a fetch that begins.
func (c *Controller) Started(now float64) {
	c.advance(now)
	c.active++
}

// Room returns how many fetches may be under way, those left out that wait with a page.
func (c *Controller) Room() int { return max(0, c.Allowed()-c.waiting()) }

// waiting is the number of fetchers that hold a page and wait for a place in the queue.
func (c *Controller) waiting() int { return max(0, c.inside-c.Queue) }

// Ended tells of a fetch that is over without a page.
func (c *Controller) Ended(now float64) {
	c.advance(now)
	c.active--
}

// Fetched tells of a page that a fetch has brought. It reports whether the fetch is over: while the queue is full, the
// fetcher waits with its page, and stays active.
func (c *Controller) Fetched(now float64) (over bool) {
	c.advance(now)
	c.window.fetched++
	c.inside++
	c.steer()
	if over = c.inside <= c.Queue; over {
		c.active--
	}
	return over
}

// Processed tells of a page that has left the queue. It reports whether a fetch is over by that: a fetcher that waited
// has the place for its page.
func (c *Controller) Processed(now float64) (over bool) {
	c.advance(now)
	over = c.waiting() > 0
	if c.inside >= c.Workers {
		c.window.processed++
		c.window.gap(c.at - c.left)
	}
	c.inside--
	if c.left = c.at; c.inside < c.Workers {
		c.left = math.NaN()
	}
	c.steer()
	if over {
		c.active--
	}
	return over
}

// betweenMoves is the least time between two steps along the curves, in seconds.
const betweenMoves = 1.0 / 3

// steer moves the number to where the switching curves are at rest with the queue of now, but from the
// best fixed number, the balance, no further than brings the queue, by the next step, to the length at
// which they are at rest there. In the model a step is free and can be taken back at once. Where it
// can't, because it is a third of a second to the next, or because a fetch that has begun brings its
// page in any case, following the curves all the way would drive the queue from empty to full and back.
// Without curves, of so many fetchers that computing them doesn't pay, the level is half the queue, and
// the number goes as far as that.
func (c *Controller) steer() {
	if c.Rule != Auto || c.plan == nil || c.at-c.moved < betweenMoves {
		return
	}
	balance, queue, level := c.margin*c.plan.Fixed.Load*c.service/c.arrival, c.queue(), c.places()/2
	if c.rest != nil {
		level = sort.Search(c.places(), func(q int) bool { return float64(c.rest[q]) <= balance })
	}
	excess := float64(level-queue) / max(1, c.arrival*betweenMoves)
	if c.rest != nil {
		most := math.Abs(float64(c.rest[queue]) - balance)
		excess = max(-most, min(excess, most))
	}
	excess *= c.remembered()
	to := int(math.Round(balance + excess))
	if to > c.allowed && c.active < c.allowed { // those there are find nothing to fetch
		return
	}
	if c.allow(to) {
		c.moved = c.at
	}
}

// remembered is how much of the queue of now is left to be seen at the next step. Between its two bounds the queue of
// a fleet in balance is a random walk with reflection, of variance 2μ a second, which forgets where it was at the rate
// π²μ/K². A queue that empties and fills many times between two steps says nothing of the next.
func (c *Controller) remembered() float64 {
	places := float64(c.places())
	return math.Exp(-math.Pi * math.Pi * c.service * betweenMoves / (places * places))
}

// queue is the length of the model's queue.
func (c *Controller) queue() int { return max(0, min(c.inside, c.Queue)-c.Workers+1) }

// places is the model's K.
func (c *Controller) places() int { return c.Queue - c.Workers + 1 }

// allow sets the number and tells whether that changed it.
func (c *Controller) allow(n int) bool {
	n = max(1, min(n, c.Most))
	if n == c.allowed {
		return false
	}
	c.changes++
	c.allowed = n
	return true
}

// advance lets time pass.
func (c *Controller) advance(now float64) {
	passed := max(0, now-c.at)
	c.at += passed
	waiting := float64(c.waiting())
	s := &c.window
	s.time += passed
	s.waiting += passed * waiting
	s.busy += passed * max(0, float64(c.active)-waiting)
	if c.inside < c.Workers {
		s.starved += passed
	} else {
		s.loaded += passed
		c.loaded = c.at
	}
}

// Measure takes in what was counted since the last call; it is to be called about once a second. It
// returns the model of the rates measured, and whether they have drifted so far from those of the
// plan that a new one is wanted, to be given to Adopt.
func (c *Controller) Measure(now float64) (m Model, wanted bool) {
	c.advance(now)
	c.total.add(&c.window, 1)
	if c.window.unlike(&c.recent) {
		c.recent = sums{}
	}
	c.recent.add(&c.window, math.Exp(-c.window.time/memory))
	c.lean()
	c.window = sums{}
	if c.recent.fetched >= enough {
		c.arrival = c.recent.fetched / c.recent.busy
	}
	if c.recent.processed >= enough {
		c.service = c.recent.processed / c.recent.loaded
	}
	c.reopen()
	m = c.model()
	if c.Rule > 0 || m.Validate() != nil {
		return m, false
	}
	if c.plan == nil {
		return m, true
	}
	drifted := func(factor float64) bool {
		return apart(c.plan.Model.ArrivalRate, m.ArrivalRate, factor) || apart(c.plan.Model.ServiceRate, m.ServiceRate, factor)
	}
	age := c.at - c.planned
	return m, age >= betweenPlans && drifted(drift) || age >= betweenPlans/5 && drifted(2*drift)
}

// lean corrects the plan's balance by what it came to in the last second. A real processing stalls in ways that a model
// of its single pages does not have. The balance grows while workers starve for longer than the plan says, by up to a
// fifth a second, and comes back slowly.
func (c *Controller) lean() {
	if c.Rule != Auto || c.plan == nil || c.window.time == 0 {
		return
	}
	beyond := -c.plan.Fixed.Starvation
	if c.held {
		beyond += c.window.starved / c.window.time
	}
	c.margin = max(1, min(c.margin*math.Exp(max(-0.02, min(2*beyond, 0.2))), mostMargin))
}

// What is measured is forgotten at this time constant, in seconds, and tells of a rate after so many
// events. A plan is for rates that are not further off than by the factor drift, and is rebuilt
// not before after betweenPlans seconds, or a fifth of that if they are off by twice as much: the
// largest takes some 50 ms to compute.
const (
	memory       = 5.0
	enough       = 20
	drift        = 1.25
	betweenPlans = 10
	mostMargin   = 4 // times the plan's balance
)

// apart reports whether two positive numbers differ by more than a factor.
func apart(a, b, factor float64) bool { return a > b*factor || b > a*factor }

// model returns the model of the rates measured; it is not valid before they are.
func (c *Controller) model() Model {
	gamma := c.Gamma
	if gamma == 0 {
		gamma = defaultGamma * c.service
	}
	return Model{ArrivalRate: c.arrival, ServiceRate: c.service, Queue: c.places(), Gamma: gamma}
}

// reopen allows half as many fetchers again if a worker has starved for long while some were held
// back: then the processing is faster than it was when it was measured.
func (c *Controller) reopen() {
	held := c.held
	c.held = false
	if patience := max(1, 20/max(c.service, 1e-9)); c.Rule <= 0 && held && c.at-c.loaded > patience {
		c.allow(c.allowed + max(1, c.allowed/2))
	}
}

// Adopt takes a plan, which Model.Plan has made of what Measure returned, for at most Most fetchers.
func (c *Controller) Adopt(p Plan) {
	c.plan, c.planned, c.rest = &p, c.at, nil
	switch {
	case c.Rule > 0:
	case c.Rule == Auto:
		if p.Switched != nil {
			c.rest = make([]int, c.places()+1)
			for queue := range c.rest {
				c.rest[queue] = p.Switched.Rest(queue, c.places())
			}
		}
		c.steer()
	default:
		c.allow(p.Fixed.Fetchers)
	}
}
