package replay

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"freshet/lab"
)

// Evidence returns the experiment that measures the figures of docs/evidence.md and draws its plots.
func Evidence() lab.Experiment {
	return lab.Experiment{
		Name:       "replay-evidence",
		Summary:    "Measure how much staleness the default saves on every kind of recorded pages, and plot it",
		Reproduces: "the pictures of docs/evidence.md",
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := new(evidence)
			flags.StringVar(&p.histories, "histories", "", "folder with the files of lab/replay/testdata; needed for rows that --kept does not have")
			flags.StringVar(&p.kept, "kept", "", "CSV file of measured rows: the command adds missing rows and does not measure the others again")
			flags.Uint64Var(&p.seed, "seed", 1, "seed of the order of pages")
			return p.run
		},
	}
}

// evidence holds the flags.
type evidence struct {
	histories, kept string
	seed            uint64
}

// A kind is a set of recorded pages, and the settings of its measurements.
type kind struct {
	name, file    string
	sites         string    // as --sites has them
	window, score days      // as the flags of replay
	full          bool      // pages are found, see Rules
	drawn         string    // intervals are over sites or time
	rivals        []string  // the freshest rivals at any share; none: only sites are compared
	shares        []float64 // of the pages, in visits a day
	seeds         int
	bySite        bool // compare sites one by one, if the visits could keep each of them fresh
}

const (
	commits  = "page-updates.csv.gz"
	landings = "page-updates-starved.csv.gz"
	polled   = "polled-pages.csv.gz"
	docs     = "docs.cloud.google.com"
	state    = "www.gov.uk"
	laws     = "www.gesetze-im-internet.de"
)

// kinds are those of docs/evidence.md, and all that was observed together, where sites share one budget.
func kinds() []kind {
	three := []float64{0.01, 0.05, 0.2}
	lambdacrawl := []string{"lambdacrawl"}
	return []kind{
		{name: "commits", file: commits, window: 2191.5, score: 730.5, drawn: "sites", seeds: 1,
			rivals: []string{"lambdacrawl", "sampling-1"}, shares: []float64{0.002, 0.01, 0.05, 0.2}, bySite: true},
		{name: "commits in bulk", file: landings, window: 2191.5, score: 730.5, drawn: "time", seeds: 1,
			rivals: []string{"lambdacrawl", "sampling-0.3"}, shares: three, bySite: true},
		{name: "cloud documentation", file: polled, sites: docs, window: 186, score: 93, drawn: "time", seeds: 3,
			rivals: lambdacrawl, shares: three},
		{name: "found by the crawl", file: polled, sites: docs, window: 186, score: 93, full: true, drawn: "time", seeds: 3,
			rivals: lambdacrawl, shares: three},
		{name: "small sites", file: polled, sites: "!" + docs + "," + state + "," + laws, window: 240, score: 120, drawn: "sites", seeds: 3,
			rivals: []string{"cgm", "lambdacrawl", "index-geometric"}, shares: three},
		{name: "laws", file: polled, sites: laws, window: 240, score: 120, drawn: "time", seeds: 3,
			rivals: []string{"proportional", "index"}, shares: three},
		{name: "government", file: polled, sites: state, window: 240, score: 120, drawn: "time", seeds: 3,
			rivals: lambdacrawl, shares: three},
		{name: "the same, 14 days", file: polled, sites: state, window: 44, score: 30, drawn: "time", seeds: 3,
			rivals: lambdacrawl, shares: []float64{0.05, 0.2}},
		{name: "observed", file: polled, window: 240, score: 120, drawn: "sites", seeds: 3, shares: []float64{0.05, 0.2}, bySite: true},
	}
}

// leastShare is the least share of visits a day at which sites are compared.
const leastShare = 0.05

// A finding compares a policy with uniform visits, on all pages of a kind or on one site.
type finding struct {
	kind      string
	share     float64
	site      string // "" for all
	pages     float64
	policy    string
	freshness float64
	age       float64      // days
	gain      lab.Interval // in freshness
	saved     lab.Interval // the gain as a share of the staleness under uniform visits; 0 for a site
}

