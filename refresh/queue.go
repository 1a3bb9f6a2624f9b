package refresh

import "slices"

// A Queue holds pages sorted by key, the least first. Pages with equal keys are sorted by ID. The zero value is ready
// for use. Every change costs O(log n).
type Queue struct {
	keys  []float64 // a heap
	ids   []ID      // of the keys
	place []int32   // by ID, for pages in the heap; queues without a common page may share it
}

// Len returns the number of pages in the queue.
func (q *Queue) Len() int { return len(q.ids) }

// First returns the page with the least key, and the key. The queue must not be empty.
func (q *Queue) First() (ID, float64) { return q.ids[0], q.keys[0] }

// Has reports whether the page is in the queue.
func (q *Queue) Has(id ID) bool {
	if int(id) >= len(q.place) {
		return false
	}
	i := int(q.place[id])
	return i < len(q.ids) && q.ids[i] == id
}

// Key returns the key of a page that is in the queue.
func (q *Queue) Key(id ID) float64 { return q.keys[q.place[id]] }

// Set puts the page into the queue with that key, or moves it there.
func (q *Queue) Set(id ID, key float64) {
	q.place = Grown(q.place, id)
	i := int(q.place[id])
	if !q.Has(id) {
		i = len(q.ids)
		q.keys, q.ids = Grown(q.keys, ID(i)), Grown(q.ids, ID(i))
	}
	q.settle(i, key, id)
}

// Drop removes the page if it is in the queue.
func (q *Queue) Drop(id ID) {
	if !q.Has(id) {
		return
	}
	i := int(q.place[id])
	end := len(q.ids) - 1
	key, last := q.keys[end], q.ids[end]
	q.keys, q.ids = q.keys[:end], q.ids[:end]
	if last != id {
		q.settle(i, key, last)
	}
}

// Pop removes and returns the page with the least key, and the key.
func (q *Queue) Pop() (ID, float64) {
	id, key := q.First()
	q.Drop(id)
	return id, key
}

// children is the number of entries below each one in the heap. Those of one entry lie side by side in memory: with
// many pages, a heap of twos would wait for memory twice as often.
const children = 4

// settle puts a page at place i or, if it belongs elsewhere, there.
func (q *Queue) settle(i int, key float64, id ID) {
	keys, ids, place := q.keys, q.ids[:len(q.keys)], q.place
	for i > 0 {
		up := (i - 1) / children
		if !before(key, id, keys[up], ids[up]) {
			break
		}
		keys[i], ids[i] = keys[up], ids[up]
		place[ids[i]] = int32(i)
		i = up
	}
	for first := children*i + 1; first < len(keys); first = children*i + 1 {
		down := first
		for next := first + 1; next < min(first+children, len(keys)); next++ {
			if before(keys[next], ids[next], keys[down], ids[down]) {
				down = next
			}
		}
		if before(key, id, keys[down], ids[down]) {
			break
		}
		keys[i], ids[i] = keys[down], ids[down]
		place[ids[i]] = int32(i)
		i = down
	}
	keys[i], ids[i], place[id] = key, id, int32(i)
}

// before reports whether a page belongs before another.
func before(key float64, id ID, other float64, another ID) bool {
	return key < other || key == other && id < another
}

// trim gives back the memory of pages that the queue once had, if those were most.
func (q *Queue) trim() {
	if cap(q.ids) > 4*len(q.ids) {
		q.keys, q.ids = slices.Clone(q.keys), slices.Clone(q.ids)
	}
}

// Grown returns s, long enough for the id. At most a sixteenth of its memory is for pages to come: append would keep up
// to a quarter, of every page.
func Grown[T any](s []T, id ID) []T {
	n := int(id) + 1
	if n <= len(s) {
		return s
	}
	if n > cap(s) {
		s = append(make([]T, 0, n+n/16), s...)
	}
	return s[:n]
}
