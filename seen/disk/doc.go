// Package disk is the exact set of known URLs behind the URL-seen test: most of it on disk, a compact
// filter of it in memory, asked and written in sorted batches.
//
//	Add ──► table ──full──► run ─┐
//	 │                           ├─merge──► run ──► …
//	Keep ──► journal        run ─┘
//
// It is a log-structured set. What is new goes to a table in memory and, with Keep, to a journal. A
// full table becomes a run: a sorted file, which never changes. A goroutine of the set's own merges the
// newest runs whenever the one before them is less than twice as large as they are together: so every
// entry is written some log(n) times, and there are some log(n) runs, each in segments of 2 million
// entries. A merge writes a segment at a time and drops what it has replaced, so that it needs the
// space of a few segments and not that of its outcome.
//
// Entries are in the order of partition, fingerprint and check, so that a partition is one range. A
// run's fingerprints are Elias-Fano coded and cut in two. The leading bits of each, with a byte more,
// stay in memory: ten bits a URL that say for 127 of 128 strangers that they are not there, and of all
// others the very place on disk where the rest of the fingerprint would be. So there is no index, and a
// question about a stranger hardly ever costs a read. Lookup sorts its questions by radix and passes
// them over the table and then over the runs, the oldest first, which has most of the answers: a URL that
// is known at no greater depth than it was met at is asked for no further. Each run's head and blocks are
// visited in order, and blocks that lie near each other are read at once.
//
// On disk a URL takes the information bound of its fingerprint and half a bit, eight bits of check, its
// depth in as many bits as the deepest of its section needs, and two bits of checksum: in all
// some 7.3 bytes at 100 million URLs in 16 partitions.
//
// # Collisions
//
// A URL is known by its partition, the 64 bits of its fingerprint and 8 bits of check, from another
// hash. Two URLs of one partition share a fingerprint with a probability of n²/2⁶⁵ a partition of n
// URLs: in 16 partitions, 0.2 % with a billion URLs and 16 % with ten billion. They are then told
// apart by the check in 255 of 256 cases, so that the second is new, as it should be. One page in all is
// lost with a probability of 7e-6 with a billion URLs, and of 7e-4 with ten.
//
// # Crashes
//
// What the set consists of is said by its manifest, which is replaced in one step: written, synced,
// renamed, and the directory synced. The files that it names are on disk before. Journals end with a
// frame that is whole or does not count. The manifest, every head, every block and every frame have a
// checksum, and damage is an error that names the file and the place: ErrDamaged. The set is worth
// nothing then and loses its manifest, so that its user, who has the page table, fills it again.
package disk
