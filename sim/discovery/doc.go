// Package discovery simulates a crawl that discovers a web. It runs the live frontier, with its orderings and
// politeness, over queues in memory. Fetchers, servers and the network link take simulated time.
//
// The model is that of Castillo, Marin, Rodriguez and Baeza-Yates (2004), section 3. At most r pages are fetched at
// a time, one of a site. From the end of an answer to the next connection to the site at least w passes. A
// connection carries up to k pages, one after another. A page takes its site's latency, once a connection, and its
// size divided by the rate. The rate is the smaller of the site's bandwidth and an equal share of the crawler's,
// set when the request starts. After the fetch the page's links are known, at once or after they have waited for
// the seen test as in a live crawl (Options.Wait).
//
// A Web has the links, the sizes of pages and the speeds of sites. Its pages are numbers, and the seen test is a
// bit for each. The live crawler's code decides what the paper leaves open: which page is next, when a site may get
// a request again, when waiting links are decided, what a budget pays for, what is visited again.
// docs/notes/2026-11-simulator.md says what is shared and what is this package's own.
//
// Two more of the live policies may take part. With Processing a fetched page waits for a worker before its links
// are known, and a fleet.Controller decides how many fetchers may be active. With Refresh a refresh.Policy visits
// fetched pages again, within a budget. What it believes about the copies can be compared with the true changes of
// the pages.
//
//	result, err := discovery.Crawl(ctx, web, discovery.Options{Connections: 64, Delay: 15 * time.Second})
//
// A crawl's result depends only on its arguments.
package discovery
