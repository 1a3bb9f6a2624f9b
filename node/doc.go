// Package node runs a crawl. It does what shards decide (see package crawl), and decides nothing itself.
//
// One goroutine per shard, the loop, steps the shard. It reports events to the shard, and starts the work that the
// shard decides:
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
// slow disk makes workers wait, and busy workers make fetches wait with their pages. A fleet.Controller decides how
// many fetches may be under way; the loop passes the number on to the shard as Room.
//
// Other goroutines put questions to the shard between two steps. After a fatal fault they call Node.fail: the shard is
// no longer stepped, work under way is canceled, and Run returns.
//
// With several shards (Options.Shards), each has a loop, a seen test and errands of its own. They share everything
// else: fetches, workers, the committer, memory, the disk. A loop sends its shard's messages to another shard through
// the other loop's mailbox. Each step divides the fetches that may be under way (shares). The refresh budget is divided
// by pages (budget.go). An order goes to the shards that it concerns (parts).
//
// All state is in the store's records. So a crawl continues where it stopped, however it stopped: pages in flight are
// still queued.
package node
