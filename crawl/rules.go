package crawl

import (
	"freshet/crawl/discovery"
	"freshet/frontier"
	"freshet/weburl"
)

// rulebook looks up what the rules say of a site.
type rulebook struct {
	sites []SiteRule
	none  SiteRule // of a site that nothing is said of
	known map[weburl.Site]*SiteRule
}

func newRulebook(r Rules) *rulebook {
	return &rulebook{sites: r.Sites, known: map[weburl.Site]*SiteRule{}}
}

// rulesKnown bounds the sites whose rules are remembered.
const rulesKnown = 10_000

// of returns what is said of a site, not to be changed. O(rules) for a site that was not asked for
// lately.
func (b *rulebook) of(site weburl.Site) *SiteRule {
	if len(b.sites) == 0 {
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
	if len(b.known) >= rulesKnown {
		clear(b.known)
	}
	b.known[site] = rule
	return rule
}

// over puts what a later rule says over what earlier ones said.
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

// Bounds returns what the settings say of what belongs to a crawl, with a scope. Of looks up what is said of a site;
// nil: by the rules.
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

// FrontierOptions returns what the settings say to a frontier. Manners are those of a site; nil: by the rules.
func (s Settings) FrontierOptions(manners func(weburl.Site) *frontier.Manners) frontier.Options {
	if manners == nil {
		manners = newRulebook(s.Rules).manners
	}
	return frontier.Options{
		Ordering: s.Ordering, Delay: s.Delay, AdaptiveDelay: s.AdaptiveDelay, AddressDelay: s.AddressDelay,
		PerConnection: s.PerConnection, DiscoveryShare: s.DiscoveryShare, Manners: manners,
	}
}
