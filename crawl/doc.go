// Package crawl decides everything about the pages of a crawl: what is new, what may be asked for and when, what is
// due, what an answer means, what robots.txt forbids, what an order does.
//
// A Shard is a state machine. It is told what has happened (Event) and answers what is to be done (Work). It has no
// clock, no goroutine and no lock, and opens nothing; of what is stored it reads rows (Rows), and of the seen test it
// uses what takes no disk (Links). A node makes the requests, processes the answers, appends the records and tells the
// time. The same events at the same times over the same rows give the same work.
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
// Robots.txt goes the same way as a turn of its own (robots.go); a page that may not be asked for goes from handOut
// to Work.Append at once (refuse).
//
// What changes several rows by what it has read of them is a change: an order, the verdicts of a drain, a step of a
// walk through the page table. Changes are made one after the other. Each finds the rows as all records before it have
// left them: while a group of records is on its way, none is made (Shard.change). What depends on a record goes on
// when that is durable: it is the proposal's then.
//
// A shard may own some partitions only. Links to pages of the others leave as parcels (exchange.go), and partitions are
// given and taken while it runs (handover.go).
//
// Where a new rule belongs: whether a link is followed, in package discovery; what robots.txt means, in package
// robots; what is visited when, in packages refresh and keepfresh; what an order does, in orders.go; in which order
// sites and pages go, in package frontier. A Shard joins them.
package crawl
