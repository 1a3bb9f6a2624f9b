package lam

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/stat"

	"freshet/feed/broadcast/scheduler"
	"freshet/lab"
)

// published are the schedulers that the paper evaluates; all are those that the experiment can run.
var (
	published = []string{"circular", "popularity", "rq", "rxc"}
	all       = []string{"circular", "popularity", "rq", "rxw", "rxc", "rxc-ideal", "lifetime"}
)

// A summary holds the outcomes of one scheduler, one per seed.
type summary struct {
	scheduler string
	outcomes  []*outcome
}

// A metric is a figure of a run.
type metric func(*outcome) float64

// The metrics of the tables, freshness and age over the last day.
func freshnessOverClients(o *outcome) float64 { return o.end.FreshnessOverClients }
func freshnessOverData(o *outcome) float64    { return o.end.FreshnessOverData }
func ageOverClients(o *outcome) float64       { return o.end.AgeOverClients }
func ageOverData(o *outcome) float64          { return o.end.AgeOverData }
func freshnessAtWeek(o *outcome) float64      { return o.week }
func delay(o *outcome) float64                { return o.delays.MeanAll }
func unserved(o *outcome) float64             { return float64(o.delays.Unserved) }

// delayFinished is the mean delay of the downloaders that have finished, or NaN if none has.
func delayFinished(o *outcome) float64 {
	if o.delays.Served == 0 {
		return math.NaN()
	}
	return o.delays.Mean
}

// of returns a metric of every run.
func (s summary) of(m metric) []float64 {
	values := make([]float64, len(s.outcomes))
	for i, o := range s.outcomes {
		values[i] = m(o)
	}
	return values
}

// mean returns the mean of a metric over the runs that have it.
func (s summary) mean(m metric) float64 {
	values := slices.DeleteFunc(s.of(m), math.IsNaN)
	return stat.Mean(values, nil)
}

// deviation returns the standard deviation of a metric between runs, or 0 for one run.
func (s summary) deviation(m metric) float64 {
	if len(s.outcomes) < 2 {
		return 0
	}
	return stat.StdDev(s.of(m), nil)
}

// ahead returns the mean of s minus that of other in a metric, on the same seeds, with its standard error.
func (s summary) ahead(other summary, m metric) (difference, standardError float64) {
	a, b := s.of(m), other.of(m)
	for i := range a {
		a[i] -= b[i]
	}
	if len(a) < 2 {
		return a[0], 0
	}
	mean, deviation := stat.MeanStdDev(a, nil)
	return mean, deviation / math.Sqrt(float64(len(a)))
}

// A contender is a scheduler with its objective.
type contender struct {
	name      string // as it is shown
	scheduler string
	objective scheduler.Objective
}

// measure runs the contenders on the same draws of a load.
func (l load) measure(ctx context.Context, out *lab.Result, doing string, seeds int, seed uint64, contenders []contender) ([]summary, error) {
	summaries := make([]summary, len(contenders))
	for i, c := range contenders {
		summaries[i].scheduler = c.name
	}
	for run := range seeds {
		w := l.draw(lab.Random(seed, run))
		boundOverClients, boundOverData := math.NaN(), math.NaN()
		if l.downloaders == 0 && l.subscribers > 0 && !l.unicast {
			boundOverClients, boundOverData = w.bound(false), w.bound(true)
		}
		for i, c := range contenders {
			out.Progress(doing+", "+c.name, run*len(contenders)+i, seeds*len(contenders))
			s, err := w.scheduler(c.scheduler, c.objective)
			if err != nil {
				return nil, err
			}
			o, err := w.run(ctx, s)
			if err != nil {
				return nil, err
			}
			o.boundOverClients, o.boundOverData = boundOverClients, boundOverData
			summaries[i].outcomes = append(summaries[i].outcomes, o)
		}
	}
	return summaries, nil
}

// parameters are the flags of one load.
type parameters struct {
	load
	changeInterval, length *time.Duration
	schedulers, objective  string
	over                   string
	patience               *time.Duration
	seeds                  int
	seed                   uint64
}

// Experiment returns the experiment on one load.
func Experiment() lab.Experiment {
	return lab.Experiment{
		Name:       "lam",
		Summary:    "Send a changing repository to subscribers and downloaders, by each scheduler",
		Reproduces: "Lam and Garcia-Molina 2001, one point of Figures 4 to 9",
		Quick:      []string{"--seeds=1"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := new(parameters)
			p.declare(flags)
			return p.run
		},
	}
}

func (p *parameters) declare(flags *pflag.FlagSet) {
	flags.IntVar(&p.subscribers, "subscribers", 100, "clients that stay and want every change")
	flags.IntVar(&p.downloaders, "downloaders", 0, "clients that come at the start and want one whole copy")
	flags.Float64Var(&p.meanSites, "mean-sites", 9, "sites that a client wants, on average")
	p.changeInterval = lab.Duration(flags, "change-interval", 75*day*time.Second, "mean of the pages' mean times between changes")
	flags.BoolVar(&p.same, "equal-rates", false, "let all pages change at the same rate")
	p.length = lab.Duration(flags, "duration", 75*day*time.Second, "length of a run")
	flags.IntVar(&p.pagesPerChunk, "pages-per-chunk", 15, "pages that are sent together")
	flags.Float64Var(&p.skew, "skew", 0, "share of requests that go to the hot twentieth of the sites, 0 to 1")
	flags.BoolVar(&p.unicast, "unicast", false, "send a separate copy to each client, of the pages that any client lacks")
	flags.IntVar(&p.seeds, "seeds", 3, "number of runs; each draws new clients and changes, the same for every scheduler")
	flags.Uint64Var(&p.seed, "seed", 1, "seed of all runs")
	flags.StringVar(&p.schedulers, "scheduler", "all", "all, or some of "+strings.Join(all, ", ")+", separated by commas")
	flags.StringVar(&p.objective, "objective", "freshness", "for lifetime: freshness or age")
	flags.StringVar(&p.over, "over", "clients", "for lifetime: clients or data")
	p.patience = lab.Duration(flags, "patience", scheduler.DefaultPatience*time.Second, "for lifetime: the weight of downloaders, as fresh time of a subscriber's page")
}

