package cache

import (
	"math/bits"

	"freshet/weburl"
)

// table is a scatter table with circular chains: it finds the slot that holds a fingerprint. The last slot of a chain
// points back to the chain's head. So a slot can leave its chain without hashing its fingerprint again.
//
// Slots fill up in order. When all are in use, a new tenant replaces an old one.
type table struct {
	slots []tableSlot // in use
	heads []int32     // first slot of a chain plus 1; 0 for an empty chain
}

// tableSlot is 16 bytes: four to a line of the processor's cache.
type tableSlot struct {
	fp    weburl.Fingerprint
	next  int32 // slot plus 1, or ^head at the end of the chain
	state uint8 // the policy's: a mark, a count, a queue
}

func newTable(size int) table {
	return table{
		slots: make([]tableSlot, 0, size),
		heads: make([]int32, 1<<bits.Len(uint(size-1))),
	}
}

// head returns where fp's chain begins. A fingerprint is a good hash, but its high and low bits already choose the
// partition and the order of the set on disk. So head uses bits from the middle.
func (t *table) head(fp weburl.Fingerprint) int32 {
	return int32(uint64(fp) >> 16 & uint64(len(t.heads)-1))
}

// find returns the slot that holds fp, -1 if none does. O(1) on average.
func (t *table) find(fp weburl.Fingerprint) int {
	for link := t.heads[t.head(fp)]; link > 0; {
		s := &t.slots[link-1]
		if s.fp == fp {
			return int(link - 1)
		}
		link = s.next
	}
	return -1
}

// full reports whether every slot is in use.
func (t *table) full() bool { return len(t.slots) == cap(t.slots) }

// add puts fp, which is not held, in the next free slot.
func (t *table) add(fp weburl.Fingerprint) (slot int) {
	slot = len(t.slots)
	t.slots = append(t.slots, tableSlot{})
	t.link(slot, fp)
	return slot
}

// replace puts fp, which is not held, in place of a slot's tenant. The slot's state becomes 0.
func (t *table) replace(slot int, fp weburl.Fingerprint) {
	t.unlink(slot)
	t.link(slot, fp)
}

func (t *table) link(slot int, fp weburl.Fingerprint) {
	head := t.head(fp)
	next := t.heads[head]
	if next == 0 {
		next = ^head
	}
	t.slots[slot] = tableSlot{fp: fp, next: next}
	t.heads[head] = int32(slot) + 1
}

// unlink follows the chain from the slot to its head, and from there to the one before the slot.
func (t *table) unlink(slot int) {
	after := t.slots[slot].next
	link := after
	for link > 0 {
		link = t.slots[link-1].next
	}
	at := &t.heads[^link]
	if *at == int32(slot)+1 {
		*at = max(after, 0)
		return
	}
	for *at != int32(slot)+1 {
		at = &t.slots[*at-1].next
	}
	*at = after
}
