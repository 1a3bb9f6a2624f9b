package replay

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"freshet/change"
	"freshet/refresh"
	"freshet/refresh/policies"
	"freshet/refresh/rival"
)

// A setting is what a policy may know at its start.
type setting struct {
	world  *World // for policies that know the truth
	rate   float64
	random *rand.Rand
}

// A contender is a policy of the experiment.
type contender struct {
	name  string
	blind bool // ignores weights
	make  func(s setting) (refresh.Policy, error)
}

// contenders returns all policies of the experiment: those of a crawl, those that know the truth, and variants that
// show the value of a part of the default.
func contenders() []contender {
	var all []contender
	for _, name := range policies.Names() {
		all = append(all, contender{name: name, blind: policies.Blind(name), make: registered(name)})
	}
	for _, share := range []float64{0.3, 1} {
		all = append(all, contender{name: fmt.Sprintf("sampling-%g", share), blind: true, make: func(s setting) (refresh.Policy, error) {
			return rival.NewSampling(share, s.random), nil
		}})
	}
	// Rivals with another estimate of a page's rate than in a crawl.
	mean, geometric := (*change.Belief).Mean, (*change.Belief).GeometricMean
	all = append(all,
		contender{name: "cgm-mean", make: paced(refresh.Even, mean, false)},
		contender{name: "azar-mean", make: paced(refresh.Memoryless, mean, true)},
		contender{name: "lambdacrawl-geometric", make: paced(refresh.Harmonic, geometric, false)},
		contender{name: "proportional-geometric", make: paced(refresh.Proportional, geometric, false)},
	)
	return append(all,
		// Without signals, the policy for noisy signals of change (Busa-Fekete et al. 2025) is one of the two.
		contender{name: "index", make: index(refresh.IndexOptions{Rate: mean})},
		contender{name: "index-geometric", make: index(refresh.IndexOptions{Rate: geometric})},
		contender{name: "whittle", make: func(setting) (refresh.Policy, error) { return newWhittle(), nil }},
		contender{name: "floor-0.1", make: floored(0.1)},
		contender{name: "floor-0.5", make: floored(0.5)},
		contender{name: "floor-0.9", make: floored(0.9)},
		contender{name: "oracle", make: func(s setting) (refresh.Policy, error) { return newOracle(s.world), nil }},
		contender{name: "hindsight", make: func(s setting) (refresh.Policy, error) { return newHindsight(s.world), nil }},
		contender{name: "bayes", make: index(refresh.IndexOptions{})},
		contender{name: "reset", make: learning(refresh.Learning{})},
		contender{name: "shock", make: learning(refresh.Learning{Shared: true})},
		contender{name: "folder-shock", make: learning(refresh.Learning{Shared: true, Folder: 100})},
		contender{name: "nested-shock", make: learning(refresh.Learning{Shared: true, Folder: 10, Nested: true})},
		contender{name: "oracle-scored", make: func(s setting) (refresh.Policy, error) { return newScoredOracle(s.world), nil }},
	)
}

// registered returns the constructor of a named policy. Plans cover a week; fixed visits are a month apart.
func registered(name string) func(setting) (refresh.Policy, error) {
	interval := 7.0 * day
	if name == "fixed" {
		interval = 30 * day
	}
	return func(s setting) (refresh.Policy, error) {
		return policies.New(name, policies.Setting{Budget: s.rate, Interval: interval, Random: s.random})
	}
}

func paced(objective refresh.Objective, estimate refresh.Estimate, draws bool) func(setting) (refresh.Policy, error) {
	return func(s setting) (refresh.Policy, error) {
		if !draws {
			s.random = nil
		}
		return refresh.NewPaced(objective, estimate, s.rate, refresh.Default().Learning, s.random)
	}
}

func index(o refresh.IndexOptions) func(setting) (refresh.Policy, error) {
	return func(setting) (refresh.Policy, error) { return refresh.NewIndex(o), nil }
}

// floored returns the constructor of the default with a floor of uniform visits.
func floored(share float64) func(setting) (refresh.Policy, error) {
	return func(setting) (refresh.Policy, error) {
		return newFloor(refresh.NewIndex(refresh.Default()), share), nil
	}
}

// learning returns the constructor of an index with this learning that also forgets.
func learning(l refresh.Learning) func(setting) (refresh.Policy, error) {
	l.Forget = 1000 * day
	return index(refresh.IndexOptions{Learning: l})
}

// choose returns the contenders of a comma-separated list of names, or all of them for "all".
func choose(list string) ([]contender, error) {
	all := contenders()
	if list == "all" {
		return all, nil
	}
	var chosen []contender
next:
	for name := range strings.SplitSeq(list, ",") {
		for _, c := range all {
			if c.name == strings.TrimSpace(name) {
				chosen = append(chosen, c)
				continue next
			}
		}
		var names []string
		for _, c := range all {
			names = append(names, c.name)
		}
		return nil, fmt.Errorf("all, or some of %s", strings.Join(names, ", "))
	}
	return chosen, nil
}
