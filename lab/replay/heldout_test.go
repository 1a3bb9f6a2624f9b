package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each half has two of four sites. The settings picked on one half are scored on every site of the other.
func TestHeldOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "h.csv")
	writeHistories(t, file, []string{"a", "b", "c", "d"}, 6)
	trial := HeldOut().New()
	if err := trial.Flags().Parse([]string{"--histories", file, "--seeds", "1"}); err != nil {
		t.Fatal(err)
	}
	result, err := trial.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sites, picked := map[string]int{}, map[string]bool{}
	for _, row := range result.Rows {
		policy := row.Get("policy").(string)
		if site, ok := row.Get("site").(string); ok {
			sites[site]++
		} else if _, setting, ok := strings.Cut(policy, ": "); ok {
			picked[setting] = true
		}
	}
	for _, site := range []string{"a", "b", "c", "d"} {
		if sites[site] != 4 { // uniform, oracle, picked elsewhere, picked here
			t.Errorf("site %s has %d rows, want 4", site, sites[site])
		}
	}
	for _, c := range settings() {
		delete(picked, c.name)
	}
	if len(picked) > 0 {
		t.Errorf("picked %v, which are no settings", picked)
	}
}

// writeHistories writes the histories of sites with equal numbers of pages. Each page changes at its own pace.
func writeHistories(t *testing.T, file string, sites []string, pages int) {
	t.Helper()
	var table strings.Builder
	table.WriteString("site,page,alive,end,times\n")
	for _, site := range sites {
		for page := range pages {
			fmt.Fprintf(&table, "%s,f/%d.html,1,200000000,10", site, page)
			for at := 1000 * (page + 1); at < 199_000_000; at += (page + 1) * 2_000_000 {
				fmt.Fprintf(&table, " %d", at)
			}
			table.WriteString("\n")
		}
	}
	if err := os.WriteFile(file, []byte(table.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
