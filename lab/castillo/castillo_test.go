package castillo

import (
	"errors"
	"strings"
	"testing"
	"time"

	"freshet/lab"
	"freshet/lab/webs"
	"freshet/sim/discovery"
)

// TestExperiments runs both experiments on small webs. It holds that no crawl beats its bounds, that all pages bring
// all PageRank, and that the oracle is best at first.
func TestExperiments(t *testing.T) {
	for _, e := range []lab.Experiment{Experiment(webs.Source{}), Parallel(webs.Source{})} {
		t.Run(e.Name, func(t *testing.T) {
			trial := e.New()
			if err := trial.Flags().Parse([]string{"--web=synthetic", "--sites=12", "--connections=1,8"}); err != nil {
				t.Fatal(err)
			}
			result, err := trial.Run(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Rows) < 24 || len(result.Plots) < 5 || len(result.Claims) == 0 {
				t.Fatalf("%d rows, %d plots, %d claims", len(result.Rows), len(result.Plots), len(result.Claims))
			}
			for _, row := range result.Rows {
				if took, bound := row.Get("duration_s").(float64), row.Get("lower_bound_s").(float64); took < bound-1e-3 {
					t.Errorf("%v: less than its bound", row)
				}
				if at, ok := row.Get("pagerank_at").([]float64); ok && (len(at) != 10 || at[9] < 0.999 || at[9] > 1.001) {
					t.Errorf("%v: want all PageRank in the end", row)
				}
			}
		})
	}
}

// TestOptimal holds a crawl by one fetcher and no delay to the order of worth among the pages known.
func TestOptimal(t *testing.T) {
	w, err := (&parameters{web: "synthetic", sites: 5}).readWorld(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.crawl(t.Context(), new(lab.Result), "optimal", discovery.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range everyOrder() {
		other, err := w.crawl(t.Context(), new(lab.Result), name, discovery.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if other.mean() > c.mean()+0.005 {
			t.Errorf("%s: mean height %.4f, optimal's %.4f", name, other.mean(), c.mean())
		}
	}
}

// TestBounds holds the site's bound to what one site alone takes.
func TestBounds(t *testing.T) {
	w, err := (&parameters{web: "synthetic", sites: 1}).readWorld(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{1, 7} {
		c, err := w.crawl(t.Context(), new(lab.Result), "depth", discovery.Options{Delay: 15 * time.Second, PerConnection: k})
		if err != nil {
			t.Fatal(err)
		}
		// A page whose links are not known yet may end a connection early, so the crawl may take longer.
		if b := w.bounds(15*time.Second, k, 0); c.result.Duration < b.site-1e-3 || k == 1 && c.result.Duration > b.site+1e-3 {
			t.Errorf("k = %d: %v s, bound %v s", k, c.result.Duration, b.site)
		}
	}
}

func TestWrongParameters(t *testing.T) {
	for arg, want := range map[string]string{
		"--web=nosuch": "--web nosuch: want web-20k", "--order=best": "--order best: want all", "--connections=0": "--connections 0: want 1",
		"--per-connection=0": "--per-connection 0", "--bandwidth=-1": "--bandwidth -1", "--seeds=0": "--seeds 0", "--sites=0": "--sites 0",
		"--order=batch:0%": "--order batch:0%", "--delay=9999d": "--delay 239976h",
	} {
		trial := Experiment(webs.Source{}).New()
		if err := trial.Flags().Parse([]string{arg}); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", arg, err, want)
		}
	}
	trial := Experiment(webs.Source{}).New()
	if err := trial.Flags().Parse([]string{"--web=real-split"}); err != nil {
		t.Fatal(err)
	}
	if _, err := trial.Run(t.Context(), nil); !errors.Is(err, lab.ErrNoData) {
		t.Errorf("error %v", err)
	}
}
