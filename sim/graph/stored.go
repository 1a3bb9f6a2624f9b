package graph

import (
	"sort"

	"freshet/importance"
	"freshet/sim/discovery"
)

// Stored is a web in memory. It does not change; reading it is safe for concurrent use.
type Stored struct {
	first   []uint32           // of each site's pages, and one more
	homes   []uint32           // of each site: its first page unless recorded otherwise
	servers []discovery.Server // of each site
	bytes   []float32          // of each page
	links   *importance.Graph
}

// Sites returns the number of sites.
func (w *Stored) Sites() int { return len(w.servers) }

// Pages returns the number of pages.
func (w *Stored) Pages() int { return len(w.bytes) }

// Range returns the numbers of a site's pages.
func (w *Stored) Range(site uint32) (first, end uint32) { return w.first[site], w.first[site+1] }

// SiteOf returns the site of a page. O(log sites).
func (w *Stored) SiteOf(page uint32) uint32 { return siteOf(w.first, page) }

// siteOf returns the site whose run of pages holds page: the last that does not begin after it, as sites
// may be empty.
func siteOf(first []uint32, page uint32) uint32 {
	return uint32(sort.Search(len(first), func(i int) bool { return first[i] > page }) - 1)
}

// Home returns a site's home; an empty site has none.
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

// Links returns the graph of all pages.
func (w *Stored) Links() *importance.Graph { return w.links }
