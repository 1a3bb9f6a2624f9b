// Package growth measures the URL-seen test (package seen) while its known URLs grow from a million to a given
// number: URLs decided a second, bytes of memory and of disk a URL, bytes written, the delay of an answer. It
// measures a Pebble database with the same links in the same run.
//
// Links are made up: their number gives a site and a path. Apart from the stream of new URLs that grows the set,
// there are two:
//
//	recent   70 % repeat one of the last 16,384 URLs of the stream, as recorded traces do; of the others
//	         six in ten are known and four are new
//	uniform  all are known, drawn uniformly: all reach the disk
//
// Everything runs on one processor at a time. Rates count the processor time of the process, merges included. So a
// busy machine measures the same as an idle one, except for cache misses that others cause. The time of a dependent
// load that misses all caches is measured too: machines differ most in that.
package growth
