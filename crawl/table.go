package crawl

import (
	"hash/maphash"
	"math/bits"

	"freshet/refresh"
	"freshet/weburl"
)

// kept is a page that is kept fresh. It takes 16 bytes, because there may be many millions. Everything else about the
// page is in its row.
type kept struct {
	fingerprint weburl.Fingerprint
	weight      float32
	partition   weburl.Partition
	visits      visits
}

// visits counts a page's planned visits, up to its maximum. One bit says whether the page is apart.
type visits uint16

const setApart visits = 1 << 15

func (v visits) apart() bool  { return v&setApart != 0 }
func (v visits) planned() int { return int(v &^ setApart) }

func (k *kept) key() PageKey { return PageKey{k.partition, k.fingerprint} }

// planned counts a visit.
func (k *kept) planned() {
	if k.visits&^setApart < setApart-1 {
		k.visits++
	}
}

// A table numbers the pages that are kept fresh, and finds them by their keys. A page takes 16 bytes, plus five or six
// in the index. Go's map, which holds the key again, would take 37 to 56 for an index.
type table struct {
	pages []kept       // by ID
	free  []refresh.ID // unused numbers
	seed  maphash.Seed
	index [indexes]index
}

// indexes is the number of parts of the index. Parts keep each growth step short when there are many pages.
const indexes = 256

// An index is a hash table of pages, with linear probing.
type index struct {
	slots []refresh.ID // 1 + the page; 0: none
	used  int
}

func newTable() table { return table{seed: maphash.MakeSeed()} }

// len returns the number of pages.
func (t *table) len() int { return len(t.pages) - len(t.free) }

// end returns a number greater than those of all pages.
func (t *table) end() refresh.ID { return refresh.ID(len(t.pages)) }

// find returns the number of a page.
func (t *table) find(key PageKey) (id refresh.ID, ok bool) {
	part, hash := t.part(key)
	if part.used == 0 {
		return 0, false
	}
	for i := part.home(hash); part.slots[i] != 0; i = part.after(i) {
		if id = part.slots[i] - 1; t.pages[id].key() == key {
			return id, true
		}
	}
	return 0, false
}

// add adds a page that is not in the table.
func (t *table) add(key PageKey, apart bool, weight float64) refresh.ID {
	var id refresh.ID
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
	} else {
		id = t.end()
		t.pages = refresh.Grown(t.pages, id)
	}
	t.pages[id] = kept{fingerprint: key.Fingerprint, partition: key.Partition, weight: float32(weight)}
	if apart {
		t.pages[id].visits = setApart
	}
	part, hash := t.part(key)
	if part.used++; part.used > len(part.slots)/8*7 {
		t.grow(part)
	}
	part.put(hash, id)
	return id
}

// remove removes a page that is in the table.
func (t *table) remove(id refresh.ID) {
	part, hash := t.part(t.pages[id].key())
	hole := part.home(hash)
	for part.slots[hole] != id+1 {
		hole = part.after(hole)
	}
	// Entries behind the hole move up if a search would not find them beyond it.
	for i := part.after(hole); part.slots[i] != 0; i = part.after(i) {
		_, hash := t.part(t.pages[part.slots[i]-1].key())
		if part.distance(part.home(hash), i) >= part.distance(hole, i) {
			part.slots[hole], hole = part.slots[i], i
		}
	}
	part.slots[hole] = 0
	part.used--
	t.pages[id] = kept{}
	t.free = append(t.free, id)
}

// part returns the part of the index for a page, and the page's hash.
func (t *table) part(key PageKey) (*index, uint64) {
	hash := maphash.Comparable(t.seed, key)
	return &t.index[hash%indexes], hash
}

// grow enlarges a part of the index by a quarter.
func (t *table) grow(part *index) {
	old := part.slots
	part.slots = make([]refresh.ID, max(8, len(old)/32*40, len(old)+8))
	for _, slot := range old {
		if slot != 0 {
			_, hash := t.part(t.pages[slot-1].key())
			part.put(hash, slot-1)
		}
	}
}

func (x *index) put(hash uint64, id refresh.ID) {
	i := x.home(hash)
	for x.slots[i] != 0 {
		i = x.after(i)
	}
	x.slots[i] = id + 1
}

// home returns the first slot for a hash.
func (x *index) home(hash uint64) int {
	high, _ := bits.Mul64(hash, uint64(len(x.slots)))
	return int(high)
}

func (x *index) after(i int) int {
	if i++; i == len(x.slots) {
		return 0
	}
	return i
}

// distance returns the number of steps from one slot to another.
func (x *index) distance(from, to int) int {
	if to < from {
		to += len(x.slots)
	}
	return to - from
}
