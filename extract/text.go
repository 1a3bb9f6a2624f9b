package extract

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
)

// folded receives text piece by piece, folds its white space and hashes the result. A run of white space inside the
// text counts as one U+0020, a run at either end as nothing. The hash is XXH3-128 with seed 0 over the UTF-8 bytes,
// written most significant byte first.
type folded struct {
	hash   *xxh3.Hasher
	buffer []byte // not yet hashed
	length int64  // bytes of folded text so far
	gap    bool   // white space since the last word
}

const foldBuffer = 4096

func (f *folded) reset() {
	if f.hash == nil {
		f.hash, f.buffer = xxh3.New(), make([]byte, 0, foldBuffer)
	}
	f.hash.Reset()
	f.buffer, f.length, f.gap = f.buffer[:0], 0, false
}

// space marks a boundary between words.
func (f *folded) space() { f.gap = true }

// classes of bytes: part of a word, white space, or the first byte of a character that may be
// white space.
const (
	inWord = iota
	isSpace
	maySpace
)

// class is the class of every byte. The first bytes of the non-ASCII characters with the property
// White_Space (U+0085, U+00A0, U+1680, U+2000–U+200A, U+2028, U+2029, U+202F, U+205F, U+3000) are
// C2, E1, E2 and E3.
var class = [256]uint8{
	'\t': isSpace, '\n': isSpace, '\v': isSpace, '\f': isSpace, '\r': isSpace, ' ': isSpace,
	0xc2: maySpace, 0xe1: maySpace, 0xe2: maySpace, 0xe3: maySpace,
}

// add takes the next piece of UTF-8 text. A character is never split between pieces.
func (f *folded) add(text []byte) {
	for i := 0; i < len(text); {
		start := i
		if i += foldedLength(text[i:]); i > start {
			f.words(text[start:i])
			continue
		}
		if class[text[i]] == isSpace {
			f.gap = true
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		i += size
		if unicode.IsSpace(r) {
			f.gap = true
		} else {
			f.words(text[start:i])
		}
	}
}

// foldedLength returns the length of the start of text that needs no folding: words of plain bytes with single spaces
// between them.
func foldedLength(text []byte) int {
	for i := 0; i < len(text); {
		stop := min(i+8, len(text))
		if stop < len(text) && isFolded((*[9]byte)(text[i:])) && (i > 0 || text[0] != ' ') {
			i = stop
			continue
		}
		for ; i < stop; i++ {
			if c := text[i]; class[c] == inWord {
				continue
			} else if c != ' ' || i == 0 || i+1 == len(text) || class[text[i+1]] != inWord {
				return i
			}
		}
	}
	return len(text)
}

// isFolded reports whether each of the first eight bytes is in a word, or is a space before one. It tests them
// together. For non-ASCII bytes it may return false although that is so.
func isFolded(text *[9]byte) bool {
	const each = 0x0101010101010101
	b, following := binary.LittleEndian.Uint64(text[:]), binary.LittleEndian.Uint64(text[1:])
	if b&(0x80*each) != 0 || (b|b<<1)&(0x40*each) != 0x40*each { // a byte not in 0x20 to 0x7F
		return false
	}
	double := b ^ 0x20*each | following ^ 0x20*each // a byte 0 where there are two spaces
	return (double-each)&^double&(0x80*each) == 0 && (text[7] != ' ' || class[text[8]] == inWord)
}

// words adds a folded piece that begins and ends in a word.
func (f *folded) words(piece []byte) {
	if f.gap && f.length > 0 {
		f.buffer = append(f.buffer, ' ')
		f.length++
	}
	f.gap = false
	f.length += int64(len(piece))
	if len(f.buffer)+len(piece) >= foldBuffer {
		f.flush()
		if len(piece) >= foldBuffer {
			f.hash.Write(piece)
			return
		}
	}
	f.buffer = append(f.buffer, piece...)
}

func (f *folded) flush() {
	f.hash.Write(f.buffer)
	f.buffer = f.buffer[:0]
}

// digest returns the hash of the text so far, or zero if there was none.
func (f *folded) digest() [16]byte {
	if f.length == 0 {
		return [16]byte{}
	}
	f.flush()
	return f.hash.Sum128().Bytes()
}
