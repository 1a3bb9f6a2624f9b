package wolf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"

	"freshet/change"
	"freshet/lab"
	"freshet/lab/replay"
)

// laws are the laws to fit to the gaps.
var laws = []string{"poisson", "weibull", "gamma", "pareto"}

// tailed is a law that gives the probability of a longer gap, and draws gaps.
type tailed interface {
	Tail(gap float64) float64
	Gap(rng *rand.Rand) float64
}

// A verdict is the result of the tests on the gaps of one page.
type verdict struct {
	best     string          // law with the least Bayesian information criterion
	rejected map[string]bool // by law: whether the test rejects its fit at the 5 % level
}

// tails is Figure 6 for recorded pages: the tail of their gaps, and the number of pages that each law fits.
func (p *parameters) tails(ctx context.Context, out *lab.Result) error {
	if p.histories == "" {
		out.Parameter("figure_6", "left out: no --histories")
		return nil
	}
	pages, err := p.gaps()
	if err != nil {
		return err
	}
	verdicts := make([]verdict, len(pages))
	var pooled []float64
	for i, gaps := range pages {
		if err := ctx.Err(); err != nil {
			return err
		}
		out.Progress("figure 6", i, len(pages))
		if verdicts[i], err = judge(gaps, p.resample, lab.Random(p.seed, i)); err != nil {
			return err
		}
		pooled = append(pooled, relative(gaps)...)
	}
	out.Parameter("pages_of_figure_6", len(pages))
	if len(pages) == 0 {
		return fmt.Errorf("wolf: no page of %s has %d gaps: %w", p.histories, p.minGaps, lab.ErrNoData)
	}
	best, fitting, none := map[string]int{}, map[string]int{}, 0
	for _, v := range verdicts {
		best[v.best]++
		contradicted := 0
		for _, law := range laws {
			if v.rejected[law] {
				contradicted++
			} else {
				fitting[law]++
			}
		}
		if contradicted == len(laws) {
			none++
		}
	}
	share := func(n int) float64 { return float64(n) / float64(len(pages)) }
	for _, law := range laws {
		out.Row("figure", "6", "law", law, "pages", len(pages), "share_best", share(best[law]), "share_not_contradicted", share(fitting[law]))
	}
	out.Row("figure", "6", "law", "none of these", "pages", len(pages), "share_best", 0.0, "share_not_contradicted", share(none))
	out.Claim("Figure 6: exponential gaps are the exception", share(fitting["poisson"]) < 0.5,
		"those of %.0f %% of the pages do not contradict an exponential law, %.0f %% a Weibull law, %.0f %% a gamma law, %.0f %% a Pareto law with a mean",
		100*share(fitting["poisson"]), 100*share(fitting["weibull"]), 100*share(fitting["gamma"]), 100*share(fitting["pareto"]))
	return plotTails(out, pooled)
}

// gaps returns the gaps between updates, in seconds, of every page with enough of them. The time from the creation to
// the first update is not a gap.
func (p *parameters) gaps() ([][]float64, error) {
	histories, err := replay.ReadHistories(p.histories)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", err, lab.ErrNoData)
	}
	if err != nil {
		return nil, err
	}
	if p.bulk != "" {
		bulk, err := replay.ReadBulk(p.bulk)
		if err != nil {
			return nil, err
		}
		bulk.Drop(histories)
	}
	var pages [][]float64
	for _, h := range histories {
		if len(h.Times) < p.minGaps+2 {
			continue
		}
		gaps := make([]float64, len(h.Times)-2)
		for i := range gaps {
			gaps[i] = h.Times[i+2] - h.Times[i+1]
		}
		pages = append(pages, gaps)
	}
	return pages, nil
}

// relative returns gaps in units of their mean.
func relative(gaps []float64) []float64 {
	mean := 0.0
	for _, g := range gaps {
		mean += g / float64(len(gaps))
	}
	units := make([]float64, len(gaps))
	for i, g := range gaps {
		units[i] = g / mean
	}
	return units
}

// judge fits the laws to gaps and tests each fit. It compares the Kolmogorov–Smirnov distance between gaps and fit
// with those of samples drawn from the fit. Each sample has as many gaps, and the law is fitted to it again
// (Lilliefors). So the test allows for the fit. It takes O(samples) fits per law.
func judge(gaps []float64, samples int, rng *rand.Rand) (verdict, error) {
	fits, err := change.Choose(gaps)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{best: fits[0].Name, rejected: map[string]bool{}}
	for _, law := range laws {
		fitted, distance := fitOf(fits, law, gaps)
		farther := 0
		sample := make([]float64, len(gaps))
		for range samples {
			for i := range sample {
				sample[i] = fitted.Gap(rng)
			}
			again, err := change.Choose(sample)
			if err != nil {
				return verdict{}, err
			}
			if _, d := fitOf(again, law, sample); d >= distance {
				farther++
			}
		}
		v.rejected[law] = float64(1+farther) <= 0.05*float64(1+samples)
	}
	return v, nil
}

// fitOf returns the fit of a law and its distance from the gaps. If a law has no best fit, it returns the exponential
// law, which is the limit of Pareto laws.
func fitOf(fits []change.Fit, law string, gaps []float64) (tailed, float64) {
	var fitted tailed
	for _, f := range fits {
		if t, ok := f.Process.(tailed); ok && (f.Name == law || f.Name == "poisson" && fitted == nil) {
			fitted = t
		}
	}
	return fitted, distance(gaps, fitted)
}

// distance returns the largest difference between the law's tail and the share of longer gaps.
func distance(gaps []float64, law tailed) float64 {
	sorted := slices.Sorted(slices.Values(gaps))
	n, most := float64(len(sorted)), 0.0
	for i, g := range sorted {
		tail := law.Tail(g)
		most = max(most, math.Abs(tail-(n-float64(i))/n), math.Abs(tail-(n-float64(i)-1)/n))
	}
	return most
}

// plotTails plots the tail of all pages' gaps, in units of each page's mean, and the laws fitted to it.
func plotTails(out *lab.Result, pooled []float64) error {
	slices.Sort(pooled)
	fits, err := change.Choose(pooled)
	if err != nil {
		return err
	}
	var x, recorded []float64
	for at := 1e-4; at <= 100; at *= math.Pow(10, 0.1) {
		upTo, _ := slices.BinarySearch(pooled, at)
		above := len(pooled) - upTo
		x, recorded = append(x, at), append(recorded, float64(above)/float64(len(pooled)))
	}
	plot := lab.Plot{Title: "Figure 6: gaps between updates of recorded pages", X: lab.Axis{Label: "gap, in mean gaps of its page", Log: true},
		Y: lab.Axis{Label: "share of gaps that are longer", Log: true}, Series: []lab.Series{{Name: "recorded", X: x, Y: recorded, Points: true}}}
	for _, law := range laws {
		fitted, d := fitOf(fits, law, pooled)
		y := make([]float64, len(x))
		for i := range x {
			y[i] = max(fitted.Tail(x[i]), 1e-7)
		}
		plot.Series = append(plot.Series, lab.Series{Name: law, X: x, Y: y})
		out.Row("figure", "6", "law", law+", all gaps in units of their page's mean", "gaps", len(pooled), "distance", d)
	}
	out.Plot(plot)
	return nil
}
