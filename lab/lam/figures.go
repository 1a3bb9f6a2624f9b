package lam

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/pflag"

	"freshet/feed/broadcast/scheduler"
	"freshet/lab"
)

// Figures returns the experiment that draws the paper's Figures 4 to 9 and checks its Tables 2 to 6 cell by cell. It
// also checks what the paper says about skew and change intervals, and varies the size of chunks.
func Figures() lab.Experiment {
	return lab.Experiment{
		Name:       "lam-figures",
		Summary:    "Draw the figures and repeat the tables of the feed, with our own scheduler beside them",
		Reproduces: "Lam and Garcia-Molina 2001, Figures 4 to 9, Tables 2 to 6",
		Quick:      []string{"--seeds=1", "--most=100", "--part=downloaders"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			f := &figures{done: map[load][]summary{}}
			flags.IntVar(&f.seeds, "seeds", 5, "runs of each point, the same for every scheduler")
			flags.Uint64Var(&f.seed, "seed", 1, "seed of all runs")
			flags.IntVar(&f.most, "most", 3000, "leave out points of more subscribers, which take longer")
			flags.StringVar(&f.part, "part", "all", "all, subscribers (Figures 4 to 7), downloaders (8 and 9), tables, robustness, or ours")
			return f.run
		},
	}
}

type figures struct {
	seeds, most int
	seed        uint64
	part        string
	done        map[load][]summary // points are in more than one figure or table
}

// The rows of Lifetime: one setting for each objective.
const (
	oursFreshness     = "lifetime"
	oursAge           = "lifetime, age"
	oursFreshnessData = "lifetime, over data"
	oursAgeData       = "lifetime, age, over data"
)

// contenders are the schedulers of every point.
func contenders() []contender {
	var every []contender
	for _, name := range append(slices.Clone(published), "rxc-ideal") {
		every = append(every, contender{name: name, scheduler: name})
	}
	return append(every,
		contender{oursFreshness, "lifetime", scheduler.Objective{}},
		contender{oursAge, "lifetime", scheduler.Objective{Age: true}},
		contender{oursFreshnessData, "lifetime", scheduler.Objective{OverData: true}},
		contender{oursAgeData, "lifetime", scheduler.Objective{Age: true, OverData: true}})
}

// point returns the base case with that many clients.
func point(subscribers, downloaders int, meanSites float64) load {
	return load{subscribers: subscribers, downloaders: downloaders, meanSites: meanSites,
		interval: 75 * day, duration: 75 * day, pagesPerChunk: 15}
}

// measure returns the summaries of all contenders on a load. ok is false if the load has more subscribers than
// --most.
func (f *figures) measure(ctx context.Context, out *lab.Result, l load) (summaries []summary, ok bool, err error) {
	if l.subscribers > f.most {
		return nil, false, nil
	}
	if known, ok := f.done[l]; ok {
		return known, true, nil
	}
	summaries, err = l.measure(ctx, out, l.String(), f.seeds, f.seed, contenders())
	if err != nil {
		return nil, false, err
	}
	f.done[l] = summaries
	for _, s := range summaries {
		out.Row(append([]any{"load", l.String()}, s.row()...)...)
	}
	l.compare(out, summaries)
	return summaries, true, nil
}

func (f *figures) run(ctx context.Context, out *lab.Result) error {
	if f.seeds < 1 {
		return &lab.ParameterError{Name: "seeds", Value: f.seeds, Want: "1 or more"}
	}
	clear(f.done)
	ran := false
	for _, part := range []struct {
		name string
		run  func(context.Context, *lab.Result) error
	}{
		{"subscribers", f.subscribers}, {"downloaders", f.downloaders}, {"tables", f.tables},
		{"robustness", f.robustness}, {"ours", f.ours},
	} {
		if f.part != "all" && f.part != part.name {
			continue
		}
		ran = true
		if err := part.run(ctx, out); err != nil {
			return err
		}
	}
	if !ran {
		return &lab.ParameterError{Name: "part", Value: f.part, Want: "all, subscribers, downloaders, tables, robustness or ours"}
	}
	return nil
}

// curves describes a plot of one metric of some contenders.
type curves struct {
	title, y string
	of       metric
	unit     float64
	names    []string
}

// draw adds a plot of points along x.
func (f *figures) draw(ctx context.Context, out *lab.Result, label string, loads []load, x func(load) float64, plots []curves) error {
	for _, c := range plots {
		plot := lab.Plot{Title: c.title, X: lab.Axis{Label: label}, Y: lab.Axis{Label: c.y}}
		for _, name := range c.names {
			series := lab.Series{Name: name}
			for _, l := range loads {
				summaries, ok, err := f.measure(ctx, out, l)
				if err != nil {
					return err
				}
				if ok {
					s := find(summaries, name)
					series.X = append(series.X, x(l))
					series.Y = append(series.Y, s.mean(c.of)/c.unit)
					series.Error = append(series.Error, s.deviation(c.of)/c.unit)
				}
			}
			plot.Series = append(plot.Series, series)
		}
		out.Plot(plot)
	}
	return nil
}

