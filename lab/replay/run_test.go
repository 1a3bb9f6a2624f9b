package replay

import (
	"context"
	"math"
	"testing"

	"freshet/lab"
	"freshet/refresh"
)

// every is a policy that visits the pages in turn.
type every struct{ ids []refresh.ID }

func (e *every) Add(id refresh.ID, _ refresh.Page)      { e.ids = append(e.ids, id) }
func (e *every) Remove(refresh.ID)                      { e.ids = nil }
func (e *every) Weigh(refresh.ID, float64)              {}
func (e *every) Visited(id refresh.ID, _ refresh.Visit) { e.ids = append(e.ids, id) }
func (e *every) Next(float64) (refresh.ID, float64, bool) {
	if len(e.ids) == 0 {
		return 0, math.Inf(1), false
	}
	id := e.ids[0]
	e.ids = e.ids[1:]
	return id, 0, true
}

// TestScore compares the score of one page with one computed by hand: a window of 10 s whose last 6 s are scored,
// updates at 3, 5 and 8 s, slots at 1.5, 3.5, 5.5 … s.
func TestScore(t *testing.T) {
	w := &World{Window: 10, Score: 6, Lives: []Life{{Site: "s", Path: "p", Born: 0, End: 10, Updates: []float64{3, 5, 8}}}}
	tests := []struct {
		name                      string
		rate                      float64
		end                       float64
		fresh, alive, age, crawls float64
	}{
		// Slots at 2, 6: stale from 3 to 6 (scored from 4: age 1 to 3, ∫ = 4) and from 8 to 10 (∫ = 2).
		{"two slots", 0.25, 10, 2, 6, 4 + 2, 1},
		// The page goes at 7: from 4 to 6 stale, fresh to 7.
		{"removed", 0.25, 7, 1, 3, 4, 1},
		// A slot at 5: fresh there, as an update at the slot is seen. Stale 4 to 5, and 8 to 10.
		{"one slot", 0.1, 10, 3, 6, 1.5 + 2, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			world := *w
			world.Lives = []Life{w.Lives[0]}
			world.Lives[0].End = test.end
			if test.end < 8 {
				world.Lives[0].Updates = []float64{3, 5}
			}
			reached, err := Run(context.Background(), &world, new(every), nil, Rules{Rate: test.rate})
			if err != nil {
				t.Fatal(err)
			}
			s := reached.Pages[0]
			var parts Score
			for _, part := range reached.Parts {
				parts.Add(part, 1)
			}
			if math.Abs(parts.Fresh-s.Fresh) > 1e-9 || math.Abs(parts.Alive-s.Alive) > 1e-9 || math.Abs(parts.Age-s.Age) > 1e-9 {
				t.Errorf("the parts of the time come to %+v, the page to %+v", parts, s)
			}
			if s.Fresh != test.fresh || s.Alive != test.alive || math.Abs(s.Age-test.age) > 1e-12 || s.Crawls != test.crawls {
				t.Errorf("got %+v, want %+v", s, test)
			}
		})
	}
}

// counting counts the changes that it is told of.
type counting struct {
	every
	changed int
}

func (c *counting) Visited(id refresh.ID, v refresh.Visit) {
	if c.every.Visited(id, v); v.Outcome == refresh.Changed {
		c.changed++
	}
}

// TestNoise holds that a crawl sees noise as changes, and the score does not. Slots are at 2, 6 and 10, noise is at 1,
// 3 and 4. The second visit sees two at once.
func TestNoise(t *testing.T) {
	history := History{Site: "s", Path: "p", Alive: true, End: 12, Times: []float64{0, 1, 3, 4, 5, 8}}
	bulk := Bulk{{"s", 0}: true, {"s", 1}: true, {"s", 3}: true, {"s", 4}: true}
	run := func(change func(Bulk, []History)) (int, Score) {
		histories := []History{history}
		change(bulk, histories)
		policy := new(counting)
		reached, err := Run(t.Context(), NewWorld(histories, 12, 12, 1), policy, nil, Rules{Rate: 0.25})
		if err != nil {
			t.Fatal(err)
		}
		return policy.changed, reached.Pages[0]
	}
	noisy, heard := run(Bulk.Silence)
	quiet, never := run(Bulk.Drop)
	if noisy != 3 || quiet != 2 || heard != never || never.Fresh != 12-1-2 {
		t.Errorf("%d changes and %+v with noise, %d and %+v without", noisy, heard, quiet, never)
	}
}

