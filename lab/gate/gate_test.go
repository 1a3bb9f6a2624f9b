package gate

import (
	"strings"
	"testing"

	"freshet/lab"
)

// TestExperiment holds that the switched fleet costs no more than any fixed one.
func TestExperiment(t *testing.T) {
	trial := Experiment().New()
	if err := trial.Flags().Parse([]string{"--pages=1200", "--fleet=auto,4,16"}); err != nil {
		t.Fatal(err)
	}
	result, err := trial.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Rows) != 3 || len(result.Claims) != 1 || result.Claims[0].Verdict != lab.Confirmed {
		t.Errorf("rows %v, claims %v", result.Rows, result.Claims)
	}
}

// TestDefaultGamma holds that --gamma 0 has the cost by which the controller decides: γ = 100 μ.
func TestDefaultGamma(t *testing.T) {
	cost := func(gamma string) any {
		trial := Experiment().New()
		if err := trial.Flags().Parse([]string{"--pages=300", "--fleet=4", "--processing=100ms", gamma}); err != nil {
			t.Fatal(err)
		}
		result, err := trial.Run(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return result.Rows[0].Get("cost_pages_per_s")
	}
	if got, want := cost("--gamma=0"), cost("--gamma=1000"); got != want {
		t.Errorf("cost %v, want %v", got, want)
	}
}

func TestWrongParameters(t *testing.T) {
	for arg, want := range map[string]string{
		"--sites=0": "--sites 0", "--pages=0": "--pages 0", "--connections=0": "--connections 0", "--queue=1": "--queue 1",
		"--fleet=most": "--fleet most: want auto", "--processing=0s": "processing takes 0s", "--gamma=-1": "gamma -1",
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
