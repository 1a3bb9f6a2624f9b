package queue

import (
	"math"
	"testing"

	"freshet/lab"
)

// TestTheory holds every simulated number to its closed form, by the interval of its runs.
func TestTheory(t *testing.T) {
	trial := Experiment().New()
	if err := trial.Flags().Parse([]string{"--span=20000"}); err != nil {
		t.Fatal(err)
	}
	result, err := trial.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Comparisons) != 20 {
		t.Errorf("%d comparisons, want 20", len(result.Comparisons))
	}
	for _, c := range result.Comparisons {
		if c.Verdict() != lab.Agrees || !(c.Tolerance < 0.05) {
			t.Errorf("%s: %v ± %v simulated, %v in theory", c.What, c.Measured, c.Tolerance, c.Expected())
		}
	}
}

// TestCycleCost holds the closed form of the sequence to its values in higher precision.
func TestCycleCost(t *testing.T) {
	rates := []float64{2. / 13, 3. / 13, 3. / 13, 5. / 13}
	for _, test := range []struct {
		name string
		kept func(float64) float64
		want float64
	}{
		{"constant", func(rate float64) float64 { return math.Exp(-rate) }, 0.3762280534},
		{"exponential", func(rate float64) float64 { return 1 / (1 + rate) }, 0.4207468571},
	} {
		if got := cycleCost(rates, cycle[:], test.kept); math.Abs(got-test.want) > 5e-11 {
			t.Errorf("%s: %.10f, want %.10f", test.name, got, test.want)
		}
	}
}

func TestWrongParameters(t *testing.T) {
	for _, args := range [][]string{{"--runs=1"}, {"--span=10"}, {"--span=NaN"}} {
		trial := Experiment().New()
		if err := trial.Flags().Parse(args); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(t.Context(), nil); err == nil {
			t.Errorf("%v: want an error", args)
		}
	}
}
