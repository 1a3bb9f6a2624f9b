package disk

import (
	"encoding/binary"
	"hash/crc32"
)

// section holds a piece's entries in a segment: a head in memory, and the rest on disk, in blocks of 16 entries. An
// entry's place follows from its number. A block is
//
//	┌──────────────────────┬────────────┬──────────┐
//	│ rest, check: 16 × r │ depth      │ checksum │
//	│ bits                 │ 16 × bits │ 4 bytes  │
//	└──────────────────────┴────────────┴──────────┘
//
// with the lowest bit of a number first. The last block has as many entries as are left.
type section struct {
	*head
	n         int
	depthBits int
	tail      int64 // where its blocks begin in the file
	crc       uint32
}

const (
	blockEntries = 16
	checksumLen  = 4
)

func (s *section) tailBits() int { return s.restBits() + 8 }

// blockLen returns the length of a block of n entries in bytes.
func (s *section) blockLen(n int) int {
	return (n*s.tailBits()+7)/8 + (n*s.depthBits+7)/8 + checksumLen
}

func (s *section) blocks() int { return (s.n + blockEntries - 1) / blockEntries }

// block returns where block i lies in the file, how long it is and how many entries it has.
func (s *section) block(i int) (at int64, length, n int) {
	n = min(blockEntries, s.n-i*blockEntries)
	return s.tail + int64(i)*int64(s.blockLen(blockEntries)), s.blockLen(n), n
}

// stretch returns where the blocks first..end lie in the file, and how many bytes they are.
func (s *section) stretch(first, end int) (at int64, size int) {
	at, _, _ = s.block(first)
	last, length, _ := s.block(end - 1)
	return at, int(last-at) + length
}

// tailLen returns the length of all blocks in bytes.
func (s *section) tailLen() int64 {
	if s.n == 0 {
		return 0
	}
	_, size := s.stretch(0, s.blocks())
	return int64(size)
}

func (s *section) headWords() int { return (s.n+1<<s.bucketBits)/64 + 1 }

func (s *section) headLen() int64 { return int64(8*s.headWords()) + int64(s.n) }

// memory returns the bytes that the head takes.
func (s *section) memory() int64 {
	return int64(8*len(s.buckets) + 4*len(s.samples) + len(s.bytes))
}

// checksum returns the checksum of a block. It includes the block's place, so that a block in the wrong place is
// damage too.
func checksum(file uint32, at int64, block []byte) uint32 {
	place := (uint64(file)<<32 ^ uint64(at)) * 0x9e3779b97f4a7c15 >> 32
	return crc32.Checksum(block, castagnoli()) ^ uint32(place)
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// padding is what unpack may read beyond the bits it returns.
const padding = 8

// unpack returns the width bits of data from bit at. width is at most 56.
func unpack(data []byte, at, width int) uint64 {
	return binary.LittleEndian.Uint64(data[at/8:]) >> (at % 8) & (1<<width - 1)
}

// packer makes what unpack reads, a value after the other.
type packer struct {
	data []byte
	word uint64 // its lowest n bits, fewer than 64, are not in data yet
	n    int
}

// put appends the lowest width bits of a value. width is below 64.
func (p *packer) put(value uint64, width int) {
	p.word |= value << p.n
	if p.n += width; p.n >= 64 {
		p.data = binary.LittleEndian.AppendUint64(p.data, p.word)
		p.n -= 64
		p.word = value >> (width - p.n)
	}
}

// end returns all values, filled up to a byte. They are valid until the next put, which starts again.
func (p *packer) end() []byte {
	data := p.data
	for ; p.n > 0; p.n -= 8 {
		data = append(data, byte(p.word))
		p.word >>= 8
	}
	*p = packer{data: data[:0]}
	return data
}
