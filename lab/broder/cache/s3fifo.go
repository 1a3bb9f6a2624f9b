package cache

import "freshet/weburl"

// S3FIFO keeps three queues (Yang et al., SOSP 2023). New items enter the small queue, a tenth of the slots. An item
// that is requested at least twice more there moves to the main queue. The others leave, and the ghost remembers
// their fingerprints, as many as main has slots. An item that the ghost remembers comes back into main. In main, a
// requested item goes round again, up to three times.
//
// Touch is O(1) on average; memory is 28 to 32 bytes an entry, and as much for the ghost.
type S3FIFO struct {
	table       table // state: requests since it came in or last went round, at most 3; inMain
	links       links
	small, main list
	smallSize   int
	ghost       ghost
}

const (
	maxRequests = 3
	inMain      = 1 << 7
)

// NewS3FIFO returns an empty S3-FIFO of size slots, or panics unless size is 1 to MaxSize.
func NewS3FIFO(size int) *S3FIFO {
	checkSize("S3FIFO", size)
	smallSize := max(size/10, 1)
	return &S3FIFO{
		table: newTable(size), links: make(links, size),
		small: emptyList, main: emptyList, smallSize: smallSize,
		ghost: ghost{newTable(max(size-smallSize, 1)), 0},
	}
}

// Slots implements Policy.
func (c *S3FIFO) Slots() int { return cap(c.table.slots) }

// Touch implements Policy.
func (c *S3FIFO) Touch(fp weburl.Fingerprint) (slot int, hit bool) {
	if slot = c.table.find(fp); slot >= 0 {
		if state := &c.table.slots[slot].state; *state&^inMain < maxRequests {
			*state++
		}
		return slot, true
	}
	again := c.ghost.recall(fp)
	if !c.table.full() {
		slot = c.table.add(fp)
	} else {
		slot = c.evict()
		c.table.replace(slot, fp)
	}
	if again {
		c.enterMain(slot)
	} else {
		c.small.push(c.links, slot)
	}
	return slot, false
}

func (c *S3FIFO) enterMain(slot int) {
	c.table.slots[slot].state = inMain
	c.main.push(c.links, slot)
}

// evict takes an item out of its queue and returns its slot.
func (c *S3FIFO) evict() (slot int) {
	for c.small.len >= c.smallSize {
		slot = c.small.pop(c.links)
		if c.table.slots[slot].state <= 1 {
			c.ghost.remember(c.table.slots[slot].fp)
			return slot
		}
		c.enterMain(slot)
	}
	for {
		slot = c.main.pop(c.links)
		state := &c.table.slots[slot].state
		if *state == inMain {
			return slot
		}
		*state--
		c.main.push(c.links, slot)
	}
}

// ghost remembers the latest fingerprints that left the small queue, as many as it has slots.
type ghost struct {
	table  table // state: recalled
	oldest int
}

const recalled = 1

// remember puts fp in place of the oldest.
func (g *ghost) remember(fp weburl.Fingerprint) {
	if slot := g.table.find(fp); slot >= 0 {
		g.table.slots[slot].state = 0
		return
	}
	if !g.table.full() {
		g.table.add(fp)
		return
	}
	g.table.replace(g.oldest, fp)
	if g.oldest++; g.oldest == len(g.table.slots) {
		g.oldest = 0
	}
}

// recall reports whether fp is remembered, and forgets it.
func (g *ghost) recall(fp weburl.Fingerprint) bool {
	slot := g.table.find(fp)
	if slot < 0 || g.table.slots[slot].state == recalled {
		return false
	}
	g.table.slots[slot].state = recalled
	return true
}
