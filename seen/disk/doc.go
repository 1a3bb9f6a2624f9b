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
// # Files
//
// All can be rebuilt from the page table. Files are numbered in one sequence. Numbers are little-endian, checksums are
// CRC-32C. An entry is a URL: partition (2 bytes), fingerprint (8), check (1: the highest byte of its XXH3-64 with seed
// 0x7365656e), lowest depth (2).
//
//	LOCK            held while the set is open
//	manifest        says which files are the set; manifest.new before it is renamed
//	00000017.log    journal: what was kept and is in no run yet
//	00000012.run    a segment of a run: sorted entries
//
// The manifest is a line of JSON and a line with its checksum in hexadecimal:
//
//	{"format":2,"partitions":16,"known":10368114,"marks":{"3":812},"journal":17,"next":18,"runs":[[16],[9,12,13]]}
//	5d1a0c77
//
// It lists the segments of each run in order, the newest run first. What is known and the marks are as of the last run:
// the frames of journal 17 and of later ones update them. Files that it does not name are removed at the next opening.
//
// A journal has a frame for each Keep: length (4) of what follows the checksum; checksum (4); known (8); number of
// marks (4); marks: partition (2), record (8); entries: fingerprint (8), partition (2), check (1), depth (2). A torn
// frame ends the last journal. In an earlier one it is damage.
//
// A segment has the blocks of all sections, the heads of all sections, the directory and the footer. A section holds
// the entries of one partition whose fingerprints begin with the same prefix bits. The rest of a fingerprint is cut,
// from the highest bit, into bucket (as many bits as give one to two entries a bucket, at least 8), byte (8) and rest.
//
//   - A head has for each bucket a 1 bit for each entry and a closing 0, in (n + 2^bucket bits)/64 + 1 words of 64
//     bits; then the n bytes. The ones before an entry give its number.
//   - A block of 16 entries has rest and check of each as one number, lowest bit first, filled up to a byte; the
//     depths, in as many bits as the section's deepest needs; the checksum, xor the upper half of
//     ((file number · 2³² xor block offset) · 0x9e3779b97f4a7c15 mod 2⁶⁴).
//   - The directory has for each section: partition (2), prefix bits, bucket bits, depth bits (1 each), three zeros,
//     prefix (8), entries (4), checksum of its head (4).
//   - The footer has sections (4), file number (4), format 3 (4), checksum of directory and footer so far (4, combined
//     as in a block), and "freshet#".
//
// A merge writes segments of about 2 million entries. After each, the manifest takes it in and drops the inputs'
// segments that are passed. Until then an entry may be in several runs: the lowest depth counts.
//
// # Crashes
//
// What the set consists of is said by its manifest, which is replaced in one step: written, synced,
// renamed, and the directory synced. The files that it names are on disk before. Journals end with a
// frame that is whole or does not count. The manifest, every head, every block and every frame have a
// checksum, and damage is an error that names the file and the place: ErrDamaged. The set is worth
// nothing then and loses its manifest, so that its user, who has the page table, fills it again.
package disk
