package queue

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spf13/pflag"

	"freshet/fleet"
	"freshet/lab"
)

// confidence of the intervals that must hold the theoretical value. With one seed in fifty, one of the experiment's
// twenty comparisons falls outside by chance.
const confidence = 0.999

// parameters are the flags.
type parameters struct {
	runs int
	span float64
	seed uint64
}

// Experiment returns the experiment.
func Experiment() lab.Experiment {
	return lab.Experiment{
		Name:       "queue",
		Summary:    "Compare the simulator with queueing theory and with the staleness of Poisson pages",
		Reproduces: "closed forms of the M/M/1/K and M/D/1/K queues; Liu and Nain 2005, Lemmas 3 and 4",
		Quick:      []string{"--runs=10", "--span=20000"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := new(parameters)
			flags.IntVar(&p.runs, "runs", 20, "independent runs")
			flags.Float64Var(&p.span, "span", 100_000, "length of a run, in mean times of a service or of a visit")
			flags.Uint64Var(&p.seed, "seed", 1, "seed of all runs")
			return p.run
		},
	}
}

func (p *parameters) run(ctx context.Context, out *lab.Result) error {
	switch {
	case p.runs < 2:
		return &lab.ParameterError{Name: "runs", Value: p.runs, Want: "2 or more"}
	case !(p.span >= 100 && p.span <= 1e9):
		return &lab.ParameterError{Name: "span", Value: p.span, Want: "100 to 1e9"}
	}
	if err := p.queues(ctx, out); err != nil {
		return err
	}
	return p.visits(ctx, out)
}

// queues compares queues of both kinds at a low, an even and a high load.
func (p *parameters) queues(ctx context.Context, out *lab.Result) error {
	const places = 5
	simulated := lab.Plot{Title: "A queue of five places: simulated, and as the closed forms have it (points)",
		X: lab.Axis{Label: "load"}, Y: lab.Axis{Label: "share of time empty; loss per mean service"}}
	for _, kind := range []struct {
		name    string
		service fleet.Service
		draw    func(*rand.Rand) float64
	}{
		{"M/M/1/5", fleet.Exponential(), (*rand.Rand).ExpFloat64},
		{"M/D/1/5", fleet.Deterministic(), func(*rand.Rand) float64 { return 1 }},
	} {
		var loads, starvation, loss, starvationError, lossError, starvationTheory, lossTheory []float64
		for _, fetchers := range []int{7, 10, 12} {
			model := fleet.Model{ArrivalRate: 0.1, ServiceRate: 1, Queue: places, Gamma: 1}
			theory, err := model.Fixed(fetchers, kind.service)
			if err != nil {
				return err
			}
			samples, err := lab.Repeat(ctx, out, p.runs, p.seed, func(rng *rand.Rand) ([]float64, error) {
				empty, lost := simulateQueue(rng, theory.Load, places, p.span, kind.draw)
				return []float64{empty, lost}, nil
			})
			if err != nil {
				return err
			}
			empty, lost := lab.Estimate(samples[0], confidence), lab.Estimate(samples[1], confidence)
			at := fmt.Sprintf("%s, load %.1f", kind.name, theory.Load)
			compare(out, at, "share of time empty", theory.Starvation, empty)
			compare(out, at, "pages lost per service", theory.Loss, lost)
			loads = append(loads, theory.Load)
			starvation, starvationError = append(starvation, empty.Mean), append(starvationError, empty.Half)
			loss, lossError = append(loss, lost.Mean), append(lossError, lost.Half)
			starvationTheory, lossTheory = append(starvationTheory, theory.Starvation), append(lossTheory, theory.Loss)
		}
		simulated.Series = append(simulated.Series,
			lab.Series{Name: kind.name + " empty", X: loads, Y: starvation, Error: starvationError},
			lab.Series{Name: kind.name + " lost", X: loads, Y: loss, Error: lossError},
			lab.Series{Name: kind.name + " empty, theory", X: loads, Y: starvationTheory, Points: true},
			lab.Series{Name: kind.name + " lost, theory", X: loads, Y: lossTheory, Points: true})
	}
	out.Plot(simulated)
	return nil
}

// cycle is the golden-ratio sequence of 13 accesses to four pages with 2, 3, 3 and 5 of them, as
// Liu and Nain construct it (2005, section 1.3.4), with pages numbered from 0.
var cycle = [...]int{3, 1, 3, 0, 2, 3, 1, 3, 0, 2, 3, 1, 2}

// visits compares the staleness of pages with theory.
func (p *parameters) visits(ctx context.Context, out *lab.Result) error {
	for _, rate := range []float64{0.1, 1, 10} {
		r := rate
		even := func(*rand.Rand) float64 { return 1 }
		// A = 1 - (1-e^-r)/r and A = r/(1+r), for changes at rate r and visits at rate 1.
		if err := p.staleness(ctx, out, "even visits", rate, 1+math.Expm1(-r)/r, even); err != nil {
			return err
		}
		if err := p.staleness(ctx, out, "random visits", rate, r/(1+r), (*rand.Rand).ExpFloat64); err != nil {
			return err
		}
	}
	return p.sequence(ctx, out)
}

func (p *parameters) staleness(ctx context.Context, out *lab.Result, name string, rate, theory float64, gap func(*rand.Rand) float64) error {
	samples, err := lab.Repeat(ctx, out, p.runs, p.seed, func(rng *rand.Rand) ([]float64, error) {
		return simulateVisits(rng, []float64{rate}, []int{0}, p.span, gap), nil
	})
	if err != nil {
		return err
	}
	compare(out, fmt.Sprintf("%s, %g changes a visit", name, rate), "staleness", theory, lab.Estimate(samples[0], confidence))
	return nil
}

// sequence compares the cost of the cyclic sequence, Σ c_i r_i with c_i = μ_i, for constant and exponential access
// times. The closed form is Lemma 3's, summed over the gaps of the cycle (0.3762280534 and 0.4207468571).
func (p *parameters) sequence(ctx context.Context, out *lab.Result) error {
	rates := []float64{2. / 13, 3. / 13, 3. / 13, 5. / 13}
	for _, access := range []struct {
		name string
		kept func(rate float64) float64 // h_i: that a page does not change during one access
		draw func(*rand.Rand) float64
	}{
		{"constant", func(rate float64) float64 { return math.Exp(-rate) }, func(*rand.Rand) float64 { return 1 }},
		{"exponential", func(rate float64) float64 { return 1 / (1 + rate) }, (*rand.Rand).ExpFloat64},
	} {
		samples, err := lab.Repeat(ctx, out, p.runs, p.seed, func(rng *rand.Rand) ([]float64, error) {
			var cost float64
			for i, stale := range simulateVisits(rng, rates, cycle[:], p.span, access.draw) {
				cost += rates[i] * stale
			}
			return []float64{cost}, nil
		})
		if err != nil {
			return err
		}
		compare(out, "golden-ratio sequence of 13 accesses, "+access.name+" times", "cost",
			cycleCost(rates, cycle[:], access.kept), lab.Estimate(samples[0], confidence))
	}
	return nil
}

func compare(out *lab.Result, system, quantity string, theory float64, measured lab.Interval) {
	out.Row("system", system, "quantity", quantity, "theory", theory, "simulated", measured)
	out.Compare(lab.Comparison{What: system + ": " + quantity, Source: "closed form", Reference: new(theory), Measured: measured.Mean, Tolerance: measured.Half})
}
