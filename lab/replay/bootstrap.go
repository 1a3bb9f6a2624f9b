package replay

import (
	"math/rand/v2"
	"slices"

	"freshet/lab"
)

// resamples is how many times sites are drawn anew.
const resamples = 2000

// A tally is what a policy reached on each site, by its name, over all seeds.
type tally map[string]*struct{ equal, weighted Score }

// bySites returns the tally of some trials.
func bySites(trials []trial) tally {
	sites := tally{}
	for _, t := range trials {
		for i, l := range t.lives {
			if sites[l.Site] == nil {
				sites[l.Site] = new(struct{ equal, weighted Score })
			}
			sites[l.Site].equal.Add(t.equal[i], 1)
			sites[l.Site].weighted.Add(t.weighted[i], t.weights[i])
		}
	}
	return sites
}

// over returns the scores of all sites of a list together; a site may be in it more than once.
func (t tally) over(sites []string) (equal, weighted Score) {
	for _, site := range sites {
		equal.Add(t[site].equal, 1)
		weighted.Add(t[site].weighted, 1)
	}
	return equal, weighted
}

// bootstrap returns what measure says of the sites, with the interval that its values have for as many sites drawn
// from them with replacement, but for the highest and lowest 2.5 % of the values (Efron 1979). It says how much
// rests on which sites there happen to be. The same random source draws the same sites: policies are compared on them.
func bootstrap(sites []string, random *rand.Rand, measure func(sites []string) float64) lab.Interval {
	values := make([]float64, resamples)
	drawn := make([]string, len(sites))
	for i := range values {
		for j := range drawn {
			drawn[j] = sites[random.IntN(len(sites))]
		}
		values[i] = measure(drawn)
	}
	slices.Sort(values)
	const tail = resamples * (1 - confidence) / 2
	return lab.Interval{Mean: measure(sites), Half: (values[resamples-1-int(tail)] - values[int(tail)]) / 2}
}

// resampled adds a policy's row with intervals over sites. gain is its freshness less that of the first policy.
func (p *parameters) resampled(out *lab.Result, world *World, name string, trials, first []trial) {
	own, others := bySites(trials), bySites(first)
	over := func(measure func(sites []string) float64) lab.Interval {
		return bootstrap(world.Sites(), lab.Random(p.seed, 3), measure)
	}
	all, _ := own.over(world.Sites())
	out.Row("policy", name,
		"freshness", over(func(sites []string) float64 { equal, _ := own.over(sites); return equal.Freshness() }),
		"gain", over(func(sites []string) float64 {
			mine, _ := own.over(sites)
			its, _ := others.over(sites)
			return mine.Freshness() - its.Freshness()
		}),
		"weighted_freshness", over(func(sites []string) float64 { _, weighted := own.over(sites); return weighted.Freshness() }),
		"mean_age_s", over(func(sites []string) float64 { equal, _ := own.over(sites); return equal.MeanAge() }),
		"crawls", all.Crawls/float64(p.seeds))
}
