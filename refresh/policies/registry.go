// Package policies names the refresh policies. A name means the same policy, with the same settings, in a crawl and
// in the lab.
package policies

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"freshet/change"
	"freshet/refresh"
	"freshet/refresh/rival"
)

// Default is the name of the default policy of a crawl.
const Default = "default"

// A Setting holds the arguments of New.
type Setting struct {
	Budget   float64    // crawls a second
	Interval float64    // of the budget, in seconds
	Random   *rand.Rand // for policies that draw
}

// A named policy. A blind one ignores weights.
type named struct {
	name  string
	blind bool
	make  func(Setting) (refresh.Policy, error)
}

// registry returns all policies, the default first.
func registry() []named {
	learning := refresh.Default().Learning
	// Rules that drop fast pages need an estimate that a single late change does not raise to the top.
	mean, geometric := (*change.Belief).Mean, (*change.Belief).GeometricMean
	paced := func(objective refresh.Objective, estimate refresh.Estimate, draws bool) func(Setting) (refresh.Policy, error) {
		return func(s Setting) (refresh.Policy, error) {
			if !draws {
				s.Random = nil
			}
			return refresh.NewPaced(objective, estimate, s.Budget, learning, s.Random)
		}
	}
	sequence := func(arrange refresh.Arrangement) func(Setting) (refresh.Policy, error) {
		return func(s Setting) (refresh.Policy, error) {
			return refresh.NewSequence(arrange, s.Budget, learning, s.Random)
		}
	}
	return []named{
		{Default, false, func(Setting) (refresh.Policy, error) { return refresh.NewIndex(refresh.Default()), nil }},
		{"plan", false, func(s Setting) (refresh.Policy, error) {
			return refresh.NewPlan(refresh.Means{Budget: s.Budget, Interval: s.Interval, Ahead: 2}, learning)
		}},
		{"uniform", true, func(Setting) (refresh.Policy, error) { return refresh.NewUniform(), nil }},
		{"proportional", false, paced(refresh.Proportional, mean, false)},
		{"fixed", true, func(s Setting) (refresh.Policy, error) { return refresh.NewFixed(s.Interval) }},
		{"golden", false, sequence(refresh.Golden)},
		{"randomized", false, sequence(refresh.Randomized)},
		{"balanced", false, sequence(refresh.Balanced)},
		{"cgm", false, paced(refresh.Even, geometric, false)},
		{"lambdacrawl", false, paced(refresh.Harmonic, mean, false)},
		{"azar", false, paced(refresh.Memoryless, geometric, true)},
		{"nutch", true, func(Setting) (refresh.Policy, error) { return rival.NewNutch(), nil }},
		{"stormcrawler", true, func(Setting) (refresh.Policy, error) { return rival.NewStormCrawler(), nil }},
	}
}

// Names returns the names of all policies, the default first.
func Names() []string {
	var names []string
	for _, p := range registry() {
		names = append(names, p.name)
	}
	return names
}

// New returns the named policy, without pages. It returns an error for an unknown name, or for a setting that the
// policy cannot use.
func New(name string, s Setting) (refresh.Policy, error) {
	p, err := find(name)
	if err != nil {
		return nil, err
	}
	return p.make(s)
}

// Blind reports whether the named policy ignores weights. It is true for an unknown name.
func Blind(name string) bool {
	p, err := find(name)
	return err != nil || p.blind
}

func find(name string) (named, error) {
	all := registry()
	i := slices.IndexFunc(all, func(p named) bool { return p.name == name })
	if i < 0 {
		return named{}, fmt.Errorf("policies: no policy %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}
