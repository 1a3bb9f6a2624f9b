package fleet

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/tables.txt anew")

// A row is one of a table that the lab embeds, by column. The columns printed_… are the paper's text; those
// of the same name without it are the values computed independently, by several methods and with
// more digits; differs names the columns in which the two don't agree, and why says why.
type row map[string]string

func rows(t testing.TB, file string) []row {
	t.Helper()
	f, err := os.Open("../lab/liunain/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all []row
	for _, record := range records[1:] {
		r := row{}
		for i, name := range records[0] {
			r[name] = record[i]
		}
		all = append(all, r)
	}
	return all
}

// number parses a cell, which may be a fraction.
func number(t testing.TB, cell string) float64 {
	t.Helper()
	over, under, fraction := strings.Cut(cell, "/")
	x, err := strconv.ParseFloat(over, 64)
	if err == nil && fraction {
		var y float64
		y, err = strconv.ParseFloat(under, 64)
		x /= y
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (r row) model(t testing.TB) Model {
	t.Helper()
	return Model{ArrivalRate: number(t, r["lambda"]), ServiceRate: 1, Queue: int(number(t, r["K"])), Gamma: number(t, r["gamma"])}
}

// agrees reports whether a computed value is a printed one to every printed digit, whichever way a
// half was rounded.
func agrees(t testing.TB, computed float64, printed string) bool {
	t.Helper()
	_, decimals, _ := strings.Cut(printed, ".")
	return math.Abs(computed-number(t, printed)) <= 0.5*math.Pow(10, -float64(len(decimals)))*(1+1e-9)
}

// check holds computed values to a row: to all reference digits, and to the printed digits of just
// those columns that are not listed as different. It returns the row as text.
func (r row) check(t testing.TB, columns []string, computed map[string]float64) string {
	t.Helper()
	text, differs := "", []string(nil)
	for _, name := range columns {
		printed := r["printed_"+name]
		if reference := r[name]; reference != "" && !agrees(t, computed[name], reference) {
			t.Errorf("%v: %s is %v, reference %s", r, name, computed[name], reference)
		}
		mark := ""
		if !agrees(t, computed[name], printed) {
			differs = append(differs, name)
			mark = "*"
		}
		_, decimals, _ := strings.Cut(printed, ".")
		text += fmt.Sprintf("  %8s %8s%-1s", printed, strconv.FormatFloat(computed[name]*(1+1e-12), 'f', len(decimals), 64), mark)
	}
	if got := strings.Join(differs, " "); got != r["differs"] {
		t.Errorf("%v: printed and computed differ in [%s], listed are [%s]", r, got, r["differs"])
	}
	if r["why"] != "" {
		text += "  " + r["why"]
	}
	return text
}

// TestTables holds Tables 1.1 to 1.3: every value to the printed digits but those that are listed
// with a reason, and to independent values with more digits. What it prints, printed beside
// computed, is in testdata/tables.txt.
func TestTables(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, "Liu and Nain 2005: each value as printed, then as computed; * where they differ.\n")

	fmt.Fprintf(&out, "\nTable 1.1: N(γ,K), λ=0.01, μ=1\n\n")
	for _, r := range rows(t, "table-1.1.csv") {
		m := Model{ArrivalRate: 0.01, ServiceRate: 1, Queue: 2, Gamma: number(t, r["gamma"])}
		computed := map[string]float64{}
		if r["K"] == "inf" {
			n, err := m.LargeQueue()
			if err != nil {
				t.Fatal(err)
			}
			computed["N"] = float64(n)
		} else {
			m.Queue = int(number(t, r["K"]))
			best, err := m.Best(Exponential())
			if err != nil {
				t.Fatal(err)
			}
			load, err := m.OptimalLoad()
			if err != nil {
				t.Fatal(err)
			}
			computed["N"] = float64(best.Fetchers)
			near(t, "load", load, number(t, r["load"]), 5.1e-10)
		}
		fmt.Fprintf(&out, "γ %-4s K %-4s%s\n", r["gamma"], r["K"], strings.TrimRight(r.check(t, []string{"N"}, computed), " "))
	}

	for _, table := range []struct {
		file, title string
		limited     bool
		columns     []string
	}{
		{"table-1.2.csv", "Table 1.2: N = N_s, μ=1", true, []string{"C_s", "N_s", "C_d", "N_min", "N_mean", "improvement"}},
		{"table-1.3.csv", "Table 1.3: N unrestricted, μ=1", false, []string{"C_s", "N_s", "C_d", "N_min", "N_mean", "N_max", "improvement"}},
	} {
		fmt.Fprintf(&out, "\n%s\n\n%-23s", table.title, "")
		for _, name := range table.columns {
			fmt.Fprintf(&out, "  %17s ", name)
		}
		out.WriteByte('\n')
		for _, r := range rows(t, table.file) {
			m := r.model(t)
			fixed, err := m.Best(Exponential())
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			if table.limited {
				n = fixed.Fetchers
			}
			d, err := m.Dynamic(n)
			if err != nil {
				t.Fatal(err)
			}
			if r["max_active"] != "" && d.MaxActive != int(number(t, r["max_active"])) {
				t.Errorf("%v: at most %d active", r, d.MaxActive)
			}
			if !d.Monotone {
				t.Errorf("%v: not a monotone switching curve", r)
			}
			if d.Gap > 1e-12 {
				t.Errorf("%v: gap %v", r, d.Gap)
			}
			text := r.check(t, table.columns, map[string]float64{
				"C_s": fixed.Cost, "N_s": float64(fixed.Fetchers), "C_d": d.Cost, "N_min": float64(d.MinActive),
				"N_mean": d.MeanActive, "N_max": float64(d.MostAtEmpty), "improvement": 100 * d.Improvement(fixed),
			})
			fmt.Fprintf(&out, "λ %-4s K %-2s γ %-7s%s\n", r["lambda"], r["K"], r["gamma"], strings.TrimRight(text, " "))
		}
	}

	const golden = "testdata/tables.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("%s (-want +got), -update writes it anew:\n%s", golden, diff)
	}
}

// TestFigures holds Figures 1.5 to 1.7: N=16, K=5, λ=0.1, μ=1. The paper prints the costs to five
// digits and draws the curves.
func TestFigures(t *testing.T) {
	tests := []struct {
		gamma                              float64
		printed                            string
		cost, starvation, loss, meanActive float64
		want                               Dynamic
	}{
		{1, "0.20907", 0.2090741347, 0.13707327, 0.07200086, 9.34927593, Dynamic{
			MinActive: 4, MaxActive: 14, MostAtEmpty: 14,
			Departure: []int{5, 5, 5, 5, 5, 5, 4, 4, 3, 3, 3, 2, 2, 1, 1, 0},
			Arrival:   []int{5, 5, 5, 5, 3, 3, 2, 2, 1, 1, 1, 0, 0, -1, -1, -1},
		}},
		{1.4, "0.25924", 0.2592395961, 0.11617365, 0.09659648, 9.80422826, Dynamic{
			MinActive: 4, MaxActive: 15, MostAtEmpty: 15,
			Departure: []int{5, 5, 5, 5, 5, 5, 5, 4, 4, 3, 3, 3, 2, 2, 1, 1},
			Arrival:   []int{5, 5, 5, 5, 3, 3, 3, 2, 2, 1, 1, 1, 0, 0, -1, -1},
		}},
		{2, "0.32211", 0.3221146689, 0.09693007, 0.12825453, 10.31324460, Dynamic{
			MinActive: 5, MaxActive: 16, MostAtEmpty: 15,
			Departure: []int{5, 5, 5, 5, 5, 5, 5, 5, 4, 4, 3, 3, 3, 2, 2, 1},
			Arrival:   []int{5, 5, 5, 5, 5, 3, 3, 3, 2, 2, 1, 1, 1, 0, 0, -1},
		}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("gamma=%v", test.gamma), func(t *testing.T) {
			d, err := Model{0.1, 1, 5, test.gamma}.Dynamic(16)
			if err != nil {
				t.Fatal(err)
			}
			if !agrees(t, d.Cost, test.printed) {
				t.Errorf("cost %v, printed %s", d.Cost, test.printed)
			}
			near(t, "cost", d.Cost, test.cost, 5e-10)
			near(t, "starvation", d.Starvation, test.starvation, 5e-8)
			near(t, "loss", d.Loss, test.loss, 1e-7)
			near(t, "mean active", d.MeanActive, test.meanActive, 1e-9)
			got := Dynamic{
				MinActive: d.MinActive, MaxActive: d.MaxActive, MostAtEmpty: d.MostAtEmpty,
				Departure: d.Departure, Arrival: d.Arrival,
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !d.Monotone || d.Fetchers != 16 {
				t.Errorf("monotone %v, %d fetchers", d.Monotone, d.Fetchers)
			}
		})
	}
}
