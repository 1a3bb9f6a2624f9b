package disk

import (
	"encoding/binary"
	"slices"
)

// window is a stretch of a section's blocks that was read into memory.
type window struct {
	segment *segment
	section *section
	data    []byte
	at      int64 // of data in the file
	first   int   // block, and
	end     int   // the block after the last
	checked int   // the block whose checksum was compared last
}

const (
	// readSize is the most that is read at once.
	readSize = 256 << 10
	// Gaps between blocks up to smallGap bytes are read too, because a system call takes as long.
	smallGap = 8 << 10
)

// reset empties the window and turns it to a section.
func (w *window) reset(g *segment, s *section) {
	w.segment, w.section = g, s
	w.data = w.data[:0]
	w.first, w.end, w.checked = 0, 0, -1
}

func (w *window) holds(number int) bool {
	return number >= w.first*blockEntries && number < w.end*blockEntries
}

// show turns the window to the block of an entry, and to those near it that the doubts ahead will ask for.
func (w *window) show(number int, ahead []doubt) error {
	first := number / blockEntries
	end := first + 1
	full := w.section.blockLen(blockEntries)
	for _, d := range ahead {
		last := (d.to - 1) / blockEntries
		if last < end {
			continue
		}
		if (d.from/blockEntries-end)*full > smallGap || (last+1-first)*full > readSize {
			break
		}
		end = last + 1
	}
	return w.read(first, end)
}

// read reads the blocks from first on, until end or readSize.
func (w *window) read(first, end int) error {
	end = min(end, first+max(1, readSize/w.section.blockLen(blockEntries)))
	at, size := w.section.stretch(first, end)
	w.data = slices.Grow(w.data[:0], size+padding)[:size+padding]
	w.first, w.end, w.checked = 0, 0, -1
	if err := w.segment.read(w.data[:size], at); err != nil {
		return err
	}
	w.at, w.first, w.end = at, first, end
	return nil
}

// entry returns the parts of an entry that are on disk: rest and check, and depth.
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

// block compares the checksum of a block, and returns its content and how many entries it has.
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
