package node

import (
	"maps"
	"net/http"
	"sync"

	"freshet/crawl"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/weburl"
)

// Rules are what an operator says of URLs and of sites. A crawl's may be changed while it runs
// (Node.Reload).
type Rules struct {
	URLs frontier.Rules
	// Sites are read in order: where two that match a site say something of the same thing, the later
	// one counts.
	Sites []SiteRule
}

// SiteRule is what an operator says of the sites that a pattern matches: what a shard decides by, and how the sites
// are spoken to. A zero field says nothing.
type SiteRule struct {
	crawl.SiteRule
	// Header is sent with every request to the site. Credentials in it are kept out of what is stored.
	Header http.Header
	Route  fetch.Route
	// In and Out are caps on bytes a second, which the sites of a rule share.
	In, Out *fetch.Pace
}

// decide returns what of the rules a shard decides by. How a site is spoken to is not among it, nor are credentials.
func (r *Rules) decide() crawl.Rules {
	if r == nil {
		return crawl.Rules{}
	}
	rules := crawl.Rules{URLs: r.URLs}
	for _, one := range r.Sites {
		rules.Sites = append(rules.Sites, one.SiteRule)
	}
	return rules
}

// speech is how a site is spoken to.
type speech struct {
	Header  http.Header
	Route   fetch.Route
	In, Out *fetch.Pace
}

// over puts what a later rule says over what earlier ones said.
func (s *speech) over(later *SiteRule) {
	if len(later.Header) > 0 {
		header := s.Header.Clone()
		if header == nil {
			header = http.Header{}
		}
		maps.Copy(header, later.Header)
		s.Header = header
	}
	if later.Route.Proxy != nil {
		s.Route.Proxy = later.Route.Proxy
	}
	if later.Route.Bind.IsValid() {
		s.Route.Bind = later.Route.Bind
	}
	if later.In != nil {
		s.In = later.In
	}
	if later.Out != nil {
		s.Out = later.Out
	}
}

// rulebook looks up how the rules have a site spoken to. Safe for concurrent use.
type rulebook struct {
	sites []SiteRule
	none  speech // to a site that nothing is said of

	mu    sync.Mutex // guards known
	known map[weburl.Site]*speech
}

func newRulebook(r *Rules) *rulebook {
	if r == nil {
		r = &Rules{}
	}
	return &rulebook{sites: r.Sites, known: map[weburl.Site]*speech{}}
}

// of returns how a site is spoken to, not to be changed. O(rules) for a site that was not asked for
// lately.
func (b *rulebook) of(site weburl.Site) *speech {
	if len(b.sites) == 0 {
		return &b.none
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if how, ok := b.known[site]; ok {
		return how
	}
	how := &b.none
	for i := range b.sites {
		if !b.sites[i].Match.MatchSite(site) {
			continue
		}
		if how == &b.none {
			how = &speech{}
		}
		how.over(&b.sites[i])
	}
	if len(b.known) >= rulesKnown {
		clear(b.known)
	}
	b.known[site] = how
	return how
}

// rulesKnown bounds the sites whose rules are remembered.
const rulesKnown = 10_000
