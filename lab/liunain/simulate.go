package liunain

import (
	"context"
	"fmt"
	"math/rand/v2"

	"freshet/fleet"
	"freshet/lab"
	"freshet/sim/event"
)

// happening is a kind of event. Fetchers are counted and have no names: one that was told to stop still brings its
// page.
type happening uint8

const (
	arrival happening = iota
	departure
)

// simulate runs a policy for span, starting with an empty queue. It returns the share of time with an empty queue,
// the pages lost per unit of time, and the mean number of active fetchers, all after the first tenth. It uses the
// policy's curves and not the Markov chain: each active fetcher has its own time at which it brings a page, and each
// page a time at which its processing ends.
func simulate(rng *rand.Rand, m fleet.Model, d fleet.Dynamic, span float64) (starvation, loss, active float64) {
	var events event.Queue[happening]
	queue, fetchers, last, warm := 0, 0, 0.0, span/10
	start := func(now float64) {
		fetchers++
		events.Push(now+rng.ExpFloat64()/m.ArrivalRate, arrival)
	}
	serve := func(now float64) { events.Push(now+rng.ExpFloat64()/m.ServiceRate, departure) }
	start(0)
	for {
		now, e, _ := events.Pop() // there is always a fetcher or a page in the queue
		if passed := max(0, min(now, span)-max(last, warm)); passed > 0 {
			active += passed * float64(fetchers)
			if queue == 0 {
				starvation += passed
			}
		}
		if last = now; now >= span {
			break
		}
		switch before := queue; e {
		case arrival:
			goOn := before <= d.Arrival[fetchers-1]
			if fetchers--; goOn {
				start(now)
			}
			if before == m.Queue {
				if now >= warm {
					loss++
				}
				break
			}
			if queue++; queue == 1 {
				serve(now)
			}
		case departure:
			if queue--; queue > 0 {
				serve(now)
			}
			if fetchers < d.Fetchers && before <= d.Departure[fetchers] {
				start(now)
			}
		}
	}
	span -= warm
	return starvation / span, loss / span, active / span
}

// confidence of the intervals that must hold the theoretical value.
const confidence = 0.999

// check compares a figure's policy with its simulation.
func (p *parameters) check(ctx context.Context, out *lab.Result, f figure, d fleet.Dynamic) error {
	m := f.model()
	samples, err := lab.Repeat(ctx, out, p.runs, p.seed, func(rng *rand.Rand) ([]float64, error) {
		starvation, loss, active := simulate(rng, m, d, p.span)
		return []float64{m.Gamma*starvation + loss, starvation, loss, active}, nil
	})
	if err != nil {
		return err
	}
	for i, v := range []struct {
		name   string
		theory float64
	}{{"cost", d.Cost}, {"starvation", d.Starvation}, {"loss", d.Loss}, {"mean active", d.MeanActive}} {
		simulated := lab.Estimate(samples[i], confidence)
		out.Compare(lab.Comparison{What: fmt.Sprintf("%s simulated: %s", f.name, v.name), Source: "decision process",
			Reference: new(v.theory), Measured: simulated.Mean, Tolerance: simulated.Half})
	}
	cost := lab.Estimate(samples[0], confidence)
	out.Row("table", f.name, "lambda", m.ArrivalRate, "queue", m.Queue, "gamma", m.Gamma, "published_cost", f.cost, "cost", d.Cost, "simulated_cost", cost)
	return nil
}
