package node

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"freshet/clock"
	"freshet/fleet"
)

// queuePlaces is K: how many fetched pages may wait or be in processing before a fetch must wait with its page. It is
// small enough to compute switching curves for all fetchers.
const queuePlaces = 32

// fleetGate limits how many fetches may be under way, by a fleet.Controller. Its seconds are machine seconds, whatever
// the rate of the clock. It is safe for concurrent use.
//
// If the queue is full when a fetch brings its page, the fetch ends for the shard, because its host is free. It does
// not end for the controller: it still counts, and waits with its page for a place in the queue.
type fleetGate struct {
	clock *clock.Clock
	began time.Time

	mu      sync.Mutex
	control *fleet.Controller
}

func newGate(opt Options, workers int) (*fleetGate, error) {
	control, err := fleet.NewController(fleet.Control{
		Rule: opt.Fleet, Most: opt.Connections, Queue: max(queuePlaces, workers) + workers, Workers: workers,
		Gamma: opt.Gamma,
	}, 0)
	return &fleetGate{clock: opt.Clock, began: opt.Clock.Now(), control: control}, err
}

// places returns how many pages may wait for a worker.
func (g *fleetGate) places() int { return g.control.Queue - g.control.Workers }

// now returns the machine seconds since the gate was made.
func (g *fleetGate) now() float64 { return g.clock.Machine(g.clock.Now().Sub(g.began)).Seconds() }

// tell reports an event to the controller.
func (g *fleetGate) tell(of func(c *fleet.Controller, now float64)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	of(g.control, g.now())
}

// started reports a fetch that begins.
func (g *fleetGate) started() { g.tell((*fleet.Controller).Started) }

// ended reports a fetch that is over without a page.
func (g *fleetGate) ended() { g.tell((*fleet.Controller).Ended) }

// fetched reports a fetch that has brought a page.
func (g *fleetGate) fetched() {
	g.tell(func(c *fleet.Controller, now float64) { c.Fetched(now) })
}

// processed reports a page that has left the queue. A fetch that waits gets its place.
func (g *fleetGate) processed() {
	g.tell(func(c *fleet.Controller, now float64) { c.Processed(now) })
}

// room returns how many fetches that do not wait with a page may be under way.
func (g *fleetGate) room() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.control.Room()
}

// look reports to the controller that fetches are held back, if the maximum is under way.
func (g *fleetGate) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.control.Open()
}

func (g *fleetGate) read() (r fleet.Reading) {
	g.tell(func(c *fleet.Controller, now float64) { r = c.Read(now) })
	return r
}

// Consumer returns what a consumer of that name calls after it has worked for a time, with the number of records that
// it has not read. The call returns when the fleet's controller lets it go on, or if ctx ends.
func (n *Node) Consumer(name string) func(ctx context.Context, worked time.Duration, queue uint64) {
	return func(ctx context.Context, worked time.Duration, queue uint64) {
		seconds := n.opt.Clock.Machine(worked).Seconds()
		n.fleet.tell(func(c *fleet.Controller, now float64) { c.Worked(name, seconds, queue, now) })
		for {
			var rest float64
			n.fleet.tell(func(c *fleet.Controller, now float64) { rest = c.Rest(name, now) })
			pause := n.opt.Clock.Span(time.Duration(rest * float64(time.Second)))
			if pause <= 0 || n.opt.Clock.Sleep(ctx, pause) != nil {
				return
			}
		}
	}
}

// steerFleet measures, and makes a new plan if one is needed. Planning may take a fraction of a second, so it does not
// hold the gate's lock.
func (n *Node) steerFleet() {
	var model fleet.Model
	var wanted bool
	n.fleet.tell(func(c *fleet.Controller, now float64) { model, wanted = c.Measure(now) })
	if wanted {
		if plan, err := model.Plan(n.opt.Connections); err != nil {
			n.opt.Logger.Warn("no plan for the fleet", "error", err)
		} else {
			n.fleet.tell(func(c *fleet.Controller, _ float64) { c.Adopt(plan) })
		}
	}
	n.stir() // the room may have changed
}

