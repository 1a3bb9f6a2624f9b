package change_test

import (
	"math"
	"testing"

	"freshet/change"
)

// TestLength holds the inverses that are used a million times to the precision that Length promises.
func TestLength(t *testing.T) {
	tight, err := change.NewPareto(1, 1.5)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []change.Process{change.Poisson(1), tight} {
		for e := -7.0; e <= 1.2; e += 0.01 {
			want := math.Pow(10, e)
			if got := change.Length(p, p.Marginal(want)); math.Abs(got/want-1) > 1e-8 {
				t.Errorf("%T: Length(Marginal(%v)) is off by %.1e", p, want, got/want-1)
			}
		}
	}
}
