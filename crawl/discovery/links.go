package discovery

import (
	"math"
	"mime"
	"slices"

	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// PageLinks returns the links of a stored page in the form of the seen test. They are one deeper than the page. Its
// requisites, and the target of a redirect, are as deep as the page itself; the target has one hop more.
//
// Of a page's requisites only a style sheet has requisites of its own. A reference of any other requisite is an
// ordinary link.
func PageLinks(links []store.OutLink, page store.Page) []weburl.Link {
	out := make([]weburl.Link, 0, len(links))
	kind, _, _ := mime.ParseMediaType(page.ContentType)
	needs := !page.Requisite() || kind == "text/css"
	for _, link := range links {
		if link.Rel == weburl.RelRedirect {
			out = append(out, RedirectLink(link.URL, page))
			continue
		}
		l := weburl.Link{URL: link.URL, Fingerprint: link.URL.Fingerprint(), Depth: deeper(page.Depth),
			Rel: link.Rel, Via: page.URL.Fingerprint(), LastMod: link.LastMod}
		if l.Rel == weburl.RelEmbed {
			if needs {
				l.Depth = page.Depth
			} else {
				l.Rel = weburl.RelLink
			}
		}
		out = append(out, l)
	}
	return out
}

// RedirectLink returns the link from a page to the target of its redirect. The target of a requisite's redirect is a
// requisite.
func RedirectLink(target weburl.URL, page store.Page) weburl.Link {
	hops := page.Hops
	if hops < math.MaxUint8 {
		hops++
	}
	rel := weburl.RelRedirect
	if page.Requisite() {
		rel = weburl.RelEmbed
	}
	return weburl.Link{URL: target, Fingerprint: target.Fingerprint(), Depth: page.Depth, Hops: hops,
		Rel: rel, Via: page.URL.Fingerprint()}
}

// SitemapLinks returns links to the sitemaps that a site's robots.txt names.
func SitemapLinks(site weburl.Site, body []byte) []weburl.Link {
	var links []weburl.Link
	for _, raw := range robots.Sitemaps(body) {
		if u, err := robots.At(site).Parse(raw); err == nil {
			links = append(links, weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Depth: 1, Rel: weburl.RelSitemap})
		}
	}
	return links
}

func deeper(depth uint16) uint16 {
	if depth == math.MaxUint16 {
		return depth
	}
	return depth + 1
}

// isSeed reports whether a link widens the scope: it is a seed, or a seed redirects to it.
func isSeed(l weburl.Link) bool {
	return l.Rel == weburl.RelSeed || l.Rel == weburl.RelRedirect && l.Depth == 0
}

// Share marks each different link of a page that gets a share of the page's cash, if the ordering uses cash. The mark
// is Cash 1, which Finder.Admit replaces by the amount. A link from a page to itself gets no share.
func Share(o frontier.Ordering, page weburl.URL, links []weburl.Link) {
	if _, ok := o.(frontier.Payer); !ok || len(links) == 0 {
		return
	}
	paid := make(map[weburl.Fingerprint]bool, len(links)+1)
	paid[page.Fingerprint()] = true
	for i := range links {
		if fp := links[i].Fingerprint; !paid[fp] {
			paid[fp] = true
			links[i].Cash = 1
		}
	}
}

// Owes returns the ordering's function for the cash that a page passes on to its links, or nil if no link has a share.
func Owes(o frontier.Ordering, links []weburl.Link) func(cash, paid float64) float64 {
	payer, ok := o.(frontier.Payer)
	if !ok || !slices.ContainsFunc(links, hasShare) {
		return nil
	}
	return payer.Owes
}

func hasShare(l weburl.Link) bool { return l.Cash > 0 }

// pay divides the cash of a page among the links that have a share.
func pay(o frontier.Ordering, links []weburl.Link, cash float64) {
	payer, ok := o.(frontier.Payer)
	if !ok {
		return
	}
	shares := 0
	for _, link := range links {
		if hasShare(link) {
			shares++
		}
	}
	for i := range links {
		if hasShare(links[i]) {
			links[i].Cash = payer.Pay(cash, shares)
		}
	}
}
