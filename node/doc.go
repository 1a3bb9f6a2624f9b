// Package node runs a crawl: it does what shards decide (see package crawl), and decides nothing.
//
// One goroutine, the loop, steps a shard. It tells it what has happened, and has done what the shard decides:
//
//	           ┌─────────────────── mailbox ◄──────────────────┐
//	           ▼                                               │
//	orders ─► loop ─► fetches ──────────────────────────────► Ended
//	           │ ▲    one goroutine each                       │
//	           │ │                                             │
//	           │ └─── questions                                │
//	           ├────► workers, one a processor ────────────► Processed
//	           ├────► committer ───────────────────────────► Appended
//	           ├────► errands: the seen test's disk work ──► Decided, Kept, Rebuilt
//	           └────► rankings, weights ───────────────────► Weighed, Sorted, Reweighed
//
// A fetch makes one request. A worker finds links in the answer, digests it, and compresses the WARC records. The
// committer stores a group of records: it appends their captures to the WARC file, syncs it, and applies the records. A
// slow disk makes workers wait, and full workers make fetches wait with their pages. How many fetches there may be is
// a fleet.Controller's to say; the loop passes it on to the shard as Room.
//
// Whoever wants to know something of the shard asks it between two steps. Whoever finds a fault that nobody can go
// on after calls Node.fail: the shard is not stepped any more, what is under way is given up, and Run returns.
//
// Several shards (Options.Shards) have a loop, a seen test and errands each, and share all else: fetches, workers, the
// committer, memory, the disk. A loop puts what its shard sends another into the mailbox of that one's loop. The places
// for fetches are divided step by step (shares), the budget by pages (budgets); orders go to the shards that they are
// about (parts).
//
// All state is in the store's records, so that a crawl goes on where it stopped, however it stopped: what was in
// flight is still queued.
package node
