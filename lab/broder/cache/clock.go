package cache

import (
	"math/rand/v2"

	"freshet/weburl"
)

// Clock is the textbook CLOCK policy: a ring of slots with a mark each. A hit sets the mark. A miss in a full ring
// moves the hand to the first unmarked slot and clears the marks on the way. The new item goes there, unmarked, and
// the hand stops behind it (Broder, Najork and Wiener 2003, section 4). The paper leaves open whether a new item is
// marked; unmarked is better nearly everywhere.
//
// Touch is O(1) on average, plus the marks that the hand clears; memory is 20 to 24 bytes an entry.
type Clock struct {
	table table
	hand  int
}

// NewClock returns an empty CLOCK of size slots, or panics unless size is 1 to MaxSize.
func NewClock(size int) *Clock {
	checkSize("Clock", size)
	return &Clock{table: newTable(size)}
}

// Slots implements Policy.
func (c *Clock) Slots() int { return cap(c.table.slots) }

// Touch implements Policy.
func (c *Clock) Touch(fp weburl.Fingerprint) (slot int, hit bool) {
	if slot = c.table.find(fp); slot >= 0 {
		c.table.slots[slot].state = 1
		return slot, true
	}
	if !c.table.full() {
		return c.table.add(fp), false
	}
	slot = c.victim()
	c.table.replace(slot, fp)
	return slot, false
}

// victim moves the hand past the first unmarked slot and returns it.
func (c *Clock) victim() (slot int) {
	slots := c.table.slots
	for {
		slot = c.hand
		if c.hand++; c.hand == len(slots) {
			c.hand = 0
		}
		if slots[slot].state == 0 {
			return slot
		}
		slots[slot].state = 0
	}
}

// Random is the policy without memory: a miss in a full cache replaces a slot drawn uniformly. No pattern of requests
// can work against it. Touch is O(1) on average.
type Random struct {
	table table
	rng   *rand.Rand
}

// NewRandom returns an empty RANDOM of size slots that draws from rng, or panics unless size is 1 to
// MaxSize.
func NewRandom(size int, rng *rand.Rand) *Random {
	checkSize("Random", size)
	return &Random{newTable(size), rng}
}

// Slots implements Policy.
func (r *Random) Slots() int { return cap(r.table.slots) }

// Touch implements Policy.
func (r *Random) Touch(fp weburl.Fingerprint) (slot int, hit bool) {
	if slot = r.table.find(fp); slot >= 0 {
		return slot, true
	}
	if !r.table.full() {
		return r.table.add(fp), false
	}
	slot = r.rng.IntN(len(r.table.slots))
	r.table.replace(slot, fp)
	return slot, false
}
