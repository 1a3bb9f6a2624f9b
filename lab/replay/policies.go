package replay

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"freshet/refresh"
	"freshet/refresh/rival"
)

// A setting is what a policy may be told at its start.
type setting struct {
	world  *World // by those that know the truth
	rate   float64
	random *rand.Rand
}

// A contender is a policy of the experiment.
type contender struct {
	name  string
	blind bool // takes no notice of weights
	make  func(s setting) (refresh.Policy, error)
}

// contenders are all there are.
func contenders() []contender {
	return []contender{
		{name: "default", make: index(refresh.Default())},
		{name: "uniform", blind: true, make: func(setting) (refresh.Policy, error) { return refresh.NewUniform(), nil }},
		{name: "proportional", make: paced(refresh.Proportional, false)},
		{name: "fixed", blind: true, make: func(setting) (refresh.Policy, error) { return refresh.NewFixed(30 * day) }},
		{name: "nutch", blind: true, make: func(setting) (refresh.Policy, error) { return rival.NewNutch(), nil }},
		{name: "stormcrawler", blind: true, make: func(setting) (refresh.Policy, error) { return rival.NewStormCrawler(), nil }},
		{name: "lambdacrawl", make: paced(refresh.Harmonic, false)},
		{name: "azar", make: paced(refresh.Memoryless, true)},
		{name: "index", make: index(refresh.IndexOptions{Plug: true})},
		{name: "oracle", make: func(s setting) (refresh.Policy, error) { return newOracle(s.world), nil }},
		{name: "hindsight", make: func(s setting) (refresh.Policy, error) { return newHindsight(s.world), nil }},
		{name: "cgm", make: paced(refresh.Even, false)},
		{name: "bayes", make: index(refresh.IndexOptions{})},
		{name: "reset", make: index(refresh.IndexOptions{Learning: refresh.Learning{Forget: 1000 * day}})},
		{name: "shock", make: index(refresh.IndexOptions{Learning: refresh.Learning{Forget: 1000 * day, Shared: true}})},
		{name: "folder-shock", make: index(refresh.IndexOptions{Learning: refresh.Learning{Forget: 1000 * day, Shared: true, Folder: 100}})},
		{name: "nested-shock", make: index(refresh.IndexOptions{Learning: refresh.Learning{Forget: 1000 * day, Shared: true, Folder: 10, Nested: true}})},
		{name: "plan", make: func(s setting) (refresh.Policy, error) {
			return refresh.NewPlan(s.rate, 7*day, refresh.Learning{Forget: 1000 * day})
		}},
		{name: "oracle-scored", make: func(s setting) (refresh.Policy, error) { return newScoredOracle(s.world), nil }},
	}
}

func index(o refresh.IndexOptions) func(setting) (refresh.Policy, error) {
	return func(setting) (refresh.Policy, error) { return refresh.NewIndex(o), nil }
}

func paced(objective refresh.Objective, drawn bool) func(setting) (refresh.Policy, error) {
	return func(s setting) (refresh.Policy, error) {
		if !drawn {
			s.random = nil
		}
		return refresh.NewPaced(objective, s.rate, refresh.Learning{}, s.random)
	}
}

// choose returns the contenders of a comma-separated list of names, or all.
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
