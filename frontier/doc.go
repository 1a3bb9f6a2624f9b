// Package frontier decides which page is fetched next and when, and which pages are not fetched at all.
//
// Each site has two queues. Its queue of new pages holds pages that were discovered and never fetched, in the order of
// an Ordering. Its queue of due pages holds pages to be fetched again, by time. Queues reads both, from the store or
// from memory. A Frontier holds only a window of a few entries of each queue. So its memory grows with the number of
// open sites, not with the number of pages.
//
// Next picks the page to fetch at now. Sites whose host is free compete by the priority that the ordering gives them.
// The other sites wait in a heap by time and delay no other site: their host was asked too recently, backs off, or has
// a request in flight. Due pages go before new ones, except for the share of the choices that belongs to discovery.
//
// The way of a page:
//
//	Discovered or Planned ─► queue ─► Next ─► (Bind) ─► Done ─────► Committed
//	                           ▲                │         └ the host's Gate, to be stored
//	                           └──── Return ────┴─ Drop ─────────► Committed
//
// A page that was handed out stays in its stored queue until its outcome is stored. The frontier remembers such a page
// until Committed and skips it in the queue. After a crash the page is still queued. So no page is lost, and none is
// handed out twice in one run.
//
// The frontier keeps politeness per host, as a Gate: one request in flight, and an interval from the end of an answer
// to the next connection. The gate is stored with every fetch and restored at a restart. With AddressDelay the frontier
// keeps politeness per IP address as well.
//
// A Frontier is pure: it has no clock, no goroutine and no file. Every method takes now as an argument. The live
// engine, the simulator and the tests run the same code.
//
// Manners are an operator's rules for a site: they change the interval of its host and limit the hours of requests. A
// Pause holds back a site, a Block a host, until it is lifted.
//
// Scope, Rules and Guard decide at discovery whether a URL is queued at all. Scope and Rules follow the user's wishes.
// Guard sets limits that keep the crawl out of traps.
package frontier
