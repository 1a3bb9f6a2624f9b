package trial

import (
	"crypto/sha1"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"freshet/store"
	"freshet/weburl"
)

// web is the web of a case. What it says at a moment follows from the case and that moment.
type web struct {
	c     *Case
	pages map[weburl.URL]*page
	roots []weburl.URL // of the sites
}

type pageKind uint8

const (
	text       pageKind = iota // that changes
	turnsAside                 // a temporary redirect
	moves                      // a permanent redirect, after some time
	goes                       // is gone, after some time
	missing                    // never was
	broken                     // answers 500
	unfollowed                 // nofollow
	unkept                     // noarchive
	picture                    // of another type
	sitemap
)

// page is a page of the web.
type page struct {
	site    int
	url     weburl.URL
	kind    pageKind
	from    time.Duration   // since when it moves or goes
	target  weburl.URL      // of a redirect
	changes []time.Duration // when
	links   []store.OutLink
	births  []weburl.URL // of pages that it links to after its first changes
}

// newWeb computes the web of a case.
func newWeb(c *Case) *web {
	w := &web{c: c, pages: map[weburl.URL]*page{}}
	for _, s := range c.Sites {
		w.roots = append(w.roots, s.Name.Root())
	}
	for i := range c.Sites {
		for n := range c.Sites[i].Pages {
			w.add(i, n)
		}
		w.addSitemap(i)
	}
	return w
}

func (w *web) url(site, n int) weburl.URL {
	path := "/"
	switch {
	case n > 0 && n%3 == 2:
		path = fmt.Sprintf("/d/%d", n)
	case n > 0:
		path = fmt.Sprintf("/%d", n)
	}
	return w.at(site, path)
}

// at returns a URL of a site. Paths are canonical.
func (w *web) at(site int, path string) weburl.URL {
	u, err := w.roots[site].Parse(path)
	if err != nil {
		panic(err)
	}
	return u
}

const mostChanges = 60

func (w *web) add(site, n int) {
	r := rand.New(rand.NewPCG(w.c.Seed, uint64(site)<<32|uint64(n)))
	s := &w.c.Sites[site]
	p := &page{site: site, url: w.url(site, n), kind: text}
	if n > 0 {
		p.kind = one(r, text, text, text, text, text, text, text, text, turnsAside, moves, goes, missing, broken, unfollowed,
			unkept, picture)
	}
	p.from = time.Duration(r.Int64N(int64(w.c.Calm())))
	other := r.IntN(len(w.c.Sites))
	p.target = w.url(other, r.IntN(w.c.Sites[other].Pages))
	if rate := s.Change * math.Pow(r.Float64(), 3); rate > 1e-3 {
		for at := 0.0; len(p.changes) < mostChanges; {
			at += r.ExpFloat64() / rate * float64(24*time.Hour)
			if at > float64(w.c.Length) {
				break
			}
			p.changes = append(p.changes, time.Duration(at))
		}
	}
	link := func(u weburl.URL) {
		p.links = append(p.links, store.NewOutLink(u, weburl.RelAnchor, false, time.Time{}))
	}
	for child := 3*n + 1; child <= 3*n+3 && child < s.Pages; child++ {
		link(w.url(site, child))
	}
	for range r.IntN(4) {
		to := r.IntN(len(w.c.Sites))
		link(w.url(to, r.IntN(w.c.Sites[to].Pages)))
	}
	if n == 0 && site+1 < len(w.c.Sites) {
		link(w.url(site+1, 0))
	}
	if r.IntN(4) == 0 {
		link(w.at(site, fmt.Sprintf("/dead/%d", n)))
	}
	w.pages[p.url] = p
	if p.kind != text {
		return
	}
	for i := range min(len(p.changes), 2) {
		born := &page{site: site, url: w.at(site, fmt.Sprintf("/born/%d.%d", n, i)), kind: text}
		w.pages[born.url] = born
		p.births = append(p.births, born.url)
	}
}

func (w *web) addSitemap(site int) {
	p := &page{site: site, url: w.at(site, "/sitemap.xml"), kind: sitemap}
	w.pages[p.url] = p
}

// version returns how often a page has changed.
func (p *page) version(at time.Duration) int {
	n, _ := slices.BinarySearch(p.changes, at)
	return n
}

// answer is what a server says.
type answer struct {
	status      int
	contentType string
	body        string // stands for all that the page says
	etag        string
	redirect    weburl.URL
	permanent   bool
	links       []store.OutLink
	noFollow    bool
	noArchive   bool
	retryAfter  time.Duration
}

