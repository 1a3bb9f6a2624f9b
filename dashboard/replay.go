package dashboard

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"freshet/extract"
	"freshet/weburl"
)

// replay shows a stored version in a view, or redirects to the version nearest to a time.
func (s *server) replay(w http.ResponseWriter, r *http.Request, v view, text string) {
	a, err := parseAddress(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	v.share(w.Header())
	if v.scripts() {
		if a.modifier == withScripts {
			a.modifier = "" // the view implies it
		}
		if err := s.within(v, a.url); err != nil {
			deny(w, err)
			return
		}
		v.confine(w.Header())
	}
	kept, page, err := s.mementos(a.url)
	if err != nil {
		deny(w, err)
		return
	}
	if len(kept) == 0 {
		s.redirect(w, v, page, a)
		return
	}
	shown := nearest(kept, a.at)
	version := kept[shown]
	exact := address{at: version.At.UTC().Truncate(time.Second), modifier: a.modifier, url: a.url}
	if !a.at.Equal(exact.at) {
		w.Header().Set("Location", v.prefix+exact.text())
		w.WriteHeader(http.StatusFound)
		return
	}
	if a.modifier == withScripts {
		s.frame(w, v.from, exact)
		return
	}
	if v.prefix == replayPrefix && seen(r) {
		w.Header().Set("Location", s.copies(v.from).prefix+exact.text())
		w.WriteHeader(http.StatusFound)
		return
	}
	done, err := s.shows.begin(w, r)
	if err != nil {
		deny(w, err)
		return
	}
	defer done()
	content, err := s.reader.Content(a.url.String(), version.Version, time.Time{})
	if err != nil {
		deny(w, err)
		return
	}
	defer content.Body.Close()
	body := bufio.NewReaderSize(content.Body, showBuffer)
	head, err := body.Peek(sniffed)
	if err != nil && err != io.EOF {
		deny(w, err)
		return
	}
	h := w.Header()
	kind := content.Header.Get("Content-Type")
	if kind == "" {
		// the browser detects the character set as it did on the site
		kind = extract.MediaType(http.DetectContentType(head))
	}
	h.Set("Content-Type", kind)
	if language := content.Header.Get("Content-Language"); language != "" {
		h.Set("Content-Language", language)
	}
	h.Set("Memento-Datetime", version.At.UTC().Format(http.TimeFormat))
	h.Set("Link", strings.Join(links(v.from, a.url, kept, shown), ", "))
	v.confine(h)
	if !rewrites(kind, exact) {
		sendBody(w, body)
		return
	}
	whole, err := io.ReadAll(io.LimitReader(body, maxRewritten+1))
	if len(whole) > maxRewritten {
		err = fmt.Errorf("more than %d bytes to rewrite: the address with %s behind its time shows the page as it was sent", maxRewritten, asSent)
	}
	if err != nil {
		deny(w, err)
		return
	}
	w.Write(s.rewritten(whole, kind, v, exact))
}

// maxRewritten bounds a page whose references are rewritten, in bytes.
const maxRewritten = 16 << 20

// rewrites reports whether the references of what an address shows must be rewritten.
func rewrites(kind string, a address) bool {
	media := extract.MediaType(kind)
	return a.modifier != asSent && (isHTML(media) || media == "text/css")
}

// rewritten returns a body as a browser can show it: references lead to stored versions of the same time.
func (s *server) rewritten(body []byte, kind string, v view, a address) []byte {
	to := func(u weburl.URL) string { return v.prefix + address{at: a.at, url: u}.text() }
	if extract.MediaType(kind) == "text/css" {
		return extract.RewriteCSS(body, a.url, to)
	}
	room := maxRewritten
	return extract.RewriteHTML(body, a.url, to, func(u weburl.URL) []byte {
		vector := s.vector(u, a.at, room)
		room -= len(vector)
		return vector
	})
}

// vector returns the SVG file that a page takes drawings from, as of a time; nil if there is none of at most that
// many bytes.
func (s *server) vector(u weburl.URL, at time.Time, most int) []byte {
	kept, _, err := s.mementos(u)
	if err != nil || len(kept) == 0 {
		return nil
	}
	content, err := s.reader.Content(u.String(), kept[nearest(kept, at)].Version, time.Time{})
	if err != nil {
		return nil
	}
	defer content.Body.Close()
	if extract.MediaType(content.Header.Get("Content-Type")) != "image/svg+xml" {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(content.Body, int64(most)+1))
	if err != nil || len(body) > most {
		return nil
	}
	return body
}

// redirect redirects to the target of a page without versions, at the time of an address.
func (s *server) redirect(w http.ResponseWriter, v view, page Page, a address) {
	target, err := weburl.Parse(page.RedirectsTo)
	if err != nil {
		deny(w, fmt.Errorf("%w: %s leads to %q", ErrNotFound, page.URL, page.RedirectsTo))
		return
	}
	to := address{at: a.at, url: target}
	if a.modifier == withScripts {
		to.modifier = withScripts
	}
	w.Header().Set("Location", v.prefix+to.text())
	w.WriteHeader(http.StatusFound)
}
