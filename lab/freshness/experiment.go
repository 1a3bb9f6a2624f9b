package freshness

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"freshet/lab"
	"freshet/refresh"
	"freshet/refresh/policies"
	"freshet/sim"
	"freshet/sim/discovery"
	"freshet/sim/graph"
)

const day = 24 * 3600.0 // s

// parameters are the flags.
type parameters struct {
	sites    int
	share    float64
	days     int
	policies []string
	delay    *time.Duration
	seed     uint64
}

// Experiment returns the experiment.
func Experiment() lab.Experiment {
	return lab.Experiment{
		Name:    "freshness",
		Summary: "Keep a synthetic web fresh by each policy in a simulated crawl: the truth beside what is believed",
		Quick:   []string{"--sites=12", "--days=24", "--policy=default,uniform"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := new(parameters)
			flags.IntVar(&p.sites, "sites", 30, "number of sites in the web")
			flags.Float64Var(&p.share, "budget-share", 0.5, "requests a day per page of the web, new pages included")
			flags.IntVar(&p.days, "days", 40, "days to crawl; the second half is scored")
			flags.StringSliceVar(&p.policies, "policy", []string{"all"}, "policies: all, or some of "+strings.Join(policies.Names(), ", "))
			p.delay = lab.Duration(flags, "delay", 15*time.Second, "w: from the end of an answer to the next connection to its site")
			flags.Uint64Var(&p.seed, "seed", 1, "seed of the web and of its changes")
			return p.run
		},
	}
}

// check returns the chosen policies, or an error if a parameter is invalid.
func (p *parameters) check() (chosen []string, err error) {
	for _, name := range p.policies {
		switch {
		case name == "all":
			chosen = append(chosen, policies.Names()...)
		case !slices.Contains(policies.Names(), name):
			return nil, &lab.ParameterError{Name: "policy", Value: name, Want: "all, or some of " + strings.Join(policies.Names(), ", ")}
		default:
			chosen = append(chosen, name)
		}
	}
	switch {
	case p.sites < 1:
		return nil, &lab.ParameterError{Name: "sites", Value: p.sites, Want: "1 or more"}
	case !(p.share > 0 && p.share <= 1000):
		return nil, &lab.ParameterError{Name: "budget-share", Value: p.share, Want: "more than 0, at most 1000"}
	case p.days < 2 || p.days > 10_000:
		return nil, &lab.ParameterError{Name: "days", Value: p.days, Want: "2 to 10000"}
	}
	return chosen, nil
}

func (p *parameters) run(ctx context.Context, out *lab.Result) error {
	chosen, err := p.check()
	if err != nil {
		return err
	}
	web, _, err := graph.Generate(ctx, graph.Recipe{Seed: p.seed, Sites: p.sites, HomeShare: 0.6})
	if err != nil {
		return err
	}
	out.Parameter("pages", web.Pages())
	plot := lab.Plot{Title: "Share of the copies that are up to date, and what is believed of it",
		X: lab.Axis{Label: "days"}, Y: lab.Axis{Label: "share"}}
	truth := map[string]float64{}
	for i, name := range chosen {
		out.Progress(name, i, len(chosen))
		s, err := p.crawl(ctx, web, name)
		if err != nil {
			return err
		}
		actual, believed := s.series(name)
		plot.Series = append(plot.Series, actual, believed)
		scored := s.scored(float64(p.days) * day / 2)
		truth[name] = scored.fresh
		out.Row("policy", name, "pages", scored.pages, "freshness", scored.fresh, "believed", scored.believed,
			"apart", scored.apart, "discoveries", s.result.Fetched, "visits_per_day", float64(s.result.Revisits)/float64(p.days))
		out.Claim(name+": what is believed is within 2 points of the truth", math.Abs(scored.fresh-scored.believed) <= 0.02,
			"%.4f believed, %.4f true; a sample is %.4f off on average", scored.believed, scored.fresh, scored.apart)
	}
	if uniform, ok := truth["uniform"]; ok && truth["default"] > 0 {
		out.Claim("the default keeps the copies fresher than uniform", truth["default"] > uniform, "%.4f against %.4f", truth["default"], uniform)
	}
	out.Plot(plot)
	return nil
}

// story is a crawl and the samples taken during it.
type story struct {
	result  discovery.Result
	samples []discovery.Sample
}

// crawl crawls the web and keeps it fresh by the named policy.
func (p *parameters) crawl(ctx context.Context, web *graph.Stored, name string) (s story, err error) {
	budget := max(1, int64(math.Round(p.share*float64(web.Pages())))) // requests a day
	policy, err := policies.New(name, policies.Setting{Budget: float64(budget) / day, Interval: day, Random: lab.Random(p.seed, 2)})
	if err != nil {
		return s, err
	}
	belief, ok := policy.(*refresh.Index)
	if !ok {
		belief = refresh.NewIndex(refresh.Default())
	}
	processes := make([]sim.Process, web.Pages())
	for page := range processes {
		processes[page] = sim.NewProcess(p.seed<<32 + uint64(page))
	}
	s.result, err = discovery.Crawl(ctx, web, discovery.Options{
		Connections: 16, Delay: *p.delay, Robots: true, Seed: p.seed,
		Refresh: &discovery.Refresh{
			Policy: policy, Belief: belief, Budget: budget, Share: 0.5,
			For: time.Duration(p.days) * 24 * time.Hour, Every: 6 * time.Hour,
			Changes: func(page uint32, at float64) int {
				changes, _ := processes[page].Changes(time.Duration(at * 1e9))
				return changes
			},
			Sampled: func(sample discovery.Sample) { s.samples = append(s.samples, sample) },
		},
	})
	if err != nil {
		return s, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// series returns the true and the believed freshness, by day.
func (s story) series(name string) (actual, believed lab.Series) {
	actual.Name, believed.Name = name, name+", believed"
	for _, sample := range s.samples {
		actual.X, actual.Y = append(actual.X, sample.At/day), append(actual.Y, sample.Fresh)
		believed.Y = append(believed.Y, sample.Believed)
	}
	believed.X = actual.X
	return actual, believed
}

// score is the mean of some samples.
type score struct {
	pages           int // at the end
	fresh, believed float64
	apart           float64 // |true - believed|
}

// scored returns the mean of the samples after a time.
func (s story) scored(after float64) (mean score) {
	n := 0.0
	for _, sample := range s.samples {
		if sample.At < after {
			continue
		}
		n++
		mean.pages = sample.Pages
		mean.fresh += sample.Fresh
		mean.believed += sample.Believed
		mean.apart += math.Abs(sample.Fresh - sample.Believed)
	}
	n = max(1, n)
	mean.fresh, mean.believed, mean.apart = mean.fresh/n, mean.believed/n, mean.apart/n
	return mean
}
