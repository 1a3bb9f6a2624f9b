package disk

import "freshet/weburl"

// table holds entries in memory by open addressing: what is in no run yet. A slot whose fingerprint is
// 0 is free.
type table struct {
	slots []Entry  // as many as a power of two
	marks []uint64 // four bits a slot: an unmarked fingerprint is not in the table. They fit into the processor's cache
	n     int
}

const smallestTable = 1 << 10

func newTable() *table {
	t := new(table)
	t.make(smallestTable)
	return t
}

func (t *table) make(slots int) {
	t.slots, t.marks, t.n = make([]Entry, slots), make([]uint64, slots/16), 0
}

// put adds e or, if it is held already, lowers its depth.
func (t *table) put(e Entry) {
	if 4*(t.n+1) > 3*len(t.slots) {
		t.grow()
	}
	slot := t.slot(e)
	if slot.Fingerprint != 0 {
		slot.Value = min(slot.Value, e.Value)
		return
	}
	*slot = e
	mark := t.mark(e.Fingerprint)
	t.marks[mark/64] |= 1 << (mark % 64)
	t.n++
}

// mayHold reports whether a fingerprint is marked.
func (t *table) mayHold(fp weburl.Fingerprint) bool {
	mark := t.mark(fp)
	return t.marks[mark/64]>>(mark%64)&1 == 1
}

// slot returns where e is, or the free slot where it belongs.
func (t *table) slot(e Entry) *Entry {
	for at := e.Fingerprint.Slot(len(t.slots)); ; at = (at + 1) & (len(t.slots) - 1) {
		if slot := &t.slots[at]; slot.Fingerprint == 0 || Same(*slot, e) {
			return slot
		}
	}
}

// mark returns the bit of marks for a fingerprint.
func (t *table) mark(fp weburl.Fingerprint) int { return fp.Slot(4 * len(t.slots)) }

func (t *table) grow() {
	old := t.slots
	t.make(2 * len(old))
	for _, e := range old {
		if e.Fingerprint != 0 {
			t.put(e)
		}
	}
}

// entries returns the entries, in no order.
func (t *table) entries() []Entry {
	entries := make([]Entry, 0, t.n)
	for _, e := range t.slots {
		if e.Fingerprint != 0 {
			entries = append(entries, e)
		}
	}
	return entries
}

func (t *table) clear() {
	clear(t.slots)
	clear(t.marks)
	t.n = 0
}
