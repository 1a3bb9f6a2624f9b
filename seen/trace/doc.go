// Package trace reads and writes streams of requests: the URLs that a crawl asked the URL-seen test
// about, repeats included, in order. Cache policies are compared on them.
//
// A trace is a file. The form follows from its name:
//
//	name      a URL a line; empty lines are passed over
//	name.u64  fingerprints, 8 bytes each, little endian; a 0, which is none, is read as 1
//	….gz      either of them, compressed; members one after another are one trace
//	….zst     the same
//
// URLs are made canonical as a crawl does, and only their fingerprints count. Errors name the file and
// the line, or for fingerprints the offset.
package trace
