// Package crawl is the engine: it takes pages from the frontier, fetches them, learns from them, stores
// them, and gives their links back to the frontier.
//
// A page passes five stages, each of which makes the one before it wait when it is full:
//
//	dispatch ─► fetch ─► process ─► commit ─► discover ─► (frontier)
//	one         up to r  one a      one       with
//	goroutine   at once  processor            commit
//
// Dispatch asks the frontier for the page to fetch now and starts a fetch; the fleet gate says how many
// may be under way (see fleet.Controller), by how many pages wait to be processed. A fetch obeys
// robots.txt and the address guard, makes the exchange, and gives the host back to the frontier as soon as
// the answer has ended. Processing finds links and digests and compresses the WARC records. Commit gathers
// what is finished, appends it to the WARC file, syncs it, applies one record a page, and then offers the
// links to the seen test; what the test finds new, and the guards let pass, becomes records too, and
// entries of the frontier.
//
// Two goroutines work beside these where they are asked for: a refresher keeps what is stored fresh, and a
// reordering ranks the known pages and gives those that wait other places.
//
// All state is in the store's records. The frontier and the seen test are rebuilt or caught up from
// them at Open, so that a crawl goes on where it stopped, however it stopped: what was in flight is
// still queued, and after an unclean stop every host first waits out its own interval.
package crawl
