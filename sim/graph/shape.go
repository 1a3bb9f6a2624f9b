package graph

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Shape describes the links of a web. It counts resources. It also counts repeats, except where it says unique.
type Shape struct {
	Sites, Pages             int
	LinksMean, LinksMedian   float64 // of a page
	UniqueMean, UniqueMedian float64 // of a page
	Repeats                  float64 // share of the links that repeat an earlier link of the page
	OnSite                   float64 // share of the links
	PageLinks                float64 // unique links to pages, mean of a page
	InDegreeExponent         float64 // of the tail of the in-degrees' density; NaN for a small web
	LargestInDegree          int     // unique links from pages to one page
}

// tally counts a web's links, page by page.
type tally struct {
	urls, inside int // different URLs of the page so far, and those on its site
	links        int // of the page so far, repeats included
	onSite       int // of all links

	unique, all []float64 // of each page
}

// link counts a new link of the page, and draws the repeats of its links that follow.
func (t *tally) link(rng *rand.Rand, inside bool) {
	t.urls++
	t.links++
	if inside {
		t.inside++
		t.onSite++
	}
	for rng.Float64() < repeatChance {
		t.links++
		if rng.IntN(t.urls) < t.inside {
			t.onSite++
		}
	}
}

// page ends a page.
func (t *tally) page() {
	t.unique, t.all = append(t.unique, float64(t.urls)), append(t.all, float64(t.links))
	t.urls, t.inside, t.links = 0, 0, 0
}

// shape returns the shape of a web with that many sites and these in-degrees.
func (t *tally) shape(sites int, inDegrees []uint32) Shape {
	slices.Sort(t.unique)
	slices.Sort(t.all)
	n := float64(len(t.all))
	s := Shape{Sites: sites, Pages: len(t.all), LinksMean: stat.Mean(t.all, nil), UniqueMean: stat.Mean(t.unique, nil)}
	s.LinksMedian = stat.Quantile(0.5, stat.Empirical, t.all, nil)
	s.UniqueMedian = stat.Quantile(0.5, stat.Empirical, t.unique, nil)
	s.Repeats = 1 - s.UniqueMean/s.LinksMean
	s.OnSite = float64(t.onSite) / (n * s.LinksMean)
	degrees := make([]float64, len(inDegrees))
	for i, d := range inDegrees {
		degrees[i] = float64(d)
		s.PageLinks += float64(d) / n
		s.LargestInDegree = max(s.LargestInDegree, int(d))
	}
	s.InDegreeExponent = TailExponent(degrees, 0.01)
	return s
}

// TailExponent returns the exponent of a power law's density, estimated from the largest values: a share of all. It is
// Hill's estimator, 1 + 1/mean(ln(x/x_min)), or NaN with fewer than two values. It sorts x.
func TailExponent(x []float64, share float64) float64 {
	slices.Sort(x)
	tail := x[len(x)-int(share*float64(len(x))):]
	if len(tail) < 2 || !(tail[0] > 0) {
		return math.NaN()
	}
	var sum float64
	for _, v := range tail {
		sum += math.Log(v / tail[0])
	}
	return 1 + float64(len(tail))/sum
}
