package share_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"freshet/allocate"
	"freshet/crawl/share"
)

// TestSplit divides whole numbers. The parts add up to the whole, each part is above zero, and a larger weight gets no
// less, but for rounding.
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

// even is a part of that many pages. Each page asks for 1/threshold visits.
func even(pages int64, threshold float64) allocate.Demand {
	most := 1e6 * float64(pages)
	return allocate.Demand{Above: int64(math.Min(most, float64(pages)/math.Max(threshold, 1e-12))), Next: math.Min(threshold, 1)}
}

// divide divides a total among even parts.
func divide(t *testing.T, total share.Total, wants []share.Wants) []share.Part {
	t.Helper()
	parts, err := share.Divide(total, wants, func(threshold float64) (all []allocate.Demand, _ error) {
		for _, w := range wants {
			all = append(all, even(w.Pages, threshold))
		}
		return all, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// TestDivide holds that requests go to the parts where visits are worth most or new pages wait. A part with neither
// gets one request.
func TestDivide(t *testing.T) {
	for _, test := range []struct {
		name  string
		wants []share.Wants
		want  []int64
	}{
		{"nobody has anything", []share.Wants{{}, {}}, []int64{500, 500}},
		{"new pages alone", []share.Wants{{New: 300}, {New: 100}, {}}, []int64{500, 499, 1}},
		{"pages alone", []share.Wants{{Pages: 300}, {Pages: 100}, {}}, []int64{749, 250, 1}},
		{"both", []share.Wants{{Pages: 400}, {New: 1000}}, []int64{799, 201}},
		{"few new pages", []share.Wants{{Pages: 400}, {New: 10}}, []int64{879, 121}},
		{"few beside many", []share.Wants{{Pages: 400}, {New: 5}, {New: 1e6}}, []int64{798, 61, 141}},
		{"many at both", []share.Wants{{Pages: 400}, {New: 5e5}, {New: 1e6}}, []int64{798, 101, 101}},
	} {
		parts := divide(t, share.Of(1000, 60, 0.2, 400), test.wants)
		for i, part := range parts {
			if d := part.Requests - test.want[i]; d < -1 || d > 1 {
				t.Errorf("%s: %+v: want %d", test.name, parts, test.want)
				break
			}
		}
	}
}

// TestNewPagesHaveTheirPart holds that the parts add up to the budget, and that no part's new pages starve. A part gets
// as much of discovery's share as its new pages can use until the next division five seconds later, or else an equal
// share. Together the parts get no more than discovery's share, but for two requests a part.
func TestNewPagesHaveTheirPart(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	some := func() int64 { return rng.Int64N(1 << rng.IntN(24)) }
	for range 10_000 {
		wants := make([]share.Wants, 1+rng.IntN(6))
		pages, waiting := int64(0), 0.0 // parts with new pages
		for i := range wants {
			wants[i] = share.Wants{New: rng.Int64N(2) * some(), Pages: rng.Int64N(2) * some()}
			pages += wants[i].Pages
			if wants[i].New > 0 {
				waiting++
			}
		}
		atLeast := int64(len(wants)) // one request each
		total := share.Of(atLeast+some(), 1+86400*rng.Float64(), rng.Float64(), pages)
		parts := divide(t, total, wants)
		requests, visits, fresh := int64(0), int64(0), 0.0
		for _, part := range parts {
			requests, visits = requests+part.Requests, visits+part.Visits
		}
		owed := float64(total.Requests)
		if visits > 0 {
			owed *= total.Discovery
		}
		for i, part := range parts {
			if wants[i].New == 0 {
				continue
			}
			has := float64(part.Requests) * part.Discovery
			fresh += has
			least := math.Min(float64(wants[i].New)*total.Interval/5, owed/waiting)
			least *= 1 - float64(atLeast)/float64(total.Requests)
			if has < least*(1-1e-9) {
				t.Fatalf("%+v by %+v: %+v: part %d has %g for new pages, want %g", total, wants, parts, i, has, least)
			}
		}
		if requests != total.Requests || visits > 0 && fresh > owed+2*float64(atLeast) {
			t.Fatalf("%+v by %+v: %+v: %d, %g of %g for new pages", total, wants, parts, requests, fresh, owed)
		}
	}
}
