package liunain

import (
	"math"
	"slices"
	"strings"
	"testing"

	"freshet/lab"
)

// TestExperiment holds that all printed numbers agree, except those that the tables list with a reason, that the
// simulation agrees with theory, and that each claim has the expected verdict.
func TestExperiment(t *testing.T) {
	trial := Experiment().New()
	if err := trial.Flags().Parse([]string{"--runs=10", "--span=5000", "--pages=1000"}); err != nil {
		t.Fatal(err)
	}
	out, err := trial.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range out.Rows {
		table := r.Get("table").(string)
		count[table]++
		if table == "sequences" {
			for _, name := range []string{"golden_ratio", "golden_limit_ratio", "balanced_ratio", "apart_ratio"} {
				if ratio := r.Get(name).(float64); !(ratio >= 1-1e-9 && ratio < math.Pow(math.Phi, 5)/10) {
					t.Errorf("%v: %s", r, name)
				}
			}
		}
	}
	for table, want := range map[string]int{"1.1": 50, "1.2": 30, "1.3": 30, "Figure 1.5": 1, "sequences": 12, "general service": 36} {
		if count[table] != want {
			t.Errorf("%d rows of %s, want %d", count[table], table, want)
		}
	}
	for _, c := range out.Comparisons {
		explained := strings.Contains(c.Source, "; ")
		if (c.Verdict() == lab.Agrees) == explained {
			t.Errorf("%+v: %s", c, c.Verdict())
		}
	}
	denied := []string{"(1.34)", "as printed", "increasing convex order", "exponential service costs at most a tenth"}
	if len(out.Claims) != 13 {
		t.Errorf("%d claims, want 13", len(out.Claims))
	}
	for _, c := range out.Claims {
		want := lab.Confirmed
		if slices.ContainsFunc(denied, func(part string) bool { return strings.Contains(c.Claim, part) }) {
			want = lab.Denied
		}
		if c.Verdict != want {
			t.Errorf("%s: %s, %s", c.Claim, c.Verdict, c.Evidence)
		}
	}
	for _, p := range out.Plots {
		if _, err := p.SVG(); err != nil {
			t.Error(err)
		}
	}
}

// TestParameters holds that invalid parameters are refused.
func TestParameters(t *testing.T) {
	for _, flag := range []string{"--runs=1", "--span=NaN", "--pages=9"} {
		trial := Experiment().New()
		if err := trial.Flags().Parse([]string{flag}); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(t.Context(), nil); err == nil {
			t.Errorf("%s: accepted", flag)
		}
	}
}