// says returns what the server of a page says, where nothing is wrong with it.
func (w *web) says(u weburl.URL, etag string, at time.Duration, epoch time.Time) answer {
	p := w.pages[u]
	if p == nil || p.kind == missing || p.kind == goes && at >= p.from {
		return answer{status: http.StatusNotFound}
	}
	if p.kind == broken {
		return answer{status: http.StatusInternalServerError}
	}
	if p.kind == turnsAside || p.kind == moves && at >= p.from {
		a := answer{status: http.StatusFound, redirect: p.target}
		if p.kind == moves {
			a.status, a.permanent = http.StatusMovedPermanently, true
		}
		return a
	}
	v := p.version(at)
	a := answer{status: http.StatusOK, contentType: "text/html", body: fmt.Sprintf("%s says %d", u, v), links: p.links}
	for i, born := range p.births {
		if v > i {
			a.links = append(slices.Clip(a.links), store.NewOutLink(born, weburl.RelAnchor, false, time.Time{}))
		}
	}
	switch p.kind {
	case unfollowed:
		a.noFollow = true
	case unkept:
		a.noArchive = true
	case picture:
		a.contentType, a.links = "image/png", nil
	case sitemap:
		a.contentType = "application/xml"
		a.links, a.body = w.listed(p.site, at, epoch)
		return a
	}
	switch w.c.Sites[p.site].Validators {
	case validatorsRight:
		a.etag = fmt.Sprintf(`"%d"`, v)
	case validatorsLying:
		a.etag = `"same"`
	}
	if a.etag != "" && a.etag == etag {
		return answer{status: http.StatusNotModified, etag: a.etag}
	}
	return a
}

// listed returns what a sitemap names.
func (w *web) listed(site int, at time.Duration, epoch time.Time) (links []store.OutLink, body string) {
	var b strings.Builder
	for n := range w.c.Sites[site].Pages {
		p := w.pages[w.url(site, n)]
		var changed time.Time
		if v := p.version(at); v > 0 {
			changed = epoch.Add(p.changes[v-1])
		}
		links = append(links, store.NewOutLink(p.url, weburl.RelSitemap, false, changed))
		fmt.Fprintln(&b, p.url, changed.Unix())
	}
	return links, b.String()
}

// robots returns what the server of a site says to a request for its robots.txt.
func (w *web) robots(site int, at time.Duration) answer {
	body := "User-agent: *\n"
	switch w.c.Sites[site].Robots {
	case robotsNone:
		return answer{status: http.StatusNotFound}
	case robotsOpen:
		body += "Disallow:\nSitemap: " + w.at(site, "/sitemap.xml").String() + "\n"
	case robotsPart:
		body += "Disallow: /d/\n"
		if most := w.c.Crawl.RobotsBytes; most < 1<<20 { // more than there is room for in memory
			body += strings.Repeat("Disallow: /nowhere/\n", int(most)/10)
		}
	case robotsDelay:
		body += "Crawl-delay: 30\n"
	case robotsTurning:
		if at/(17*time.Hour)%2 == 0 {
			body += "Disallow: /d/\n"
		} else {
			body += "Disallow: /born/\nCrawl-delay: 7\n"
		}
	case robotsElsewhere:
		if site > 0 {
			to := w.at(w.c.elsewhere(site), "/robots.txt")
			return answer{status: http.StatusMovedPermanently, redirect: to, permanent: true}
		}
		body += "Disallow:\n"
	}
	return answer{status: http.StatusOK, contentType: "text/plain", body: body}
}

// elsewhere returns where the robots.txt of a site leads to: to the site before it, which may lead on, or to the
// first.
func (c *Case) elsewhere(site int) int {
	if mix(c.Seed^uint64(site))%2 == 0 {
		return site - 1
	}
	return 0
}

// What a tdmrep.json of the web says.
const (
	reservesAll  = `[{"location": "/", "tdm-reservation": 1}]`
	reservesPart = `[{"location": "/d/", "tdm-reservation": 1}]`
)

// tdmrep returns what the server of a site says to a request for its tdmrep.json.
func (w *web) tdmrep(site int, at time.Duration) answer {
	a := answer{status: http.StatusOK, contentType: "application/json", body: reservesPart}
	switch kind := mix(w.c.Seed+uint64(site)) % 4; {
	case kind == 0:
		return answer{status: http.StatusNotFound}
	case kind == 1 && site > 0:
		return answer{status: http.StatusFound, redirect: w.at(0, tdmrepPath)}
	case kind == 2 && at/(29*time.Hour)%2 == 0:
		a.body = reservesAll
	}
	return a
}

const tdmrepPath = "/.well-known/tdmrep.json"

// digest returns the digest of a body.
func digest(body string) store.BodyDigest { return sha1.Sum([]byte(body)) }
