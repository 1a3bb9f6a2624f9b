package replay

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"freshet/refresh"
)

var drawnSite = flag.String("drawn", "", "site of polled-pages.csv.gz of which TestKnownRates draws changes")

// TestKnownRates measures the value of knowing rates, instead of counts as the oracle does. Pages live like those of
// the site, but change independently, each at a rate drawn from the distribution that fits the site best. The policy
// that knows these rates is optimal in the limit of many pages. The oracle knows more than possible: the number of
// changes in the window.
func TestKnownRates(t *testing.T) {
	if *drawnSite == "" {
		t.Skip("measures only with -drawn")
	}
	windows := map[string][2]float64{
		"www.gov.uk": {44, 30}, "www.gesetze-im-internet.de": {240, 120}, "docs.cloud.google.com": {186, 93},
	}
	length, known := windows[*drawnSite]
	if !known {
		t.Fatalf("-drawn %q: want a site of polled-pages.csv.gz with a window here", *drawnSite)
	}
	histories, err := ReadHistories("testdata/polled-pages.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	site := []string{*drawnSite}
	w := NewWorld(histories, length[0]*day, length[1]*day, 1).Only(site)
	rates := drawRates(w, fitted(NewWorld(histories, 376*day, 100*day, 1).Only(site)))
	for _, share := range []float64{0.01, 0.05, 0.2} {
		low, high, way := between(t, w, share)
		told, alone := makeOracle(rates, rates, math.Inf(1)), refresh.NewIndex(refresh.IndexOptions{})
		t.Logf("%g: of the way from uniform, %.4f, to the oracle, %.4f: known rates %.2f, default %.2f, bayes %.2f", share,
			low, high, way(told), way(refresh.NewIndex(refresh.Default())), way(alone))
	}
}

// between returns the freshness of uniform and of the oracle with a budget, as a share of the pages a day. way returns
// how much of the way from one to the other a policy closes.
func between(t *testing.T, w *World, share float64) (low, high float64, way func(refresh.Policy) float64) {
	fresh := func(policy refresh.Policy) float64 {
		reached, err := Run(t.Context(), w, policy, nil, Rules{Rate: share * w.MeanLiving() / day})
		if err != nil {
			t.Fatal(err)
		}
		var sum Score
		for _, page := range reached.Pages {
			sum.Add(page, 1)
		}
		return sum.Freshness()
	}
	low, high = fresh(refresh.NewUniform()), fresh(newOracle(w))
	return low, high, func(policy refresh.Policy) float64 { return (fresh(policy) - low) / (high - low) }
}

// A spread is a distribution over rates, changes a second.
type spread struct{ rates, shares []float64 }

// fitted returns, nearly, the spread of rates that makes the numbers of changes of a world's pages most likely: a
// hundred steps of expectation and maximisation, from all rates alike.
func fitted(w *World) spread {
	var s spread
	for rate := 1.0 / 8000 / day; rate < 20/day; rate *= math.Sqrt2 {
		s.rates = append(s.rates, rate)
	}
	s.shares = make([]float64, len(s.rates))
	for k := range s.shares {
		s.shares[k] = 1 / float64(len(s.rates))
	}
	likely := make([]float64, len(s.rates))
	for range 100 {
		next := make([]float64, len(s.rates))
		for _, l := range w.Lives {
			n, time := float64(len(l.Updates)), l.End-l.Born
			sum, top := 0.0, math.Inf(-1)
			for _, rate := range s.rates {
				top = math.Max(top, n*math.Log(rate*time)-rate*time)
			}
			for k, rate := range s.rates {
				likely[k] = s.shares[k] * math.Exp(n*math.Log(rate*time)-rate*time-top)
				sum += likely[k]
			}
			for k := range next {
				next[k] += likely[k] / sum / float64(len(w.Lives))
			}
		}
		s.shares = next
	}
	return s
}

// drawRates draws a rate for each page of the world, and its updates, which take the place of those it had.
func drawRates(w *World, s spread) (rates []float64) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range w.Lives {
		l, k := &w.Lives[i], 0
		for u := random.Float64(); k < len(s.shares)-1 && u > s.shares[k]; k++ {
			u -= s.shares[k]
		}
		rate := s.rates[k]
		rates, l.Updates = append(rates, rate), nil
		for at := l.Born + random.ExpFloat64()/rate; at < l.End; at += random.ExpFloat64() / rate {
			l.Updates = append(l.Updates, at)
		}
	}
	return rates
}