func TestNewWorld(t *testing.T) {
	histories := []History{
		{Site: "a", Path: "old", Alive: true, End: 1000, Times: []float64{100, 950, 990}},
		{Site: "a", Path: "gone", End: 960, Times: []float64{940, 950}},
		{Site: "a", Path: "gone before", End: 900, Times: []float64{800}},
		{Site: "b", Path: "early end", Alive: true, End: 500, Times: []float64{480, 490}},
	}
	w := NewWorld(histories, 100, 50, 1)
	if len(w.Lives) != 3 || w.Updates() != 4 {
		t.Fatalf("%d pages and %d updates, want 3 and 4", len(w.Lives), w.Updates())
	}
	if l := w.Lives[0]; l.Born != 0 || l.End != 100 || l.Updates[0] != 50 {
		t.Errorf("an old page lives from %v to %v, with updates %v", l.Born, l.End, l.Updates)
	}
	if l := w.Lives[1]; l.Born != 40 || l.End != 60 {
		t.Errorf("a page that goes lives from %v to %v", l.Born, l.End)
	}
	if l := w.Lives[2]; l.Born != 80 || l.Updates[0] != 90 {
		t.Errorf("a page of a site that ends early begins at %v, with updates %v", l.Born, l.Updates)
	}
	if got, want := w.MeanLiving(), (100+20+20)/100.0; got != want {
		t.Errorf("%v pages in the mean, want %v", got, want)
	}
	if fast := NewWorld(histories, 100, 50, 10); fast.Window != 10 || fast.Lives[0].Updates[0] != 5 {
		t.Errorf("ten times as fast, the window is %v s and an update at %v", fast.Window, fast.Lives[0].Updates[0])
	}
}

// TestRecordedHistories holds the exact counts of the recorded histories. It compares the freshness of policies that
// need no learning, the mean of five seeds, with that of a prototype. The budget is the smallest of four;
// docs/notes/2026-11-simulator.md has the figures of the others.
func TestRecordedHistories(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	trial := Experiment().New()
	err := trial.Flags().Parse([]string{"--histories", "testdata/page-updates.csv.gz",
		"--policy", "uniform,fixed,oracle,hindsight", "--budget-share", "0.002", "--seeds", "5"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := trial.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, u := out.Parameters.Get("pages"), out.Parameters.Get("updates"); p != 29452 || u != 176833 {
		t.Errorf("%v pages and %v updates, want 29452 and 176833", p, u)
	}
	if n := out.Parameters.Get("mean_living_pages").(float64); math.Abs(n-9126.4) > 0.05 {
		t.Errorf("%v pages in the mean, want 9126.4", n)
	}
	if len(out.Comparisons) != 4 {
		t.Errorf("%d comparisons, want 4", len(out.Comparisons))
	}
	for _, c := range out.Comparisons {
		if c.Verdict() != lab.Agrees {
			t.Errorf("%s: %.4f, want %.4f ± %.4f", c.What, c.Measured, c.Expected(), c.Tolerance)
		}
	}
}

// TestDefault holds what the default reaches on pages that a crawler observed once a day, with 93 days to learn from:
// how much of the way from uniform visits to known mean rates it closes, with copies no older than uniform's, and ahead
// of a rival that learns each page alone.
func TestDefault(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	const least = 0.5
	trial := Experiment().New()
	err := trial.Flags().Parse([]string{"--histories", "testdata/polled-pages.csv.gz", "--sites", "docs.cloud.google.com",
		"--window", "186d", "--score", "93d", "--policy", "uniform,lambdacrawl,default,oracle", "--budget-share", "0.05"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := trial.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	get := func(row int, column string) float64 { return out.Rows[row].Get(column).(float64) }
	uniform, known := get(0, "freshness"), get(3, "freshness")
	closed := func(row int) float64 { return (get(row, "freshness") - uniform) / (known - uniform) }
	if closed(2) < least || closed(2) < closed(1) {
		t.Errorf("closes %.3f, lambdacrawl %.3f, want %v or more", closed(2), closed(1), least)
	}
	if get(2, "mean_age_s") > get(0, "mean_age_s") {
		t.Errorf("copies are %.0f s old, uniform's %.0f", get(2, "mean_age_s"), get(0, "mean_age_s"))
	}
}
