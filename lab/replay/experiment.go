package replay

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"freshet/lab"
	"freshet/refresh"
)

// parameters are the flags.
type parameters struct {
	histories    string
	share        float64
	perDay       float64
	policy       string
	window       days
	score        days
	accelerate   float64
	withoutBulk  string
	noise        string
	protocol     string
	removals     string
	lastModified bool
	taught       bool
	sites        string
	bySite       bool
	bootstrap    string
	seed         uint64
	seeds        int
}

// Experiment returns the experiment.
func Experiment() lab.Experiment {
	return lab.Experiment{
		Name:       "replay",
		Summary:    "Recrawl recorded histories of pages by every policy, and score how fresh the copies are",
		Reproduces: "each rule's claim to keep copies fresher, on histories that fit none of their assumptions",
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := &parameters{window: 2191.5, score: 730.5}
			flags.StringVar(&p.histories, "histories", "", "file of histories: CSV of site,page,alive,end,times, may end in .gz")
			flags.Float64Var(&p.share, "budget-share", 0.01, "crawls a day per living page")
			flags.Float64Var(&p.perDay, "budget-per-day", 0, "crawls a day, instead of a share")
			flags.StringVar(&p.policy, "policy", "all", "policies, separated by commas, or all")
			flags.Var(&p.window, "window", "length of the histories to replay, up to each site's last observation")
			flags.Var(&p.score, "score", "length of the scored part, at the end of the window")
			flags.Float64Var(&p.accelerate, "accelerate", 1, "factor by which time runs faster")
			flags.StringVar(&p.withoutBulk, "without-bulk", "", "file of landings, whose updates are left out: CSV of site,time,pages_touched")
			flags.StringVar(&p.noise, "noise", "", "file of landings, in the form of --without-bulk: a crawl sees their updates as changes, but the score does not count them")
			flags.StringVar(&p.protocol, "protocol", "simple", "simple; or full: visits find new and removed pages, and a tenth of the crawls fail")
			flags.StringVar(&p.removals, "removals", "told", "told, or hidden: the crawler detects removals only by a crawl")
			flags.BoolVar(&p.lastModified, "last-modified", false, "a visit that sees a change also shows when the last one was")
			flags.BoolVar(&p.taught, "taught", false, "visit every page daily, at no cost, until the scored part begins: an upper bound on learning")
			flags.StringVar(&p.sites, "sites", "", "only these sites, separated by commas; with a leading !, all but these")
			flags.BoolVar(&p.bySite, "by-site", false, "add a row for every site")
			flags.StringVar(&p.bootstrap, "bootstrap", "", "intervals over sites or over time (twelfths of the scored part) instead of over seeds")
			flags.Uint64Var(&p.seed, "seed", 1, "seed of the order of pages, of weights and of random policies")
			flags.IntVar(&p.seeds, "seeds", 1, "number of seeds, from --seed on; the rows are means over them")
			return p.run
		},
	}
}

// days is a duration in days, as a flag: "2191.5d".
type days float64

// String returns the days in the form that Set reads.
func (d *days) String() string { return strconv.FormatFloat(float64(*d), 'g', -1, 64) + "d" }

// Set reads a number of days.
func (d *days) Set(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "d"), 64)
	if err != nil || !(v > 0) || v > 1e6 {
		return fmt.Errorf("%q: want days, such as 730.5d", text)
	}
	*d = days(v)
	return nil
}

// Type implements pflag.Value.
func (d *days) Type() string { return "days" }

