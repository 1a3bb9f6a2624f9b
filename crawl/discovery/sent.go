package discovery

import (
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// Links to pages of other owners' partitions are admitted like all links, so that refused ones get no share of the
// cash. They are sent with their share.

// AdmitUnsent is Admit for links that were offered before and may have to be sent again: they get their cash, and their
// refusals are not counted again.
func (f *Finder) AdmitUnsent(links []weburl.Link, cash float64) []weburl.Link {
	return f.admit(links, cash, func(weburl.Link, frontier.Reason) {})
}

// AdmitArrived returns the links of an Arrived record to offer to the seen test, with the cash that they came with. The
// others are counted by site and reason. The result is valid until the next call.
func (f *Finder) AdmitArrived(links []weburl.Link) []weburl.Link {
	f.admitted = f.admitted[:0]
	for _, link := range links {
		if reason, ok := f.bounds.admitLink(link); ok {
			f.admitted = append(f.admitted, link)
		} else {
			f.refused[refusalKey{link.URL.Site(), reason}]++
		}
	}
	return f.admitted
}

// Arrive returns links in the form of an Arrived record. ArrivedLinks is the inverse.
func Arrive(links []weburl.Link) []store.NewPage {
	pages := make([]store.NewPage, len(links))
	for i, link := range links {
		pages[i] = store.NewPage{URL: link.URL, Depth: link.Depth, Hops: link.Hops, Rel: link.Rel, Via: link.Via,
			Cash: link.Cash, LastMod: link.LastMod}
	}
	return pages
}

// ArrivedLinks is the inverse of Arrive.
func ArrivedLinks(pages []store.NewPage) []weburl.Link {
	links := make([]weburl.Link, len(pages))
	for i, page := range pages {
		links[i] = weburl.Link{URL: page.URL, Fingerprint: page.URL.Fingerprint(), Depth: page.Depth, Hops: page.Hops,
			Rel: page.Rel, Via: page.Via, Cash: page.Cash, LastMod: page.LastMod}
	}
	return links
}
