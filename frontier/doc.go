// Package frontier decides which page is fetched next, and when; and which pages not at all.
//
// A crawl knows sites, and each site has two queues: of new pages, discovered and never fetched, in
// the order of an Ordering; and of due pages, to be fetched again, by time. The queues are kept in
// the store, in memory or wherever a Queues reads them; a Frontier holds of each only a window of a
// few entries, so that its memory grows with the sites that are open and not with the pages that
// wait.
//
// Next picks the page to fetch at now. Sites that may be asked compete by the priority that the
// ordering gives them; those that may not, because their host was asked too short a time ago, backs
// off, or is being asked right now, stand aside, in a heap by time, and hold nobody up. Due pages go
// before new ones, except for a share of the choices that discovery is owed.
//
// A page's way:
//
//	Discovered or Planned ─► queue ─► Next ─► (Bind) ─► Done ─────► Committed
//	                           ▲                │         └ the host's Gate, to be stored
//	                           └──── Return ────┴─ Drop ─────────► Committed
//
// A page that was handed out stays in its stored queue until what became of it is stored. Until
// Committed the frontier remembers it and reads past it; after a crash it is still queued. So
// nothing is lost and nothing is handed out twice in one run.
//
// Politeness is kept for the host, as a Gate that is stored with every fetch and given back at a
// restart: one request in flight, and an interval from the end of an answer to the next connection.
// AddressDelay keeps it for the address as well.
//
// A Frontier is pure: it has no clock, no goroutine and no file. Every method takes now as an
// argument, and the live engine, the simulator and the tests run the same code.
//
// What an operator asks of a site, its Manners, counts in its host's interval and in when the site may
// be asked; a Pause and a Block keep site and host back until they are lifted.
//
// Scope, Rules and Guard decide at discovery whether a URL is queued at all: the one by what the user asked
// for, the other by limits that keep the crawl out of traps.
package frontier
