package event

import (
	"fmt"
)

// Queue is a heap of events, ordered by time. The zero value is empty and ready to use. Not for concurrent use.
type Queue[E any] struct {
	heap   []entry[E]
	pushed uint64
}

type entry[E any] struct {
	at    float64
	order uint64 // of pushing
	event E
}

// fan is the number of children of a node of the heap. With four, the children lie in one or two cache lines, and the
// tree is half as deep as with two.
const fan = 4

// Len returns the number of waiting events.
func (q *Queue[E]) Len() int { return len(q.heap) }

// Push adds an event that happens at a time in seconds. It panics if the time is NaN. O(log n); it allocates only if
// the queue has never been this long.
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

// Pop removes the earliest event and returns it with its time; ok is false if the queue is empty. Of events at the same
// time, the one pushed first comes first. O(log n).
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

// sink puts an entry into its place, beginning at the top, which is free.
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
