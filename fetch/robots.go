package fetch

import (
	"time"

	"freshet/weburl"
)

// Robots is what a robots.txt file asks of crawlers, read as RFC 9309 says. It is immutable.
type Robots struct{}

// ParseRobots reads the first MaxRobots bytes of a robots.txt file. Every input is some file: lines
// that say nothing it knows are passed over.
func ParseRobots(body []byte) *Robots { return &Robots{} }

// Allowed tells whether agent may fetch u.
func (r *Robots) Allowed(agent string, u weburl.URL) bool { return true }

// CrawlDelay returns the interval that the file asks agent to keep between requests, however long.
func (r *Robots) CrawlDelay(agent string) (time.Duration, bool) { return 0, false }

// Sitemaps returns the values of the file's Sitemap lines, in order.
func (r *Robots) Sitemaps() []string { return nil }

// RobotsPolicy returns what the answer to a request for /robots.txt lets a crawler do.
func RobotsPolicy(r *Result) *Robots { return &Robots{} }

// Directives is what a page asks to be done with it.
type Directives struct{ NoIndex, NoFollow, NoArchive bool }
