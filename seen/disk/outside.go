package disk

import "unsafe"

// The heads are the memory that grows with the known URLs. The collector lets the program have as much garbage as it
// has heap, so heads in the heap would count twice. The heads of a whole segment are therefore outside of it.

// evacuate moves the heads of a whole segment out of the heap. If the system gives no memory, they stay where they are.
func (g *segment) evacuate() {
	size := 0
	for i := range g.sections {
		size += aligned(g.sections[i].memory())
	}
	if size == 0 {
		return
	}
	outside, err := allocate(size)
	if err != nil {
		return
	}
	g.outside = outside
	for i := range g.sections {
		h, rest := g.sections[i].head, outside
		outside = outside[aligned(h.memory()):]
		h.buckets, rest = move(h.buckets, rest)
		h.samples, rest = move(h.samples, rest)
		h.bytes, _ = move(h.bytes, rest)
	}
}

// aligned returns the bytes that a head takes, filled up so that the next one's words are aligned.
func aligned(bytes int64) int { return int(bytes+7) &^ 7 }

// move copies from to the beginning of memory, which is aligned. It returns the copy and the memory behind it.
func move[T byte | uint32 | uint64](from []T, memory []byte) (to []T, rest []byte) {
	to = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(memory))), len(from))
	copy(to, from)
	return to, memory[len(from)*int(unsafe.Sizeof(*new(T))):]
}

// free gives back the memory of the heads, which nobody may use any more.
func (g *segment) free() error {
	for i := range g.sections {
		h := g.sections[i].head
		h.buckets, h.samples, h.bytes = nil, nil, nil
	}
	g.sections = nil
	outside := g.outside
	if g.outside = nil; outside == nil {
		return nil
	}
	return release(outside)
}
