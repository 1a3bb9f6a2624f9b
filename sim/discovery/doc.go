// Package discovery simulates a crawl that discovers a web: the live frontier, with its orderings and
// its politeness, over queues in memory, with fetchers, servers and a link that take their time.
//
// The model is that of Castillo, Marin, Rodriguez and Baeza-Yates (2004), section 3. At most r pages
// are fetched at a time, one of a site; from the end of an answer to the next connection to the site at
// least w passes; a connection carries up to k pages, one after the other. A page takes its site's
// latency, once a connection, and its size by the rate, which is the smaller of the site's bandwidth
// and an equal share of the crawler's, set when the request starts. When a page has been fetched its
// links are known, at once or when they have waited for the seen test, as in a live crawl (Options.Wait).
//
// A Web says who links to whom and how large and fast all is; its pages are numbers, and the seen test
// a bit for each. What the paper leaves open is decided as the live crawler does it, because it is the
// live crawler's code that decides: which page is next, when a site may be asked again, when links that
// wait are decided, what a budget pays for, what is visited again. docs/notes/2026-11-simulator.md tells what is
// shared and what is this package's own.
//
// Two more of the live policies may take part. With Processing a fetched page waits for a worker before its
// links are known, and a fleet.Controller says how many fetchers may be active. With Refresh the pages that were
// fetched are visited again as a refresh.Policy says, within a budget, and what it believes of the copies can be
// held against the changes that the Web's pages really had.
//
//	result, err := discovery.Crawl(ctx, web, discovery.Options{Connections: 64, Delay: 15 * time.Second})
//
// A crawl's result depends on its arguments alone.
package discovery
