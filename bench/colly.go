package main

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"
)

// crawlColly crawls from the seeds with Colly as one who cares for its speed would set it up: a seen
// set of its own in the place of Colly's (which takes a URL with a fragment for another page), and as
// many idle connections kept as there are fetches at once. Each page becomes a file under dir.
func crawlColly(dir string, seeds []string) error {
	c := colly.NewCollector(colly.Async(true), colly.AllowURLRevisit(), colly.UserAgent("colly"))
	c.WithTransport(&http.Transport{
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		MaxIdleConns:        1024,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
	})
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 64}); err != nil {
		return err
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	visit := func(raw string) {
		raw, _, _ = strings.Cut(raw, "#")
		mu.Lock()
		known := seen[raw]
		seen[raw] = true
		mu.Unlock()
		if !known {
			c.Visit(raw)
		}
	}
	var failed error
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if failed == nil {
			failed = err
		}
	}
	c.OnError(func(r *colly.Response, err error) { fail(err) })
	c.OnResponse(func(r *colly.Response) {
		if err := os.MkdirAll(filepath.Dir(file(dir, r.Request.URL)), 0o755); err != nil {
			fail(err)
		} else if err := os.WriteFile(file(dir, r.Request.URL), r.Body, 0o644); err != nil {
			fail(err)
		}
	})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		visit(e.Request.AbsoluteURL(e.Attr("href")))
	})
	for _, seed := range seeds {
		visit(seed)
	}
	c.Wait()
	return failed
}

// file returns where the page of a URL is stored.
func file(dir string, u *url.URL) string {
	path := u.Path
	if strings.HasSuffix(path, "/") {
		path += "index.html"
	}
	return filepath.Join(dir, u.Hostname(), filepath.FromSlash(path))
}
