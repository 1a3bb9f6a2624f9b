package frontier

import (
	"fmt"

	"freshet/weburl"
)

// Scope decides which URLs belong to a crawl. It is not safe for concurrent use.
type Scope interface {
	// AddSeed widens the scope by a seed, or by the URL that a seed redirects to.
	AddSeed(u weburl.URL)
	// Admit says whether u belongs to the crawl, and if not, why.
	Admit(u weburl.URL) (reason Reason, ok bool)
}

// ParseScope returns an empty scope of that name: "site" (the seeds' sites), "domain" (the seeds'
// registrable domains) or "any" (every URL).
func ParseScope(name string) (Scope, error) {
	switch name {
	case "site":
		return siteScope{}, nil
	case "domain":
		return domainScope{}, nil
	case "any":
		return anyScope{}, nil
	}
	return nil, fmt.Errorf("frontier: no scope %q: want one of site, domain, any", name)
}

type siteScope map[weburl.Site]struct{}

func (s siteScope) AddSeed(u weburl.URL) { s[u.Site()] = struct{}{} }

func (s siteScope) Admit(u weburl.URL) (Reason, bool) {
	_, ok := s[u.Site()]
	return outside(ok)
}

type domainScope map[string]struct{}

func (s domainScope) AddSeed(u weburl.URL) { s[u.Domain()] = struct{}{} }

func (s domainScope) Admit(u weburl.URL) (Reason, bool) {
	_, ok := s[u.Domain()]
	return outside(ok)
}

type anyScope struct{}

func (anyScope) AddSeed(weburl.URL)              {}
func (anyScope) Admit(weburl.URL) (Reason, bool) { return Admitted, true }

func outside(ok bool) (Reason, bool) {
	if ok {
		return Admitted, true
	}
	return OutOfScope, false
}
