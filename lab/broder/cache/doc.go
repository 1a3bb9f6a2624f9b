// Package cache holds cache policies: they decide which fingerprints a cache of a fixed size keeps.
//
// A crawler meets the same links again soon: the pages of a host share their navigation, and a host keeps linking to
// the same other hosts. So a small cache in front of the set of all known URLs answers most requests (Broder, Najork
// and Wiener, "Efficient URL Caching for World Wide Web Crawling", 2003). A miss costs a look-up in the set. It is
// never an error: a policy may forget, but never invents.
//
// A [Policy] decides only in which slot a fingerprint is held. Its user keeps everything else (a depth, cash, a link)
// in slices of its own, indexed by slot. The seen test and the sender of links to other nodes use clock-set, which is
// SetClock in package seen. The others are here for comparison.
//
//	name        policy                                                            needs
//	clock       second chance: a ring of slots, a mark each                       -
//	clock-set   the same within sets of 8, each one line of the processor's cache -
//	lru         least recently used leaves
//	random      any leaves                                                        chance
//	sieve       FIFO with marks that keep an item where it is (2024)              -
//	s3-fifo     a small FIFO, a main one, a ghost of what left the first (2023)   -
//	w-tinylfu   window, segmented LRU, frequencies decide between them (2017)     -
//	static      a given set, which never changes                                  the set
//	min         the farthest next use leaves (Belady 1966): the lower bound       the future
//	infinite    nothing leaves                                                    room
//
// All but clock-set, static and infinite keep their fingerprints in one scatter table of flat slices, without a
// pointer per entry or an allocation per request.
package cache
