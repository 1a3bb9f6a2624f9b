// Package seen is the URL-seen test: of the links that pages carry, which are new?
//
// A page carries some sixty links and nearly all of them are known, so that the test is asked far
// more often than anything else in a crawler, and its memory is the largest. It is therefore a
// deferred check and update:
//
//	Offer ──► cache ──► buffer ──Drain──► set on disk ──► verdicts
//	            │                           ▲
//	            └ settles recent repeats    └ Keep makes the verdicts durable
//
// Offer takes the links of one record of the store and never waits for the disk. A small cache of
// fingerprints (CLOCK; Broder, Najork and Wiener 2003 found that some 50,000 entries answer four of
// five questions) drops the links that cannot tell anything; the others wait in a buffer, once each.
// Drain looks all of them up in one sorted pass over the set and says which are new, in the order in
// which they were discovered, and what the known ones add: their cash, and a lower depth.
//
// The set (package disk) knows each URL by its partition, its 64-bit fingerprint and a byte of another
// hash, with the lowest depth at which it was offered. Cache and buffer go by that other hash. So two
// URLs of one fingerprint do not hide each other: the second is new, and the store, which holds the
// first one's URL, sees the collision, counts it, and gives the page another key.
//
// # Crashes
//
// A link must never be known whose discovery is not stored, for then nobody would ever fetch it. So
// Drain decides in memory alone, the caller stores what it decided, and only then Keep writes the
// fingerprints, together with the marks up to which records have been offered, in one atomic batch.
// After a crash in between, the caller offers again everything past Marks and hears "new" again. A
// set that is missing or damaged is Lost: its caller fills it by Rebuild from the page rows, which
// are the truth.
package seen
