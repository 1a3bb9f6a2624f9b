package deflate

import (
	"encoding/binary"
	"slices"
)

// writer packs bits, the first one lowest. Room for all that is put has to be made before.
type writer struct {
	dst  []byte // written so far
	held uint64 // bits that are not
	n    uint   // their number, below 8 after a flush
}

func (w *writer) begin(dst []byte) { *w = writer{dst: dst} }

// grow makes room for n bytes, and for the word that flush writes at their end.
func (w *writer) grow(n int) { w.dst = slices.Grow(w.dst, n+2*wordBytes) }

// put takes bits; no more than 56 between two flushes.
func (w *writer) put(bits uint64, n uint) {
	w.held |= bits << (w.n & 63)
	w.n += n
}

// flush writes the whole bytes of what is held.
func (w *writer) flush() {
	end := len(w.dst)
	w.dst = w.dst[:end+wordBytes]
	binary.LittleEndian.PutUint64(w.dst[end:], w.held)
	w.dst = w.dst[:end+int(w.n>>3)]
	w.held >>= w.n &^ 7
	w.n &= 7
}

// align fills the last byte.
func (w *writer) align() {
	w.n = (w.n + 7) &^ 7
	w.flush()
}

// end returns all that was written, and lets go of it.
func (w *writer) end() []byte {
	w.grow(0)
	w.align()
	dst := w.dst
	*w = writer{}
	return dst
}

// The first three bits of a block.
const (
	finalBlock  = 1
	storedBlock = 0 << 1
	fixedBlock  = 1 << 1
	ownBlock    = 2 << 1
)

// ownFrom is the length in bytes from which a block is worth codes of its own.
const ownFrom = 1 << 10

// writeBlock writes the block whose matches have been found, in the shortest of its forms.
func (e *Encoder) writeBlock(block []byte, final bool) {
	kind, codes, size := e.choose(block)
	e.out.grow(len(block) + 5)
	if stored := 8 * (len(block) + 4); size >= stored {
		kind = storedBlock
	}
	if final {
		kind |= finalBlock
	}
	e.out.put(kind, 3)
	e.out.flush()
	switch kind &^ finalBlock {
	case storedBlock:
		e.out.align()
		n := uint64(len(block))
		e.out.put(n|(n^0xffff)<<16, 32)
		e.out.flush()
		e.out.dst = append(e.out.dst, block...)
		return
	case ownBlock:
		e.out.header(&e.own)
	}
	e.out.sequences(e.sequences, e.text, codes)
}

// choose returns the better codes for a block, and the bits that it takes with them.
func (e *Encoder) choose(block []byte) (kind uint64, with *codes, size int) {
	if e.fixed.literals[endOfBlock] == 0 {
		e.fixed.fix()
	}
	size = e.size(&e.fixed)
	if len(block) < ownFrom {
		return fixedBlock, &e.fixed, size
	}
	e.own.make(&e.counts)
	if own := e.own.headerSize() + e.size(&e.own.codes); own < size {
		return ownBlock, &e.own.codes, own
	}
	return fixedBlock, &e.fixed, size
}

// size returns the bits that the block's symbols take.
func (e *Encoder) size(with *codes) (bits int) {
	for symbol, count := range e.counts.literals {
		bits += int(count) * int(with.literals[symbol].size())
		if symbol > firstLength {
			bits += int(count) * int(lengthBits[symbol-firstLength])
		}
	}
	for symbol, count := range e.counts.distances {
		bits += int(count) * (int(with.distances[symbol].size()) + max(symbol/2-1, 0))
	}
	return bits
}

// lengthOrder is the order in which the lengths of the third alphabet's codes are written.
var lengthOrder = [lengthCodes]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// described returns how many of lengthOrder are written: up to the last that occurs.
func (c *ownCodes) described() int {
	n := lengthCodes
	for n > 4 && c.lengths[lengthOrder[n-1]] == 0 {
		n--
	}
	return n
}

// headerSize returns the bits that the description of the codes takes.
func (c *ownCodes) headerSize() int {
	bits := 14 + 3*c.described()
	for _, r := range c.runs {
		bits += int(c.lengths[r.symbol].size() + r.size())
	}
	return bits
}

// header writes the description of a block's codes.
func (w *writer) header(c *ownCodes) {
	n := c.described()
	w.put(literalCodes-257, 5)
	w.put(distanceCodes-1, 5)
	w.put(uint64(n-4), 4)
	w.flush()
	for _, symbol := range lengthOrder[:n] {
		w.put(uint64(c.lengths[symbol].size()), 3)
		w.flush()
	}
	for _, r := range c.runs {
		length := c.lengths[r.symbol]
		w.put(length.bits(), length.size())
		w.put(uint64(r.extra), r.size())
		w.flush()
	}
}

// sequences writes a block's sequences, with their literals out of text, and its end. It is put and flush by hand: what is held
// stays in registers.
func (w *writer) sequences(sequences []sequence, text []byte, c *codes) {
	dst, end := w.dst[:cap(w.dst)], len(w.dst)
	held, n := w.held, w.n
	for _, s := range sequences {
		for _, literal := range text[:s.literals] {
			l := c.literals[literal]
			held |= l.bits() << (n & 63)
			n += l.size()
			binary.LittleEndian.PutUint64(dst[end:], held)
			end += int(n >> 3)
			held >>= n & 56
			n &= 7
		}
		if s.length == 0 {
			break
		}
		text = text[s.literals:]
		symbol := lengthCode[s.length-3]
		l := c.literals[firstLength+int(symbol)]
		held |= l.bits() << (n & 63)
		n += l.size()
		held |= uint64(s.length-3-uint16(lengthBase[symbol])) << (n & 63)
		n += uint(lengthBits[symbol])
		distance, extra, size := distanceCode(int(s.distance))
		d := c.distances[distance]
		held |= d.bits() << (n & 63)
		n += d.size()
		held |= extra << (n & 63)
		n += size
		binary.LittleEndian.PutUint64(dst[end:], held)
		end += int(n >> 3)
		held >>= n & 56
		n &= 7
	}
	w.dst, w.held, w.n = dst[:end], held, n
	w.put(c.literals[endOfBlock].bits(), c.literals[endOfBlock].size())
	w.flush()
}
