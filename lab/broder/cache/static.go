package cache

import "freshet/weburl"

// Static always holds the same fingerprints, for example the most requested of the last crawl. Touch is O(1) and
// changes nothing; memory is 20 to 24 bytes an entry.
type Static struct{ table table }

// NewStatic returns a cache of the fingerprints in held, which may contain repeats.
func NewStatic(held []weburl.Fingerprint) *Static {
	s := &Static{newTable(max(len(held), 1))}
	for _, fp := range held {
		if s.table.find(fp) < 0 {
			s.table.add(fp)
		}
	}
	return s
}

// Slots implements Policy.
func (s *Static) Slots() int { return cap(s.table.slots) }

// Touch implements Policy; slot is -1 for what is not held.
func (s *Static) Touch(fp weburl.Fingerprint) (slot int, hit bool) {
	slot = s.table.find(fp)
	return slot, slot >= 0
}

// Infinite forgets nothing. It misses once per distinct fingerprint, the least possible for a cache that starts
// empty. Touch is O(1).
type Infinite struct{ slots map[weburl.Fingerprint]int }

// NewInfinite returns an empty cache without bounds.
func NewInfinite() *Infinite { return &Infinite{map[weburl.Fingerprint]int{}} }

// Slots implements Policy: the number of fingerprints held.
func (f *Infinite) Slots() int { return len(f.slots) }

// Touch implements Policy.
func (f *Infinite) Touch(fp weburl.Fingerprint) (slot int, hit bool) {
	if slot, hit = f.slots[fp]; !hit {
		slot = len(f.slots)
		f.slots[fp] = slot
	}
	return slot, hit
}
