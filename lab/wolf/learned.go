package wolf

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/spf13/pflag"

	"freshet/change"
	"freshet/lab"
	"freshet/lab/replay"
	"freshet/refresh/policies"
)

const day = 86400.0 // s, an interval of the mixture over time

// longParameters are the flags of the mixture over many intervals.
type longParameters struct {
	mixture                         string
	pages, intervals, scored, seeds int
	seed                            uint64
	perPage                         []float64
	ahead                           float64
}

// Mixture returns the experiment that crawls the mixture of section 5 for many intervals: by the live plan, which
// knows the laws, and by the policies that learn them.
func Mixture() lab.Experiment {
	return lab.Experiment{
		Name:    "wolf-mixture",
		Summary: "Crawl the mixed pages of Wolf et al. for many intervals, with rates known and with rates to be learned, beside the optimum",
		Quick:   []string{"--pages=500", "--intervals=30", "--scored=10", "--seeds=2", "--crawls-per-page=2.5"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := new(longParameters)
			flags.StringVar(&p.mixture, "mixture", "mixed", "laws of the pages: mixed, poisson, pareto or quasi")
			flags.IntVar(&p.pages, "pages", 2000, "pages")
			flags.Float64SliceVar(&p.perPage, "crawls-per-page", []float64{1.5, 2.5, 5}, "crawls a page and interval")
			flags.IntVar(&p.intervals, "intervals", 60, "intervals to crawl, of a day each")
			flags.IntVar(&p.scored, "scored", 20, "intervals to score, at the end")
			flags.Float64Var(&p.ahead, "ahead", 16, "intervals for which the plan allocates crawls in advance when it knows the laws")
			flags.Uint64Var(&p.seed, "seed", referenceSeed, "seed of weights and updates")
			flags.IntVar(&p.seeds, "seeds", 3, "number of seeds of updates, from --seed on; the rows are means over them")
			return p.run
		},
	}
}

func (p *longParameters) validate() error {
	if _, ok := recipes[p.mixture]; !ok {
		return &lab.ParameterError{Name: "mixture", Value: p.mixture, Want: "mixed, poisson, pareto or quasi"}
	}
	for _, bound := range []struct {
		name             string
		value, low, high float64
		want             string
	}{
		{"pages", float64(p.pages), 100, 1e6, "100 to a million"},
		{"intervals", float64(p.intervals), 2, 1e4, "2 to 10000"},
		{"scored", float64(p.scored), 1, float64(p.intervals) - 1, "1 to one less than the intervals"},
		{"ahead", p.ahead, 1, 40, "1 to 40"}, // 48 instants an interval, change.MaxUpdates in all
		{"seeds", float64(p.seeds), 1, 1000, "1 to 1000"},
	} {
		if !(bound.value >= bound.low && bound.value <= bound.high) {
			return &lab.ParameterError{Name: bound.name, Value: bound.value, Want: bound.want}
		}
	}
	for _, x := range p.perPage {
		if !(x >= 0.1 && x <= 100) {
			return &lab.ParameterError{Name: "crawls-per-page", Value: x, Want: "0.1 to 100 each"}
		}
	}
	return nil
}

func (p *longParameters) run(ctx context.Context, out *lab.Result) error {
	if err := p.validate(); err != nil {
		return err
	}
	mixed, err := newPages(p.pages, p.mixture, 0, 1.5)
	if err != nil {
		return err
	}
	for _, weighing := range []struct {
		name string
		problem
	}{{"equal", problem{mixed, nil}}, {"clicks", problem{mixed, embarrassment(p.pages, p.seed)}}} {
		for _, perPage := range p.perPage {
			budget := math.Round(perPage * float64(p.pages))
			optimum, blind := 1-weighing.bound(budget, true), 1-weighing.bound(budget, false)
			row := func(policy string, freshness any, mean float64) {
				out.Row("weights", weighing.name, "crawls_per_page", perPage, "policy", policy, "freshness", freshness,
					"of_optimum", mean/optimum, "of_optimum_without_instants", mean/blind)
			}
			claim := func(claim string, freshness, least, optimum float64) {
				out.Claim(fmt.Sprintf("%s; %s weights, %v crawls a page", claim, weighing.name, perPage), freshness >= least*optimum,
					"%.5f of %.5f, which is %.3f %%", freshness, optimum, 100*freshness/optimum)
			}
			row("optimum, laws known", optimum, optimum)
			row("optimum, instants not known", blind, blind)
			c, err := newChain(weighing.problem, budget, p.ahead, float64(p.intervals-p.scored))
			if err != nil {
				return err
			}
			known, err := c.run(ctx, p.intervals)
			if err != nil {
				return err
			}
			row("plan, laws known", known, known)
			claim("plan, told the laws, is at least 99.9 % as fresh as the continuous optimum", known, 0.999, optimum)
			for _, learner := range learners {
				freshness, err := p.learn(ctx, out, weighing.problem, learner, budget)
				if err != nil {
					return err
				}
				mean := lab.Estimate(freshness, 0.95)
				row(learner.name, mean, mean.Mean)
				if learner.claimed {
					claim("after learning, "+learner.name+" is within 1 % of the optimum", mean.Mean, 0.99, optimum)
					claim("after learning, "+learner.name+" is within 1 % of the optimum that does not know the instants", mean.Mean, 0.99, blind)
				}
			}
		}
	}
	return nil
}

// A learner is a policy that does not know the pages' laws.
type learner struct {
	name    string // one of policies.Names
	claimed bool   // claims say that it comes near the optimum
}

var learners = []learner{
	{policies.Default, true},
	{"plan", false},
	{"uniform", false},
}

// learn returns a policy's freshness for each seed.
func (p *longParameters) learn(ctx context.Context, out *lab.Result, problem problem, l learner, budget float64) ([]float64, error) {
	var freshness []float64
	for n := range p.seeds {
		out.Progress(l.name, n, p.seeds)
		rate := budget / day
		policy, err := policies.New(l.name, policies.Setting{Budget: rate, Interval: day, Random: lab.Random(p.seed, n)})
		if err != nil {
			return nil, err
		}
		world := problem.world(lab.Random(p.seed, n), float64(p.intervals), float64(p.scored))
		reached, err := replay.Run(ctx, world, policy, problem.weights, replay.Rules{Rate: rate})
		if err != nil {
			return nil, err
		}
		var all replay.Score
		for i, s := range reached.Pages {
			all.Add(s, problem.weight(i))
		}
		freshness = append(freshness, all.Freshness())
	}
	return freshness, nil
}

// world draws the updates of the pages over a number of intervals.
func (p problem) world(rng *rand.Rand, intervals, scored float64) *replay.World {
	w := &replay.World{Window: intervals * day, Score: scored * day}
	for i := range p.rates {
		life := replay.Life{Site: "mixture", Path: strconv.Itoa(i), End: w.Window}
		for at := range p.updates(i, rng, intervals) {
			life.Updates = append(life.Updates, at*day)
		}
		w.Lives = append(w.Lives, life)
	}
	return w
}

// updates draws the updates of page i up to a time, in intervals. Its process is in equilibrium.
func (p problem) updates(i int, rng *rand.Rand, until float64) iter.Seq[float64] {
	if p.recipe[i%10] == quasi {
		return p.rhythm(i).Draw(rng, 0, until)
	}
	return change.Draw(p.process(i), rng, until)
}
