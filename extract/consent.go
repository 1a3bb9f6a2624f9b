package extract

import (
	"net/http"

	"freshet/consent"
	"freshet/weburl"
)

// maxLicenses is the largest number of licenses from a header, and from a document.
const maxLicenses = 4

// readSignals reads the signals about use in a header, except X-Robots-Tag.
func (page *Page) readSignals(header http.Header, own weburl.URL) {
	for _, name := range []string{consent.ContentUsage, consent.ContentSignal, consent.TDMReservation, consent.TDMPolicy} {
		for _, value := range header.Values(name) {
			page.Signals = page.Signals.With(consent.Header, name, value)
		}
	}
	var licenses []string
	for _, value := range header.Values("Link") {
		rest := value[:min(len(value), maxHeader)]
		for {
			var v linkValue
			var ok bool
			if v, rest, ok = nextLinkValue(rest); !ok {
				break
			}
			if hasToken([]byte(v.rel), "license") && (!v.anchored || samePage(own, v.anchor)) && len(licenses) < maxLicenses {
				licenses = append(licenses, v.target)
			}
		}
	}
	page.license(own, licenses)
}

// license adds the targets of links of rel=license, as URLs if they are valid.
func (page *Page) license(base weburl.URL, targets []string) {
	for _, target := range targets {
		if u, err := base.Parse(target); err == nil {
			target = u.String()
		}
		page.Signals = page.Signals.With(consent.Link, consent.License, target)
	}
}
