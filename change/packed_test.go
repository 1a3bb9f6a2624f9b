package change

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPacked packs the evidence after each visit. That hardly changes the belief about a page's rate, for few or many
// visits. The visits are far apart, or so close that each tells almost nothing.
func TestPacked(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	prior := Shape(5, 0.7)
	prior.Normalise()
	for _, between := range []float64{3600, 86400, 20 * 86400} {
		for _, visits := range []int{1, 10, 100, 1000} {
			sum, square := 0.0, 0.0
			const pages = 100
			for range pages {
				rate := GridRate(random.IntN(14))
				exact, packed := NewEvidence(), Packed{}
				for range visits {
					length := between * random.ExpFloat64()
					changed := random.Float64() > math.Exp(-rate*length)
					forget := -math.Expm1(-length / (1000 * 86400))
					exact.Visit(length, 0, changed)
					exact.Scale(&prior, forget)
					e := packed.Evidence()
					e.Visit(length, 0, changed)
					e.Scale(&prior, forget)
					packed = e.Pack(random.Uint64())
				}
				e := packed.Evidence()
				want, got := exact.Posterior(&prior), e.Posterior(&prior)
				off := math.Log(got.GeometricMean() / want.GeometricMean())
				sum, square = sum+off, square+off*off
			}
			mean, deviation := sum/pages, math.Sqrt(square/pages)
			if math.Abs(mean) > 0.03 || deviation > 0.1 {
				t.Errorf("visits every %v s, %d of them: rates off by %+.3f on average, ± %.3f", between, visits, mean, deviation)
			}
		}
	}
}
