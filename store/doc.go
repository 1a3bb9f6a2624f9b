// Package store keeps a crawl in a data directory. What it has committed survives a crash.
//
// A directory holds a key-value database and WARC files. The database is divided into partitions by registrable
// domain. The state of a partition is what one deterministic function makes of its typed records (Discovered,
// Fetched, Planned, …), applied in order to an empty state. The state is page rows with their two queues, visits,
// versions, out-links, the change log, sites, politeness gates and totals. The batch that changes the state also
// holds the record. So whatever is derived from a crawl can read the records in order, keep a Mark, and be rebuilt.
// Records that all consumers have passed are trimmed.
//
// CommitPages makes a group of pages durable in two steps. It appends their captures to the WARC file and syncs the
// file. Then it writes their records to the database, in one batch unless they are large, and syncs the database's
// log. After a crash at any moment every row's capture is readable, and at most the group that was being written is
// missing. Apply does the same for records without captures. Both return the changes of the queues, so that a
// frontier need not read them.
//
// The store decides the state of a page from its answers alone (fate.go). If any byte differs there is a new
// version; if the visible text differs there is a change. A page is gone at the second 404 and moved at the second
// permanent redirect. A failure, a cut body and a soft error are missing data and reset nothing.
//
// Writers wait for one another; readers never wait. All file access goes through a vfs.FS. After a write error the
// store refuses further writes, because its decoded rows may be ahead of the disk: close it and open it again. Some
// disk space is reserved, so that the store can stop cleanly when the disk is full (ErrDiskFull).
//
// Three packages work with Inside (inside.go), which no other package uses: store/retain deletes old versions and
// purged pages, store/repair verifies and repairs a directory, store/transfer copies it elsewhere.
//
// The formats are in docs/format: keys.md, records.md, partition.md, warc.md. Start reading at
// commit.go (CommitPages), then apply.go and fate.go.
package store
