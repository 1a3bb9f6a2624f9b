package trial

import (
	"cmp"

	"freshet/crawl"
	"freshet/frontier"
)

// settingsOf returns a shard's settings for a case.
func (n *node) settingsOf(c Crawl) crawl.Settings {
	ordering, err := frontier.ParseOrdering(c.Ordering)
	n.must(err)
	s := crawl.Settings{
		Scope: c.Scope, Wait: c.Wait, Ordering: ordering, Delay: c.Delay, AdaptiveDelay: c.Adaptive,
		AddressDelay: c.AddressDelay, PerConnection: c.PerConnection, DiscoveryShare: 0.2, MaxPages: c.MaxPages,
		MaxDepth: c.MaxDepth, PagesPerSite: cmp.Or(c.PagesPerSite, 1000), Retries: c.Retries, RetryDelay: c.RetryDelay,
		Agent: "freshet", TDMRep: c.TDMRep, Partitions: c.Partitions, RobotsBytes: c.RobotsBytes, OfferBytes: c.OfferBytes,
		GroupBytes: c.GroupBytes, Recalled: 100, Second: c.Second,
	}
	for i, site := range n.c.Sites {
		if site.Seed {
			s.Seeds = append(s.Seeds, n.web.roots[i])
		}
	}
	if c.Excluded {
		pattern, err := frontier.ParsePattern("~7$")
		n.must(err)
		s.Rules.URLs.Exclude = frontier.NewPatterns([]frontier.Pattern{pattern})
	}
	rule := crawl.SiteRule{Refresh: crawl.ContentTypes{"text/*", "application/*"}}
	match, err := frontier.ParsePattern("*")
	n.must(err)
	rule.Match = match
	s.Rules.Sites = append(s.Rules.Sites, rule)
	if c.Hours != "" || c.SiteDelay > 0 {
		match, err := frontier.ParsePattern(string(n.c.Sites[0].Name))
		n.must(err)
		own := crawl.SiteRule{Match: match}
		if c.Hours != "" && n.plant != "hours-ignored" {
			own.Manners.Hours, err = frontier.ParseHours(c.Hours)
			n.must(err)
		}
		if c.SiteDelay > 0 {
			own.Manners.Delay = &c.SiteDelay
		}
		s.Rules.Sites = append(s.Rules.Sites, own)
	}
	if c.Budget > 0 {
		budget := c.Budget
		if n.plant == "budget-exceeded" {
			budget = budget * 3 / 2
		}
		asked, err := crawl.Refresh{Budget: budget, Interval: c.Interval, Policy: c.Policy, Rank: c.Rank}.WithDefaults()
		n.must(err)
		s.Refresh = &asked
	}
	return s
}
