package graph

import (
	"math"
	"math/rand/v2"

	"freshet/sim/discovery"
)

// The distributions that both kinds of synthetic web draw from.
const (
	largestSite   = 10_000 // pages
	sizeExponent  = 1.6    // of the density of site sizes
	medianLinks   = 17     // unique, of a page
	linkSigma     = 1.358
	mostLinks     = 2000
	repeatChance  = 0.30 // of one more repeat of a link, after each
	nearDistance  = 12   // mean, in page numbers
	resourceShare = 0.15 // of the links
	siteShare     = 0.85 // of the links, resources included, that stay on the site
)

// siteSize returns a number of pages by a power law, cut off at largestSite. It is the inverse of the distribution, at
// u in [0, 1).
func siteSize(u float64) int {
	const b = 1 - sizeExponent
	tail := math.Pow(largestSite+1, b)
	return min(largestSite, int(math.Pow(1+u*(tail-1), 1/b)))
}

func lognormal(rng *rand.Rand, median, sigma float64) float64 {
	return median * math.Exp(sigma*rng.NormFloat64())
}

// linkCount draws the number of different URLs that a page with that many children links to.
func linkCount(rng *rand.Rand, children int) int {
	return max(children, int(min(mostLinks, lognormal(rng, medianLinks, linkSigma))))
}

func pageBytes(rng *rand.Rand) float64 { return 300 + lognormal(rng, 10_000, 1.317) }

func server(rng *rand.Rand) discovery.Server {
	return discovery.Server{Latency: lognormal(rng, 0.3, 0.6), Rate: lognormal(rng, 30_000, 1.0)}
}

// tree is the shape of a site: how many children a page has, and how many of the first pages are linked from
// everywhere.
type tree struct {
	pages, children, top int
}

func newTree(rng *rand.Rand, pages int) tree {
	return tree{pages: pages, children: 2 + rng.IntN(9), top: min(pages, 3+int(lognormal(rng, 6, 0.6)))}
}

// childrenOf returns the range of a page's children, numbered in the site.
func (t tree) childrenOf(page int) (first, end int) {
	first = page*t.children + 1
	return min(first, t.pages), min(first+t.children, t.pages)
}

// near returns a page at a two-sided exponential distance.
func (t tree) near(rng *rand.Rand, page int) int {
	distance := 1 + int(nearDistance*rng.ExpFloat64())
	if rng.IntN(2) == 0 {
		distance = -distance
	}
	return min(max(page+distance, 0), t.pages-1)
}