func (p *evidence) run(ctx context.Context, out *lab.Result) error {
	found, err := readFindings(p.kept)
	if err != nil {
		return err
	}
	for _, k := range kinds() {
		for _, share := range k.shares {
			if slices.ContainsFunc(found, func(f finding) bool { return f.kind == k.name && f.share == share }) {
				continue
			}
			if p.histories == "" {
				return &lab.ParameterError{Name: "histories", Value: `""`, Want: "the folder of histories, to measure " + k.name}
			}
			now, err := p.measure(ctx, out, k, share)
			if err != nil {
				return err
			}
			found = append(found, now...)
			if err := writeFindings(p.kept, found); err != nil {
				return err
			}
		}
	}
	for _, f := range found {
		out.Row("kind", f.kind, "budget_share", f.share, "site", f.site, "pages", f.pages, "policy", f.policy,
			"freshness", f.freshness, "mean_age_days", f.age, "gain", f.gain, "saved", f.saved)
	}
	out.Plot(byBudget(found))
	out.Plot(ofSites(found))
	return nil
}

// measure runs the policies on a kind, every page of the same weight.
func (p *evidence) measure(ctx context.Context, out *lab.Result, k kind, share float64) ([]finding, error) {
	run := &parameters{histories: filepath.Join(p.histories, k.file), window: k.window, score: k.score, accelerate: 1,
		sites: k.sites, seed: p.seed, seeds: k.seeds}
	world, err := run.world()
	if err != nil {
		return nil, err
	}
	names := []string{"uniform", "default"}
	if len(k.rivals) > 0 {
		names = append(append(names, k.rivals...), "oracle")
	}
	chosen, err := choose(strings.Join(names, ","))
	if err != nil {
		return nil, err
	}
	for i := range chosen {
		chosen[i].blind = true
	}
	rules := Rules{Rate: share * world.MeanLiving() / day}
	if k.full {
		rules = rules.full()
	}
	trials, err := run.trials(ctx, out, world, chosen, rules)
	if err != nil {
		return nil, err
	}
	var found []finding
	of := func(i int) []trial { return trials[i*k.seeds : (i+1)*k.seeds] }
	for i, name := range names {
		f := k.find(of(i), of(0), p.seed)
		f.kind, f.share, f.policy = k.name, share, name
		found = append(found, f)
	}
	if k.bySite && share >= leastShare {
		for _, f := range apart(of(1), of(0)) {
			f.kind, f.share, f.policy = k.name, share, names[1]
			found = append(found, f)
		}
	}
	return found, nil
}

// find returns a policy's finding on all pages, with intervals over sites or time as k.drawn says.
func (k kind) find(own, uniform []trial, seed uint64) finding {
	by := byTime
	if k.drawn == "sites" {
		by = bySites
	}
	ours, theirs := by(own), by(uniform)
	names := slices.Sorted(maps.Keys(ours))
	over := func(measure func(ours, theirs float64) float64) lab.Interval {
		return bootstrap(names, lab.Random(seed, 3), func(names []string) float64 {
			a, _ := ours.over(names)
			b, _ := theirs.over(names)
			return measure(a.Freshness(), b.Freshness())
		})
	}
	sum, _ := ours.over(names)
	return finding{pages: float64(len(own[0].lives)), freshness: sum.Freshness(), age: sum.MeanAge() / day,
		gain:  over(func(ours, theirs float64) float64 { return ours - theirs }),
		saved: over(func(ours, theirs float64) float64 { return (ours - theirs) / (1 - theirs) })}
}

// A site with at least leastPages pages is compared. One with at least manyPages is plotted.
const leastPages, manyPages = 10, 50

// apart returns a policy's finding on each site with enough pages, with the interval of the gain over seeds.
func apart(own, uniform []trial) []finding {
	var found []finding
	pages := map[string]int{}
	for _, l := range own[0].lives {
		pages[l.Site]++
	}
	for _, site := range slices.Sorted(maps.Keys(pages)) {
		if pages[site] < leastPages {
			continue
		}
		var all Score
		var gains []float64
		for i := range own {
			ours, theirs := bySites(own[i : i+1])[site].equal, bySites(uniform[i : i+1])[site].equal
			gains = append(gains, ours.Freshness()-theirs.Freshness())
			all.Add(ours, 1)
		}
		found = append(found, finding{site: site, pages: float64(pages[site]), freshness: all.Freshness(), age: all.MeanAge() / day,
			gain: lab.Estimate(gains, confidence)})
	}
	return found
}

