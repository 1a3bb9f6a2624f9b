package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"freshet/sim/discovery"
)

// Stateless is a synthetic web that stores only the sizes of its sites, four bytes each. The size and links of a page
// and the speed of a site follow from the seed. Its methods are safe for concurrent use.
//
// A Stored web copies earlier links. A Stateless web cannot, so it draws from virtual lists. Entry j of a site's list
// of links to other sites, or of the web's list of popular pages, is computed from j. The entry of rank x is drawn with
// a probability proportional to x^-s.
type Stateless struct {
	seed  uint64
	first []uint32 // each site's first page, and the number of pages
}

// NewStateless returns a web with the given number of sites, which have about 61 pages each. It returns an error
// unless there are 1 to 2²⁵ sites, with fewer than 2³¹ pages together.
func NewStateless(seed uint64, sites int) (*Stateless, error) {
	if sites < 1 || sites > 1<<25 {
		return nil, fmt.Errorf("graph: %d sites: want 1 to %d", sites, 1<<25)
	}
	w := &Stateless{seed: seed, first: make([]uint32, sites+1)}
	var total int64
	for site := range sites {
		w.first[site] = uint32(total)
		total += int64(siteSize(w.random(ofSize, uint64(site)).Float64()))
	}
	if total > math.MaxInt32 {
		return nil, fmt.Errorf("graph: %d pages on %d sites: want at most %d", total, sites, math.MaxInt32)
	}
	w.first[sites] = uint32(total)
	return w, nil
}

// The things that are drawn, each with its own randomness.
const (
	ofSize = iota
	ofSite
	ofServer
	ofBytes
	ofLinks
	ofAbroad
	ofPopular
)

// random returns the source of randomness for one thing.
func (w *Stateless) random(what, number uint64) *rand.Rand {
	return rand.New(rand.NewPCG(w.seed^what<<56, number))
}

// Sites returns the number of sites.
func (w *Stateless) Sites() int { return len(w.first) - 1 }

// Pages returns the number of pages.
func (w *Stateless) Pages() int { return int(w.first[len(w.first)-1]) }

// Range returns the numbers of a site's pages.
func (w *Stateless) Range(site uint32) (first, end uint32) { return w.first[site], w.first[site+1] }

// SiteOf returns the site of a page. O(log sites).
func (w *Stateless) SiteOf(page uint32) uint32 { return siteOf(w.first, page) }

// Home returns a site's first page.
func (w *Stateless) Home(site uint32) (page uint32, ok bool) { return w.first[site], true }

// Server returns the speed of a site.
func (w *Stateless) Server(site uint32) discovery.Server {
	return server(w.random(ofServer, uint64(site)))
}

// Bytes returns the size of a page.
func (w *Stateless) Bytes(page uint32) float64 { return pageBytes(w.random(ofBytes, uint64(page))) }

// Outside returns 0: all links lead to pages of the web.
func (w *Stateless) Outside(uint32) int { return 0 }

// AppendLinks appends the different pages that a page links to.
func (w *Stateless) AppendLinks(dst []uint32, page uint32) []uint32 {
	return w.appendLinks(dst, page, nil)
}

// Popularity of the entries of a list by rank, x^-s, and how long the lists are: chosen so that the tail
// of the in-degrees is that of a Stored web.
const (
	popularExponent = 0.5  // s, of the web's list
	popularLength   = 0.02 // of the web's list, for each page of the web
	abroadExponent  = 0.5  // s, of a site's list
	abroadLength    = 3.0  // of a site's list, for each of its pages
	insideExponent  = 0.75 // s, of a site's pages, for links that others copied
)

// rank draws a rank from 0 to n-1 with a density of x^-s.
func rank(rng *rand.Rand, n float64, s float64) uint64 {
	return uint64(n * math.Pow(rng.Float64(), 1/(1-s)))
}

// appendLinks is AppendLinks; t, if not nil, counts all links.
func (w *Stateless) appendLinks(dst []uint32, page uint32, t *tally) []uint32 {
	site := w.SiteOf(page)
	base, end := w.Range(site)
	shape := newTree(w.random(ofSite, uint64(site)), int(end-base))
	rng := w.random(ofLinks, uint64(page))
	l := linker{dst: dst, from: len(dst), page: page, rng: rng, tally: t}
	child, last := shape.childrenOf(int(page - base))
	want := linkCount(rng, last-child)
	for ; child < last; child++ {
		l.add(base+uint32(child), true)
	}
	for try := 0; l.urls < want && try < attempts; try++ {
		before := l.urls
		switch u := rng.Float64(); {
		case u < resourceShare:
			l.count(true)
		case u < siteShare:
			l.add(base+uint32(w.inside(rng, shape, int(page-base))), true)
		default:
			target := w.outside(rng, site, shape.pages)
			l.add(target, target >= base && target < end)
		}
		if l.urls > before {
			try = -1
		}
	}
	return l.dst
}

// linker collects the links of a page.
type linker struct {
	dst   []uint32
	from  int // where the page's links begin
	page  uint32
	urls  int // different ones so far, resources included
	rng   *rand.Rand
	tally *tally
}

// add adds a link, unless it exists or leads to the page itself. O(links of the page).
func (l *linker) add(target uint32, inside bool) {
	if target == l.page || slices.Contains(l.dst[l.from:], target) {
		return
	}
	l.dst = append(l.dst, target)
	l.count(inside)
}

func (l *linker) count(inside bool) {
	l.urls++
	if l.tally != nil {
		l.tally.link(l.rng, inside)
	}
}

// inside draws a page of the site, numbered within it.
func (w *Stateless) inside(rng *rand.Rand, t tree, page int) int {
	switch u := rng.Float64(); {
	case u < 0.40:
		return rng.IntN(t.top)
	case u < 0.75:
		return t.near(rng, page)
	case rng.Float64() < 0.7:
		return int(rank(rng, float64(t.pages), insideExponent))
	}
	return rng.IntN(t.pages)
}

// outside draws a page anywhere: from the site's list, from the web's, or from all pages.
func (w *Stateless) outside(rng *rand.Rand, site uint32, pages int) uint32 {
	if rng.Float64() < 0.5 {
		entry := rank(rng, abroadLength*float64(pages), abroadExponent)
		rng = w.random(ofAbroad, uint64(site)<<32|entry)
	}
	if rng.Float64() < 0.62 {
		entry := rank(rng, popularLength*float64(w.Pages()), popularExponent)
		rng = w.random(ofPopular, entry)
	}
	if rng.Float64() < 0.6 {
		return w.first[rng.IntN(w.Sites())]
	}
	return uint32(rng.IntN(w.Pages()))
}

// Shape measures all pages of the web. inDegrees is how many pages link to each.
func (w *Stateless) Shape() (s Shape, inDegrees []uint32) {
	var t tally
	degrees := make([]uint32, w.Pages())
	var links []uint32
	for page := range uint32(w.Pages()) {
		links = w.appendLinks(links[:0], page, &t)
		for _, target := range links {
			degrees[target]++
		}
		t.page()
	}
	return t.shape(w.Sites(), degrees), degrees
}
