package lam

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"freshet/lab"
)

func run(t *testing.T, e lab.Experiment, args ...string) *lab.Result {
	t.Helper()
	trial := e.New()
	if err := trial.Flags().Parse(args); err != nil {
		t.Fatal(err)
	}
	result, err := trial.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestReference holds every scheduler to an independent simulation of the same model. A mean of three
// draws may be off by the spread of one. Lifetime is another there, and held to its own objective alone: it must not be
// less fresh over clients.
func TestReference(t *testing.T) {
	result := run(t, Experiment(), "--seeds=3", "--scheduler=all")
	held := 0
	for _, c := range result.Comparisons {
		if c.Source != reading {
			continue
		}
		off := math.Abs(c.Measured - c.Expected())
		if strings.Contains(c.What, "lifetime") {
			if !strings.Contains(c.What, "freshness over clients") {
				continue
			}
			off = c.Expected() - c.Measured
		}
		held++
		if off > c.Tolerance {
			t.Errorf("%s: %.4g, want %.4g ± %.2g", c.What, c.Measured, c.Expected(), c.Tolerance)
		}
	}
	if held != 21 {
		t.Errorf("%d comparisons with the reference, want 21", held)
	}
}

// TestDownloaders holds that, under a mixed load, Lifetime serves all downloaders and R/Q never serves some.
func TestDownloaders(t *testing.T) {
	result := run(t, Experiment(), "--downloaders=100", "--seeds=1", "--scheduler=circular,rq,lifetime")
	rq, ours := result.Rows[1], result.Rows[2]
	if rq.Get("unserved").(float64) == 0 || ours.Get("unserved").(float64) != 0 || !(ours.Get("delay_s").(float64) < rq.Get("delay_s").(float64)/2) {
		t.Errorf("R/Q: %v\nLifetime: %v", rq, ours)
	}
}

// TestUnicast holds Lifetime to be ahead of RxC for subscribers who each get a copy of their own, as over HTTP.
func TestUnicast(t *testing.T) {
	result := run(t, Experiment(), "--unicast", "--subscribers=40", "--duration=10d", "--change-interval=5d", "--seeds=1", "--scheduler=rxc,lifetime")
	rxc, ours := result.Rows[0], result.Rows[1]
	if !(ours.Get("freshness_over_clients").(float64) > rxc.Get("freshness_over_clients").(float64)) {
		t.Errorf("RxC: %v\nLifetime: %v", rxc, ours)
	}
}

// TestUnicastBound holds that no bound stands beside a feed by unicast: what a sending costs there is not what the
// bound assumes.
func TestUnicastBound(t *testing.T) {
	row := run(t, Experiment(), "--unicast", "--subscribers=3", "--duration=10d", "--seeds=1", "--scheduler=lifetime").Rows[0]
	for _, over := range []string{"clients", "data"} {
		if bound := row.Get("bound_freshness_over_" + over).(float64); !math.IsNaN(bound) {
			t.Errorf("%v fresh over %s, the bound is %v", row.Get("freshness_over_"+over), over, bound)
		}
	}
}

// TestStaleTimes holds the mean times to those of a pure birth process, 1/((n-j)λ), for equal rates.
func TestStaleTimes(t *testing.T) {
	means := make([]float64, 15)
	for i := range means {
		means[i] = 75 * day
	}
	for j, got := range staleTimes(means) {
		if want := 75 * day / float64(15-j); math.Abs(got/want-1) > 1e-5 { // the grid begins at a second
			t.Errorf("%d stale: %v s, want %v", j, got, want)
		}
	}
}

// TestBound holds schedulers to the bound, in a run that has forgotten its start.
func TestBound(t *testing.T) {
	for _, row := range run(t, Experiment(), "--seeds=1", "--duration=300d", "--scheduler=popularity,lifetime").Rows {
		for _, over := range []string{"clients", "data"} {
			fresh, bound := row.Get("freshness_over_"+over).(float64), row.Get("bound_freshness_over_"+over).(float64)
			if !(fresh < bound && bound < 1) {
				t.Errorf("%v: %v fresh over %s, the bound is %v", row.Get("scheduler"), fresh, over, bound)
			}
		}
	}
}

// TestRepeats holds that the same seed gives the same rows, all but the speed.
func TestRepeats(t *testing.T) {
	var rows [2]lab.Row
	for i := range rows {
		row := run(t, Experiment(), "--seeds=1", "--duration=10d", "--scheduler=lifetime", "--objective=age", "--over=data", "--skew=0.8", "--pages-per-chunk=30").Rows[0]
		rows[i] = slices.DeleteFunc(row, func(f lab.Field) bool {
			x, ok := f.Value.(float64)
			return f.Name == "decisions_per_s" || ok && math.IsNaN(x)
		})
	}
	if !slices.Equal(rows[0], rows[1]) {
		t.Errorf("%v\n%v", rows[0], rows[1])
	}
}

func TestWrongParameters(t *testing.T) {
	for _, args := range [][]string{
		{"--subscribers=-1"}, {"--downloaders=-1"}, {"--mean-sites=0"}, {"--mean-sites=NaN"}, {"--change-interval=1s"}, {"--pages-per-chunk=61"},
		{"--duration=1h"}, {"--skew=2"}, {"--seeds=0"}, {"--objective=love"}, {"--over=easy"}, {"--scheduler=best"},
	} {
		trial := Experiment().New()
		if err := trial.Flags().Parse(args); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestWorld holds the draw to Table 1.
func TestWorld(t *testing.T) {
	l := load{subscribers: 200, downloaders: 200, meanSites: 9, interval: 75 * day, duration: 2 * day, pagesPerChunk: 15}
	w := l.draw(lab.Random(1, 0))
	if len(w.chunks) != 85_680 {
		t.Errorf("%d chunks, want 85,680", len(w.chunks))
	}
	chunks := 0
	for _, wants := range w.wants {
		chunks += len(wants)
	}
	// 4.08 chunks a site, 9 sites; the spread of a large site's 66 chunks is most of the error.
	if mean := float64(chunks) / 400; math.Abs(mean-36.7) > 8 {
		t.Errorf("%.1f chunks a client, want about 36.7", mean)
	}
	if w.ticks() != 576 || len(w.changes) == 0 || len(w.at(0)) != 0 {
		t.Errorf("%d ticks, %d changes, %d at once", w.ticks(), len(w.changes), len(w.at(0)))
	}
}

// TestFigures draws a point of Figures 4 to 7, ours beside.
func TestFigures(t *testing.T) {
	result := run(t, Figures(), "--seeds=1", "--most=100", "--part=subscribers")
	if len(result.Plots) != 4 || len(result.Rows) != len(contenders()) {
		t.Fatalf("%d plots, %d rows", len(result.Plots), len(result.Rows))
	}
	for _, plot := range result.Plots {
		if len(plot.Series) != 6 || len(plot.Series[0].X) != 1 || plot.Series[0].X[0] != 100 {
			t.Errorf("%s: %+v", plot.Title, plot.Series)
		}
	}
}

// TestCells holds that the tables are all there: 6 cells, 4, 4 for each age, 4 for each of 4 metrics, 4.
func TestCells(t *testing.T) {
	count := map[string]int{}
	for _, c := range cells() {
		count[c.table]++
	}
	if want := (map[string]int{"Table 2": 6, "Table 3": 4, "Table 4": 8, "Table 5": 16, "Table 6": 4}); !maps.Equal(count, want) {
		t.Errorf("%v cells, want %v", count, want)
	}
}

// TestFacilities lets one of three fail: nobody is lost, and those who moved make the others staler.
func TestFacilities(t *testing.T) {
	row := run(t, Facilities(), "--seeds=1", "--subscribers=300", "--downloaders=60", "--duration=30d", "--fail-at=15d", "--scheduler=lifetime").Rows[0]
	before, end := row.Get("freshness_before").(float64), row.Get("freshness_end").(float64)
	if !(end < before && end > 0.5 && before < 1) || row.Get("unserved").(float64) != 0 {
		t.Errorf("%v", row)
	}
	for _, args := range [][]string{{"--facilities=1"}, {"--fail-at=1d"}, {"--fail-at=74d"}} {
		trial := Facilities().New()
		if err := trial.Flags().Parse(args); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(t.Context(), nil); err == nil {
			t.Errorf("%v: want an error", args)
		}
	}
}
