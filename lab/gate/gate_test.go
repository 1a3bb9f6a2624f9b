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
