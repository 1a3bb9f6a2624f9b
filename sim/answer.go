package sim

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// answer is a site's answer to a request, before it is sent.
type answer struct {
	status   int
	kind     string // content type
	body     []byte
	location string
	tag      string    // ETag
	modified time.Time // Last-Modified
}

const (
	htmlType = "text/html; charset=utf-8"
	xmlType  = "application/xml"
	gzipType = "application/gzip"
	svgType  = "image/svg+xml"
)

// answer returns the site's answer for a path: a 404 if no page, list or picture has that path.
func (s *site) answer(path string, elapsed time.Duration) answer {
	if page, ok := s.page(path); ok {
		return s.answerPage(page, elapsed)
	}
	if a, ok := s.answerList(path, elapsed); ok {
		return a
	}
	if page, ok := numbered(path, movedPrefix, "", s.pages); ok {
		return answer{status: http.StatusMovedPermanently, location: s.path(page)}
	}
	if page, ok := numbered(path, seeOtherPrefix, "", s.pages); ok {
		return answer{status: http.StatusFound, location: s.path(page)}
	}
	if strings.HasPrefix(path, errorPrefix) {
		return failure(http.StatusInternalServerError)
	}
	if page, ok := numbered(path, picturePrefix, ".svg", s.pages); ok {
		return s.fixed(svgType, s.appendPicture(nil, page))
	}
	switch path {
	case "/logo.svg":
		return s.fixed(svgType, s.appendPicture(nil, s.pages))
	case "/style.css":
		return s.fixed("text/css", fmt.Appendf(nil, "body { margin: 2em; color: #%06x }\n", s.seed>>42))
	}
	return failure(http.StatusNotFound)
}

func failure(status int) answer {
	text := http.StatusText(status)
	return answer{status: status, kind: htmlType,
		body: fmt.Appendf(nil, "<!DOCTYPE html>\n<title>%s</title>\n<h1>%[1]s</h1>\n", text)}
}

// fixed is an answer that never changes.
func (s *site) fixed(kind string, body []byte) answer {
	return answer{status: http.StatusOK, kind: kind, body: body, modified: s.web.config.Start}
}

// answerPage returns the page in its present state. A page that has vanished is gone (410); a page that has not
// appeared yet is not found (404). A page with noise has no validators.
func (s *site) answerPage(page int, elapsed time.Duration) answer {
	st := s.state(page, elapsed)
	if st.version == 0 {
		if born, _ := s.life(page); born > 0 {
			return failure(http.StatusNotFound)
		}
		return failure(http.StatusGone)
	}
	a := answer{status: http.StatusOK, kind: htmlType}
	a.body = s.appendPage(make([]byte, 0, 2*s.web.config.Bytes), page, st, elapsed)
	if !s.traits(page).noise {
		a.tag = fmt.Sprintf(`W/"%x-%d"`, s.key(page, aspectText)>>40, st.version)
		a.modified = s.web.config.Start.Add(st.last)
	}
	return a
}

// answerList returns the robots.txt, sitemap or feed at a path; ok is false if the site has none there.
func (s *site) answerList(path string, elapsed time.Duration) (a answer, ok bool) {
	a.status = http.StatusOK
	part, isPart := numbered(path, sitemapPrefix, ".xml.gz", s.sitemapParts())
	switch {
	case path == "/robots.txt" && !s.noRobots:
		a.kind, a.body = "text/plain; charset=utf-8", s.appendRobots(nil)
	case path == "/sitemap.xml" && s.sitemap:
		a.kind, a.body = xmlType, s.appendSitemap(nil, elapsed)
	case isPart && s.sitemap && s.index:
		a.kind, a.body = gzipType, compress(s.appendSitemapPart(nil, part, elapsed))
	case path == "/feed.xml" && s.feed:
		a.kind, a.body = "application/rss+xml", s.appendFeed(nil, elapsed)
	default:
		return a, false
	}
	return a, true
}

// validate removes or replaces the validators of the answer, as the site's habits require.
func (s *site) validate(a *answer, now time.Time) {
	switch {
	case s.blank:
		a.tag, a.modified = "", time.Time{}
	case s.lying && !a.modified.IsZero():
		a.tag, a.modified = fmt.Sprintf(`"%x"`, mix(s.seed, uint64(now.UnixNano()))), now
	}
}

// unchanged reports whether the client's copy is current (RFC 9110, section 13.2.2). If the request has If-None-Match,
// that alone decides.
func (a *answer) unchanged(header http.Header) bool {
	if a.status != http.StatusOK {
		return false
	}
	if match := header.Get("If-None-Match"); match != "" {
		for tag := range strings.SplitSeq(match, ",") {
			tag = strings.TrimSpace(tag)
			if a.tag != "" && (tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(a.tag, "W/")) {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(header.Get("If-Modified-Since"))
	return err == nil && !a.modified.IsZero() && !a.modified.Truncate(time.Second).After(since)
}

// write sends the answer to a request.
func (s *site) write(w http.ResponseWriter, r *http.Request, a *answer, now time.Time) {
	h := w.Header()
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	h.Set("Server", "sim")
	if a.location != "" {
		h.Set("Location", a.location)
	}
	if a.tag != "" {
		h.Set("ETag", a.tag)
	}
	if !a.modified.IsZero() {
		h.Set("Last-Modified", a.modified.UTC().Format(http.TimeFormat))
	}
	if a.unchanged(r.Header) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.body
	if a.kind != "" {
		h.Set("Content-Type", a.kind)
	}
	if s.compressed && a.kind != gzipType && a.location == "" {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header) {
			h.Set("Content-Encoding", "gzip")
			body = compress(body)
		}
	}
	if !s.chunked {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		s.send(w, r, body)
	}
}

// send sends a body at the site's speed. If the client or the server ends early, send panics with http.ErrAbortHandler.
// The server then breaks the connection off, so that a truncated body does not look complete.
func (s *site) send(w http.ResponseWriter, r *http.Request, body []byte) {
	const piece = 16 << 10
	for len(body) > 0 {
		n := min(len(body), piece)
		if s.bandwidth > 0 {
			wait := time.Duration(float64(n) / float64(s.bandwidth) * float64(time.Second))
			if s.web.config.Clock.Sleep(r.Context(), wait) != nil {
				panic(http.ErrAbortHandler)
			}
		}
		if _, err := w.Write(body[:n]); err != nil {
			panic(http.ErrAbortHandler)
		}
		body = body[n:]
		if s.chunked {
			_ = http.NewResponseController(w).Flush() // without it, small bodies would get a length
		}
	}
}

func acceptsGzip(header http.Header) bool {
	for coding := range strings.SplitSeq(header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if name == "gzip" && strings.ReplaceAll(quality, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		panic(err) // only for a level that does not exist
	}
	if _, err := z.Write(body); err != nil {
		panic(err) // a bytes.Buffer takes everything
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}
