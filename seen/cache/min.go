package cache

import (
	"fmt"
	"math"

	"freshet/weburl"
)

// Min replaces the item whose next request is farthest away. No policy of the same size that admits
// every item it is asked for misses less (Belady 1966). It knows the future: it serves one trace, once.
//
// Touch is O(log size); memory is 28 to 32 bytes an entry and 4 bytes a request of the trace.
type Min struct {
	table   table
	trace   []weburl.Fingerprint // the requests to come
	nexts   []int32              // of each of them: the position of the next request for the same; never if there is none
	use     []int32              // of each slot: the position of its next request
	heap    []int32              // slots, the farthest use on top
	place   []int32              // of each slot in heap
	elapsed int
}

const never = math.MaxInt32

// NewMin returns an empty cache of size slots for the requests of trace, which is kept and must not
// change. It panics unless size is 1 to MaxSize, and at a trace longer than that. O(len(trace)).
func NewMin(size int, trace []weburl.Fingerprint) *Min {
	checkSize("Min", size)
	if len(trace) >= never {
		panic(fmt.Sprintf("cache: NewMin: trace of %d requests: want less than %d", len(trace), never))
	}
	return &Min{table: newTable(size), trace: trace, nexts: nextUses(trace)}
}

// nextUses returns, of each request, the position of the next one for the same fingerprint.
func nextUses(trace []weburl.Fingerprint) []int32 {
	nexts := make([]int32, len(trace))
	last := map[weburl.Fingerprint]int32{}
	for i := len(trace) - 1; i >= 0; i-- {
		next, ok := last[trace[i]]
		if !ok {
			next = never
		}
		nexts[i] = next
		last[trace[i]] = int32(i)
	}
	return nexts
}

// Slots implements Policy.
func (m *Min) Slots() int { return cap(m.table.slots) }

// Touch implements Policy. It panics if fp is not the next request of the trace.
func (m *Min) Touch(fp weburl.Fingerprint) (slot int, hit bool) {
	if m.elapsed == len(m.trace) || m.trace[m.elapsed] != fp {
		panic(fmt.Sprintf("cache: Min: request %d is for %v, which is not what the trace says", m.elapsed, fp))
	}
	next := m.nexts[m.elapsed]
	m.elapsed++
	slot = m.table.find(fp)
	switch {
	case slot >= 0: // its next use was now, the nearest of all: it can only rise
		m.use[slot] = next
		m.rise(m.place[slot])
		return slot, true
	case !m.table.full():
		slot = m.table.add(fp)
		m.use = append(m.use, next)
		m.heap = append(m.heap, int32(slot))
		m.place = append(m.place, int32(slot))
		m.rise(m.place[slot])
	default:
		slot = int(m.heap[0])
		m.table.replace(slot, fp)
		m.use[slot] = next
		m.sink(0)
	}
	return slot, false
}

// rise moves the slot at a place of the heap up to where it belongs.
func (m *Min) rise(at int32) {
	for at > 0 {
		above := (at - 1) / 2
		if m.use[m.heap[above]] >= m.use[m.heap[at]] {
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
		if right := below + 1; int(right) < len(m.heap) && m.use[m.heap[right]] > m.use[m.heap[below]] {
			below = right
		}
		if m.use[m.heap[at]] >= m.use[m.heap[below]] {
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
