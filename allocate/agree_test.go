package allocate_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/allocate"
	"freshet/change"
)

// split divides pages among parts, in order.
func (p *pages) split(cuts []int) (parts []*pages) {
	from := 0
	for _, to := range append(cuts, p.Len()) {
		parts = append(parts, &pages{p.curves[from:to], p.weights[from:to], p.least[from:to], p.most[from:to]})
		from = to
	}
	return parts
}

// TestAgree divides pages among parts, which agree on a threshold and plan with their shares. Together they have
// exactly the plan of all pages, after at most 60 rounds. That includes ties, bounds and weights of 0.
func TestAgree(t *testing.T) {
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		all := &pages{}
		n := rapid.IntRange(1, 60).Draw(t, "pages")
		alike := rapid.Bool().Draw(t, "alike")
		for i := range n {
			rate, weight := 1.0, 1.0
			if !alike {
				rate = math.Exp(rapid.Float64Range(-8, 3).Draw(t, "rate"))
				weight = rapid.SampledFrom([]float64{0, 1, 1, 2, 1e-6, 3.7}).Draw(t, "weight")
			}
			least := 0
			if i%7 == 3 {
				least = 1
			}
			all.add(change.Page{Process: change.Poisson(rate), Interval: 1, Age: float64(i%3) / 3}, weight, least,
				rapid.SampledFrom([]int{math.MaxInt32, 3, 1}).Draw(t, "most"))
		}
		a := rapid.IntRange(0, n).Draw(t, "first cut")
		b := rapid.IntRange(a, n).Draw(t, "second cut")
		parts := all.split([]int{a, b})
		budget := int64(rapid.IntRange(n, 40*n).Draw(t, "budget"))
		possible := int64(0)
		for i := range n {
			possible += int64(all.most[i])
		}
		budget = min(budget, possible)
		rounds := 0
		shares, _, err := allocate.Agree(budget, func(threshold float64) (answers []allocate.Demand, _ error) {
			rounds++
			for _, p := range parts {
				answers = append(answers, allocate.DemandOf(p, threshold))
			}
			return answers, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, rounds)
		if rounds > allocate.MostRounds {
			t.Fatalf("%d rounds", rounds)
		}
		want, err := allocate.Multiplier(all, int(budget))
		if err != nil {
			t.Fatal(err)
		}
		var got []int32
		for i, p := range parts {
			crawls, err := allocate.Multiplier(p, int(shares[i]))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, crawls...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("crawls (-of all +of the parts), shares %v:\n%s", shares, diff)
		}
	})
	t.Logf("%d rounds at most", most)
}

// TestAgreeInfeasible holds that Agree reports minimums beyond the budget.
func TestAgreeInfeasible(t *testing.T) {
	_, _, err := allocate.Agree(3, func(float64) ([]allocate.Demand, error) {
		return []allocate.Demand{{Above: 2, Next: 1, Ties: 1}, {Above: 2, Next: -1}}, nil
	})
	if err == nil {
		t.Error("no error")
	}
}
