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

// crawlColly crawls from the seeds with Colly, tuned for speed. It replaces Colly's seen set, which takes a URL
// with a fragment for another page, and it keeps idle connections. It calls keep with each page, from several
// goroutines at once.
func crawlColly(seeds []string, keep func(*url.URL, []byte) error) error {
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
		if err := keep(r.Request.URL, r.Body); err != nil {
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

// keepFiles returns a function that writes each page to a file of its own under a directory.
func keepFiles(dir string) func(*url.URL, []byte) error {
	return func(u *url.URL, body []byte) error {
		name := file(dir, u)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, body, 0o644)
	}
}

// keepOneFile returns a function that appends all pages to one file in a directory, uncompressed and
// without a sync: the least that storing them can cost.
func keepOneFile(dir string) (func(*url.URL, []byte) error, error) {
	f, err := os.OpenFile(filepath.Join(dir, "pages"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return func(u *url.URL, body []byte) error {
		_, err := f.Write(append([]byte(u.String()+"\n"), body...))
		return err
	}, nil
}

// file returns where the page of a URL is stored.
func file(dir string, u *url.URL) string {
	path := u.Path
	if strings.HasSuffix(path, "/") {
		path += "index.html"
	}
	return filepath.Join(dir, u.Hostname(), filepath.FromSlash(path))
}
