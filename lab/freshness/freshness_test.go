package freshness

import (
	"strings"
	"testing"

	"freshet/lab"
)

// TestExperiment holds that the default keeps copies fresher than uniform, that the believed freshness is near the
// true one, and that the same seed gives the same result.
func TestExperiment(t *testing.T) {
	run := func() *lab.Result {
		trial := Experiment().New()
		if err := trial.Flags().Parse([]string{"--sites=48", "--days=24", "--policy=default,uniform"}); err != nil {
			t.Fatal(err)
		}
		result, err := trial.Run(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	result := run()
	for _, claim := range result.Claims {
		if claim.Verdict != lab.Confirmed {
			t.Errorf("%s: %s: %s", claim.Claim, claim.Verdict, claim.Evidence)
		}
	}
	if a, b := result.Rows[0].Get("freshness"), run().Rows[0].Get("freshness"); len(result.Rows) != 2 || a != b {
		t.Errorf("%d rows; freshness %v, and again %v", len(result.Rows), a, b)
	}
}

func TestWrongParameters(t *testing.T) {
	for arg, want := range map[string]string{
		"--sites=0": "--sites 0: want 1", "--budget-share=0": "--budget-share 0: want more", "--days=1": "--days 1: want 2",
		"--policy=best": "--policy best: want all, or some of default, plan",
	} {
		trial := Experiment().New()
		if err := trial.Flags().Parse([]string{arg}); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", arg, err, want)
		}
	}
}
