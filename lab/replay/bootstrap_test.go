package replay

import (
	"math"
	"testing"

	"freshet/lab"
)

// TestBootstrap holds that sites that are alike leave nothing open, and that the interval of a share that one site
// in ten has is that of ten draws: three deviations of √(0.1·0.9/10) on either side hold it, one does not.
func TestBootstrap(t *testing.T) {
	scores := tally{}
	var names []string
	for i := range 10 {
		name := string(rune('a' + i))
		names = append(names, name)
		scores[name] = new(struct{ equal, weighted Score })
		scores[name].equal.Alive = 1
	}
	fresh := func(sites []string) float64 { equal, _ := scores.over(sites); return equal.Freshness() }
	if got := bootstrap(names, lab.Random(1, 0), fresh); got != (lab.Interval{}) {
		t.Errorf("sites that are alike: %v, want 0 ± 0", got)
	}
	scores["a"].equal.Fresh = 1
	got := bootstrap(names, lab.Random(1, 0), fresh)
	if deviation := math.Sqrt(0.1 * 0.9 / 10); got.Mean != 0.1 || got.Half < deviation || got.Half > 3*deviation {
		t.Errorf("one site of ten: %v, want 0.1 ± %v to %v", got, deviation, 3*deviation)
	}
}
