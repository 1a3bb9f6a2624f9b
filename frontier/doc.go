// Package frontier decides which page is fetched next and when, and which pages are not fetched at all.
//
// A crawl knows sites, and each site has two queues: of new pages, discovered and never fetched, in the order of an
// Ordering; and of due pages, to be fetched again, by time. The queues are in the store, in memory or wherever a
// Queues reads them. A Frontier holds only a window of a few entries of each, so its memory grows with the number of
// open sites and not with the number of pages.
//
// Next picks the page to fetch at now. Sites whose host is free compete by the priority that the ordering gives them.
// The others wait in a heap by time and delay nobody: their host was asked too recently, backs off, or has a request
// in flight. Due pages go before new ones, except for the share of the choices that belongs to discovery.
//
// A page's way:
//
//	Discovered or Planned ─► queue ─► Next ─► (Bind) ─► Done ─────► Committed
//	                           ▲                │         └ the host's Gate, to be stored
//	                           └──── Return ────┴─ Drop ─────────► Committed
//
// A page that was handed out stays in its stored queue until its outcome is stored. Until Committed the frontier
// remembers it and reads past it; after a crash it is still queued. So nothing is lost and nothing is handed out
// twice in one run.
//
// Politeness is kept for the host, as a Gate that is stored with every fetch and restored at a restart: one request
// in flight, and an interval from the end of an answer to the next connection. With AddressDelay it is kept for the
// address as well.
//
// A Frontier is pure: it has no clock, no goroutine and no file. Every method takes now as an
// argument, and the live engine, the simulator and the tests run the same code.
//
// Manners are an operator's rules for a site: they change the interval of its host and the hours of requests. A Pause
// holds a site back, and a Block a host, until it is lifted.
//
// Scope, Rules and Guard decide at discovery whether a URL is queued at all. Scope and Rules follow the user's
// wishes; Guard has limits that keep the crawl out of traps.
package frontier
