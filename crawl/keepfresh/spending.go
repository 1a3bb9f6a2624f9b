package keepfresh

import (
	"cmp"
	"maps"
	"slices"

	"freshet/weburl"
)

// A Purpose is what a request of a budget is for.
type Purpose uint8

// The purposes.
const (
	FirstCopy Purpose = iota // of a page that has none
	Freshness                // of a stored page
	List                     // sitemap or feed
	Requisite
	Retry // after a failure
)

// Spending counts the requests of a time by their purpose, and by site.
type Spending struct {
	FirstCopies int64 `json:"first_copies"`
	StoredPages int64 `json:"stored_pages"`
	Lists       int64 `json:"sitemaps_and_feeds"`
	Requisites  int64 `json:"requisites"`
	Retries     int64 `json:"retries"`
	// Sites are the mostSpenders sites with the most requests. A count may be low by a thousandth of all requests, and
	// a site with fewer may be missing.
	Sites map[string]int64 `json:"sites"`
}

// mostSpenders is the maximum number of sites that a Spending names.
const mostSpenders = 50

// countedSites is the maximum number of sites that are counted at once.
const countedSites = 1024

// spending is a Spending whose Sites may have countedSites members.
type spending struct{ Spending }

// count counts a request. When the sites have no room, each loses a request, as Misra and Gries (1982) do.
func (s *spending) count(p Purpose, site weburl.Site) {
	*[...]*int64{&s.FirstCopies, &s.StoredPages, &s.Lists, &s.Requisites, &s.Retries}[p]++
	if s.Sites == nil {
		s.Sites = map[string]int64{}
	}
	if _, counted := s.Sites[string(site)]; counted || len(s.Sites) < countedSites {
		s.Sites[string(site)]++
		return
	}
	for other, n := range s.Sites {
		if s.Sites[other] = n - 1; n == 1 {
			delete(s.Sites, other)
		}
	}
}

// And returns the sum of two shards' spending.
func (s Spending) And(o Spending) Spending {
	sum := Spending{
		FirstCopies: s.FirstCopies + o.FirstCopies, StoredPages: s.StoredPages + o.StoredPages, Lists: s.Lists + o.Lists,
		Requisites: s.Requisites + o.Requisites, Retries: s.Retries + o.Retries, Sites: map[string]int64{},
	}
	for _, sites := range []map[string]int64{s.Sites, o.Sites} {
		for site, n := range sites {
			sum.Sites[site] += n
		}
	}
	names := slices.SortedFunc(maps.Keys(sum.Sites), func(x, y string) int {
		return cmp.Or(cmp.Compare(sum.Sites[y], sum.Sites[x]), cmp.Compare(x, y))
	})
	for _, name := range names[min(len(names), mostSpenders):] {
		delete(sum.Sites, name)
	}
	return sum
}
