// Package explain says of one URL every gate of the crawl that it passed or failed, when it is due, and why.
//
// About is all that it knows of a crawl: what was decided of the URL (Rows), and what the bounds of the crawl, the
// site's robots.txt, its host, the keeper of fresh pages and the ranking say now, each through a small interface.
// It changes nothing, has no clock, lock or file, and is told the time. The same answers give the same explanation,
// whether the crawl runs or not.
//
// A URL meets the gates in this order: its syntax; the scope, the limits and the seen test (discovery.go); the
// address, robots.txt and the host (access.go); crashes, the batch and the queue (wait.go); what came of the last
// request (outcome.go). What follows from them is a sentence (fate.go).
package explain
