// Package crawl makes all decisions about the pages of a crawl: which are new, which may be fetched and when, which are
// due, what an answer means, what robots.txt forbids, and what an order does.
//
// A Shard is a state machine. It receives events (Event) and returns work (Work). It has no clock, no goroutine and no
// lock, and opens nothing. It reads stored rows (Rows), and uses the parts of the seen test that need no disk (Links).
// A node makes the requests, processes the answers, appends the records and passes the time. The same events at the
// same times over the same rows give the same work.
//
// The way of a page, by the functions that it passes:
//
//	Step
//	├─ handOut     the frontier says which page goes next     ─► Work.Fetches
//	├─ resolved    its host's address may be asked now        ─► Work.Leaves
//	├─ ended       the host is given back, with its new gate  ─► Work.Process
//	├─ processed   the record is complete                     ─► Work.Append
//	├─ appended    it is durable: queues, beliefs, links
//	├─ offer       its links go to the seen test              ─► Work.Done
//	├─ drainIfDue  which of them are new?                     ─► Work.Drain
//	├─ decided     new links become records                   ─► Work.Append
//	└─ appended    these are durable: the frontier has them   ─► Work.Keep
//
// A robots.txt goes the same way, as a turn of its own (robots.go). A page that must not be fetched goes from handOut
// to Work.Append at once (refuse).
//
// A change reads rows and then changes several of them: an order, the verdicts of a drain, one step of a walk through
// the page table. Shard.change makes changes one after another. A change waits until no group of records is in
// progress, so it sees the rows after all earlier records. Work that depends on a record continues in the then of its
// proposal, when the record is durable.
//
// A shard may own only some partitions. It sends links to pages of other partitions as parcels (exchange.go). It gives
// and takes partitions while it runs (handover.go).
//
// Where a new rule belongs:
//
//   - whether a link is followed: package discovery
//   - what robots.txt means: package robots
//   - which page is visited when: packages refresh and keepfresh
//   - what an order does: orders.go
//   - the order of sites and pages: package frontier
//
// A Shard connects them.
package crawl