func (p *parameters) run(ctx context.Context, out *lab.Result) error {
	chosen, err := p.check()
	if err != nil {
		return err
	}
	world, err := p.world()
	if err != nil {
		return err
	}
	budget := p.perDay
	if budget == 0 {
		budget = p.share * world.MeanLiving()
	}
	out.Parameter("pages", len(world.Lives))
	out.Parameter("updates", world.Updates())
	out.Parameter("mean_living_pages", world.MeanLiving())
	out.Parameter("budget_per_day", budget)
	rules := Rules{Rate: budget / day, Hidden: p.removals == "hidden", LastModified: p.lastModified, Taught: p.taught}
	if p.protocol == "full" {
		rules = rules.full()
	}
	trials, err := p.trials(ctx, out, world, chosen, rules)
	if err != nil {
		return err
	}
	for i, c := range chosen {
		own := trials[i*p.seeds : (i+1)*p.seeds]
		switch p.bootstrap {
		case "sites":
			p.resampled(out, c.name, bySites(own), bySites(trials[:p.seeds]))
		case "time":
			p.resampled(out, c.name, byTime(own), byTime(trials[:p.seeds]))
		default:
			p.rows(out, world, c.name, own)
		}
	}
	if p.isReference(world) {
		compare(out, p.share)
	}
	return nil
}

// check returns the chosen policies, or an error if a parameter is invalid.
func (p *parameters) check() ([]contender, error) {
	wrong := func(name string, value any, want string) error {
		return &lab.ParameterError{Name: name, Value: value, Want: want}
	}
	chosen, err := choose(p.policy)
	switch {
	case err != nil:
		return nil, wrong("policy", p.policy, err.Error())
	case p.histories == "":
		return nil, wrong("histories", `""`, "a file")
	case !(p.share > 0 && p.share <= 1000):
		return nil, wrong("budget-share", p.share, "more than 0, at most 1000")
	case !(p.perDay >= 0 && p.perDay <= 1e9):
		return nil, wrong("budget-per-day", p.perDay, "0 to 1e9")
	case p.score > p.window:
		return nil, wrong("score", p.score.String(), "at most the window, "+p.window.String())
	case !(p.accelerate > 0 && p.accelerate <= 1e6):
		return nil, wrong("accelerate", p.accelerate, "more than 0, at most 1e6")
	case p.protocol != "simple" && p.protocol != "full":
		return nil, wrong("protocol", p.protocol, "simple or full")
	case p.removals != "told" && p.removals != "hidden":
		return nil, wrong("removals", p.removals, "told or hidden")
	case p.bootstrap != "" && p.bootstrap != "sites" && p.bootstrap != "time":
		return nil, wrong("bootstrap", p.bootstrap, "sites or time")
	case p.seeds < 1 || p.seeds > 1000:
		return nil, wrong("seeds", p.seeds, "1 to 1000")
	}
	return chosen, nil
}

// world reads the histories.
func (p *parameters) world() (*World, error) {
	histories, err := ReadHistories(p.histories)
	if err != nil {
		return nil, err
	}
	if p.withoutBulk != "" {
		bulk, err := ReadBulk(p.withoutBulk)
		if err != nil {
			return nil, err
		}
		bulk.Drop(histories)
	}
	if p.noise != "" {
		bulk, err := ReadBulk(p.noise)
		if err != nil {
			return nil, err
		}
		bulk.Silence(histories)
	}
	world := NewWorld(histories, float64(p.window)*day, float64(p.score)*day, p.accelerate)
	if p.sites != "" {
		names, but := strings.CutPrefix(p.sites, "!")
		list := strings.Split(names, ",")
		for _, name := range list {
			if !slices.Contains(world.Sites(), name) {
				return nil, &lab.ParameterError{Name: "sites", Value: name, Want: "some of " + strings.Join(world.Sites(), ", ")}
			}
		}
		if but {
			list = slices.DeleteFunc(world.Sites(), func(s string) bool { return slices.Contains(list, s) })
		}
		world = world.Only(list)
	}
	if len(world.Lives) == 0 {
		return nil, fmt.Errorf("replay: %s: no page lives within the window", p.histories)
	}
	return world, nil
}

// A trial is the result of one policy with one seed: a run with equal weights, a run with Zipf weights, and those
// weights.
type trial struct {
	lives           []Life
	equal, weighted Reached
	weights         []float64
}

