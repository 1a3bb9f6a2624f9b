package wolf

import (
	"context"
	"slices"

	"freshet/lab"
)

// thetas are the Zipf exponents of Figure 7, right.
var thetas = []float64{0, 0.25, 0.5, 0.75, 1}

// weighted is Figure 7: six policies on the mixture, scored by weight. The axis is the budget (left) or theta
// (right).
func (p *parameters) weighted(ctx context.Context, out *lab.Result) error {
	weights := embarrassment(p.pages, p.seed)
	zipf, err := newPages(p.pages, "mixed", 0, 1.5)
	if err != nil {
		return err
	}
	left, err := measure(ctx, out, "figure 7, left", ratios, sixPolicies, func(ratio float64, policy string) (float64, error) {
		return problem{zipf, weights}.stalenessOf(policy, ratio)
	})
	if err != nil {
		return err
	}
	left.report(out, "7 left", "mixed", "crawls_per_page", "crawls per page and interval")
	var pages *pages
	theta := -1.0
	right, err := measure(ctx, out, "figure 7, right", thetas, sixPolicies, func(v float64, policy string) (float64, error) {
		if v != theta {
			theta = v
			if pages, err = newPages(p.pages, "mixed", theta, 1.5); err != nil {
				return 0, err
			}
		}
		return problem{pages, weights}.stalenessOf(policy, 2.5)
	})
	if err != nil {
		return err
	}
	right.report(out, "7 right", "mixed", "theta", "Zipf exponent theta, 1 for equal rates")
	if p.reference() {
		left.compare(out, "7 left", "mixed", func(x float64) []float64 {
			v, ok := referenceSevenLeft[x]
			if !ok {
				return nil
			}
			return v[:]
		})
		right.compare(out, "7 right", "mixed", func(x float64) []float64 { v := referenceSevenRight[x]; return v[:] })
	}
	claimsOfSeven(out, left, right)
	return p.sorted(out, zipf, weights)
}

// claimsOfSeven checks the paper's conclusions from Figure 7.
func claimsOfSeven(out *lab.Result, left, right curves) {
	rises := slices.IsSorted(right.y[weightedOptimal])
	spread := func(i int) float64 {
		var at []float64
		for _, policy := range right.policies {
			at = append(at, right.y[policy][i])
		}
		return slices.Max(at) / slices.Min(at)
	}
	last := len(right.x) - 1
	out.Claim("Figure 7: the objective rises with theta", rises, "the optimum's from %.5f at 0 to %.5f at 1", right.y[weightedOptimal][0], right.y[weightedOptimal][last])
	out.Claim("Figure 7: the curves draw together as the rates become alike", spread(last) < spread(0), "the worst policy is %.2f times as stale as the best at theta 0, %.2f times at 1", spread(0), spread(last))
	for _, c := range []struct {
		side string
		curves
	}{{"left", left}, {"right", right}} {
		even, evenLeast := c.atMost(uniform, weightedUniform)
		share, shareLeast := c.atMost(proportional, weightedProportional)
		out.Claim("Figure 7 "+c.side+": heuristics that ignore the weights beat those that follow them", even && share,
			"the weighted form has down to %.3f times the staleness of the plain one (uniform), %.3f times (proportional)", evenLeast, shareLeast)
		best := true
		for _, policy := range []string{proportional, weightedProportional, weightedUniform} {
			holds, _ := c.atMost(uniform, policy)
			best = best && holds
		}
		out.Claim("Figure 7 "+c.side+": plain uniform is the best heuristic", best,
			"at the first point uniform has %.5f, weighted uniform %.5f", c.y[uniform][0], c.y[weightedUniform][0])
	}
}

// sorted scores the policies with weights that rise, or fall, with the rates: the paper does not say how weights and
// rates are related.
func (p *parameters) sorted(out *lab.Result, pages *pages, weights []float64) error {
	along := slices.Clone(weights)
	slices.Sort(along)
	against := slices.Clone(along)
	slices.Reverse(along)
	for _, order := range []struct {
		name    string
		weights []float64
		rise    bool
	}{{"weights rise with rates", along, true}, {"weights fall with rates", against, false}} {
		scores := map[string]float64{}
		for _, policy := range sixPolicies {
			staleness, err := problem{pages, order.weights}.stalenessOf(policy, 2.5)
			if err != nil {
				return err
			}
			scores[policy] = staleness
			out.Row("figure", "7 left", "pages", "mixed, "+order.name, "crawls_per_page", 2.5, "policy", policy, "staleness", staleness)
			if want, ok := referenceSorted[policy]; ok && order.rise && p.reference() {
				out.Compare(lab.Comparison{What: order.name + ", " + policy, Source: "Figure 7, computed", Reference: new(want), Measured: staleness, Tolerance: 5e-5})
			}
		}
		out.Claim("Figure 7, "+order.name+": heuristics that ignore the weights beat those that follow them",
			scores[uniform] <= scores[weightedUniform] && scores[proportional] <= scores[weightedProportional],
			"uniform %.4f, weighted %.4f; proportional %.4f, weighted %.4f",
			scores[uniform], scores[weightedUniform], scores[proportional], scores[weightedProportional])
	}
	return nil
}
