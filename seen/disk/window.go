package disk

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"unsafe"
)

// window is a stretch of a section's blocks in memory: read into a buffer or, if it is long, mapped.
type window struct {
	segment *segment
	section *section
	data    []byte
	at      int64  // of data in the file
	first   int    // block, and
	end     int    // the block after the last
	checked int    // the block whose checksum was compared last
	buffer  []byte // for what is read
	mapping []byte // that data is part of; nil if data was read
}

const (
	// readSize is the most that is read. What is mapped lies in one large page, which is in the process's memory until
	// the window moves on.
	readSize = 256 << 10
	// smallGap is how many bytes between two blocks a window rather takes in than ends at: as many as the system maps
	// when one of them is looked at.
	smallGap = 64 << 10
	// leastMapped is how many bytes are rather mapped than read: so many take as long to copy as to map.
	leastMapped = 64 << 10
)

// reset empties the window and turns it to a section.
func (w *window) reset(g *segment, s *section) {
	w.release()
	w.segment, w.section = g, s
}

// release empties the window, and gives back what was mapped.
func (w *window) release() {
	if w.mapping != nil {
		unmap(w.mapping)
	}
	w.data, w.mapping = nil, nil
	w.first, w.end, w.checked = 0, 0, -1
}

func (w *window) holds(number int) bool {
	return number >= w.first*blockEntries && number < w.end*blockEntries
}

// show turns the window to the block of an entry, and to those that the doubts ahead will ask for and that are near, in
// the same large page.
func (w *window) show(number int, ahead []doubt) error {
	first := number / blockEntries
	end := first + 1
	full := w.section.blockLen(blockEntries)
	at, _, _ := w.section.block(first)
	room := int(largePage - at%largePage)
	for _, d := range ahead {
		last := (d.to - 1) / blockEntries
		if last < end {
			continue
		}
		if (d.from/blockEntries-end)*full > smallGap || (last+1-first)*full > room {
			break
		}
		end = last + 1
	}
	if (end-first)*full >= leastMapped && w.mapBlocks(first, end) {
		return nil
	}
	return w.read(first, end)
}

// mapBlocks maps the blocks first..end. It reports whether the system did.
func (w *window) mapBlocks(first, end int) bool {
	w.release()
	at, size := w.section.stretch(first, end)
	if w.data, w.mapping = mapFile(w.segment.file, at, size+padding); w.mapping == nil {
		return false
	}
	w.at, w.first, w.end = at, first, end
	return true
}

// read reads the blocks from first on, until end or until it is enough.
func (w *window) read(first, end int) error {
	w.release()
	end = min(end, first+max(1, readSize/w.section.blockLen(blockEntries)))
	at, size := w.section.stretch(first, end)
	w.buffer = slices.Grow(w.buffer[:0], size+padding)[:size+padding]
	w.data = w.buffer
	if err := w.segment.read(w.data[:size], at); err != nil {
		return err
	}
	w.at, w.first, w.end = at, first, end
	return nil
}

// fault returns the error that a panic tells of which came from looking at what is mapped, where the file has been cut
// or the disk cannot be read. Any other panic goes on.
func (w *window) fault(cause any) error {
	fault, ok := cause.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok || w.mapping == nil {
		panic(cause)
	}
	at := w.at + int64(fault.Addr()-uintptr(unsafe.Pointer(&w.data[0])))
	if at < w.at || at >= w.at+int64(len(w.data)) {
		panic(cause)
	}
	if err := w.segment.read(make([]byte, 1), at); err != nil {
		return err // which says more
	}
	return fmt.Errorf("seen: read run %s at %d: %w", w.segment.path, at, fault)
}

// touch loads the blocks that the next doubts are about, as many as it returns, so that the processor waits for all of
// them at once.
func (w *window) touch(ahead []doubt) (n int) {
	var at [together]int
	for n < min(together, len(ahead)) && w.holds(ahead[n].from) {
		block, _, _ := w.section.block(ahead[n].from / blockEntries)
		at[n] = int(block - w.at)
		n++
	}
	touched, length := byte(0), w.section.blockLen(blockEntries)
	for _, i := range at[:n] {
		touched += w.data[i] + w.data[min(i+length, len(w.data))-1]
	}
	runtime.KeepAlive(touched)
	return n
}

// entry returns what the window has of an entry: rest and check, and depth.
func (w *window) entry(number int) (tail uint64, depth uint16, err error) {
	s := w.section
	data, n, err := w.block(number / blockEntries)
	if err != nil {
		return 0, 0, err
	}
	i, width := number%blockEntries, s.tailBits()
	tail = unpack(data, i*width, width)
	depth = uint16(unpack(data[(n*width+7)/8:], i*s.depthBits, s.depthBits))
	return tail, depth, nil
}

// block returns the content of a block and how many entries it has, having compared its checksum.
func (w *window) block(i int) (data []byte, n int, err error) {
	at, length, n := w.section.block(i)
	data = w.data[at-w.at:]
	if w.checked != i {
		content := data[:length-checksumLen]
		if binary.LittleEndian.Uint32(data[len(content):]) != checksum(w.segment.number, at, content) {
			return nil, 0, w.segment.damaged(at, "block's checksum differs")
		}
		w.checked = i
	}
	return data, n, nil
}
