package shape

import (
	"strings"
	"testing"

	"freshet/lab"
)

// TestShapes holds a small web to all figures of the crawl of 2002 but the exponent, which no web of
// its size has.
func TestShapes(t *testing.T) {
	trial := Experiment().New()
	if err := trial.Flags().Parse(Experiment().Quick); err != nil {
		t.Fatal(err)
	}
	result, err := trial.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Rows) != 1 || len(result.Comparisons) != 6 || len(result.Plots) != 1 {
		t.Fatalf("%d rows, %d comparisons, %d plots", len(result.Rows), len(result.Comparisons), len(result.Plots))
	}
	for _, c := range result.Comparisons {
		if c.Verdict() != lab.Agrees && !strings.Contains(c.What, "exponent") {
			t.Errorf("%s: %v, published %v ± %v", c.What, c.Measured, c.Expected(), c.Tolerance)
		}
	}
	tail := result.Plots[0].Series[0]
	for i := range tail.X[1:] {
		if tail.X[i+1] < tail.X[i] || tail.Y[i+1] > tail.Y[i] || tail.Y[i] > 1 {
			t.Errorf("tail at %d: %v of %v", i, tail.Y, tail.X)
			break
		}
	}
}

func TestWrongParameters(t *testing.T) {
	for arg, want := range map[string]string{
		"--webs=nosuch": "--webs nosuch: want some of web-20k, web-5k, web-big, stateless", "--sites=0": "--sites 0: want 1 to some millions",
	} {
		trial := Experiment().New()
		if err := trial.Flags().Parse([]string{"--webs=stateless", arg}); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
