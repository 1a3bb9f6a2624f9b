package deflate

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	minMatch  = 4   // bytes that are worth a match
	maxMatch  = 258 // the longest that there is a code for
	window    = 1 << 15
	tableBits = 13
	wordBytes = 8 // read at once
)

// A sequence is some literals and the match that follows them. The last one of a block may be without a
// match: its length is 0.
type sequence struct {
	literals uint16
	length   uint16
	distance uint16
}

// findMatches fills in the sequences of a block and their literals, and counts the symbols.
func (e *Encoder) findMatches(block []byte) {
	clear(e.seen[:])
	clear(e.counts.literals[:])
	clear(e.counts.distances[:])
	e.sequences = slices.Grow(e.sequences[:0], len(block)/minMatch+1)[:0]
	e.text = slices.Grow(e.text[:0], len(block)+wordBytes)[:0]
	seen := &e.seen

	last := len(block) - wordBytes // where the last match may begin
	done := 0                      // block[:done] is in the sequences
	for at := 1; at <= last; {
		word := binary.LittleEndian.Uint64(block[at:])
		slot := hash(word)
		before := int(seen[slot])
		seen[slot] = uint16(at)
		if uint32(word) != binary.LittleEndian.Uint32(block[before:]) || at-before > window {
			at += 1 + (at-done)>>5 // the longer without a match, the larger the steps
			continue
		}
		for at > done && before > 0 && block[at-1] == block[before-1] {
			at, before = at-1, before-1
		}
		length := minMatch + equal(block[before+minMatch:], block[at+minMatch:min(len(block), at+maxMatch)])
		e.take(block[done:], at-done, length, at-before)
		at += length
		done = at
		if at <= last {
			seen[hash(binary.LittleEndian.Uint64(block[at-2:]))] = uint16(at - 2)
		}
	}
	if rest := block[done:]; len(rest) > 0 {
		e.sequences = append(e.sequences, sequence{literals: uint16(len(rest))})
		e.text = append(e.text, rest...)
	}
	for _, c := range e.text {
		e.counts.literals[c]++
	}
	e.counts.literals[endOfBlock]++
}

// take adds a sequence whose literals rest begins with. Most have few, which are copied as one word.
func (e *Encoder) take(rest []byte, literals, length, distance int) {
	e.sequences = append(e.sequences, sequence{uint16(literals), uint16(length), uint16(distance)})
	end := len(e.text)
	if literals <= wordBytes {
		e.text = e.text[:end+wordBytes]
		binary.LittleEndian.PutUint64(e.text[end:], binary.LittleEndian.Uint64(rest))
		e.text = e.text[:end+literals]
	} else {
		e.text = append(e.text, rest[:literals]...)
	}
	e.counts.literals[firstLength+int(lengthCode[length-3])]++
	code, _, _ := distanceCode(distance)
	e.counts.distances[code]++
}

// hash returns the table's slot for the first five bytes of word: a match of four is found where a fifth
// made it worth its while.
func hash(word uint64) uint64 {
	const prime = 889523592379
	return word << 24 * prime >> (64 - tableBits)
}

// equal returns how many bytes a and b have in common at their beginning. b is not longer than a.
func equal(a, b []byte) (n int) {
	for ; len(b)-n >= wordBytes; n += wordBytes {
		if differ := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); differ != 0 {
			return n + bits.TrailingZeros64(differ)>>3
		}
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
