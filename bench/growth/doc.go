// Package growth measures the URL-seen test (package seen) while the URLs that it knows grow from a
// million to as many as one asks for: URLs decided a second, bytes of memory and of disk a URL, bytes
// written, the delay of an answer; and a Pebble database at the same work, from the same links in the
// same run.
//
// Links are made up, a site and a path from their number. They are asked for in two streams, beside the
// one of nothing but new URLs by which the set grows:
//
//	recent   70 % repeat one of the last 16,384 URLs of the stream, as recorded traces do; of the others
//	         six in ten are known and four are new
//	uniform  all are known, drawn uniformly: all reach the disk
//
// Everything runs on one processor at a time, and rates count the processor's time that the process has
// used, merges included, so that a busy machine measures the same as an idle one, except for what its
// caches lose to the others. How long a load takes that waits for the one before it and finds nothing in
// a cache is measured too: what machines differ by most.
package growth
