package fleet

import (
	"fmt"
	"math"
	"sort"
)

// Control holds the parameters of a Controller.
type Control struct {
	Rule    Rule
	Most    int     // r: the maximum number of fetchers, at least 1
	Queue   int     // K: places of the queue, including those of pages in processing
	Workers int     // pages processed at the same time; a worker starves while the queue has fewer
	Gamma   float64 // γ, in pages a second; 0 is a hundred times μ
}

// defaultGamma is γ/μ: a second in which a worker starves costs a hundred times as much as a second in which fetchers
// wait with as many pages as the worker could have processed. Fetchers are cheap.
const defaultGamma = 100

// A Controller decides how many fetchers a running crawl may have. The crawl reports to it the begin and end of every
// fetch, every page that a fetch brings, and every page that was processed. From these it measures λ and μ, and moves
// the number along the Plan for them:
//
//	Started ─► Fetched (the page is in the queue, or its fetcher waits for a place) ─► Ended
//	                    Processed (a page has left the queue)
//
// A live crawl loses no page: while the queue is full, fetchers wait for a place with the page they hold. What they
// would have brought in that time is the loss:
//
//	loss = λ · fetchers waiting for a place
//
// The model has one server, a live crawl several workers. The queue of the model excludes the pages that keep all
// workers but one busy, so it is empty when a worker starves. μ is measured while no worker starves: then pages leave
// at the rate of all workers together.
//
// With Auto the number follows the switching curves (see steer), in at most three steps a second, around a balance that
// is corrected by its results (see lean). With Stable it is the best fixed number. Either grows by half if the queue
// was empty for long while fetchers were held back: the measured rates are then out of date. Measuring needs a queue
// that is not always empty. Until enough is measured, any number is allowed while no fetcher waits for a place. So a
// crawl that is limited by politeness or bandwidth is never held back.
//
// The controller also sees the queues of consumers, such as a full-text index, and decides when they rest (see
// Consumer).
//
// A Controller is pure: times are arguments, in seconds from any origin, and must not fall. The zero value is not
// usable; see NewController. It is not safe for concurrent use.
type Controller struct {
	Control
	allowed int
	plan    *Plan
	rest    []int   // by length of the queue, the number at which the plan's curves rest; nil if it has none
	held    bool    // a fetcher was held back since the last Measure
	margin  float64 // factor of the plan's balance; see lean

	active  int // fetchers, including those that wait for a place
	inside  int // pages in the queue or held by a waiting fetcher
	at      float64
	planned float64 // when the plan was adopted
	moved   float64 // when the number last followed the curves
	loaded  float64 // last time when no worker starved
	left    float64 // when the last page left, if no worker has starved since; else NaN

	window  sums // since the last Measure
	recent  sums // earlier, with decay
	total   sums
	changes int64
	arrival float64 // λ, 0 if not known
	service float64 // μ, 0 if not known

	consumers map[string]consumer // by name
}

// NewController returns the controller of a crawl that begins at now. It returns an error if Most or Workers is not
// positive, if Queue is less than Workers+1, or if γ is negative or not finite.
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
	return &Controller{
		Control: c, allowed: allowed, margin: 1, at: now, moved: math.Inf(-1), loaded: now, left: math.NaN(),
		consumers: map[string]consumer{},
	}, nil
}

// Open reports whether one more fetch may begin.
func (c *Controller) Open() bool {
	if c.active < c.Allowed() {
		return true
	}
	c.held = true
	return false
}

// Allowed returns how many fetchers may be active: from 1 to Most. Before there is a plan, it does not exceed the
// active number while a fetcher waits for a place in the queue.
func (c *Controller) Allowed() int {
	if c.Rule <= 0 && c.plan == nil && c.inside > c.Queue {
		return min(c.active, c.allowed)
	}
	return c.allowed
}

// Started reports a fetch that begins.
func (c *Controller) Started(now float64) {
	c.advance(now)
	c.active++
}

// Room returns how many fetches may be under way, not counting fetchers that wait with a page.
func (c *Controller) Room() int { return max(0, c.Allowed()-c.waiting()) }

// waiting is the number of fetchers that hold a page and wait for a place in the queue.
func (c *Controller) waiting() int { return max(0, c.inside-c.Queue) }

// Ended reports a fetch that is over without a page.
func (c *Controller) Ended(now float64) {
	c.advance(now)
	c.active--
}

// Fetched reports a page that a fetch has brought. It returns whether the fetch is over: while the queue is full, the
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

// Processed reports a page that has left the queue. It returns whether this ends a fetch: a waiting fetcher gets the
// place for its page.
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

// steer moves the number towards the one at which the switching curves rest with the present queue. It limits the
// distance from the best fixed number, the balance: by the next step the queue should just reach the length at which
// the curves rest at the balance. In the model a step is free and can be undone at once. In a crawl the next step is
// a third of a second away, and a fetch that has begun brings its page in any case. So following the curves all the
// way would drive the queue from empty to full and back. If there are too many fetchers to compute curves, the target
// length is half the queue.
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
	if to > c.allowed && c.active < c.allowed { // the active ones find nothing to fetch
		return
	}
	if c.allow(to) {
		c.moved = c.at
	}
}

// remembered is the part of the present queue that still shows at the next step. The queue of a fleet in balance is a
// random walk with reflection at its two bounds, of variance 2μ a second. It forgets its position at the rate π²μ/K².
// A queue that empties and fills many times between two steps says nothing about the next.
func (c *Controller) remembered() float64 {
	places := float64(c.places())
	return math.Exp(-math.Pi * math.Pi * c.service * betweenMoves / (places * places))
}

// queue is the length of the model's queue.
func (c *Controller) queue() int { return max(0, min(c.inside, c.Queue)-c.Workers+1) }

// places is the model's K.
func (c *Controller) places() int { return c.Queue - c.Workers + 1 }

// allow sets the number and reports whether it changed.
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

// Measure adds the counts since the last call. Call it about once a second. It returns the model of the measured rates.
// wanted means that they have drifted too far from those of the plan: pass a new plan to Adopt.
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

// lean corrects the plan's balance by the results of the last second. Real processing stalls in ways that the model
// of single pages does not have. While workers starve for longer than the plan says, the balance grows by up to a
// fifth a second. It comes back slowly.
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

// Measurements decay with this time constant, in seconds, and give a rate after this many events. A plan serves rates
// that differ from its own by at most the factor drift. It is rebuilt after betweenPlans seconds at the earliest, or
// a fifth of that if they differ by twice as much: the largest plan takes some 50 ms to compute.
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

// reopen allows half as many fetchers again if a worker starved for long while fetchers were held back: the
// processing is then faster than the measured rate.
func (c *Controller) reopen() {
	held := c.held
	c.held = false
	if patience := max(1, 20/max(c.service, 1e-9)); c.Rule <= 0 && held && c.at-c.loaded > patience {
		c.allow(c.allowed + max(1, c.allowed/2))
	}
}

// Adopt sets the plan. Model.Plan must have made it from what Measure returned, for at most Most fetchers.
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
