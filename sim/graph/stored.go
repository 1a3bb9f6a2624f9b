package graph

import (
	"math/rand/v2"
	"sort"

	"freshet/importance"
	"freshet/sim/discovery"
)

// Stored is a web in memory. It never changes and is safe for concurrent use.
type Stored struct {
	first   []uint32           // of each site's pages, and one more
	homes   []uint32           // of each site: its first page unless recorded otherwise
	servers []discovery.Server // of each site
	bytes   []float32          // of each page
	miss    []bool             // of each page; nil if none is
	links   *importance.Graph
	carried *carried // nil unless recorded
}

// carried are the links of recorded pages, as recorded.
type carried struct {
	start   []uint32 // of each page's links in names, and one more
	names   []uint32 // numbers of pages; others from the number of pages on
	outside []bool   // of names that are not pages: on a host without pages
	besides []uint32 // of each page: links to different names that are not pages, on hosts of pages
}

// Sites returns the number of sites.
func (w *Stored) Sites() int { return len(w.servers) }

// Pages returns the number of pages.
func (w *Stored) Pages() int { return len(w.bytes) }

// Range returns the numbers of a site's pages.
func (w *Stored) Range(site uint32) (first, end uint32) { return w.first[site], w.first[site+1] }

// SiteOf returns the site of a page. O(log sites).
func (w *Stored) SiteOf(page uint32) uint32 { return siteOf(w.first, page) }

// siteOf returns the site of a page: the last one that does not begin after it, because sites may be empty.
func siteOf(first []uint32, page uint32) uint32 {
	return uint32(sort.Search(len(first), func(i int) bool { return first[i] > page }) - 1)
}

// Home returns a site's home; ok is false for an empty site.
func (w *Stored) Home(site uint32) (page uint32, ok bool) {
	return w.homes[site], w.first[site] < w.first[site+1]
}

// Server returns the speed of a site.
func (w *Stored) Server(site uint32) discovery.Server { return w.servers[site] }

// Bytes returns the size of a page.
func (w *Stored) Bytes(page uint32) float64 { return float64(w.bytes[page]) }

// AppendLinks appends a page's links.
func (w *Stored) AppendLinks(dst []uint32, page uint32) []uint32 {
	return append(dst, w.links.Out(page)...)
}

// Carried returns the recorded links of a page in order. They include repeats, links to the page itself, and targets
// that are not pages, whose numbers begin at Pages. The caller must not change the result. ok is false for a generated
// web.
func (w *Stored) Carried(page uint32) (names []uint32, ok bool) {
	if w.carried == nil {
		return nil, false
	}
	return w.carried.names[w.carried.start[page]:w.carried.start[page+1]], true
}

// settle derives the links that a crawl follows from the recorded ones: each once, without links of a page to
// itself. It counts links to targets that are not pages and leaves them out.
func (w *Stored) settle(names int) (err error) {
	var b importance.Builder
	b.Grow(w.Pages(), len(w.carried.names))
	w.carried.besides = make([]uint32, w.Pages())
	mark := make([]uint32, names) // the page that linked there last, plus one
	var links []uint32
	for page := range uint32(w.Pages()) {
		links = links[:0]
		carried, _ := w.Carried(page)
		for _, to := range carried {
			switch {
			case to == page || mark[to] == page+1:
				continue
			case int(to) < w.Pages():
				links = append(links, to)
			case !w.carried.outside[int(to)-w.Pages()]:
				w.carried.besides[page]++
			}
			mark[to] = page + 1
		}
		if err := b.Add(links); err != nil {
			return err
		}
	}
	w.links, err = b.Graph()
	return err
}

// Outside returns how many different URLs a page links to that are not pages of the web but are on hosts of its pages.
// It is 0 for a generated web.
func (w *Stored) Outside(page uint32) int {
	if w.carried == nil {
		return 0
	}
	return int(w.carried.besides[page])
}

// WithServers returns the web with other site speeds, drawn as for a synthetic web. The two webs share everything else.
func (w *Stored) WithServers(seed uint64) *Stored {
	rng := rand.New(rand.NewPCG(seed, 1))
	other := *w
	other.servers = make([]discovery.Server, len(w.servers))
	for i := range other.servers {
		other.servers[i] = server(rng)
	}
	return &other
}

// Links returns the graph of all pages.
func (w *Stored) Links() *importance.Graph { return w.links }

// Miss reports whether a page is in fact a URL that answers with an error or a redirect.
func (w *Stored) Miss(page uint32) bool { return w.miss != nil && w.miss[page] }

// Worth returns the PageRank of every page; the sum is 1. A link to a redirect counts as a link to its target. A
// link to another miss does not count. Misses are worth 0.
func (w *Stored) Worth(o importance.RankOptions) ([]float64, error) {
	links, err := w.pageLinks()
	if err != nil {
		return nil, err
	}
	ranks, err := importance.NewRanker(links).Rank(o)
	if err != nil || w.miss == nil {
		return ranks.Of, err
	}
	// Misses without links add the same to every page's rank. Scaling removes that.
	total := 0.0
	for page, rank := range ranks.Of {
		if w.miss[page] {
			ranks.Of[page] = 0
		} else {
			total += rank
		}
	}
	for page := range ranks.Of {
		ranks.Of[page] /= total
	}
	return ranks.Of, nil
}

// pageLinks returns the links between pages that are no misses.
func (w *Stored) pageLinks() (*importance.Graph, error) {
	if w.miss == nil {
		return w.links, nil
	}
	var b importance.Builder
	var links []uint32
	mark := make([]uint32, w.Pages()) // the page that linked there last, plus one
	for page := range uint32(w.Pages()) {
		links = links[:0]
		if !w.miss[page] {
			for _, to := range w.links.Out(page) {
				to, ok := w.leads(to)
				if ok && to != page && mark[to] != page+1 {
					mark[to] = page + 1
					links = append(links, to)
				}
			}
		}
		if err := b.Add(links); err != nil {
			return nil, err
		}
	}
	return b.Graph()
}

// maxHops is how many redirects in a row a crawl follows.
const maxHops = 5

// leads returns the page that a link finally leads to, if there is one.
func (w *Stored) leads(to uint32) (page uint32, ok bool) {
	for range maxHops + 1 {
		if !w.miss[to] {
			return to, true
		}
		out := w.links.Out(to)
		if len(out) != 1 {
			return 0, false
		}
		to = out[0]
	}
	return 0, false
}
