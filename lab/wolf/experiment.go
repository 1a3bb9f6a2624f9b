package wolf

import (
	"context"
	"slices"

	"github.com/spf13/pflag"

	"freshet/lab"
)

// parameters are the flags.
type parameters struct {
	figures           []int
	pages             int
	seed              uint64
	slots, draws      int
	histories, bulk   string
	minGaps, resample int
}

// Experiment returns the experiment.
func Experiment() lab.Experiment {
	return lab.Experiment{
		Name:       "wolf",
		Summary:    "Compare the optimal crawls of a budget with shares of it, schedule them, and fit real gaps between updates",
		Reproduces: "Wolf, Squillante, Yu, Sethuraman and Ozsen 2002, Figures 6 to 10",
		Quick:      []string{"--pages=20000", "--slots=20000", "--draws=3"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := new(parameters)
			flags.IntSliceVar(&p.figures, "figures", []int{6, 7, 8, 9, 10}, "figures to repeat, 6 to 10")
			flags.IntVar(&p.pages, "pages", referencePages, "pages of Figures 7 to 9")
			flags.Uint64Var(&p.seed, "seed", referenceSeed, "seed of weights, ideal times and resampled gaps")
			flags.IntVar(&p.slots, "slots", 1_000_000, "slots an interval of each of the ten crawlers of Figure 10")
			flags.IntVar(&p.draws, "draws", 1, "draws of ideal times in Figure 10")
			flags.StringVar(&p.histories, "histories", "", "file of recorded pages for Figure 6: CSV of site,page,alive,end,times, may end in .gz; none leaves the figure out")
			flags.StringVar(&p.bulk, "without-bulk", "", "file of landings, whose updates Figure 6 leaves out: CSV of site,time,pages_touched")
			flags.IntVar(&p.minGaps, "min-gaps", 20, "least number of gaps of a page in Figure 6")
			flags.IntVar(&p.resample, "resample", 19, "samples drawn from each fitted law to test a page's gaps")
			return p.run
		},
	}
}

func (p *parameters) validate() error {
	for _, f := range p.figures {
		if f < 6 || f > 10 {
			return &lab.ParameterError{Name: "figures", Value: f, Want: "6 to 10"}
		}
	}
	for _, bound := range []struct {
		name             string
		value, low, high int
		want             string
	}{
		{"pages", p.pages, 100, 100_000_000, "100 to 100 million"},
		{"slots", p.slots, 100, 10_000_000, "100 to 10 million"},
		{"draws", p.draws, 1, 1000, "1 to 1000"},
		{"min-gaps", p.minGaps, 5, 1_000_000, "5 or more"},
		{"resample", p.resample, 19, 100_000, "19 to 100000"},
	} {
		if bound.value < bound.low || bound.value > bound.high {
			return &lab.ParameterError{Name: bound.name, Value: bound.value, Want: bound.want}
		}
	}
	return nil
}

func (p *parameters) run(ctx context.Context, out *lab.Result) error {
	if err := p.validate(); err != nil {
		return err
	}
	for _, figure := range []struct {
		number int
		run    func(context.Context, *lab.Result) error
	}{{6, p.tails}, {7, p.weighted}, {8, p.mixtures}, {9, p.shapes}, {10, p.displacements}} {
		if !slices.Contains(p.figures, figure.number) {
			continue
		}
		if err := figure.run(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

// reference reports whether the reference values hold for these parameters.
func (p *parameters) reference() bool { return p.pages == referencePages && p.seed == referenceSeed }