// subscribers draws Figures 4 to 7.
func (f *figures) subscribers(ctx context.Context, out *lab.Result) error {
	var loads []load
	for _, n := range []int{100, 200, 400, 700, 1000, 2000, 3000} {
		loads = append(loads, point(n, 0, 9))
	}
	names := append(slices.Clone(published), "rxc-ideal")
	return f.draw(ctx, out, "subscribers", loads, func(l load) float64 { return float64(l.subscribers) }, []curves{
		{"Figure 4: freshness over clients", "fresh on the last day", freshnessOverClients, 1, append(slices.Clone(names), oursFreshness)},
		{"Figure 5: freshness over data", "fresh on the last day", freshnessOverData, 1, append(slices.Clone(names), oursFreshnessData)},
		{"Figure 6: age over clients", "days, on the last day", ageOverClients, day, append(slices.Clone(names), oursAge)},
		{"Figure 7: age over data", "days, on the last day", ageOverData, day, append(slices.Clone(names), oursAgeData)},
	})
}

// downloaders draws Figures 8 and 9.
func (f *figures) downloaders(ctx context.Context, out *lab.Result) error {
	var loads []load
	for _, n := range []int{20, 50, 100, 200} {
		loads = append(loads, point(100, n, 9))
	}
	names := append(slices.Clone(published), oursFreshness)
	return f.draw(ctx, out, "downloaders, with 100 subscribers", loads, func(l load) float64 { return float64(l.downloaders) }, []curves{
		{"Figure 8: delay of the downloaders that were served", "days", delayFinished, day, names},
		{"Figure 8 with the unserved counted", "days", delay, day, names},
		{"Figure 9: subscribers' freshness at one week", "fresh", freshnessAtWeek, 1, names},
	})
}

// A cell of a table names the best of the paper's schedulers at a load.
type cell struct {
	table string
	load  load
	of    metric
	what  string
	low   bool     // less is better
	best  []string // any of these
}

// cells returns the cells of Tables 2 to 6, each at a load within the cell.
func cells() []cell {
	var all []cell
	add := func(table string, of metric, what string, low bool, l load, best ...string) {
		all = append(all, cell{table, l, of, what, low, best})
	}
	fc, fd := "freshness over clients", "freshness over data"
	add("Table 2", freshnessOverClients, fc, false, point(100, 0, 9), "circular", "popularity")
	add("Table 2", freshnessOverClients, fc, false, point(1000, 0, 9), "rq")
	add("Table 2", freshnessOverClients, fc, false, point(100, 0, 40), "popularity")
	add("Table 2", freshnessOverClients, fc, false, point(1000, 0, 40), "rq")
	add("Table 2", freshnessOverClients, fc, false, point(100, 0, 100), "rq")
	add("Table 2", freshnessOverClients, fc, false, point(1000, 0, 100), "rq")
	for _, l := range []load{point(100, 0, 9), point(1000, 0, 9), point(100, 0, 40), point(1000, 0, 40)} {
		add("Table 3", freshnessOverData, fd, false, l, "popularity")
	}
	for _, age := range []struct {
		of   metric
		what string
		many string // best for more than 1,000 clients of few sites
	}{{ageOverClients, "age over clients", "rq"}, {ageOverData, "age over data", "popularity"}} {
		add("Table 4", age.of, age.what, true, point(100, 0, 9), "circular")
		add("Table 4", age.of, age.what, true, point(3000, 0, 9), age.many)
		add("Table 4", age.of, age.what, true, point(100, 0, 40), "popularity")
		add("Table 4", age.of, age.what, true, point(1000, 0, 40), "popularity")
	}
	for _, l := range []load{point(100, 20, 9), point(100, 100, 9), point(100, 20, 40), point(100, 100, 40)} {
		add("Table 5", delayFinished, "delay of the served", true, l, "rq")
		add("Table 5", delay, "delay, unserved counted", true, l, "rq")
		add("Table 5", freshnessAtWeek, "freshness over clients at one week", false, l, "rq")
		add("Table 5", ageOverClients, "age over clients", true, l, "rq")
	}
	add("Table 6", freshnessOverData, fd, false, point(100, 20, 9), "popularity")
	add("Table 6", freshnessOverData, fd, false, point(100, 100, 9), "circular")
	add("Table 6", freshnessOverData, fd, false, point(100, 20, 40), "popularity")
	add("Table 6", freshnessOverData, fd, false, point(100, 100, 40), "popularity")
	return all
}

// tables checks the cells. A cell holds if a scheduler that it names is the best of the paper's on the same seeds.
func (f *figures) tables(ctx context.Context, out *lab.Result) error {
	for _, c := range cells() {
		summaries, ok, err := f.measure(ctx, out, c.load)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		order := ranked(summaries, c.of, c.low)
		holds := slices.Contains(c.best, order[0].scheduler)
		out.Claim(fmt.Sprintf("%s: for %s, %v is best at %s", c.table, c.what, c.best, c.load), holds, "%s", listed(order, c.of))
	}
	return nil
}

