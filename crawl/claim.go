package crawl

import (
	"time"

	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/weburl"
)

// A claim is word that a page has changed: of a sitemap or a feed of its own site, or of a ping.
type claim struct {
	page   pageKey
	source refresh.Source
	at     float64 // since when, as policies have times
}

// claimsOf returns what a page claims of others of its site. A date that lies ahead claims nothing.
func (e *Engine) claimsOf(site weburl.Site, links []weburl.Link, now time.Time) (claims []claim) {
	for _, link := range links {
		var source refresh.Source
		switch link.Rel {
		case weburl.RelSitemap:
			source = refresh.Sitemap
		case weburl.RelFeed:
			source = refresh.Feed
		default:
			continue
		}
		if link.LastMod <= 0 || link.LastMod > now.UnixNano() || link.URL.Site() != site {
			continue
		}
		claims = append(claims, claim{pageKey{e.partition(site), link.Fingerprint}, source, keepfresh.Seconds(time.Unix(0, link.LastMod))})
	}
	return claims
}

// claimsAtOnce is how many claims are taken in before others get at the lock.
const claimsAtOnce = 1024

// believe tells the index what is claimed of pages that are kept fresh.
func (r *refresher) believe(claims []claim) {
	for i, c := range claims {
		if i%claimsAtOnce == claimsAtOnce-1 {
			r.breathe()
		}
		if id, known := r.ids[c.page]; known {
			r.belief.Claim(id, c.source, c.at)
		}
	}
}

// claimant returns who claims that a page has changed, 0 if nobody does.
func (r *refresher) claimant(page pageKey) refresh.Source {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if id, known := r.ids[page]; known {
		return r.belief.Claimed(id)
	}
	return 0
}

// claimed takes a ping's word.
func (r *refresher) claimed(claims []claim) {
	if r == nil || len(claims) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.believe(claims)
}
