package frontier

import (
	"fmt"
	"slices"
	"strings"

	"freshet/weburl"
)

// Requisites are the kinds of requisites that belong to a crawl. A requisite is what a browser needs to show a page:
// style sheets, scripts, pictures, fonts. Links of weburl.RelEmbed lead to requisites.
type Requisites uint8

// The zero value is the default.
const (
	SameSiteRequisites Requisites = iota // requisites on sites with pages in the crawl
	NoRequisites
	AllRequisites // requisites on any site
)

var requisitesNames = []string{SameSiteRequisites: "same-site", NoRequisites: "none", AllRequisites: "all"}

// RequisitesNames returns the names that ParseRequisites accepts, the least first.
func RequisitesNames() []string { return []string{"none", "same-site", "all"} }

// ParseRequisites returns the requisites with that name.
func ParseRequisites(name string) (Requisites, error) {
	if i := slices.Index(requisitesNames, name); i >= 0 {
		return Requisites(i), nil
	}
	return 0, fmt.Errorf("frontier: no requisites %q: want one of %s", name, strings.Join(RequisitesNames(), ", "))
}

// String returns the name that ParseRequisites accepts.
func (q Requisites) String() string { return requisitesNames[q] }

// AdmitRequisite reports whether u belongs to the crawl as a requisite, and if not, why. A URL that a pattern refuses
// does not belong to it.
func (r *Rules) AdmitRequisite(q Requisites, scope Scope, u weburl.URL) (reason Reason, ok bool) {
	if reason, refused := r.Refuse(u); refused {
		return reason, false
	}
	switch site := u.Site(); q {
	case NoRequisites:
		return Requisite, false
	case SameSiteRequisites:
		return outside(scope.HasSite(site) || r.Include.Match(u) || r.Include.MatchSome(site))
	}
	return Admitted, true
}
