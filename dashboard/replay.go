package dashboard

import (
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"freshet/extract"
	"freshet/weburl"
)

// replay shows a stored version, or leads to the address of the one nearest to a time.
func (s server) replay(w http.ResponseWriter, from, text string) {
	a, err := parseAddress(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	kept, page, err := s.mementos(a.url)
	if err != nil {
		deny(w, err)
		return
	}
	if len(kept) == 0 {
		s.redirect(w, page, a.at)
		return
	}
	shown := nearest(kept, a.at)
	version := kept[shown]
	exact := address{at: version.At.UTC().Truncate(time.Second), raw: a.raw, url: a.url}
	if !a.at.Equal(exact.at) {
		w.Header().Set("Location", exact.String())
		w.WriteHeader(http.StatusFound)
		return
	}
	content, err := s.reader.Content(a.url.String(), version.Version, time.Time{})
	if err != nil {
		deny(w, err)
		return
	}
	h := w.Header()
	kind := content.Header.Get("Content-Type")
	if kind == "" {
		kind = http.DetectContentType(content.Body)
	}
	h.Set("Content-Type", kind)
	if language := content.Header.Get("Content-Language"); language != "" {
		h.Set("Content-Language", language)
	}
	h.Set("Memento-Datetime", version.At.UTC().Format(http.TimeFormat))
	h.Set("Link", strings.Join(links(from, a.url, kept, shown), ", "))
	confine(h, from)
	w.Write(rewritten(content.Body, kind, a, exact.at))
}

// confine takes from a stored version what its scripts could do here. It has an origin of its own, which
// reads nothing of ours, without cookies or storage; it loads, connects to and frames stored versions
// alone, and neither posts forms nor opens windows.
func confine(h http.Header, from string) {
	h.Set("Content-Security-Policy", fmt.Sprintf("sandbox allow-scripts; default-src %s%s 'unsafe-inline' 'unsafe-eval' data: blob:; base-uri %[1]s%[2]s; form-action 'none'", from, replayPrefix))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex")
}

// rewritten returns a body as a browser can show it: references lead to stored versions of the same time.
func rewritten(body []byte, kind string, a address, at time.Time) []byte {
	if a.raw {
		return body
	}
	to := func(u weburl.URL) string { return address{at: at, url: u}.String() }
	switch media, _, _ := mime.ParseMediaType(kind); media {
	case "text/html", "application/xhtml+xml":
		return extract.RewriteHTML(body, a.url, to)
	case "text/css":
		return extract.RewriteCSS(body, a.url, to)
	}
	return body
}

// redirect leads to what a page that has no versions redirects to.
func (s server) redirect(w http.ResponseWriter, page Page, at time.Time) {
	target, err := weburl.Parse(page.RedirectsTo)
	if err != nil {
		deny(w, fmt.Errorf("%w: %s leads to %q", ErrNotFound, page.URL, page.RedirectsTo))
		return
	}
	w.Header().Set("Location", address{at: at, url: target}.String())
	w.WriteHeader(http.StatusFound)
}
