// Package store keeps a crawl in a data directory and loses nothing of it.
//
// A directory holds a key-value database and WARC files. The database is divided into partitions by
// registrable domain, and the state of a partition is the result of applying its typed records
// (Discovered, Fetched, Planned, …) in order, by one deterministic function, to an empty state: page rows with their
// two queues, visits, versions, out-links, the change log, sites, politeness gates, totals. The batch
// that changes the state holds the record too, so that everything derived from a crawl can read the
// records in order, keep a Mark, and be rebuilt. Records that all consumers have passed are trimmed.
//
// A page becomes durable in two steps, a group of pages at a time (CommitPages): its captures are
// appended to the WARC file, which is synced; then their records go to the database, in one batch unless
// they are large, and its log is synced. After a crash at any moment every row's capture is readable, and
// at most the group that was being written is missing. Records without captures are applied by Apply.
// Both return what became of the queues, so that a frontier need not look.
//
// The store decides the state of a page from its answers alone (fate.go): a version if anything differs, a change if
// the visible text does; gone at the second 404, moved at the second permanent redirect; a failure, a cut body and a
// soft error are missing data and reset nothing.
//
// Writers wait for one another; readers never wait. All file access goes through a vfs.FS. After an error of a write
// the store refuses further ones, because its decoded rows may be ahead of the disk: close it and open it again. Some
// disk space is held back so that a full disk (ErrDiskFull) still lets it end in order.
//
// Below it, store/retain drops the past and takes down what is purged, store/repair verifies a directory and repairs
// it, store/transfer takes it elsewhere. They work with Inside (inside.go), which no other package uses.
//
// The formats are in docs/format: keys.md, records.md, partition.md, warc.md. Start reading at
// commit.go (CommitPages), then apply.go and fate.go.
package store
