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

// settle puts a page at place i or, if it belongs elsewhere, there.
func (q *Queue) settle(i int, key float64, id ID) {
	for i > 0 {
		up := (i - 1) / 2
		if !q.before(key, id, up) {
			break
		}
		q.put(i, q.keys[up], q.ids[up])
		i = up
	}
	for down := 2*i + 1; down < len(q.ids); down = 2*i + 1 {
		if next := down + 1; next < len(q.ids) && q.less(next, down) {
			down = next
		}
		if q.before(key, id, down) {
			break
		}
		q.put(i, q.keys[down], q.ids[down])
		i = down
	}
	q.put(i, key, id)
}

// before reports whether a page belongs before the one at place i.
func (q *Queue) before(key float64, id ID, i int) bool {
	return key < q.keys[i] || key == q.keys[i] && id < q.ids[i]
}

// less reports whether the page at place i belongs before the one at place j.
func (q *Queue) less(i, j int) bool {
	return q.keys[i] < q.keys[j] || q.keys[i] == q.keys[j] && q.ids[i] < q.ids[j]
}

func (q *Queue) put(i int, key float64, id ID) {
	q.keys[i], q.ids[i] = key, id
	q.place[id] = int32(i)
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
