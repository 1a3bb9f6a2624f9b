// Package seen is the URL-seen test: of the links that pages carry, which are new?
//
// A page carries some sixty links, and nearly all of them are known. So the test is called more often than anything
// else in a crawler, and has the largest memory. It is therefore a deferred check and update:
//
//	Offer ──► cache ──► buffer ──Drain──► set on disk ──► verdicts
//	            │                           ▲
//	            └ settles recent repeats    └ Keep makes the verdicts durable
//
// Offer takes the links of one record of the store and never waits for the disk. A small cache of fingerprints
// (CLOCK; Broder, Najork and Wiener 2003 found that some 50,000 entries answer four of five questions) drops the
// links that add nothing; the others wait in a buffer, once each. Drain looks all of them up in one sorted pass over
// the set. It returns which are new, in order of discovery, and what the known ones add: their cash, and a lower
// depth.
//
// The set (package disk) identifies a URL by its partition, its 64-bit fingerprint and a byte of a second hash, and
// keeps the lowest depth at which it was offered. Cache and buffer use the second hash. So two URLs with one
// fingerprint do not hide each other: the second is new. The store has the first one's URL, so it notices the
// collision, counts it, and gives the page another key.
//
// # Crashes
//
// A link must not be known before its discovery is stored, or nobody would ever fetch it. So Drain decides in memory
// alone, and the caller stores the verdicts. Only then Keep writes the fingerprints and the marks of the records
// offered, in one atomic batch. After a crash in between, the caller offers everything past Marks again and gets
// "new" again. A set that is missing or damaged is Lost: the caller fills it by Rebuild from the page rows, which are
// the source of truth.
package seen
