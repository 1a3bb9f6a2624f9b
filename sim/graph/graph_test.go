package graph

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"freshet/sim/discovery"
)

// webs returns a small web of each synthetic kind.
func webs(t testing.TB) map[string]discovery.Web {
	stored, _, err := Generate(t.Context(), Recipe{Seed: 7, Sites: 300, HomeShare: 0.6})
	if err != nil {
		t.Fatal(err)
	}
	stateless, err := NewStateless(7, 300)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]discovery.Web{"stored": stored, "stateless": stateless}
}

// TestWebs holds what discovery needs of every web. Sites are runs of pages and have homes. A page links to other
// pages, each once, and gives the same links when asked again. Links lead from the homes to every page.
func TestWebs(t *testing.T) {
	for name, w := range webs(t) {
		t.Run(name, func(t *testing.T) {
			next := uint32(0)
			reached := make([]bool, w.Pages())
			var queue []uint32
			for site := range uint32(w.Sites()) {
				first, end := w.Range(site)
				home, ok := w.Home(site)
				if first != next || end <= first || !ok || home < first || home >= end {
					t.Fatalf("site %d has pages %d to %d, home %d, after page %d", site, first, end, home, next)
				}
				if s := w.Server(site); !(s.Latency > 0 && s.Rate > 0) || s != w.Server(site) {
					t.Errorf("site %d: %+v", site, s)
				}
				next, queue = end, append(queue, home)
				reached[home] = true
			}
			if int(next) != w.Pages() {
				t.Fatalf("sites have %d pages of %d", next, w.Pages())
			}
			for len(queue) > 0 {
				page := queue[0]
				queue = queue[1:]
				links := w.AppendLinks(nil, page)
				if !slices.Equal(links, w.AppendLinks(nil, page)) || w.Bytes(page) < 300 {
					t.Fatalf("page %d: not the same twice, or %v bytes", page, w.Bytes(page))
				}
				seen := map[uint32]bool{page: true}
				for _, to := range links {
					if seen[to] || int(to) >= w.Pages() {
						t.Fatalf("page %d links to %v", page, links)
					}
					seen[to] = true
					if !reached[to] {
						reached[to] = true
						queue = append(queue, to)
					}
				}
			}
			if i := slices.Index(reached, false); i >= 0 {
				t.Errorf("no way to page %d", i)
			}
		})
	}
}

// TestShape compares both kinds with the measured shape of the web. The bounds are loose, because the webs are small.
func TestShape(t *testing.T) {
	_, stored, err := Generate(t.Context(), Recipe{Seed: 3, Sites: 1000, HomeShare: 0.6})
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewStateless(3, 1000)
	if err != nil {
		t.Fatal(err)
	}
	computed, _ := w.Shape()
	for name, s := range map[string]Shape{"stored": stored, "stateless": computed} {
		for _, f := range []struct {
			what            string
			got, want, slip float64
		}{
			{"pages a site", float64(s.Pages) / float64(s.Sites), 61, 25},
			{"links", s.LinksMean, 58.8, 6},
			{"unique links", s.UniqueMean, 41.2, 4},
			{"median of the unique", s.UniqueMedian, 17, 2},
			{"repeats", s.Repeats, 0.3, 0.005},
			{"on the site", s.OnSite, 0.74, 0.06},
			{"exponent", s.InDegreeExponent, 2.6, 0.5},
		} {
			if !(math.Abs(f.got-f.want) <= f.slip) {
				t.Errorf("%s: %s %v, want %v ± %v", name, f.what, f.got, f.want, f.slip)
			}
		}
	}
}

func TestWrongWebs(t *testing.T) {
	for _, recipe := range []Recipe{{Sites: 0}, {Sites: 3, HomeShare: 2}, {Sites: 3, HomeShare: math.NaN()}} {
		if _, _, err := Generate(t.Context(), recipe); err == nil {
			t.Errorf("%+v: want an error", recipe)
		}
	}
	for _, sites := range []int{-1, 0, 1 << 26} {
		if _, err := NewStateless(1, sites); err == nil {
			t.Errorf("%d sites: want an error", sites)
		}
	}
	if _, _, err := Named(t.Context(), "web-x"); err == nil || err.Error() != `graph: no web "web-x": want one of web-20k, web-5k, web-big` {
		t.Errorf("error %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, _, err := Named(ended, "web-5k"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestTailExponent(t *testing.T) {
	var x []float64
	const exponent = 2.5
	for i := range 100_000 { // quantiles of a density of x^-2.5 from 1 on
		x = append(x, math.Pow((float64(i)+0.5)/100_000, -1/(exponent-1)))
	}
	if got := TailExponent(x, 0.01); math.Abs(got-exponent) > 0.01 {
		t.Errorf("%v, want %v", got, exponent)
	}
	if got := TailExponent([]float64{1, 2}, 0.01); !math.IsNaN(got) {
		t.Errorf("of no tail: %v", got)
	}
}
