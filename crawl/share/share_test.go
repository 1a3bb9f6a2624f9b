package share_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"freshet/allocate"
	"freshet/crawl/share"
)

// TestSplit divides whole numbers: the parts are the whole, each has something, and a larger weight has no less.
func TestSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		weights := make([]float64, 1+rng.IntN(6))
		for i := range weights {
			weights[i] = float64(rng.IntN(2)) * rng.Float64() * float64(int64(1)<<rng.IntN(40))
		}
		total := int64(len(weights)) + rng.Int64N(1<<rng.IntN(40))
		sum := int64(0)
		parts := share.Split(total, weights)
		for i, part := range parts {
			sum += part
			if part < 1 {
				t.Fatalf("%d by %v: %d", total, weights, parts)
			}
			for j := range i {
				if weights[j] > weights[i] && parts[j]+1 < part {
					t.Fatalf("%d by %v: %d", total, weights, parts)
				}
			}
		}
		if sum != total {
			t.Fatalf("%d by %v: %d, which are %d", total, weights, parts, sum)
		}
	}
}

// even is a part of so many pages, each of which asks for 1/threshold visits.
func even(pages int64, threshold float64) allocate.Demand {
	most := 1e6 * float64(pages)
	return allocate.Demand{Above: int64(math.Min(most, float64(pages)/math.Max(threshold, 1e-12))), Next: math.Min(threshold, 1)}
}

// TestDivide holds that requests go where visits are worth most and new pages wait, and that a part which has neither
// gets one request.
func TestDivide(t *testing.T) {
	for _, test := range []struct {
		name  string
		wants []share.Wants
		want  []int64
	}{
		{"nobody has anything", []share.Wants{{}, {}}, []int64{500, 500}},
		{"new pages alone", []share.Wants{{New: 300}, {New: 100}, {}}, []int64{749, 250, 1}},
		{"pages alone", []share.Wants{{Pages: 300}, {Pages: 100}, {}}, []int64{749, 250, 1}},
		{"both", []share.Wants{{Pages: 400}, {New: 1000}}, []int64{799, 201}},
		{"few new pages", []share.Wants{{Pages: 400}, {New: 100}}, []int64{899, 101}},
	} {
		total := share.Of(1000, 86400, 0.2, 400)
		parts, err := share.Divide(total, test.wants, func(threshold float64) (all []allocate.Demand, _ error) {
			for _, w := range test.wants {
				all = append(all, even(w.Pages, threshold))
			}
			return all, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range parts {
			if d := part.Requests - test.want[i]; d < -1 || d > 1 {
				t.Errorf("%s: %+v: want %d", test.name, parts, test.want)
				break
			}
		}
	}
}
