package disk

import "math/bits"

// cursor reads the entries of a run in order, as a merge needs them: sequentially, a block at a time.
type cursor struct {
	segments []*segment // those left, the current one first
	section  int        // of the current segment
	block    int        // of the current section, the next to be read
	number   int        // of the section's next entry to be decoded
	bit      int        // of its head's buckets, where that search goes on
	window   window

	entries []Entry // decoded
	at      int     // the entry that the cursor is at, in entries
}

// newCursor returns a cursor at the first entry.
func newCursor(segments []*segment) (*cursor, error) {
	c := &cursor{segments: segments, section: -1, entries: make([]Entry, 0, blockEntries)}
	return c, c.fill()
}

// entry returns the entry that the cursor is at, nil at the end.
func (c *cursor) entry() *Entry {
	if c.at == len(c.entries) {
		return nil
	}
	return &c.entries[c.at]
}

// in reports whether the cursor is at an entry of a piece.
func (c *cursor) in(p piece) bool {
	e := c.entry()
	return e != nil && p.contains(e)
}

func (c *cursor) next() error {
	if c.at++; c.at < len(c.entries) {
		return nil
	}
	return c.fill()
}

// fill decodes the next block. At the end there is none.
func (c *cursor) fill() error {
	c.entries, c.at = c.entries[:0], 0
	for len(c.segments) > 0 && (c.section < 0 || c.block == c.segments[0].sections[c.section].blocks()) {
		c.section++
		c.block, c.number, c.bit = 0, 0, 0
		if c.section == len(c.segments[0].sections) {
			c.segments, c.section = c.segments[1:], -1
			continue
		}
		c.window.reset(c.segments[0], &c.segments[0].sections[c.section])
	}
	if len(c.segments) == 0 {
		return nil
	}
	return c.decode()
}

// decode decodes a block. The head's ones and zeros say which bucket each entry is in.
func (c *cursor) decode() error {
	s := &c.segments[0].sections[c.section]
	if c.block == c.window.end {
		if err := c.window.read(c.block, s.blocks()); err != nil {
			return err
		}
	}
	data, n, err := c.window.block(c.block)
	if err != nil {
		return err
	}
	c.block++
	width := s.tailBits()
	depths := data[(n*width+7)/8:]
	bit, number := c.bit, c.number
	word := s.buckets[bit/64] &^ (1<<(bit%64) - 1)
	for i := range n {
		for word == 0 {
			bit = bit/64*64 + 64
			word = s.buckets[bit/64]
		}
		bit = bit/64*64 + bits.TrailingZeros64(word)
		word &= word - 1
		tail := unpack(data, i*width, width)
		c.entries = append(c.entries, Entry{
			Fingerprint: s.join(bit-number, s.bytes[number], tail>>8),
			Value:       uint32(unpack(depths, i*s.depthBits, s.depthBits)),
			Partition:   s.partition,
			Check:       uint8(tail),
		})
		number++
	}
	c.bit, c.number = bit+1, number
	return nil
}
