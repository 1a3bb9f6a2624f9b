package cache

import (
	"fmt"
	"math"

	"freshet/weburl"
)

// Future is a trace of future requests. For each it knows the position of the next request for the same fingerprint.
// Any number of policies may read one Future at the same time.
type Future struct {
	trace []weburl.Fingerprint
	nexts []int32 // of each request, the position of the next one for the same fingerprint; never if there is none
}

const never = math.MaxInt32

// Foresee returns the future of trace. It keeps trace, which must not change. It panics if trace has 2^31-1 requests
// or more. O(len(trace)).
func Foresee(trace []weburl.Fingerprint) *Future {
	if len(trace) >= never {
		panic(fmt.Sprintf("cache: Foresee: %d requests: want less than %d", len(trace), never))
	}
	f := &Future{trace, make([]int32, len(trace))}
	last := map[weburl.Fingerprint]int32{}
	for i := len(trace) - 1; i >= 0; i-- {
		next, ok := last[trace[i]]
		if !ok {
			next = never
		}
		f.nexts[i] = next
		last[trace[i]] = int32(i)
	}
	return f
}

// Distinct returns the number of different fingerprints in the trace, which is how often an Infinite cache misses.
func (f *Future) Distinct() (n int) {
	for _, next := range f.nexts {
		if next == never {
			n++
		}
	}
	return n
}

// Min replaces the item whose next request is farthest away. Among policies of the same size that admit every
// requested item, none misses less (Belady 1966). A Min serves the trace of its Future, once.
//
// Touch is O(log size); memory is 32 to 36 bytes an entry, and the future.
type Min struct {
	table   table
	future  *Future
	elapsed int     // requests
	uses    []int32 // of each slot: the position of its next request
	heap    []int32 // slots, the farthest use on top
	place   []int32 // of each slot in heap
}

// NewMin returns an empty cache of size slots for the requests of a future, or panics unless size is 1 to
// MaxSize.
func NewMin(size int, future *Future) *Min {
	checkSize("Min", size)
	return &Min{table: newTable(size), future: future}
}

// Slots implements Policy.
func (m *Min) Slots() int { return cap(m.table.slots) }

// Touch implements Policy. It panics if fp is not the next request of the trace.
func (m *Min) Touch(fp weburl.Fingerprint) (slot int, hit bool) {
	if m.elapsed == len(m.future.trace) || m.future.trace[m.elapsed] != fp {
		panic(fmt.Sprintf("cache: Min: request %d is for %v, which was not foreseen", m.elapsed, fp))
	}
	next := m.future.nexts[m.elapsed]
	m.elapsed++
	slot = m.table.find(fp)
	switch {
	case slot >= 0: // its next use was now, the nearest of all, so it can only rise
		m.uses[slot] = next
		m.rise(m.place[slot])
		return slot, true
	case !m.table.full():
		slot = m.table.add(fp)
		m.uses = append(m.uses, next)
		m.heap = append(m.heap, int32(slot))
		m.place = append(m.place, int32(slot))
		m.rise(m.place[slot])
	default:
		slot = int(m.heap[0])
		m.table.replace(slot, fp)
		m.uses[slot] = next
		m.sink(0)
	}
	return slot, false
}

// rise moves the slot at a place of the heap up to where it belongs.
func (m *Min) rise(at int32) {
	for at > 0 {
		above := (at - 1) / 2
		if m.uses[m.heap[above]] >= m.uses[m.heap[at]] {
			return
		}
		m.swap(at, above)
		at = above
	}
}

// sink moves the slot at a place of the heap down to where it belongs.
func (m *Min) sink(at int32) {
	for {
		below := 2*at + 1
		if int(below) >= len(m.heap) {
			return
		}
		if right := below + 1; int(right) < len(m.heap) && m.uses[m.heap[right]] > m.uses[m.heap[below]] {
			below = right
		}
		if m.uses[m.heap[at]] >= m.uses[m.heap[below]] {
			return
		}
		m.swap(at, below)
		at = below
	}
}

func (m *Min) swap(a, b int32) {
	m.heap[a], m.heap[b] = m.heap[b], m.heap[a]
	m.place[m.heap[a]], m.place[m.heap[b]] = a, b
}
