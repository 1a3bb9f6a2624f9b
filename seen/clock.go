package seen

import (
	"fmt"
	"math/bits"

	"freshet/weburl"
)

// Policy is a cache of fingerprints of a fixed size. It may forget whenever it likes, but must not
// invent: what it claims to hold has been touched before. A policy is a pure state machine and not
// for concurrent use.
type Policy interface {
	// Touch asks for fp, which was met at depth, and makes it held. If it was held already, hit is
	// true and lowest is the lowest depth it was touched with since it came in, not counting depth;
	// else lowest is depth. fp is not 0.
	Touch(fp weburl.Fingerprint, depth uint16) (lowest uint16, hit bool)
}

// Clock is the textbook CLOCK policy: a ring of slots with a mark each. A hit sets the mark. A miss
// in a full ring moves the hand on, clearing marks, to the first slot that bears none, puts the new
// item there, unmarked, and leaves the hand behind it (Broder, Najork and Wiener 2003, section 4;
// they leave open the mark of a new item, and clear is the better choice nearly everywhere).
//
// It holds no pointers: slots are found through a table of chains of indices. Touch is O(1) on
// average, plus the marks that the hand clears; memory is some 20 bytes an entry.
type Clock struct {
	entries []clockEntry // slots in use
	heads   []int32      // table: first slot of a chain, -1 for none
	hand    int
}

type clockEntry struct {
	fp     weburl.Fingerprint
	next   int32 // in the chain, -1 at its end
	depth  uint16
	marked bool
}

// NewClock returns an empty CLOCK of size slots, or panics unless size is positive and below 2^31.
func NewClock(size int) *Clock {
	if size < 1 || size > 1<<31-1 {
		panic(fmt.Sprintf("seen: NewClock: size %d: want 1 to 2^31-1", size))
	}
	heads := make([]int32, 1<<bits.Len(uint(size)))
	for i := range heads {
		heads[i] = -1
	}
	return &Clock{entries: make([]clockEntry, 0, size), heads: heads}
}

// Touch implements Policy.
func (c *Clock) Touch(fp weburl.Fingerprint, depth uint16) (lowest uint16, hit bool) {
	for i := *c.head(fp); i >= 0; i = c.entries[i].next {
		if e := &c.entries[i]; e.fp == fp {
			lowest = e.depth
			e.depth = min(lowest, depth)
			e.marked = true
			return lowest, true
		}
	}
	c.admit(clockEntry{fp: fp, depth: depth})
	return depth, false
}

// admit puts a new entry in a free slot, or else in that of the entry which the hand finds.
func (c *Clock) admit(e clockEntry) {
	slot := len(c.entries)
	if slot < cap(c.entries) {
		c.entries = append(c.entries, e)
	} else {
		slot = c.victim()
		c.unlink(slot)
	}
	head := c.head(e.fp)
	e.next = *head
	c.entries[slot] = e
	*head = int32(slot)
}

// victim moves the hand past the first unmarked slot and returns it.
func (c *Clock) victim() int {
	for c.entries[c.hand].marked {
		c.entries[c.hand].marked = false
		c.advance()
	}
	slot := c.hand
	c.advance()
	return slot
}

func (c *Clock) advance() {
	if c.hand++; c.hand == len(c.entries) {
		c.hand = 0
	}
}

// unlink takes a slot out of its chain.
func (c *Clock) unlink(slot int) {
	at := c.head(c.entries[slot].fp)
	for *at != int32(slot) {
		at = &c.entries[*at].next
	}
	*at = c.entries[slot].next
}

// head returns the start of fp's chain. A fingerprint is a good hash, but its high and its low bits
// choose elsewhere too (partitions, the set's order); these are from its middle.
func (c *Clock) head(fp weburl.Fingerprint) *int32 {
	return &c.heads[(uint64(fp)>>16)&uint64(len(c.heads)-1)]
}
