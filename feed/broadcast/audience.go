package broadcast

import (
	"slices"

	"freshet/weburl"
)

// audience indexes the subscribers by their interests, so that a page of a site is checked only against those that
// may want it.
type audience struct {
	everything []*Session
	sites      map[weburl.Site][]*Session
	domains    map[string][]*Session
	patterns   []*Session
}

func newAudience() *audience {
	return &audience{sites: map[weburl.Site][]*Session{}, domains: map[string][]*Session{}}
}

func (a *audience) add(s *Session) {
	i := &s.ask.Interest
	if i.all() {
		a.everything = append(a.everything, s)
		return
	}
	for _, site := range i.Sites {
		a.sites[weburl.Site(site)] = append(a.sites[weburl.Site(site)], s)
	}
	for _, domain := range i.Domains {
		a.domains[domain] = append(a.domains[domain], s)
	}
	if len(i.Patterns) > 0 {
		a.patterns = append(a.patterns, s)
	}
}

func (a *audience) remove(s *Session) {
	i := &s.ask.Interest
	without := func(all []*Session) []*Session {
		return slices.DeleteFunc(all, func(other *Session) bool { return other == s })
	}
	a.everything, a.patterns = without(a.everything), without(a.patterns)
	for _, site := range i.Sites {
		site := weburl.Site(site)
		if a.sites[site] = without(a.sites[site]); len(a.sites[site]) == 0 {
			delete(a.sites, site)
		}
	}
	for _, domain := range i.Domains {
		if a.domains[domain] = without(a.domains[domain]); len(a.domains[domain]) == 0 {
			delete(a.domains, domain)
		}
	}
}

// of returns the subscribers that may want pages of a site, each once, in the order of their numbers.
func (a *audience) of(site weburl.Site) []*Session {
	all := slices.Concat(a.everything, a.sites[site], a.domains[site.Domain()])
	for _, s := range a.patterns {
		if s.ask.touches(site) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(x, y *Session) int { return x.number - y.number })
	return slices.Compact(all)
}
