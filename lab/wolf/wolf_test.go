package wolf

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"freshet/change"
	"freshet/lab"
)

func runTrial(t *testing.T, arguments ...string) *lab.Result {
	t.Helper()
	trial := Experiment().New()
	if err := trial.Flags().Parse(arguments); err != nil {
		t.Fatal(err)
	}
	result, err := trial.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Which conclusions hold does not hang on the number of pages.
func TestClaims(t *testing.T) {
	denied := map[string]bool{}
	result := runTrial(t, "--pages=10000", "--slots=5000")
	for _, c := range result.Claims {
		denied[c.Claim] = c.Verdict == lab.Denied
	}
	for claim, want := range map[string]bool{
		"Figure 7: the objective rises with theta":                                             false,
		"Figure 7: the curves draw together as the rates become alike":                         false,
		"Figure 7 left: heuristics that ignore the weights beat those that follow them":        true,
		"Figure 7 right: heuristics that ignore the weights beat those that follow them":       true,
		"Figure 7 left: plain uniform is the best heuristic":                                   true,
		"Figure 8, mixed: the optimum is freshest, and uniform is fresher than proportional":   false,
		"Figure 8, poisson: the optimum is freshest, and uniform is fresher than proportional": false,
		"Figure 8, pareto: the optimum is freshest, and uniform is fresher than proportional":  false,
		"Figure 8, mixed: the optimum's staleness is convex in the budget":                     false,
		"Figure 8, quasi: the optimum becomes perfectly fresh":                                 false,
		"Figure 9: staleness rises steeply as a falls from 2":                                  true,
		"Figure 9's shape: that of a process that starts again with each crawl":                false,
		"Figure 10: virtually all crawls land within 20 slots of their ideal times; " +
			"ideal times spread evenly, with jitter": false,
	} {
		got, said := denied[claim]
		if !said || got != want {
			t.Errorf("%s: said %v, denied %v: want denied %v", claim, said, got, want)
		}
	}
	if len(result.Comparisons) != 0 {
		t.Error("reference values for a million pages are put beside those for fewer")
	}
}

// A million pages give the reference values.
func TestReference(t *testing.T) {
	if testing.Short() {
		t.Skip("a million pages")
	}
	p, err := newPages(referencePages, "pareto", 0, 1.05)
	if err != nil {
		t.Fatal(err)
	}
	for k, policy := range []string{optimal, proportional, uniform} {
		got, err := problem{p, nil}.stalenessOf(policy, 2.5)
		if want := referenceNine[1.05][k]; err != nil || math.Abs(got-want) > rounding {
			t.Errorf("%s: %.9f, %v: want %.8f", policy, got, err, want)
		}
	}
	weights := embarrassment(referencePages, referenceSeed)
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	if math.Abs(sum-8056.91799) > 1e-4 {
		t.Errorf("weights sum to %v, want 8056.91799", sum)
	}
}

// A law's own samples contradict it in about one of twenty cases, and another's mostly.
func TestJudge(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	regular, err := change.NewGamma(1, 8)
	if err != nil {
		t.Fatal(err)
	}
	heavy, err := change.NewPareto(1, 1.2)
	if err != nil {
		t.Fatal(err)
	}
	const pages = 40
	for _, test := range []struct {
		name, law string
		from      tailed
		low, high int // pages that may be contradicted
	}{
		{"its own", "poisson", change.Poisson(1), 0, 7},
		{"its own, two parameters", "gamma", regular, 0, 7},
		{"regular gaps", "poisson", regular, pages - 2, pages},
		{"heavy tails", "poisson", heavy, pages - 6, pages},
	} {
		contradicted := 0
		for range pages {
			gaps := make([]float64, 60)
			for i := range gaps {
				gaps[i] = test.from.Gap(rng)
			}
			v, err := judge(gaps, 19, rng)
			if err != nil {
				t.Fatal(err)
			}
			if v.rejected[test.law] {
				contradicted++
			}
		}
		if contradicted < test.low || contradicted > test.high {
			t.Errorf("%s: %d of %d pages contradict %s, want %d to %d", test.name, contradicted, pages, test.law, test.low, test.high)
		}
	}
}

func TestTails(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var table strings.Builder
	table.WriteString("site,page,alive,end,times\n")
	for page := range 8 {
		at := 1e9
		var times []string
		for range 40 {
			at += math.Ceil(1e5 * rng.ExpFloat64())
			times = append(times, formatSeconds(at))
		}
		table.WriteString("s," + string(rune('a'+page)) + ",1," + formatSeconds(at+1) + "," + strings.Join(times, " ") + "\n")
	}
	file := filepath.Join(t.TempDir(), "histories.csv")
	if err := os.WriteFile(file, []byte(table.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	result := runTrial(t, "--figures=6", "--histories="+file)
	for _, row := range result.Rows {
		if row.Get("law") == "poisson" && row.Get("share_not_contradicted").(float64) < 0.5 {
			t.Errorf("exponential gaps contradict an exponential law: %v", row)
		}
	}
	if len(result.Plots) != 1 || len(result.Plots[0].Series) != 5 {
		t.Errorf("want one plot of five curves: %+v", result.Plots)
	}
}

func formatSeconds(s float64) string { return strconv.FormatFloat(s, 'f', 0, 64) }

func TestParameters(t *testing.T) {
	for _, arguments := range []string{"--figures=5", "--pages=1", "--slots=1", "--draws=0", "--min-gaps=2", "--resample=1"} {
		trial := Experiment().New()
		if err := trial.Flags().Parse([]string{arguments}); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(t.Context(), nil); err == nil {
			t.Errorf("%s: no error", arguments)
		}
	}
}

// Told the laws the live plan comes within half a thousandth of the optimum, over many intervals whose copies age.
func TestChain(t *testing.T) {
	const n, budget, intervals, scored = 1000, 2500, 24, 8
	mixed, err := newPages(n, "mixed", 0, 1.5)
	if err != nil {
		t.Fatal(err)
	}
	for name, weights := range map[string][]float64{"equal": nil, "clicks": embarrassment(n, referenceSeed)} {
		t.Run(name, func(t *testing.T) {
			p := problem{mixed, weights}
			c, err := newChain(p, budget, 16, intervals-scored)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.run(t.Context(), intervals)
			if err != nil {
				t.Fatal(err)
			}
			if optimum := 1 - p.bound(budget, true); got > optimum || got < 0.9995*optimum {
				t.Errorf("%.5f fresh, want at most and nearly the optimum of %.5f", got, optimum)
			}
		})
	}
}

// After learning, the default is within 1 % of the optimum that does not know the instants of quasi-deterministic
// pages.
func TestMixture(t *testing.T) {
	trial := Mixture().New()
	if err := trial.Flags().Parse([]string{"--pages=400", "--intervals=40", "--scored=12", "--seeds=2", "--crawls-per-page=2.5", "--ahead=4"}); err != nil {
		t.Fatal(err)
	}
	result, err := trial.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, c := range result.Claims {
		if strings.Contains(c.Claim, "does not know") {
			checked++
			if c.Verdict != lab.Confirmed {
				t.Errorf("%s: %s", c.Claim, c.Evidence)
			}
		}
	}
	if checked != 2 {
		t.Errorf("%d claims of the default, want one for each kind of weights", checked)
	}
	for _, argument := range []string{"--mixture=some", "--pages=1", "--scored=60", "--ahead=50", "--seeds=0", "--crawls-per-page=0"} {
		trial := Mixture().New()
		if err := trial.Flags().Parse([]string{argument}); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(t.Context(), nil); err == nil {
			t.Errorf("%s: no error", argument)
		}
	}
}

// The drawn updates are as many as the rates say, and expected freshness is that of the draws.
func TestWorldAgreesWithExpectation(t *testing.T) {
	mixed, err := newPages(40, "mixed", 0.5, 1.5)
	if err != nil {
		t.Fatal(err)
	}
	p := problem{mixed, nil}
	c, err := newChain(p, 40, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	const intervals, draws = 40, 400
	for _, i := range []int{3, 7, 9, 19} { // Poisson, Pareto, two quasi-deterministic
		c.crawled[i] = 0
		count, fresh := 0.0, 0.0
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		for range draws {
			first := math.Inf(1)
			for at := range p.updates(i, rng, intervals) {
				count++
				first = math.Min(first, at)
			}
			fresh += math.Min(first, 2) / draws
		}
		if want := p.rates[i] * intervals * draws; math.Abs(count/want-1) > 0.1 {
			t.Errorf("page %d: %v updates, want about %v", i, count, want)
		}
		if want := c.fresh(i, 0, 2); math.Abs(fresh/want-1) > 0.12 {
			t.Errorf("page %d: fresh for %v of the first two intervals, want about %v", i, fresh, want)
		}
	}
}