// byBudget plots, for each kind and budget, the share of the staleness under uniform visits that policies save.
func byBudget(found []finding) lab.Plot {
	plot := lab.Plot{Title: "Staleness saved of what uniform visits leave",
		X: lab.Axis{Label: "visits a day, as a share of the pages"}, Y: lab.Axis{Label: "% saved"}}
	for _, name := range []string{"default", "best rival", "oracle"} {
		plot.Series = append(plot.Series, lab.Series{Name: name, Points: true})
	}
	for _, k := range kinds() {
		if len(k.rivals) == 0 {
			continue
		}
		for i, share := range k.shares {
			x := float64(len(plot.X.Names))
			name := fmt.Sprintf("%g %%", 100*share)
			if i == 0 {
				name = k.name + " " + name
			}
			plot.X.Names = append(plot.X.Names, name)
			for j, policies := range [][]string{{"default"}, k.rivals, {"oracle"}} {
				f, some := freshest(found, func(f finding) bool {
					return f.kind == k.name && f.share == share && f.site == "" && slices.Contains(policies, f.policy)
				})
				if some {
					plot.Series[j].Add(x+0.25*float64(j-1), 100*f.saved.Mean, 100*f.saved.Half)
				}
			}
		}
	}
	return plot
}

// freshest returns the freshest finding among those that of accepts. some is false if there is none.
func freshest(found []finding, of func(finding) bool) (best finding, some bool) {
	for _, f := range found {
		if of(f) && (!some || f.freshness > best.freshness) {
			best, some = f, true
		}
	}
	return best, some
}

// ofSites plots, for each site with many pages, the share of the staleness under uniform visits that the default
// saves.
func ofSites(found []finding) lab.Plot {
	plot := lab.Plot{Title: "Staleness saved by site, all sites of a kind sharing one budget",
		X: lab.Axis{Label: "site, and how many pages it has"}, Y: lab.Axis{Label: "% saved"}}
	for _, f := range found {
		if f.site == "" || f.pages < manyPages {
			continue
		}
		site, series := fmt.Sprintf("%s %.0f", path.Base(f.site), f.pages), fmt.Sprintf("%g %% of the pages a day", 100*f.share)
		x := slices.Index(plot.X.Names, site)
		if x < 0 {
			x = len(plot.X.Names)
			plot.X.Names = append(plot.X.Names, site)
		}
		i := slices.IndexFunc(plot.Series, func(s lab.Series) bool { return s.Name == series })
		if i < 0 {
			i = len(plot.Series)
			plot.Series = append(plot.Series, lab.Series{Name: series, Points: true})
		}
		stale := 1 - (f.freshness - f.gain.Mean)
		plot.Series[i].Add(float64(x)+0.2*float64(2*i-1), 100*f.gain.Mean/stale, 100*f.gain.Half/stale)
	}
	return plot
}

// findings are the columns of a file of findings.
var findings = []string{"kind", "share", "site", "pages", "policy", "freshness", "age", "gain", "gain_ci", "saved", "saved_ci"}

// readFindings reads a file of findings. If there is no file it returns none.
func readFindings(name string) ([]finding, error) {
	var all []finding
	err := readRows(name, findings, len(findings), func(row []string) (int, error) {
		f := finding{kind: strings.Clone(row[0]), site: strings.Clone(row[2]), policy: strings.Clone(row[4])}
		for column, to := range map[int]*float64{1: &f.share, 3: &f.pages, 5: &f.freshness, 6: &f.age, 7: &f.gain.Mean, 8: &f.gain.Half,
			9: &f.saved.Mean, 10: &f.saved.Half} {
			var err error
			if *to, err = strconv.ParseFloat(row[column], 64); err != nil {
				return column, err
			}
		}
		all = append(all, f)
		return 0, nil
	})
	if name == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// writeFindings writes a file of findings. If name is empty it writes nothing.
func writeFindings(name string, all []finding) error {
	if name == "" {
		return nil
	}
	var text bytes.Buffer
	table := csv.NewWriter(&text)
	rows := [][]string{findings}
	for _, f := range all {
		number := func(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }
		rows = append(rows, []string{f.kind, number(f.share, 3), f.site, number(f.pages, 0), f.policy, number(f.freshness, 5), number(f.age, 3),
			number(f.gain.Mean, 5), number(f.gain.Half, 5), number(f.saved.Mean, 4), number(f.saved.Half, 4)})
	}
	if err := table.WriteAll(rows); err != nil {
		return err
	}
	return os.WriteFile(name, text.Bytes(), 0o666)
}
