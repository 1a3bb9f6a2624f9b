package frontier

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"freshet/weburl"
)

// Ordering decides which new page of a site goes first, and which site. Its methods are pure and
// cheap: they are called for every link and every fetch.
type Ordering interface {
	// PageOrder returns the Order of a new page's queue key: smaller goes first, equal ones in order
	// of discovery.
	PageOrder(l weburl.Link) uint64
	// SitePriority returns how urgent a site with at least one new page is: the largest goes first,
	// equal ones by name. NaN counts as -Inf.
	SitePriority(s SiteState) float64
}

// SiteState is what an Ordering may know of a site.
type SiteState struct {
	Queued int     // new pages in the queue, at least 1
	Top    Key     // of the page that would go first
	Cash   float64 // of all new pages in the queue together
}

// Length is FIFO in a site and the longest queue first: "length" of Castillo et al. 2004.
type Length struct{}

// PageOrder returns 0 for all: pages go in order of discovery.
func (Length) PageOrder(weburl.Link) uint64 { return 0 }

// SitePriority returns the number of queued pages.
func (Length) SitePriority(s SiteState) float64 { return float64(s.Queued) }

// Depth takes the page that is the fewest links away from a seed, in the site and among sites:
// "depth" of Castillo et al. 2004.
type Depth struct{}

// PageOrder returns the link's depth.
func (Depth) PageOrder(l weburl.Link) uint64 { return uint64(l.Depth) }

// SitePriority returns the negated depth of the site's top page.
func (Depth) SitePriority(s SiteState) float64 { return -float64(s.Top.Order) }

// orderings are all there are, in the order in which a user reads them.
func orderings() ([]string, []Ordering) {
	return []string{"length", "depth"}, []Ordering{Length{}, Depth{}}
}

// ParseOrdering returns the ordering of that name. The error lists the names there are.
func ParseOrdering(name string) (Ordering, error) {
	names, all := orderings()
	if i := slices.Index(names, name); i >= 0 {
		return all[i], nil
	}
	return nil, fmt.Errorf("frontier: no ordering %q: want one of %s", name, strings.Join(names, ", "))
}

func priority(o Ordering, s SiteState) float64 {
	if p := o.SitePriority(s); p == p {
		return p
	}
	return math.Inf(-1)
}
