package crawl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"freshet/refresh"
	"freshet/refresh/rival"
)

// A named policy is made for a budget in requests a second and an interval in seconds.
type namedPolicy struct {
	name string
	make func(budget, interval float64) (refresh.Policy, error)
}

func policies() []namedPolicy {
	return []namedPolicy{
		{"default", func(_, _ float64) (refresh.Policy, error) { return refresh.NewIndex(refresh.Default()), nil }},
		{"plan", func(budget, interval float64) (refresh.Policy, error) {
			return refresh.NewPlan(budget, interval, refresh.Default().Learning)
		}},
		{"uniform", func(_, _ float64) (refresh.Policy, error) { return refresh.NewUniform(), nil }},
		{"proportional", paced(refresh.Proportional, nil)},
		{"fixed", func(_, interval float64) (refresh.Policy, error) { return refresh.NewFixed(interval) }},
		{"lambdacrawl", paced(refresh.Harmonic, nil)},
		{"azar", paced(refresh.Memoryless, rand.New(rand.NewPCG(1, 2)))},
		{"nutch", func(_, _ float64) (refresh.Policy, error) { return rival.NewNutch(), nil }},
		{"stormcrawler", func(_, _ float64) (refresh.Policy, error) { return rival.NewStormCrawler(), nil }},
	}
}

func paced(objective refresh.Objective, random *rand.Rand) func(budget, interval float64) (refresh.Policy, error) {
	return func(budget, _ float64) (refresh.Policy, error) {
		return refresh.NewPaced(objective, budget, refresh.Default().Learning, random)
	}
}

// Policies returns the names of the refresh policies, the default first.
func Policies() []string {
	var names []string
	for _, p := range policies() {
		names = append(names, p.name)
	}
	return names
}

// newPolicy returns the policy of a name.
func newPolicy(name string, budget, interval float64) (refresh.Policy, error) {
	all := policies()
	i := slices.IndexFunc(all, func(p namedPolicy) bool { return p.name == name })
	if i < 0 {
		return nil, fmt.Errorf("crawl: policy %q: want one of %s", name, strings.Join(Policies(), ", "))
	}
	return all[i].make(budget, interval)
}
