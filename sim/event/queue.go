package event

import (
	"fmt"
)

// Queue is a heap of events by time. The zero value is empty and ready. It is not safe for concurrent
// use.
type Queue[E any] struct {
	heap   []entry[E]
	pushed uint64
}

type entry[E any] struct {
	at    float64
	order uint64 // of pushing
	event E
}

// fan is how many children a node of the heap has: with four, the children lie side by side in one or
// two lines of the cache, and the tree is half as deep.
const fan = 4

// Len returns the number of events that wait.
func (q *Queue[E]) Len() int { return len(q.heap) }

// Push adds an event that happens at a time in seconds, which may be any number but NaN. O(log n), and
// no allocation unless the queue has never been as long.
func (q *Queue[E]) Push(at float64, e E) {
	if at != at {
		panic(fmt.Sprintf("event: Push: time of %v is not a number", e))
	}
	q.pushed++
	q.heap = append(q.heap, entry[E]{at, q.pushed, e})
	i := len(q.heap) - 1
	moved := q.heap[i]
	for i > 0 {
		parent := (i - 1) / fan
		if !moved.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = moved
}

// Pop takes out the earliest event, of equal ones that pushed first, and returns its time. O(log n).
func (q *Queue[E]) Pop() (at float64, e E, ok bool) {
	if len(q.heap) == 0 {
		return 0, e, false
	}
	first := q.heap[0]
	last := len(q.heap) - 1
	moved := q.heap[last]
	q.heap[last] = entry[E]{}
	q.heap = q.heap[:last]
	if last > 0 {
		q.sink(moved)
	}
	return first.at, first.event, true
}

// sink puts an entry where it belongs, from the top, which is free.
func (q *Queue[E]) sink(moved entry[E]) {
	i := 0
	for {
		first := fan*i + 1
		if first >= len(q.heap) {
			break
		}
		least := first
		for child := first + 1; child < min(first+fan, len(q.heap)); child++ {
			if q.heap[child].before(&q.heap[least]) {
				least = child
			}
		}
		if !q.heap[least].before(&moved) {
			break
		}
		q.heap[i] = q.heap[least]
		i = least
	}
	q.heap[i] = moved
}

// Next returns the time of the earliest event.
func (q *Queue[E]) Next() (at float64, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

func (e *entry[E]) before(other *entry[E]) bool {
	return e.at < other.at || e.at == other.at && e.order < other.order
}
