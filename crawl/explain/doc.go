// Package explain explains one URL: every gate of the crawl that it passed or failed, when it is due, and why.
//
// About is all that the package knows about a crawl: the stored decisions (Rows) and the present answers of the crawl's
// bounds, the site's robots.txt, its host, the keeper of fresh pages and the ranking. Each is a small interface. The
// package changes nothing, has no clock, lock or file, and takes the time as an argument. The same answers give the
// same explanation, whether the crawl runs or not.
//
// A URL meets the gates in this order: its syntax; the scope, the limits and the seen test (discovery.go); the address,
// robots.txt and the host (access.go); crashes, the batch and the queue (wait.go); the outcome of the last request
// (outcome.go). A sentence sums up the result (fate.go).
package explain