// FleetStatus is the number of fetches allowed, and their cost: γ times the share of time for which a worker starves,
// plus the pages per second lost because fetches waited for a place in the queue. Rates and shares are for the last
// seconds, and 0 before they are known. Those of the model are computed from these rates, not measured.
type FleetStatus struct {
	Rule      string  `json:"rule"`
	Allowed   int     `json:"allowed"`
	Active    int     `json:"active"`
	Waiting   int     `json:"waiting"` // with a page, for a place in the queue
	Queue     int     `json:"queue_pages"`
	Places    int     `json:"queue_places"`
	Arrival   float64 `json:"arrival_rate_pages_per_s"` // λ, of one busy fetcher
	Service   float64 `json:"service_rate_pages_per_s"` // μ, of all workers
	Variation float64 `json:"service_variation"`        // coefficient of variation; the model's is 1
	Gamma     float64 `json:"gamma_pages_per_s"`
	Starved   float64 `json:"starvation"`
	Loss      float64 `json:"loss_pages_per_s"`
	Cost      float64 `json:"cost_pages_per_s"`

	ModelFixed     int     `json:"model_fixed_fetchers"` // the best fixed number, and its cost
	ModelFixedCost float64 `json:"model_fixed_cost_pages_per_s"`
	ModelCost      float64 `json:"model_switched_cost_pages_per_s"`

	Curve *SwitchingCurve `json:"switching_curve,omitempty"` // used by rule auto, once it is known

	StarvedS float64 `json:"starved_s"` // in this run, so far
	WaitedS  float64 `json:"waited_s"`  // total of all fetches
	BusyS    float64 `json:"busy_s"`
	Fetched  int64   `json:"fetched"`
	Changes  int64   `json:"changes"` // of the number allowed

	Consumers []ConsumerStatus `json:"consumers,omitempty"`
}

// ConsumerStatus is an index or a sink, and its queue.
type ConsumerStatus struct {
	Name  string `json:"name"`
	Queue uint64 `json:"queue_records"` // not read when it last began to rest
}

// SwitchingCurve is the longest queue at which one more fetcher is switched on. Departure has it for 0, 1, 2… active
// fetchers when a page leaves the queue; Arrival for 1, 2, 3… when a page arrives, after which that fetcher goes on. -1
// means never.
type SwitchingCurve struct {
	Departure []int `json:"departure"`
	Arrival   []int `json:"arrival"`
}

// status returns the present readings.
func (g *fleetGate) status() FleetStatus {
	r := g.read()
	s := FleetStatus{
		Rule: g.control.Rule.String(), Allowed: r.Allowed, Active: r.Active, Waiting: r.Waiting,
		Queue: r.Queue, Places: g.control.Queue, Arrival: r.ArrivalRate, Service: r.ServiceRate,
		Gamma: r.Gamma, Starved: r.Starvation, Loss: r.Loss, Cost: r.Cost,
		ModelFixed: r.Fixed.Fetchers, ModelFixedCost: r.Fixed.Cost,
		StarvedS: r.Starved, WaitedS: r.Waited, BusyS: r.Busy, Fetched: int64(r.Fetched), Changes: r.Changes,
	}
	if r.Variation >= 0 { // not NaN
		s.Variation = math.Sqrt(r.Variation)
	}
	for _, one := range r.Consumers {
		s.Consumers = append(s.Consumers, ConsumerStatus(one))
	}
	if r.Switched != nil {
		s.ModelCost = r.Switched.Cost
		s.Curve = &SwitchingCurve{Departure: r.Switched.Departure, Arrival: r.Switched.Arrival}
	}
	return s
}

// String returns the status as a part of the progress line.
func (s FleetStatus) String() string {
	text := fmt.Sprintf("%d of %d fetching (%s)  queue %d/%d", s.Active, s.Allowed, s.Rule, s.Queue, s.Places)
	if s.Arrival > 0 && s.Service > 0 {
		text += fmt.Sprintf("  λ %.3g μ %.3g/s  starved %.1f %% loss %.3g/s cost %.3g (model's for %d fixed: %.3g)",
			s.Arrival, s.Service, 100*s.Starved, s.Loss, s.Cost, s.ModelFixed, s.ModelFixedCost)
	}
	for _, one := range s.Consumers {
		text += fmt.Sprintf("  %s %d records behind", one.Name, one.Queue)
	}
	return text
}
