// Package deflate compresses messages that lie in memory as a whole, quickly: what a crawler does to
// every page. It makes streams of RFC 1951 for [Encoder.AppendGzip] and nothing else; any gzip reader
// takes them.
//
// The usual encoders take a stream of unknown length, so they keep a window, tables for it and codes
// for the next block. Here a message is cut into blocks of 64 KiB that know nothing of one another,
// which makes everything small: positions are 16 bits, the table of those of four equal bytes takes
// 16 KiB and stays in the processor's first cache, and there is no state between messages to be reset.
//
// A block is gone through once, greedily (matches.go): where the hash of the next bytes was met before,
// the match is taken as far as it goes. Literals and matches are counted on the way. From the counts
// follow the prefix codes (codes.go), and from these the length of the block with codes of its own, with
// the codes that the RFC fixes, and stored as it is; the shortest is written (write.go). Messages below
// a kilobyte do not get codes of their own: making these takes longer than all the rest.
package deflate