// check returns the contenders that the flags name.
func (p *parameters) check() ([]contender, error) {
	p.interval, p.duration = p.changeInterval.Seconds(), p.length.Seconds()
	wrong := func(name string, value any, want string) error {
		return &lab.ParameterError{Name: name, Value: value, Want: want}
	}
	switch {
	case p.subscribers < 0 || p.subscribers > 1_000_000:
		return nil, wrong("subscribers", p.subscribers, "0 to 1,000,000")
	case p.downloaders < 0 || p.downloaders > 1_000_000:
		return nil, wrong("downloaders", p.downloaders, "0 to 1,000,000")
	case !(p.meanSites > 0 && p.meanSites <= sites/10):
		return nil, wrong("mean-sites", p.meanSites, "more than 0, at most 2,100")
	case p.interval < 3600:
		return nil, wrong("change-interval", p.changeInterval, "an hour or more")
	case p.pagesPerChunk < 1 || p.pagesPerChunk > 60:
		return nil, wrong("pages-per-chunk", p.pagesPerChunk, "1 to 60")
	case p.duration < day || p.duration > 3650*day:
		return nil, wrong("duration", p.length, "1d to 3650d")
	case !(p.skew >= 0 && p.skew <= 1):
		return nil, wrong("skew", p.skew, "0 to 1")
	case p.seeds < 1:
		return nil, wrong("seeds", p.seeds, "1 or more")
	case p.objective != "freshness" && p.objective != "age":
		return nil, wrong("objective", p.objective, "freshness or age")
	case p.over != "clients" && p.over != "data":
		return nil, wrong("over", p.over, "clients or data")
	}
	names := all
	if p.schedulers != "all" {
		names = strings.Split(p.schedulers, ",")
	}
	objective := scheduler.Objective{Age: p.objective == "age", OverData: p.over == "data", Patience: p.patience.Seconds()}
	var contenders []contender
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, wrong("scheduler", name, "all, or some of "+strings.Join(all, ", "))
		}
		contenders = append(contenders, contender{name, name, objective})
	}
	return contenders, nil
}

func (p *parameters) run(ctx context.Context, out *lab.Result) error {
	contenders, err := p.check()
	if err != nil {
		return err
	}
	summaries, err := p.measure(ctx, out, "run", p.seeds, p.seed, contenders)
	if err != nil {
		return err
	}
	for _, s := range summaries {
		out.Row(s.row()...)
	}
	p.load.compare(out, summaries)
	return nil
}

// row returns a scheduler's row: means over the seeds, standard deviations between them, time averages, and medians
// and 95th percentiles of the lags.
func (s summary) row() []any {
	decisions := func(o *outcome) float64 { return float64(o.sent) / o.took.Seconds() }
	return []any{
		"scheduler", s.scheduler,
		"freshness_over_clients", s.mean(freshnessOverClients),
		"freshness_over_data", s.mean(freshnessOverData),
		"age_over_clients_s", s.mean(ageOverClients),
		"age_over_data_s", s.mean(ageOverData),
		"freshness_over_clients_7d", s.mean(freshnessAtWeek),
		"delay_s", s.mean(delay),
		"delay_finished_s", s.mean(delayFinished),
		"unserved", s.mean(unserved),
		"decisions_per_s", s.mean(decisions),
		"freshness_over_clients_sd", s.deviation(freshnessOverClients),
		"freshness_over_data_sd", s.deviation(freshnessOverData),
		"age_over_clients_sd_s", s.deviation(ageOverClients),
		"age_over_data_sd_s", s.deviation(ageOverData),
		"delay_sd_s", s.deviation(delay),
		"mean_freshness_over_clients", s.mean(func(o *outcome) float64 { return o.mean.FreshnessOverClients }),
		"mean_freshness_over_data", s.mean(func(o *outcome) float64 { return o.mean.FreshnessOverData }),
		"bound_freshness_over_clients", s.mean(func(o *outcome) float64 { return o.boundOverClients }),
		"bound_freshness_over_data", s.mean(func(o *outcome) float64 { return o.boundOverData }),
		"mean_age_over_clients_s", s.mean(func(o *outcome) float64 { return o.mean.AgeOverClients }),
		"mean_age_over_data_s", s.mean(func(o *outcome) float64 { return o.mean.AgeOverData }),
		"item_lag_p50_s", s.mean(func(o *outcome) float64 { return o.items.Quantile(0.5) }),
		"item_lag_p95_s", s.mean(func(o *outcome) float64 { return o.items.Quantile(0.95) }),
		"image_lag_p50_s", s.mean(func(o *outcome) float64 { return o.images.Quantile(0.5) }),
		"image_lag_p95_s", s.mean(func(o *outcome) float64 { return o.images.Quantile(0.95) }),
	}
}
