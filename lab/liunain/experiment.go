package liunain

import (
	"context"

	"github.com/spf13/pflag"

	"freshet/lab"
)

// parameters are the flags.
type parameters struct {
	runs  int
	span  float64
	seed  uint64
	pages int
}

// Experiment returns the experiment.
func Experiment() lab.Experiment {
	return lab.Experiment{
		Name:       "liu-nain",
		Summary:    "Compute how many fetchers to run, and in which order to visit pages",
		Reproduces: "Liu and Nain 2005, Tables 1.1 to 1.3, Figures 1.2 to 1.7, section 1.3, Propositions 1 to 4, 7, 8 and 12",
		Quick:      []string{"--runs=10", "--span=20000", "--pages=10000"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := new(parameters)
			flags.IntVar(&p.runs, "runs", 20, "independent simulations of a policy")
			flags.Float64Var(&p.span, "span", 100_000, "length of a run, in mean processing times")
			flags.Uint64Var(&p.seed, "seed", 1, "seed of all runs")
			flags.IntVar(&p.pages, "pages", 100_000, "largest number of pages of an access sequence")
			return p.run
		},
	}
}

func (p *parameters) run(ctx context.Context, out *lab.Result) error {
	switch {
	case p.runs < 2:
		return &lab.ParameterError{Name: "runs", Value: p.runs, Want: "at least 2"}
	case !(p.span >= 100 && p.span <= 1e9):
		return &lab.ParameterError{Name: "span", Value: p.span, Want: "100 to 1e9"}
	case p.pages < 10 || p.pages > 1_000_000:
		return &lab.ParameterError{Name: "pages", Value: p.pages, Want: "10 to 1,000,000"}
	}
	if err := table11(out); err != nil {
		return err
	}
	for _, table := range []string{"1.2", "1.3"} {
		out.Progress("table "+table, 0, 0)
		if err := dynamicTable(out, table); err != nil {
			return err
		}
	}
	if err := loads(out); err != nil {
		return err
	}
	for _, f := range switched() {
		d, err := f.curves(out)
		if err != nil {
			return err
		}
		if err := p.check(ctx, out, f, d); err != nil {
			return err
		}
	}
	if err := p.sequences(ctx, out); err != nil {
		return err
	}
	return p.propositions(out)
}
