package frontier

import (
	"fmt"
	"iter"
	"maps"

	"github.com/zeebo/xxh3"

	"freshet/weburl"
)

// Scope decides which URLs belong to a crawl. It is not safe for concurrent use.
type Scope interface {
	// AddSeed widens the scope by a seed, or by the URL that a seed redirects to.
	AddSeed(u weburl.URL)
	// AddSite widens the scope by a site that had a seed in an earlier run.
	AddSite(site weburl.Site)
	// Admit reports whether u belongs to the crawl, and if not, why.
	Admit(u weburl.URL) (reason Reason, ok bool)
	// HasSite reports whether pages of a site belong to the crawl.
	HasSite(site weburl.Site) bool
	// Digest returns a hash of the scope's rules and sites.
	Digest() uint64
}

// ParseScope returns an empty scope with that name: "page" (the seeds only), "site" (the seeds' sites), "domain" (the
// seeds' registrable domains) or "any" (every URL).
func ParseScope(name string) (Scope, error) {
	switch name {
	case "page":
		return pageScope{siteScope{}, map[weburl.URL]struct{}{}}, nil
	case "site":
		return siteScope{}, nil
	case "domain":
		return domainScope{}, nil
	case "any":
		return anyScope{}, nil
	}
	return nil, fmt.Errorf("frontier: no scope is named %q: want page, site, domain or any", name)
}

// pageScope admits the seeds only.
type pageScope struct {
	siteScope
	pages map[weburl.URL]struct{}
}

func (s pageScope) AddSeed(u weburl.URL) {
	s.siteScope.AddSeed(u)
	s.pages[u] = struct{}{}
}

func (s pageScope) Admit(u weburl.URL) (Reason, bool) {
	_, ok := s.pages[u]
	return outside(ok)
}

// Digest is the same for all seeds: only they belong to the crawl, and the store knows them from earlier runs.
func (s pageScope) Digest() uint64 { return digest("page") }

type siteScope map[weburl.Site]struct{}

func (s siteScope) AddSeed(u weburl.URL)     { s.AddSite(u.Site()) }
func (s siteScope) AddSite(site weburl.Site) { s[site] = struct{}{} }

func (s siteScope) Admit(u weburl.URL) (Reason, bool) { return outside(s.HasSite(u.Site())) }

func (s siteScope) HasSite(site weburl.Site) bool {
	_, ok := s[site]
	return ok
}

func (s siteScope) Digest() uint64 { return digest("site") + digestOf(maps.Keys(s)) }

type domainScope map[string]struct{}

func (s domainScope) AddSeed(u weburl.URL)     { s[u.Domain()] = struct{}{} }
func (s domainScope) AddSite(site weburl.Site) { s[site.Domain()] = struct{}{} }

func (s domainScope) Admit(u weburl.URL) (Reason, bool) { return outside(s.HasSite(u.Site())) }

func (s domainScope) HasSite(site weburl.Site) bool {
	_, ok := s[site.Domain()]
	return ok
}

func (s domainScope) Digest() uint64 { return digest("domain") + digestOf(maps.Keys(s)) }

type anyScope struct{}

func (anyScope) AddSeed(weburl.URL)              {}
func (anyScope) AddSite(weburl.Site)             {}
func (anyScope) Admit(weburl.URL) (Reason, bool) { return Admitted, true }
func (anyScope) HasSite(weburl.Site) bool        { return true }

func (anyScope) Digest() uint64 { return digest("any") }

// digest returns a hash of a text.
func digest(text string) uint64 { return xxh3.HashString(text) }

// digestOf returns a hash of a set of texts. It does not depend on their order.
func digestOf[T ~string](texts iter.Seq[T]) (sum uint64) {
	for text := range texts {
		sum += digest(string(text))
	}
	return sum
}

func outside(ok bool) (Reason, bool) {
	if ok {
		return Admitted, true
	}
	return OutOfScope, false
}

// Rules are an operator's additions to the scope: URLs to include, URLs to exclude, and URLs whose owners have opted
// out. If several rules match a URL, OptOut wins over Exclude, Exclude over Include, and Include over the scope.
type Rules struct {
	Include, Exclude, OptOut Patterns
}

// Refuse reports whether the rules keep u out of the crawl, and why.
func (r *Rules) Refuse(u weburl.URL) (reason Reason, refused bool) {
	switch {
	case r.OptOut.Match(u):
		return OptedOut, true
	case r.Exclude.Match(u):
		return Excluded, true
	}
	return Admitted, false
}

// Admit reports whether u belongs to the crawl by the rules or, if none matches, by the scope.
func (r *Rules) Admit(scope Scope, u weburl.URL) (reason Reason, ok bool) {
	if reason, refused := r.Refuse(u); refused {
		return reason, false
	}
	if r.Include.Match(u) {
		return Admitted, true
	}
	return scope.Admit(u)
}
