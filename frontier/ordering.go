package frontier

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"freshet/weburl"
)

// Ordering decides which new page of a site goes first, and which site. Its methods must be pure and fast, because they
// run for every link and every fetch.
type Ordering interface {
	// PageOrder returns the Order of a new page's queue key. The smallest goes first; equal ones go in order of
	// discovery.
	PageOrder(l weburl.Link) uint64
	// SitePriority returns the priority of a site with at least one new page. The largest goes first, equal ones by
	// name, NaN last. -Inf holds back all new pages of the site for now.
	SitePriority(s SiteState) float64
}

// PageOrder returns the Order of a new page's queue key by the ordering. It treats a requisite as a seed with infinite
// cash, so that it goes soon after its page. If the ordering uses neither depth nor cash, or pages wait to be ranked,
// the requisite waits for its turn.
func PageOrder(o Ordering, l weburl.Link) uint64 {
	if l.Rel == weburl.RelEmbed {
		l.Depth, l.Cash = 0, math.Inf(1)
	}
	return o.PageOrder(l)
}

// SiteState is what an Ordering may know of a site.
type SiteState struct {
	Queued int     // new pages in the queue, at least 1
	Top    Key     // of the page that would go first
	Cash   float64 // total of all new pages in the queue
}

// Length is FIFO within a site and prefers the site with the longest queue: "length" of Castillo et al. 2004.
type Length struct{}

// PageOrder returns 0 for every page, so pages go in order of discovery.
func (Length) PageOrder(weburl.Link) uint64 { return 0 }

// SitePriority returns the number of queued pages.
func (Length) SitePriority(s SiteState) float64 { return float64(s.Queued) }

// Depth prefers the page with the fewest links from a seed, within a site and among sites: "depth" of Castillo et al.
// 2004.
type Depth struct{}

// PageOrder returns the link's depth.
func (Depth) PageOrder(l weburl.Link) uint64 { return uint64(l.Depth) }

// SitePriority returns the negated depth of the site's top page.
func (Depth) SitePriority(s SiteState) float64 { return -float64(s.Top.Order) }

// simple returns the names and values of the orderings without a parameter, in the order of the help text.
func simple() ([]string, []Ordering) {
	return []string{"length", "depth", "in-links", "opic", "cash-sum"},
		[]Ordering{Length{}, Depth{}, InLinks{}, OPIC{}, CashSum{}}
}

// OrderingNames returns the names that ParseOrdering accepts, as text for users.
func OrderingNames() string {
	names, _ := simple()
	return strings.Join(names, ", ") + ", batch:M or partial:M with M in pages or as 1.4%"
}

// ParseOrdering returns the ordering with that name. Batch and partial have their M after a colon; the default is
// 10,000 pages. The error lists all names.
func ParseOrdering(name string) (Ordering, error) {
	names, all := simple()
	if i := slices.Index(names, name); i >= 0 {
		return all[i], nil
	}
	kind, text, given := strings.Cut(name, ":")
	if kind != "batch" && kind != "partial" {
		return nil, fmt.Errorf("frontier: no ordering %q: want one of %s", name, OrderingNames())
	}
	every := Every{Pages: 10_000}
	if given {
		var err error
		if every, err = parseEvery(text); err != nil {
			return nil, fmt.Errorf("frontier: ordering %q: %w", name, err)
		}
	}
	if kind == "batch" {
		return Batch{every}, nil
	}
	return Partial{every}, nil
}

// parseEvery parses a number of pages, or a share of all.
func parseEvery(text string) (Every, error) {
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		share, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(share > 0 && share <= 100) {
			return Every{}, fmt.Errorf("%q: want more than 0%% to 100%%", text)
		}
		return Every{Share: share / 100}, nil
	}
	pages, err := strconv.Atoi(text)
	if err != nil || pages < 1 {
		return Every{}, fmt.Errorf("%q: want pages, 1 or more, or a share such as 1.4%%", text)
	}
	return Every{Pages: pages}, nil
}

// priority returns a site's priority. It replaces NaN by the lowest priority that may still go.
func priority(o Ordering, s SiteState) float64 {
	if p := o.SitePriority(s); p == p {
		return p
	}
	return -math.MaxFloat64
}
