package crawl

import (
	"maps"
	"net/http"
	"strings"
	"sync"

	"freshet/crawl/discovery"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// Rules are what an operator says of URLs and of sites. A crawl's may be changed while it runs
// (Engine.Reload).
type Rules struct {
	URLs frontier.Rules
	// Sites are read in order: where two that match a site say something of the same thing, the later
	// one counts.
	Sites []SiteRule
}

// SiteRule is what an operator says of the sites that a pattern takes in. A zero field says nothing.
type SiteRule struct {
	Match   frontier.Pattern // one that NamesSites
	Manners frontier.Manners
	Pages   int64 // in place of Options.PagesPerSite
	Depth   int   // in place of Options.MaxDepth
	// Header is sent with every request to the site. Credentials in it are kept out of what is stored.
	Header http.Header
	Route  fetch.Route
	// In and Out are caps on bytes a second, which the sites of a rule share.
	In, Out *fetch.Pace
	// Fetch are the types of content whose bodies are read at all, Store those that are kept in WARC
	// files (of others the history and the digests are), Refresh those that are fetched again.
	Fetch, Store, Refresh ContentTypes
}

// ContentTypes are media types such as "text/html", "image/*" or "*/*". Without any, every one is
// among them.
type ContentTypes []string

// Has says whether the value of a Content-Type field is among them. An answer without one is.
func (c ContentTypes) Has(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if len(c) == 0 || kind == "" {
		return true
	}
	for _, one := range c {
		family, all := strings.CutSuffix(one, "*")
		if one == "*/*" || one == kind || all && strings.HasPrefix(kind, family) {
			return true
		}
	}
	return false
}

// over puts what a later rule says over what earlier ones said.
func (r *SiteRule) over(later SiteRule) {
	if later.Manners.Delay != nil {
		r.Manners.Delay = later.Manners.Delay
	}
	if later.Manners.Budget != 0 {
		r.Manners.Budget = later.Manners.Budget
	}
	if !later.Manners.Hours.IsZero() {
		r.Manners.Hours = later.Manners.Hours
	}
	if later.Pages != 0 {
		r.Pages = later.Pages
	}
	if later.Depth != 0 {
		r.Depth = later.Depth
	}
	if len(later.Header) > 0 {
		header := r.Header.Clone()
		if header == nil {
			header = http.Header{}
		}
		maps.Copy(header, later.Header)
		r.Header = header
	}
	if later.Route.Proxy != nil {
		r.Route.Proxy = later.Route.Proxy
	}
	if later.Route.Bind.IsValid() {
		r.Route.Bind = later.Route.Bind
	}
	if later.In != nil {
		r.In = later.In
	}
	if later.Out != nil {
		r.Out = later.Out
	}
	for _, types := range []struct{ mine, theirs *ContentTypes }{{&r.Fetch, &later.Fetch}, {&r.Store, &later.Store}, {&r.Refresh, &later.Refresh}} {
		if len(*types.theirs) > 0 {
			*types.mine = *types.theirs
		}
	}
}

// reasonType is why a page whose type of content is not wanted is refused.
const reasonType = store.ReasonType

// wanted tells which bodies are read; nil: all.
func (r *SiteRule) wanted() func(contentType string) bool {
	if len(r.Fetch) == 0 {
		return nil
	}
	return r.Fetch.Has
}

// keeps tells whether an answer's capture is kept. Only that of a page goes by its type.
func (r *SiteRule) keeps(record *store.Fetched) bool {
	return record.Outcome != store.OutcomeStored || r.Store.Has(record.ContentType)
}

// rulebook looks up what the rules say of a site. Safe for concurrent use.
type rulebook struct {
	urls  frontier.Rules
	sites []SiteRule
	none  SiteRule // of a site that nothing is said of

	mu    sync.Mutex // guards known
	known map[weburl.Site]*SiteRule
}

func newRulebook(r *Rules) *rulebook {
	if r == nil {
		r = &Rules{}
	}
	return &rulebook{urls: r.URLs, sites: r.Sites, known: map[weburl.Site]*SiteRule{}}
}

// of returns what is said of a site, not to be changed. O(rules) for a site that was not asked for
// lately.
func (b *rulebook) of(site weburl.Site) *SiteRule {
	if len(b.sites) == 0 {
		return &b.none
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if rule, ok := b.known[site]; ok {
		return rule
	}
	rule := &b.none
	for _, one := range b.sites {
		if !one.Match.MatchSite(site) {
			continue
		}
		if rule == &b.none {
			rule = &SiteRule{}
		}
		rule.over(one)
	}
	if len(b.known) >= rulesKnown {
		clear(b.known)
	}
	b.known[site] = rule
	return rule
}

// rulesKnown bounds the sites whose rules are remembered.
const rulesKnown = 10_000

// manners returns what is said of a site's manners, as a frontier asks for it.
func (b *rulebook) manners(site weburl.Site) *frontier.Manners {
	rule := b.of(site)
	if rule == &b.none {
		return nil
	}
	return &rule.Manners
}

// limits returns what is said of what is discovered of a site.
func (b *rulebook) limits(site weburl.Site) discovery.Limits { return b.of(site).limits() }

func (r *SiteRule) limits() discovery.Limits { return discovery.Limits{Depth: r.Depth, Pages: r.Pages} }
