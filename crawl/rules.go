package crawl

import (
	"time"

	"freshet/crawl/discovery"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// rulebook finds the rules for a site.
type rulebook struct {
	sites []SiteRule
	none  SiteRule // for a site without a rule
	known map[weburl.Site]*SiteRule
	paces map[weburl.Site]store.Pace // that operators have ordered
}

func newRulebook(r Rules) *rulebook {
	return &rulebook{sites: r.Sites, known: map[weburl.Site]*SiteRule{}, paces: map[weburl.Site]store.Pace{}}
}

// pace notes what an operator has ordered for a site. A zero pace ends it.
func (b *rulebook) pace(site weburl.Site, pace store.Pace) {
	delete(b.known, site)
	if b.paces[site] = pace; pace == (store.Pace{}) {
		delete(b.paces, site)
	}
}

// rulesKnown is the maximum number of sites whose rules are cached.
const rulesKnown = 10_000

// of returns the combined rule for a site, which the caller must not change. O(rules) for a site that is not cached.
func (b *rulebook) of(site weburl.Site) *SiteRule {
	pace := b.paces[site]
	if len(b.sites) == 0 && pace == (store.Pace{}) {
		return &b.none
	}
	if rule, ok := b.known[site]; ok {
		return rule
	}
	rule := &b.none
	for i := range b.sites {
		if !b.sites[i].Match.MatchSite(site) {
			continue
		}
		if rule == &b.none {
			rule = &SiteRule{}
		}
		rule.over(&b.sites[i])
	}
	if pace != (store.Pace{}) {
		if rule == &b.none {
			rule = &SiteRule{}
		}
		rule.slow(pace)
	}
	if len(b.known) >= rulesKnown {
		clear(b.known)
	}
	b.known[site] = rule
	return rule
}

// over overrides fields of r with those that a later rule sets.
func (r *SiteRule) over(later *SiteRule) {
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
	for _, types := range []struct{ mine, theirs *ContentTypes }{
		{&r.Fetch, &later.Fetch}, {&r.Store, &later.Store}, {&r.Refresh, &later.Refresh},
	} {
		if len(*types.theirs) > 0 {
			*types.mine = *types.theirs
		}
	}
}

// slow makes a rule as slow as an operator has ordered.
func (r *SiteRule) slow(pace store.Pace) {
	r.Manners.Least = time.Duration(pace.Delay)
	if budget := int(pace.Budget); budget > 0 && (r.Manners.Budget == 0 || budget < r.Manners.Budget) {
		r.Manners.Budget = budget
	}
}

// manners returns a site's manners in the frontier's form.
func (b *rulebook) manners(site weburl.Site) *frontier.Manners {
	rule := b.of(site)
	if rule == &b.none {
		return nil
	}
	return &rule.Manners
}

// limits returns a site's limits on discovery.
func (b *rulebook) limits(site weburl.Site) discovery.Limits { return b.of(site).limits() }

func (r *SiteRule) limits() discovery.Limits { return discovery.Limits{Depth: r.Depth, Pages: r.Pages} }

// Bounds returns the bounds of a crawl with these settings and a scope. Of returns the limits for a site; if it is nil,
// they follow from the rules.
func (s Settings) Bounds(scope frontier.Scope, of func(weburl.Site) discovery.Limits) discovery.Bounds {
	if of == nil {
		of = newRulebook(s.Rules).limits
	}
	b := discovery.Bounds{
		Name: s.Scope, Scope: scope, URLs: s.Rules.URLs,
		Limits: discovery.Limits{Depth: s.MaxDepth, Pages: s.PagesPerSite}, Of: of,
		Requisites: s.Requisites,
	}
	for i := range s.Rules.Sites {
		b.Sites = append(b.Sites, discovery.SiteLimits{Match: s.Rules.Sites[i].Match, Limits: s.Rules.Sites[i].limits()})
	}
	return b
}

// FrontierOptions returns the frontier's options under these settings. Manners returns the manners of a site; if it is
// nil, they follow from the rules.
func (s Settings) FrontierOptions(manners func(weburl.Site) *frontier.Manners) frontier.Options {
	if manners == nil {
		manners = newRulebook(s.Rules).manners
	}
	return frontier.Options{
		Ordering: s.Ordering, Delay: s.Delay, AdaptiveDelay: s.AdaptiveDelay, AddressDelay: s.AddressDelay,
		PerConnection: s.PerConnection, DiscoveryShare: s.DiscoveryShare, Manners: manners,
	}
}
