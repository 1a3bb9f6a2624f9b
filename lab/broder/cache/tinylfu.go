package cache

import (
	"math/bits"

	"freshet/weburl"
)

// TinyLFU is W-TinyLFU (Einziger, Friedman and Manes, ACM ToS 2017): a window (1 % of the slots), which is an LRU,
// before a main part, which is a segmented LRU. In main, a request moves an item from probation to the protected
// segment (80 % of main). An item that leaves the window replaces the oldest item on probation only if it was
// requested more often. A sketch keeps the counts and halves them now and then.
//
// Touch is O(1) amortised; memory is 32 to 40 bytes an entry.
type TinyLFU struct {
	table                        table // state: segment
	links                        links
	window, probation, protected list
	windowSize, protectedSize    int
	sketch                       sketch
}

const (
	inWindow = iota
	onProbation
	isProtected
)

// NewTinyLFU returns an empty W-TinyLFU with size slots. It panics if size is below 1 or above MaxSize.
func NewTinyLFU(size int) *TinyLFU {
	checkSize("TinyLFU", size)
	windowSize := max(size/100, 1)
	return &TinyLFU{
		table: newTable(size), links: make(links, size),
		window: emptyList, probation: emptyList, protected: emptyList,
		windowSize: windowSize, protectedSize: (size - windowSize) * 8 / 10,
		sketch: newSketch(size),
	}
}

// Slots implements Policy.
func (c *TinyLFU) Slots() int { return cap(c.table.slots) }

// Touch implements Policy.
func (c *TinyLFU) Touch(fp weburl.Fingerprint) (slot int, hit bool) {
	c.sketch.count(fp)
	if slot = c.table.find(fp); slot >= 0 {
		c.renew(slot)
		return slot, true
	}
	if c.table.full() {
		slot = c.evict()
		c.table.replace(slot, fp)
	} else {
		if c.window.len >= c.windowSize {
			c.enter(&c.probation, onProbation, c.window.pop(c.links))
		}
		slot = c.table.add(fp)
	}
	c.enter(&c.window, inWindow, slot)
	return slot, false
}

// enter puts a slot that is on no list at a list's newest end.
func (c *TinyLFU) enter(l *list, segment uint8, slot int) {
	c.table.slots[slot].state = segment
	l.push(c.links, slot)
}

// renew makes a slot the newest of its segment, or of the one above.
func (c *TinyLFU) renew(slot int) {
	switch c.table.slots[slot].state {
	case inWindow:
		c.window.remove(c.links, slot)
		c.enter(&c.window, inWindow, slot)
	case onProbation:
		c.probation.remove(c.links, slot)
		c.enter(&c.protected, isProtected, slot)
		if c.protected.len > c.protectedSize {
			c.enter(&c.probation, onProbation, c.protected.pop(c.links))
		}
	case isProtected:
		c.protected.remove(c.links, slot)
		c.enter(&c.protected, isProtected, slot)
	}
}

// evict compares the oldest of the window with the oldest of main. It takes the loser off its list and returns its
// slot.
func (c *TinyLFU) evict() (slot int) {
	candidate := c.window.pop(c.links)
	main := &c.probation
	if main.len == 0 {
		main = &c.protected
	}
	if main.len == 0 {
		return candidate
	}
	victim := int(main.oldest)
	if c.frequency(candidate) <= c.frequency(victim) {
		return candidate
	}
	main.remove(c.links, victim)
	c.enter(&c.probation, onProbation, candidate)
	return victim
}

func (c *TinyLFU) frequency(slot int) uint8 { return c.sketch.estimate(c.table.slots[slot].fp) }

// sketch estimates how often each fingerprint was counted recently. It is a count-min sketch of four rows (Cormode
// and Muthukrishnan 2005). Counts are capped at 15 and are halved after every ten counts per slot. An estimate is too
// high if other fingerprints share all four counters. Apart from the cap and the halving it is never too low.
type sketch struct {
	counts   []uint8 // rows one after another
	width    int     // of a row, a power of two
	until    int     // counts to the next halving
	interval int
}

const (
	sketchRows = 4
	maxCount   = 15
)

func newSketch(size int) sketch {
	width := 1 << bits.Len(uint(size-1))
	return sketch{make([]uint8, sketchRows*width), width, 10 * size, 10 * size}
}

// count adds 1 to the lowest of fp's counters, to all of them if several are lowest.
func (s *sketch) count(fp weburl.Fingerprint) {
	if lowest := s.estimate(fp); lowest < maxCount {
		for row := range sketchRows {
			if c := s.counter(fp, row); *c == lowest {
				*c++
			}
		}
	}
	if s.until--; s.until == 0 {
		s.until = s.interval
		for i := range s.counts {
			s.counts[i] /= 2
		}
	}
}

// estimate returns the lowest of fp's counters.
func (s *sketch) estimate(fp weburl.Fingerprint) uint8 {
	lowest := uint8(maxCount)
	for row := range sketchRows {
		lowest = min(lowest, *s.counter(fp, row))
	}
	return lowest
}

// counter returns fp's counter of a row, by double hashing with the halves of the fingerprint.
func (s *sketch) counter(fp weburl.Fingerprint, row int) *uint8 {
	at := (uint64(fp) + uint64(row)*(uint64(fp)>>32|1)) & uint64(s.width-1)
	return &s.counts[row*s.width+int(at)]
}
