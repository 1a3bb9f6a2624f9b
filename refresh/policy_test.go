package refresh_test

import (
	"math/rand/v2"
	"testing"

	"freshet/change"
	"freshet/refresh"
	"freshet/refresh/refreshtest"
)

const day = 86400.0

// budget is the suite's budget.
const budget = 8 / day

func TestPolicies(t *testing.T) {
	learning := refresh.Learning{Forget: 1000 * day}
	tests := []struct {
		name string
		make func() (refresh.Policy, error)
	}{
		{"uniform", func() (refresh.Policy, error) { return refresh.NewUniform(), nil }},
		{"fixed", func() (refresh.Policy, error) { return refresh.NewFixed(30 * day) }},
		{"proportional", func() (refresh.Policy, error) {
			return refresh.NewPaced(refresh.Proportional, (*change.Belief).Mean, budget, learning, nil)
		}},
		{"even", func() (refresh.Policy, error) {
			return refresh.NewPaced(refresh.Even, (*change.Belief).Mean, budget, learning, nil)
		}},
		{"memoryless", func() (refresh.Policy, error) {
			return refresh.NewPaced(refresh.Memoryless, (*change.Belief).Mean, budget, learning, rand.New(rand.NewPCG(1, 2)))
		}},
		{"harmonic", func() (refresh.Policy, error) {
			return refresh.NewPaced(refresh.Harmonic, (*change.Belief).Mean, budget, learning, nil)
		}},
		{"plan", func() (refresh.Policy, error) {
			return refresh.NewPlan(refresh.Means{Budget: budget, Interval: 7 * day, Ahead: 2}, learning)
		}},
		{"index of the mean", func() (refresh.Policy, error) {
			return refresh.NewIndex(refresh.IndexOptions{Rate: (*change.Belief).Mean}), nil
		}},
		{"index", func() (refresh.Policy, error) { return refresh.NewIndex(refresh.IndexOptions{Learning: learning}), nil }},
		{"shared changes of sites", func() (refresh.Policy, error) {
			return refresh.NewIndex(refresh.IndexOptions{Learning: refresh.Learning{Shared: true}}), nil
		}},
		{"default", func() (refresh.Policy, error) { return refresh.NewIndex(refresh.Default()), nil }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			refreshtest.Run(t, func() refresh.Policy {
				p, err := test.make()
				if err != nil {
					t.Fatal(err)
				}
				return p
			})
		})
	}
}
