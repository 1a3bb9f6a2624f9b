package wolf

import (
	"context"
	"math"
	"slices"

	"freshet/lab"
)

// shapesOfNine are the shapes of Figure 9 with a finite mean. The paper also has shapes below 1, whose mean is
// infinite.
var shapesOfNine = []float64{1.05, 1.25, 1.5, 2, 3, 4}

// ordinary is uniform for pages that begin a gap with each crawl. The paper's process is in equilibrium, but its
// figure has the shape of this one.
const ordinary = "uniform, ordinary process"

// shapes is Figure 9: all pages are Pareto with the same rates. The axis is the shape of their gaps.
func (p *parameters) shapes(ctx context.Context, out *lab.Result) error {
	var problem problem
	c, err := measure(ctx, out, "figure 9", shapesOfNine, []string{optimal, proportional, uniform, ordinary}, func(shape float64, policy string) (staleness float64, err error) {
		if problem.pages == nil || problem.shape != shape {
			if problem.pages, err = newPages(p.pages, "pareto", 0, shape); err != nil {
				return 0, err
			}
		}
		if policy == ordinary {
			return problem.mean(func(i int) float64 { return ordinaryStaleness(problem.rates[i], shape, 2.5) }), nil
		}
		return problem.stalenessOf(policy, 2.5)
	})
	if err != nil {
		return err
	}
	c.report(out, "9", "pareto", "shape", "shape a of the Pareto gaps")
	if p.reference() {
		c.compare(out, "9", "pareto", func(x float64) []float64 { v := referenceNine[x]; return v[:] })
	}
	last := len(c.x) - 1
	out.Claim("Figure 9: staleness rises steeply as a falls from 2", falls(c.y[uniform]),
		"in equilibrium (eq. 3) uniform has %.4f at 4, %.4f at 1.05, and it tends to 0 at 1", c.y[uniform][last], c.y[uniform][0])
	out.Claim("Figure 9's shape: that of a process that starts again with each crawl", falls(c.y[ordinary]),
		"uniform then has %.4f at 4, %.4f at 2, %.4f at 1.05", c.y[ordinary][last], c.y[ordinary][3], c.y[ordinary][0])
	return nil
}

// falls reports whether y never rises.
func falls(y []float64) bool {
	return slices.IsSortedFunc(y, func(a, b float64) int {
		if a >= b {
			return -1
		}
		return 1
	})
}

// ordinaryStaleness returns the mean staleness of a Pareto page with rate changes an interval, if it is crawled
// evenly and each crawl meets the beginning of a gap. It is the mean of 1 - I(L)/L over the lengths L between crawls.
// I is the integral of the gaps' tail.
func ordinaryStaleness(rate, shape, crawls float64) float64 {
	scale := (shape - 1) / rate
	at := func(x float64) float64 {
		length := 1 / (x + 1)
		power := 1 - shape
		return 1 - scale*math.Expm1(power*math.Log1p(length/scale))/power/length
	}
	whole, part := math.Modf(crawls)
	return (1-part)*at(whole) + part*at(whole+1)
}
