package growth

import (
	"errors"
	"testing"

	"freshet/lab"
)

// TestGrowth runs everything in the small, and holds what is true of any machine.
func TestGrowth(t *testing.T) {
	trial := Experiment().New()
	if err := trial.Flags().Parse([]string{"--known=20000,420000", "--urls=40000", "--pebble", "--drains=1000,2000", "--dir=" + t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	result, err := trial.Run(t.Context(), nil)
	if errors.Is(err, lab.ErrNoData) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Rows) != 2*9+2 || len(result.Plots) != 2 || len(result.Claims) != 0 {
		t.Errorf("%d rows, %d plots, %d claims: want 20, 2 and none", len(result.Rows), len(result.Plots), len(result.Claims))
	}
	for _, row := range result.Rows {
		if rate, ok := row.Get("urls_per_processor_s").(float64); !ok || !(rate > 0) {
			t.Errorf("%v: no rate", row)
		}
	}
	grown := result.Rows[9]
	if filter := grown.Get("filter_bytes_per_url").(float64); !(filter > 0.5 && filter < 1.5) {
		t.Errorf("%v: a filter of %g bytes a URL", grown, filter)
	}
}

// The promises are held at the size that they are made for.
func TestClaims(t *testing.T) {
	found := func(way, stream string, urls int) finding {
		return finding{known: promisedAt, way: way, stream: stream, urls: urls, used: 1e9}
	}
	var out lab.Result
	out.Row("known", promisedAt, "memory_bytes_per_url", 1.5)
	out.Row("known", promisedAt, "disk_bytes_per_url", 8.5)
	report(&out, []finding{
		found(byFreshet, "recent", 1_100_000), found(byFreshet, "uniform", 290_000),
		found(bySorted, "recent", 300_000), found(bySorted, "uniform", 100_000),
	})
	want := []lab.Verdict{lab.Confirmed, lab.Denied, lab.Confirmed, lab.Denied, lab.Confirmed, lab.Denied}
	for i, claim := range out.Claims {
		if len(out.Claims) != len(want) || claim.Verdict != want[i] {
			t.Errorf("claim %d of %d: %+v", i, len(out.Claims), claim)
		}
	}
}

func TestParameters(t *testing.T) {
	for _, argument := range []string{"--known=10", "--known=100000,100000", "--known=300000,100000", "--urls=1", "--drains=1"} {
		trial := Experiment().New()
		if err := trial.Flags().Parse([]string{argument}); err != nil {
			t.Fatal(err)
		}
		var fault *lab.ParameterError
		if _, err := trial.Run(t.Context(), nil); !errors.As(err, &fault) {
			t.Errorf("%s: %v, want a ParameterError", argument, err)
		}
	}
}
