package replay

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"freshet/lab"
)

// TestEvidence holds that the pictures of docs/evidence.md are those of the rows beside them, and that no row is
// missing.
func TestEvidence(t *testing.T) {
	const folder = "../../docs/plots"
	trial := Evidence().New()
	if err := trial.Flags().Parse([]string{"--kept", filepath.Join(folder, "evidence.csv")}); err != nil {
		t.Fatal(err)
	}
	result, err := trial.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"evidence.svg", "evidence-2.svg"} {
		want, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := result.Plots[i].SVG(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/plots/%s is not what replay-evidence draws from the rows (error %v)", name, err)
		}
	}
}

// TestMeasure holds that the kept rows equal the measured ones: a policy beside uniform visits, and each site with
// enough pages.
func TestMeasure(t *testing.T) {
	k := kind{name: "two sites", file: "h.csv", window: 400, score: 200, drawn: "sites", seeds: 2, rivals: []string{"lambdacrawl"}, bySite: true}
	dir := t.TempDir()
	writeHistories(t, filepath.Join(dir, k.file), []string{"a", "b"}, leastPages)
	found, err := (&evidence{histories: dir, seed: 1}).measure(t.Context(), new(lab.Result), k, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	var sites []string
	for _, f := range found {
		switch {
		case f.site != "":
			sites = append(sites, f.site)
		case f.policy == "uniform" && (f.gain.Mean != 0 || f.saved.Mean != 0):
			t.Errorf("uniform gains %v, saves %v on itself", f.gain, f.saved)
		case math.Abs(f.saved.Mean*(1-found[0].freshness)-f.gain.Mean) > 1e-12:
			t.Errorf("%s saves %v of %v, and gains %v", f.policy, f.saved, 1-found[0].freshness, f.gain)
		}
	}
	if !slices.Equal(sites, []string{"a", "b"}) {
		t.Errorf("sites %q, want both", sites)
	}
	kept := filepath.Join(dir, "kept.csv")
	if err := writeFindings(kept, found); err != nil {
		t.Fatal(err)
	}
	again, err := readFindings(kept)
	if err != nil || len(again) != len(found) {
		t.Errorf("%d rows read of %d written, error %v", len(again), len(found), err)
	}
}
