package lam

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/stat"

	"freshet/lab"
)

// Facilities returns the experiment with several facilities, each with its own network. One of them fails. Its
// clients resubmit to the others and keep what they have.
func Facilities() lab.Experiment {
	return lab.Experiment{
		Name:       "lam-facilities",
		Summary:    "Let one of several feeds fail, and have its clients join the others",
		Reproduces: "Lam and Garcia-Molina 2001, section 1: the loss of one facility",
		Quick:      []string{"--seeds=1", "--subscribers=90", "--downloaders=90"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := new(outage)
			p.declare(flags)
			flags.IntVar(&p.facilities, "facilities", 3, "facilities, among which the clients are spread evenly")
			p.failAt = lab.Duration(flags, "fail-at", 30*day*time.Second, "when the first of them fails")
			return p.run
		},
	}
}

// An outage holds the experiment's parameters.
type outage struct {
	parameters
	facilities int
	failAt     *time.Duration
}

func (p *outage) run(ctx context.Context, out *lab.Result) error {
	contenders, err := p.check()
	if err != nil {
		return err
	}
	if p.facilities < 2 || p.facilities > 100 {
		return &lab.ParameterError{Name: "facilities", Value: p.facilities, Want: "2 to 100"}
	}
	if *p.failAt < 2*day*time.Second || p.failAt.Seconds() > p.duration-2*day {
		return &lab.ParameterError{Name: "fail-at", Value: p.failAt, Want: "at least two days from the start and from the end"}
	}
	results := make([][4][]float64, len(contenders))
	for run := range p.seeds {
		w := p.draw(lab.Random(p.seed, run))
		for i, c := range contenders {
			out.Progress(c.name, run*len(contenders)+i, p.seeds*len(contenders))
			values, err := p.fail(ctx, w, c)
			if err != nil {
				return err
			}
			for j, v := range values {
				if !math.IsNaN(v) {
					results[i][j] = append(results[i][j], v)
				}
			}
		}
	}
	for i, c := range contenders {
		out.Row("scheduler", c.name,
			"freshness_before", stat.Mean(results[i][0], nil), "freshness_week_after", stat.Mean(results[i][1], nil),
			"freshness_end", stat.Mean(results[i][2], nil), "unserved", stat.Mean(results[i][3], nil))
	}
	return nil
}

// fail runs the facilities. It returns the freshness over all clients just before the failure, a week after it, and
// at the end; and the number of downloaders that are still unserved at the end.
func (p *outage) fail(ctx context.Context, w *world, c contender) (values [4]float64, err error) {
	open := make([]*facility, p.facilities)
	for i := range open {
		s, err := w.scheduler(c.scheduler, c.objective)
		if err != nil {
			return values, err
		}
		open[i] = w.open(s)
	}
	for client := range w.wants {
		open[client%p.facilities].join(client)
	}
	failure := int(p.failAt.Seconds() / w.tick())
	for tick := range w.ticks() + 1 {
		if tick&1023 == 0 && ctx.Err() != nil {
			return values, ctx.Err()
		}
		now := float64(tick) * w.tick()
		for _, f := range open {
			f.step(tick, now)
		}
		switch tick {
		case failure:
			values[0] = freshnessOf(open, now)
			resubmit(open[0], open[1:], now)
			open = open[1:]
		case min(failure+int(7*day/w.tick()), w.ticks()):
			values[1] = freshnessOf(open, now)
		}
	}
	values[2] = freshnessOf(open, w.duration)
	for _, f := range open {
		values[3] += float64(f.demand.Delays(w.duration).Unserved)
	}
	return values, nil
}

// resubmit spreads the clients of a facility among the others. They keep what they have; a chunk in transit to them
// is lost.
func resubmit(from *facility, to []*facility, now float64) {
	for next, k := range slices.Collect(from.demand.Clients()) {
		client := from.demand.Describe(k, now)
		to[next%len(to)].demand.Join(client, from.demand.Wants(k), now)
	}
}

// freshnessOf returns the freshness over all clients of the facilities.
func freshnessOf(open []*facility, now float64) float64 {
	var fresh, subscribers float64
	for _, f := range open {
		n := 0
		for k := range f.demand.Clients() {
			if !f.demand.Describe(k, now).Downloader {
				n++
			}
		}
		fresh += float64(n) * f.demand.Read(now).FreshnessOverClients
		subscribers += float64(n)
	}
	return fresh / subscribers
}
