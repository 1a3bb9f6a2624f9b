package discovery

import (
	"fmt"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// Limits are limits on the discovery of a site. In a rule for some sites, 0 sets nothing.
type Limits struct {
	Depth int   // links from a seed; 0: no limit
	Pages int64 // known pages; 0: no limit
}

// SiteLimits are the limits for the sites that a pattern matches.
type SiteLimits struct {
	Match frontier.Pattern
	Limits
}

// Bounds define which URLs belong to a crawl.
type Bounds struct {
	Name   string // of the scope
	Scope  frontier.Scope
	URLs   frontier.Rules
	Limits Limits
	// Requisites are the requisites that belong to the crawl.
	Requisites frontier.Requisites
	Sites      []SiteLimits             // for some sites
	Of         func(weburl.Site) Limits // finds the limits for a site in Sites; later ones win
}

// Guard returns the guard for a site's new pages.
func (b *Bounds) Guard(site weburl.Site) frontier.Guard {
	limits, said := b.Limits, b.Of(site)
	if said.Depth > 0 {
		limits.Depth = said.Depth
	}
	if said.Pages > 0 {
		limits.Pages = said.Pages
	}
	guard := frontier.DefaultGuard()
	guard.Depth = uint16(min(limits.Depth, 1<<16-1))
	guard.PagesPerSite = int(limits.Pages)
	return guard
}

// AdmitURL reports whether a URL belongs to the crawl, and if not, why. It assumes a link of that relation, wherever it
// was found.
func (b *Bounds) AdmitURL(u weburl.URL, rel weburl.Rel) (reason frontier.Reason, ok bool) {
	if rel == weburl.RelEmbed {
		return b.URLs.AdmitRequisite(b.Requisites, b.Scope, u)
	}
	return b.URLs.Admit(b.Scope, u)
}

// admitLink reports whether a link may make a page, as far as that is known before the seen test. A seed widens the
// scope, unless a pattern refuses it: a refused seed is not stored, so a restart would not know it.
func (b *Bounds) admitLink(link weburl.Link) (reason frontier.Reason, ok bool) {
	if reason, ok = b.Guard(link.URL.Site()).AdmitWay(link); !ok {
		return reason, false
	}
	if isSeed(link) {
		if reason, refused := b.URLs.Refuse(link.URL); refused {
			return reason, false
		}
		b.Scope.AddSeed(link.URL)
	}
	return b.AdmitURL(link.URL, link.Rel)
}

// Admits reports whether a known page belongs to the crawl, and if not, why. A seed or an imported page belongs to it
// unless a pattern excludes it.
func (b *Bounds) Admits(page store.Page) (reason frontier.Reason, ok bool) {
	if page.Seed || page.Rel == weburl.RelNone || page.Rel == weburl.RelSeed {
		reason, refused := b.URLs.Refuse(page.URL)
		return reason, !refused
	}
	way := weburl.Link{Depth: page.Depth, Hops: page.Hops}
	if reason, ok = b.Guard(page.URL.Site()).AdmitWay(way); !ok {
		return reason, false
	}
	return b.AdmitURL(page.URL, page.Rel)
}

// Digest returns a hash of the bounds, never 0. It is stored, so it must not change from one version of the program to
// the next.
func (b *Bounds) Digest() uint64 {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %x %x %x %d %d", b.Name, b.Scope.Digest(), b.URLs.Include.Digest(), b.URLs.Exclude.Digest(),
		b.Limits.Depth, b.Limits.Pages)
	if b.Requisites != frontier.SameSiteRequisites {
		fmt.Fprintf(&text, "\n%s requisites", b.Requisites)
	}
	for _, one := range b.Sites {
		if one.Pages > 0 || one.Depth > 0 {
			fmt.Fprintf(&text, "\n%s %d %d", one.Match, one.Pages, one.Depth)
		}
	}
	return max(1, xxh3.HashString(text.String()))
}

// Outside reports whether a page was refused for a reason that other bounds may lift.
func Outside(page store.Page) bool {
	switch page.Reason {
	case frontier.OutOfScope.String(), frontier.TooDeep.String(), frontier.TooManyRedirects.String(),
		frontier.Excluded.String(), frontier.OptedOut.String(), frontier.Requisite.String():
		return page.Queue == store.NoQueue && page.State != store.StatePurged
	}
	return false
}

// Readmit returns the record by which a page of partition p follows changed bounds. A store.Refused takes a page out of
// its queue because it is now outside. A store.Planned makes a page due because it was refused as outside and is now
// inside. If the page stays where it is, Readmit returns nil.
func (b *Bounds) Readmit(p weburl.Partition, page store.PageAt, now time.Time) store.Record {
	reason, inside := b.Admits(page.Page)
	switch {
	case !inside && page.Queue != store.NoQueue:
		return &store.Refused{URL: page.URL, At: now.UnixNano(), Reason: reason.String()}
	case inside && Outside(page.Page):
		return &store.Planned{Partition: p, Fingerprint: page.Fingerprint, Due: now.UnixNano()}
	}
	return nil
}
