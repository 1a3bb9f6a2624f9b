// Package gate is the experiment that runs a simulated crawl with a queue of pages to process, under each rule for
// the number of fetchers. The live fleet.Controller says how many may fetch from the live frontier.
//
// The cost is that of Liu and Nain (2005): γ times the share of time in which a worker starves, plus the pages per
// second that are lost because fetchers wait for a place in the queue. The model assumes an endless supply of pages.
// Here the web ends, sites are asked politely, and the controller measures λ and μ.
package gate

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"freshet/fleet"
	"freshet/lab"
	"freshet/sim/discovery"
	"freshet/sim/graph"
)

// parameters are the flags.
type parameters struct {
	sites, pages int
	rules        []string
	connections  int
	queue        int
	gamma        float64
	variation    float64
	time, delay  *time.Duration
	seed         uint64
}

// Experiment returns the experiment.
func Experiment() lab.Experiment {
	return lab.Experiment{
		Name:    "gate",
		Summary: "Run the fleet of a simulated crawl by each rule, with a queue of pages to be processed",
		Quick:   []string{"--pages=1500"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := new(parameters)
			flags.IntVar(&p.sites, "sites", 300, "number of sites in the web")
			flags.IntVar(&p.pages, "pages", 5000, "pages to fetch")
			flags.StringSliceVar(&p.rules, "fleet", []string{"auto", "static", "2", "4", "8", "16", "64"}, "rules: auto, static or numbers of fetchers")
			flags.IntVar(&p.connections, "connections", 64, "r: the most fetchers")
			flags.IntVar(&p.queue, "queue", 32, "K: places of the queue, including that of the page in processing")
			flags.Float64Var(&p.gamma, "gamma", 100, "γ: cost of a second of starvation, in pages; 0: 100 times the pages processed a second")
			p.time = lab.Duration(flags, "processing", 100*time.Millisecond, "mean processing time of a page")
			flags.Float64Var(&p.variation, "variation", 1, "squared coefficient of variation of that time, of a gamma law; 1: exponentially distributed")
			p.delay = lab.Duration(flags, "delay", time.Second, "w: from the end of an answer to the next connection to its site")
			flags.Uint64Var(&p.seed, "seed", 1, "seed of the web and of the processing")
			return p.run
		},
	}
}

func (p *parameters) run(ctx context.Context, out *lab.Result) error {
	switch {
	case p.sites < 1:
		return &lab.ParameterError{Name: "sites", Value: p.sites, Want: "1 or more"}
	case p.pages < 1:
		return &lab.ParameterError{Name: "pages", Value: p.pages, Want: "1 or more"}
	case p.connections < 1:
		return &lab.ParameterError{Name: "connections", Value: p.connections, Want: "1 or more"}
	case !(p.variation >= 0.01 && p.variation <= 100):
		return &lab.ParameterError{Name: "variation", Value: p.variation, Want: "0.01 to 100"}
	case p.queue < 2:
		return &lab.ParameterError{Name: "queue", Value: p.queue, Want: "2 or more"}
	}
	web, err := graph.NewStateless(p.seed, p.sites)
	if err != nil {
		return err
	}
	costs := map[string]float64{}
	best := ""
	fixed := lab.Series{Name: "fixed"}
	for i, name := range p.rules {
		rule, err := fleet.ParseRule(name)
		if err != nil {
			return &lab.ParameterError{Name: "fleet", Value: name, Want: "auto, static or a number from 1"}
		}
		out.Progress(name, i, len(p.rules))
		r, err := discovery.Crawl(ctx, web, discovery.Options{
			Connections: p.connections, Delay: *p.delay, MaxPages: p.pages, Robots: true, Seed: p.seed,
			Processing: &discovery.Processing{Workers: 1, Queue: p.queue, Time: *p.time, Variation: p.variation, Rule: rule, Gamma: p.gamma},
		})
		if err != nil {
			return err
		}
		gamma := p.gamma
		if gamma == 0 {
			gamma = 100 / p.time.Seconds() // as the controller has it
		}
		starvation := r.Fleet.Starved / r.Duration
		loss := float64(r.Fetched) / r.Busy * r.Fleet.Waited / r.Duration
		costs[name] = gamma*starvation + loss
		if rule > 0 {
			fixed.X, fixed.Y = append(fixed.X, float64(rule)), append(fixed.Y, costs[name])
		}
		if rule > 0 && (best == "" || costs[name] < costs[best]) {
			best = name
		}
		out.Row("fleet", name, "cost_pages_per_s", costs[name], "starvation", starvation, "loss_pages_per_s", loss,
			"pages_per_s", float64(r.Fetched)/r.Duration, "duration_s", r.Duration, "changes_per_s", float64(r.Fleet.Changes)/r.Duration)
	}
	plot := lab.Plot{Title: "Cost by the number of fetchers", X: lab.Axis{Label: "fetchers", Log: true}, Y: lab.Axis{Label: "cost, pages/s", Log: true}}
	if len(fixed.X) > 0 {
		plot.Series = append(plot.Series, fixed)
		for _, name := range []string{"auto", "static"} {
			if cost, ok := costs[name]; ok {
				ends := lab.Numbers{slices.Min(fixed.X), slices.Max(fixed.X)}
				plot.Series = append(plot.Series, lab.Series{Name: name, X: ends, Y: lab.Numbers{cost, cost}})
			}
		}
		out.Plot(plot)
	}
	if auto, ok := costs["auto"]; ok && best != "" {
		out.Claim("a switched fleet costs no more than the best fixed number tried", auto <= costs[best],
			"auto %.3g, %s fetchers %.3g", auto, best, costs[best])
	}
	return nil
}
