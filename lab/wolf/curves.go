package wolf

import (
	"context"
	"fmt"
	"slices"

	"freshet/lab"
)

// ratios are the crawls per page of Figures 7 (left) and 8.
var ratios = []float64{1.5, 2, 2.5, 3, 4, 5}

// rounding is the largest difference of reference values with eight digits.
const rounding = 6e-9

// curves holds the mean staleness of each policy along an axis.
type curves struct {
	x        []float64
	policies []string
	y        map[string][]float64
}

// measure returns the curves with values from at.
func measure(ctx context.Context, out *lab.Result, doing string, x []float64, policies []string, at func(x float64, policy string) (float64, error)) (curves, error) {
	c := curves{x, policies, map[string][]float64{}}
	for i, v := range x {
		for j, policy := range policies {
			if err := ctx.Err(); err != nil {
				return c, err
			}
			out.Progress(doing, i*len(policies)+j, len(x)*len(policies))
			staleness, err := at(v, policy)
			if err != nil {
				return c, err
			}
			c.y[policy] = append(c.y[policy], staleness)
		}
	}
	return c, nil
}

// report adds rows, with a column for x, and a plot.
func (c curves) report(out *lab.Result, figure, mixture, column, label string) {
	plot := lab.Plot{Title: "Figure " + figure + ", " + mixture, X: lab.Axis{Label: label}, Y: lab.Axis{Label: "mean staleness"}}
	for _, policy := range c.policies {
		for i, x := range c.x {
			out.Row("figure", figure, "pages", mixture, column, x, "policy", policy, "staleness", c.y[policy][i])
		}
		plot.Series = append(plot.Series, lab.Series{Name: policy, X: c.x, Y: c.y[policy]})
	}
	out.Plot(plot)
}

// compare compares the curves with reference values, in the order of the policies.
func (c curves) compare(out *lab.Result, figure, mixture string, at func(x float64) []float64) {
	for i, x := range c.x {
		for j, want := range at(x) {
			out.Compare(lab.Comparison{
				What:   fmt.Sprintf("%s, %s at %v", mixture, c.policies[j], x),
				Source: "Figure " + figure + ", computed", Reference: new(want), Measured: c.y[c.policies[j]][i], Tolerance: rounding,
			})
		}
	}
}

// atMost reports whether the curve of a is nowhere above that of b. least is the least ratio b/a.
func (c curves) atMost(a, b string) (holds bool, least float64) {
	holds, least = true, 1e300
	for i := range c.x {
		above, below := c.y[b][i], c.y[a][i]
		holds = holds && below <= above
		if below > 0 {
			least = min(least, above/below)
		}
	}
	return holds, least
}

// mixtures is Figure 8: three policies, equal weights, by budget and mixture.
func (p *parameters) mixtures(ctx context.Context, out *lab.Result) error {
	policies := []string{optimal, proportional, uniform}
	for _, mixture := range []string{"mixed", "poisson", "pareto", "quasi"} {
		pages, err := newPages(p.pages, mixture, 0, 1.5)
		if err != nil {
			return err
		}
		problem := problem{pages, nil}
		c, err := measure(ctx, out, "figure 8, "+mixture, ratios, policies, func(ratio float64, policy string) (float64, error) {
			return problem.stalenessOf(policy, ratio)
		})
		if err != nil {
			return err
		}
		c.report(out, "8", mixture, "crawls_per_page", "crawls per page and interval")
		if p.reference() {
			c.compare(out, "8", mixture, func(x float64) []float64 { v := referenceEight[mixture][x]; return v[:] })
		}
		first, gain := c.atMost(optimal, uniform)
		second, loss := c.atMost(uniform, proportional)
		out.Claim("Figure 8, "+mixture+": the optimum is freshest, and uniform is fresher than proportional", first && second,
			"uniform is at least %.3f times as stale as the optimum, proportional at least %.3f times as uniform", gain, loss)
		convex, bend := c.convex(optimal)
		out.Claim("Figure 8, "+mixture+": the optimum's staleness is convex in the budget", convex, "the least change of slope is %.3g", bend)
		if mixture == "quasi" {
			at := slices.IndexFunc(c.y[optimal], func(v float64) bool { return v < 1e-12 })
			out.Claim("Figure 8, quasi: the optimum becomes perfectly fresh", at >= 0, "staleness %.6f at %v crawls a page, %.6f at 2",
				c.y[optimal][0], c.x[0], c.y[optimal][1])
		}
	}
	return nil
}

// convex reports whether a curve's slope never falls. bend is the least change of the slope.
func (c curves) convex(policy string) (holds bool, bend float64) {
	y := c.y[policy]
	bend = 1e300
	for i := 2; i < len(y); i++ {
		before, after := (y[i-1]-y[i-2])/(c.x[i-1]-c.x[i-2]), (y[i]-y[i-1])/(c.x[i]-c.x[i-1])
		bend = min(bend, after-before)
	}
	return bend >= -1e-12, bend
}
