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

// Rules are an operator's rules for URLs and for sites. They may be changed while a crawl runs (Node.Reload).
type Rules struct {
	URLs frontier.Rules
	// Sites are applied in order. If several match a site and set the same field, the last one counts.
	Sites []SiteRule
}

// SiteRule is an operator's rule for the sites that a pattern matches: what a shard decides by, and how to send
// requests. A zero field sets nothing.
type SiteRule struct {
	crawl.SiteRule
	// Header is sent with every request to the site. Credentials in it are not stored.
	Header http.Header
	Route  fetch.Route
	// In and Out are limits in bytes per second, which the sites of a rule share.
	In, Out *fetch.Pace
}

// decide returns the part of the rules that a shard decides by. It has neither headers nor credentials.
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

// speech is how requests to a site are sent.
type speech struct {
	Header  http.Header
	Route   fetch.Route
	In, Out *fetch.Pace
}

// over overrides fields of s with those that a later rule sets.
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

// rulebook finds how requests to a site are sent. It is safe for concurrent use.
type rulebook struct {
	sites []SiteRule
	none  speech // for a site without a rule

	mu    sync.Mutex // guards known
	known map[weburl.Site]*speech
}

func newRulebook(r *Rules) *rulebook {
	if r == nil {
		r = &Rules{}
	}
	return &rulebook{sites: r.Sites, known: map[weburl.Site]*speech{}}
}

// of returns how requests to a site are sent. The caller must not change it. O(rules) for a site that is not cached.
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

// rulesKnown is the maximum number of sites whose rules are cached.
const rulesKnown = 10_000
