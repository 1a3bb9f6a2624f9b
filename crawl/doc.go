// Package crawl decides everything about the pages of a crawl: what is new, what may be fetched and when, what is
// due, what an answer means, what robots.txt forbids, what an order does.
//
// A Shard is a state machine. It receives events (Event) and returns work (Work). It has no clock, no goroutine and
// no lock, and opens nothing. It reads stored rows (Rows), and uses the parts of the seen test that need no disk
// (Links). A node makes the requests, processes the answers, appends the records and passes the time. The same
// events at the same times over the same rows give the same work.
//
// A page's way, by the functions that it passes:
//
//	Step
//	├─ handOut     the frontier says which page goes next     ─► Work.Fetches
//	├─ resolved    its host's address may be asked now        ─► Work.Leaves
//	├─ ended       the host is given back, with its new gate  ─► Work.Process
//	├─ processed   the record is complete                     ─► Work.Append
//	├─ appended    it is durable: queues, beliefs, links
//	├─ offer       its links go to the seen test              ─► Work.Done
//	├─ drainIfDue  which of them are new?                     ─► Work.Drain
//	├─ decided     what is new becomes records                ─► Work.Append
//	└─ appended    these are durable: the frontier has them   ─► Work.Keep
//
// Robots.txt goes the same way, as its own turn (robots.go). A page that must not be fetched goes from handOut to
// Work.Append at once (refuse).
//
// A change reads rows and then changes several of them: an order, the verdicts of a drain, a step of a walk through
// the page table. Changes are made one after another. Each finds the rows after all earlier records: while a group
// of records is in progress, no change is made (Shard.change). Work that depends on a record continues when the
// record is durable: in the proposal's then.
//
// A shard may own only some partitions. Links to pages of others leave as parcels (exchange.go), and partitions are
// given and taken while it runs (handover.go).
//
// Where a new rule belongs: whether a link is followed, in package discovery; what robots.txt means, in package
// robots; what is visited when, in packages refresh and keepfresh; what an order does, in orders.go; the order of
// sites and pages, in package frontier. A Shard connects them.
package crawl
