package cache

import "freshet/weburl"

// Sieve is a FIFO in which marked items stay in place (Zhang et al., NSDI 2024). A hit sets the mark. A miss in a
// full cache moves a hand from the oldest towards the newest and clears the marks on the way. The first unmarked item
// leaves, and the new item enters at the newest end. An item that is requested only once leaves soon, near the newest
// end. A popular item stays behind the hand.
//
// Touch is O(1) on average, plus the marks that the hand clears; memory is 28 to 32 bytes an entry.
type Sieve struct {
	table table
	links links
	list  list // by arrival
	hand  int  // a slot; -1 for the oldest
}

// NewSieve returns an empty SIEVE of size slots, or panics unless size is 1 to MaxSize.
func NewSieve(size int) *Sieve {
	checkSize("Sieve", size)
	return &Sieve{newTable(size), make(links, size), emptyList, -1}
}

// Slots implements Policy.
func (s *Sieve) Slots() int { return cap(s.table.slots) }

// Touch implements Policy.
func (s *Sieve) Touch(fp weburl.Fingerprint) (slot int, hit bool) {
	slot = s.table.find(fp)
	switch {
	case slot >= 0:
		s.table.slots[slot].state = 1
		return slot, true
	case !s.table.full():
		slot = s.table.add(fp)
	default:
		slot = s.victim()
		s.list.remove(s.links, slot)
		s.table.replace(slot, fp)
	}
	s.list.push(s.links, slot)
	return slot, false
}

// victim moves the hand past the first unmarked item and returns it.
func (s *Sieve) victim() (slot int) {
	for {
		if s.hand < 0 {
			s.hand = int(s.list.oldest)
		}
		slot = s.hand
		s.hand = int(s.links[slot].before)
		mark := &s.table.slots[slot].state
		if *mark == 0 {
			return slot
		}
		*mark = 0
	}
}