// trials runs every policy with every seed, on all processors.
func (p *parameters) trials(ctx context.Context, out *lab.Result, world *World, chosen []contender, rules Rules) ([]trial, error) {
	trials := make([]trial, len(chosen)*p.seeds)
	failed := make([]error, len(trials))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	done := make(chan string, len(trials))
	for i := range trials {
		group.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			if failed[i] = ctx.Err(); failed[i] == nil {
				trials[i], failed[i] = p.try(ctx, world, chosen[i/p.seeds], i%p.seeds, rules)
			}
			if failed[i] != nil {
				cancel()
			}
			done <- chosen[i/p.seeds].name
		})
	}
	for i := range trials {
		out.Progress(<-done, i+1, len(trials))
	}
	group.Wait()
	// The first failure cancels the others: prefer an error that is not a cancellation.
	for _, err := range failed {
		if err != nil && err != context.Canceled {
			return nil, err
		}
	}
	return trials, ctx.Err()
}

// try runs one policy with one seed. A policy that ignores weights runs once.
func (p *parameters) try(ctx context.Context, world *World, c contender, n int, rules Rules) (trial, error) {
	seed := p.seed + uint64(n)
	world = world.shuffled(lab.Random(seed, 0))
	t := trial{lives: world.Lives, weights: zipf(len(world.Lives), lab.Random(seed, 1))}
	run := func(weights []float64) (Reached, error) {
		policy, err := c.make(setting{world, rules.Rate, lab.Random(seed, 2)})
		if err != nil {
			return Reached{}, err
		}
		rules.Random = lab.Random(seed, 4)
		return Run(ctx, world, policy, weights, rules)
	}
	var err error
	if t.equal, err = run(nil); err != nil {
		return t, err
	}
	if t.weighted = t.equal; !c.blind {
		t.weighted, err = run(t.weights)
	}
	return t, err
}

// rows adds a policy's row, and those of its sites.
func (p *parameters) rows(out *lab.Result, world *World, name string, trials []trial) {
	row := func(pairs []any, of func(Life) bool) {
		var fresh, weighted, age, crawls []float64
		for _, t := range trials {
			var equal, zipf Score
			for i, l := range t.lives {
				if of(l) {
					equal.Add(t.equal.Pages[i], 1)
					zipf.Add(t.weighted.Pages[i], t.weights[i])
				}
			}
			fresh = append(fresh, equal.Freshness())
			weighted = append(weighted, zipf.Freshness())
			age = append(age, equal.MeanAge())
			crawls = append(crawls, equal.Crawls)
		}
		pairs = append(pairs, "freshness", estimate(fresh), "weighted_freshness", estimate(weighted),
			"mean_age_s", estimate(age), "crawls", lab.Estimate(crawls, confidence).Mean)
		out.Row(pairs...)
	}
	row([]any{"policy", name}, func(Life) bool { return true })
	if p.bySite {
		for _, site := range world.Sites() {
			row([]any{"policy", name, "site", site}, func(l Life) bool { return l.Site == site })
		}
	}
}

const confidence = 0.95

// estimate returns the mean with its interval. It returns a single value as it is.
func estimate(samples []float64) any {
	if len(samples) == 1 {
		return samples[0]
	}
	return lab.Estimate(samples, confidence)
}

// isReference reports whether the reference values hold for the run.
func (p *parameters) isReference(w *World) bool {
	return len(w.Lives) == 29452 && w.Updates() == 176833 && p.accelerate == 1 && p.perDay == 0 &&
		p.protocol == "simple" && p.removals == "told" && !p.lastModified && !p.taught && math.Abs(float64(p.window)-2191.5) < 1e-9 && math.Abs(float64(p.score)-730.5) < 1e-9
}

var _ refresh.Policy = (*oracle)(nil)
var _ refresh.Policy = (*hindsight)(nil)
