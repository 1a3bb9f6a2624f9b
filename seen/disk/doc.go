// Package disk is the exact set of known URLs behind the URL-seen test. Most of it is on disk, with a compact filter in
// memory. It is read and written in sorted batches.
//
//	Add ──► table ──full──► run ─┐
//	 │                           ├─merge──► run ──► …
//	Keep ──► journal        run ─┘
//
// It is a log-structured set. New entries go to a table in memory and, with Keep, to a journal. A full table becomes a
// run, which is sorted and never changes. A goroutine of the set merges the newest runs whenever the run before them is
// less than twice as large as they are together. So every entry is written some log(n) times, and there are some log(n)
// runs, each in segments of 2 million entries. A merge writes a segment at a time and drops what it has replaced, so it
// needs the space of a few segments only.
//
// Entries are in the order of partition, fingerprint and check, so that a partition is one range. A run's fingerprints
// are Elias-Fano coded and cut in two. The leading bits of each, with a byte more, stay in memory: ten bits a URL. They
// exclude 127 of 128 unknown URLs, and give for all others the exact place on disk of the rest of the fingerprint. So
// there is no index, and a question about an unknown URL hardly ever costs a read. Lookup sorts its questions by radix
// and passes them over the table and then over the runs. The oldest run is first, because it has most of the answers. A
// URL that is known at no greater depth than that of the question is not looked up further. Each run's head and blocks
// are visited in order, and blocks that lie near each other are read at once.
//
// On disk a URL takes the information bound of its fingerprint plus half a bit, eight bits of check, its depth in the
// bits that the deepest URL of its section needs, and two bits of checksum. That is some 7.3 bytes at 100 million URLs
// in 16 partitions.
//
// # Collisions
//
// A URL is identified by its partition, the 64 bits of its fingerprint and 8 bits of check, from another hash. Two URLs
// of one partition share a fingerprint with a probability of n²/2⁶⁵ a partition of n URLs: in 16 partitions, 0.2 % with
// a billion URLs and 16 % with ten billion. They are then told apart by the check in 255 of 256 cases, so that the
// second is new, as it should be. The probability that a page is lost is 7e-6 with a billion URLs, and 7e-4 with ten
// billion.
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
// It lists the segments of each run in order, the newest run first. The number of known URLs and the marks are those of
// the last run; the frames of journal 17 and later ones update them. Files that it does not name are removed at the
// next opening.
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
// The manifest lists the files of the set. It is replaced in one step: written, synced, renamed, and the directory
// synced. The files that it names are on disk before. The last frame of a journal is whole or does not count. The
// manifest, every head, every block and every frame have a checksum, and damage is an error that names the file and the
// place: ErrDamaged. The set is then useless and loses its manifest, and its user fills it again from the page table.
package disk
