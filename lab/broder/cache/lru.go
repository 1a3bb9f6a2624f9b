package cache

import "freshet/weburl"

// LRU replaces the least recently requested item. Touch is O(1); memory is 28 to 32 bytes an entry.
type LRU struct {
	table table
	links links
	list  list // by last request
}

// NewLRU returns an empty LRU of size slots, or panics unless size is 1 to MaxSize.
func NewLRU(size int) *LRU {
	checkSize("LRU", size)
	return &LRU{newTable(size), make(links, size), emptyList}
}

// Slots implements Policy.
func (l *LRU) Slots() int { return cap(l.table.slots) }

// Touch implements Policy.
func (l *LRU) Touch(fp weburl.Fingerprint) (slot int, hit bool) {
	slot = l.table.find(fp)
	switch {
	case slot >= 0:
		hit = true
		l.list.remove(l.links, slot)
	case !l.table.full():
		slot = l.table.add(fp)
	default:
		slot = l.list.pop(l.links)
		l.table.replace(slot, fp)
	}
	l.list.push(l.links, slot)
	return slot, hit
}
