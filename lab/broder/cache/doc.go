// Package cache holds the policies that say which fingerprints a cache of a fixed size keeps.
//
// The links that a crawler meets repeat each other soon: the pages of a host share their navigation,
// and hosts link again to whom they linked before. A small cache before the set of all known URLs
// therefore answers most questions (Broder, Najork and Wiener, "Efficient URL Caching for World Wide
// Web Crawling", 2003). A miss costs a look-up in the set and is never an error: a policy is free to
// forget, not to invent.
//
// A [Policy] only decides where a fingerprint is held. What is known of it (a depth, cash, a link) its
// user keeps in slices of its own, by slot. The seen test and the sender of links to other nodes use one of them,
// clock-set, which is package seen's (SetClock). The others are here to be compared with it.
//
//	name        policy                                                            needs
//	clock       second chance: a ring of slots, a mark each                       -
//	clock-set   the same within sets of 8, each one line of the processor's cache -
//	lru         least recently used leaves
//	random      any leaves                                                        chance
//	sieve       FIFO with marks that keep an item where it is (2024)              -
//	s3-fifo     a small FIFO, a main one, a ghost of what left the first (2023)   -
//	w-tinylfu   window, segmented LRU, frequencies decide between them (2017)     -
//	static      what a set names, never changed                                   the set
//	min         the farthest next use leaves (Belady 1966): the lower bound       the future
//	infinite    nothing leaves                                                    room
//
// All but clock-set, static and infinite keep their fingerprints in one scatter table of flat slices:
// no pointer an entry, no allocation a request.
package cache