// ranked returns the summaries of the paper's schedulers, the best first.
func ranked(summaries []summary, of metric, low bool) []summary {
	var order []summary
	for _, name := range published {
		if s := find(summaries, name); !math.IsNaN(s.mean(of)) {
			order = append(order, s)
		}
	}
	slices.SortStableFunc(order, func(a, b summary) int {
		if low {
			return cmp.Compare(a.mean(of), b.mean(of))
		}
		return cmp.Compare(b.mean(of), a.mean(of))
	})
	return order
}

// listed formats the means of a metric: fractions as they are, times in days.
func listed(order []summary, of metric) string {
	text := ""
	for i, s := range order {
		if i > 0 {
			text += ", "
		}
		if mean := s.mean(of); mean > 1 {
			text += fmt.Sprintf("%s %.3g d", s.scheduler, mean/day)
		} else {
			text += fmt.Sprintf("%s %.3f", s.scheduler, mean)
		}
	}
	return text
}

// robustness checks that request skew and change intervals change little, as the paper says. It also varies the pages
// per chunk, which the paper chose for convenience.
func (f *figures) robustness(ctx context.Context, out *lab.Result) error {
	for _, n := range []int{100, 1000} {
		base, ok, err := f.measure(ctx, out, point(n, 0, 9))
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		was := ranked(base, freshnessOverClients, false)
		skewed, quick, slow := point(n, 0, 9), point(n, 0, 9), point(n, 0, 9)
		skewed.skew = 0.8
		quick.interval, slow.interval = 10*day, 100*day
		for _, l := range []load{skewed, quick, slow} {
			summaries, _, err := f.measure(ctx, out, l)
			if err != nil {
				return err
			}
			now := ranked(summaries, freshnessOverClients, false)
			out.Claim(fmt.Sprintf("section 5.3: the order does not change dramatically at %s: the best stays", l),
				now[0].scheduler == was[0].scheduler, "%s; base case: %s", listed(now, freshnessOverClients), listed(was, freshnessOverClients))
		}
	}
	var loads []load
	for _, pages := range []int{3, 5, 15, 30, 60} {
		l := point(100, 0, 9)
		l.pagesPerChunk = pages
		loads = append(loads, l)
	}
	return f.draw(ctx, out, "pages a chunk, with 100 subscribers", loads, func(l load) float64 { return float64(l.pagesPerChunk) }, []curves{
		{"Freshness over clients by the size of chunks", "fresh on the last day", freshnessOverClients, 1, append(slices.Clone(published), oursFreshness)},
	})
}

// ours compares Lifetime, with one setting for each objective, with the paper's schedulers on the same seeds.
func (f *figures) ours(ctx context.Context, out *lab.Result) error {
	for _, n := range []int{100, 400, 1000, 3000} {
		summaries, ok, err := f.measure(ctx, out, point(n, 0, 9))
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		margin := map[int]float64{100: 0.13, 400: 0.12, 1000: 0.09, 3000: 0.06}[n]
		best := ranked(summaries, ageOverData, true)[0].scheduler
		for _, c := range []struct {
			what string
			contest
		}{
			{fmt.Sprintf("freshness over clients ahead of R/Q by %.2f", margin), contest{oursFreshness, "rq", freshnessOverClients, false, margin}},
			{"age over clients ahead of Popularity", contest{oursAge, "popularity", ageOverClients, true, 0}},
			{"freshness over data not behind Popularity", contest{oursFreshnessData, "popularity", freshnessOverData, false, 0}},
			{"age over data not behind the best of the paper's", contest{oursAgeData, best, ageOverData, true, 0}},
		} {
			c.claim(out, fmt.Sprintf("%d subscribers: %s", n, c.what), summaries)
		}
	}
	for _, n := range []int{20, 50, 100, 200} {
		summaries, ok, err := f.measure(ctx, out, point(100, n, 9))
		if err != nil || !ok {
			return err
		}
		contest{oursFreshness, "rq", delay, true, 0}.claim(out,
			fmt.Sprintf("100 subscribers: with %d downloaders, delay with the unserved counted ahead of R/Q", n), summaries)
	}
	return nil
}

// A contest compares the mean of a metric between two schedulers, on the same seeds.
type contest struct {
	ours, rival string
	of          metric
	lower       bool    // a lower mean is better
	margin      float64 // by which ours must be ahead
}

// claim claims that ours is ahead of the rival by the margin.
func (c contest) claim(out *lab.Result, what string, summaries []summary) {
	a, b := find(summaries, c.ours), find(summaries, c.rival)
	ahead, standardError := a.ahead(b, c.of)
	if c.lower {
		ahead = -ahead
	}
	out.Claim(what, ahead >= c.margin,
		"%s; ahead by %.3g ± %.2g (standard error)", listed([]summary{a, b}, c.of), ahead, standardError)
}

func find(summaries []summary, name string) summary {
	return summaries[slices.IndexFunc(summaries, func(s summary) bool { return s.scheduler == name })]
}
