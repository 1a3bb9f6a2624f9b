package replay

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"freshet/lab"
)

// resamples is how many times sites, or parts of the time, are drawn.
const resamples = 2000

// A tally holds a policy's scores over all seeds, by the name of a site or of a part of the time.
type tally map[string]*struct{ equal, weighted Score }

// bySites returns the tally of some trials.
func bySites(trials []trial) tally {
	sites := tally{}
	for _, t := range trials {
		for i, l := range t.lives {
			if sites[l.Site] == nil {
				sites[l.Site] = new(struct{ equal, weighted Score })
			}
			sites[l.Site].equal.Add(t.equal.Pages[i], 1)
			sites[l.Site].weighted.Add(t.weighted.Pages[i], t.weights[i])
		}
	}
	return sites
}

// byTime returns the tally of some trials by the parts of the scored time.
func byTime(trials []trial) tally {
	parts := tally{}
	for part := range Parts {
		sums := new(struct{ equal, weighted Score })
		for _, t := range trials {
			sums.equal.Add(t.equal.Parts[part], 1)
			sums.weighted.Add(t.weighted.Parts[part], 1)
		}
		parts[strconv.Itoa(part)] = sums
	}
	return parts
}

// over returns the sum of the scores of names. A name may occur more than once.
func (t tally) over(names []string) (equal, weighted Score) {
	for _, name := range names {
		equal.Add(t[name].equal, 1)
		weighted.Add(t[name].weighted, 1)
	}
	return equal, weighted
}

// bootstrap returns measure(names) with a 95 % bootstrap interval (Efron 1979). It draws as many names with
// replacement, many times, and leaves out the highest and lowest 2.5 % of the values. The interval says how much
// depends on the particular sites or months. Policies are compared on the same draws: the same random source draws
// the same names.
func bootstrap(names []string, random *rand.Rand, measure func(names []string) float64) lab.Interval {
	values := make([]float64, resamples)
	drawn := make([]string, len(names))
	for i := range values {
		for j := range drawn {
			drawn[j] = names[random.IntN(len(names))]
		}
		values[i] = measure(drawn)
	}
	slices.Sort(values)
	const tail = resamples * (1 - confidence) / 2
	return lab.Interval{Mean: measure(names), Half: (values[resamples-1-int(tail)] - values[int(tail)]) / 2}
}

// resampled adds a policy's row with intervals over the names of its tally. The column gain is its freshness minus
// that of the first policy.
func (p *parameters) resampled(out *lab.Result, name string, own, first tally) {
	names := slices.Sorted(maps.Keys(own))
	over := func(measure func(names []string) float64) lab.Interval {
		return bootstrap(names, lab.Random(p.seed, 3), measure)
	}
	freshness := func(t tally, names []string) float64 { equal, _ := t.over(names); return equal.Freshness() }
	out.Row("policy", name,
		"freshness", over(func(names []string) float64 { return freshness(own, names) }),
		"gain", over(func(names []string) float64 { return freshness(own, names) - freshness(first, names) }),
		"weighted_freshness", over(func(names []string) float64 { _, weighted := own.over(names); return weighted.Freshness() }),
		"mean_age_s", over(func(names []string) float64 { equal, _ := own.over(names); return equal.MeanAge() }))
}
