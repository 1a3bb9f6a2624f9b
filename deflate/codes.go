package deflate

import (
	"math/bits"
	"slices"
)

// The alphabets of RFC 1951.
const (
	endOfBlock    = 256
	firstLength   = 257
	literalCodes  = 286
	fixedLiterals = 288 // two of which never occur, but count for the others' codes
	distanceCodes = 30
	lengthCodes   = 19 // of the code lengths of the two others

	maxBits       = 15 // of a code of the first two alphabets
	maxLengthBits = 7  // of the third
)

// A code is a symbol's prefix code: its bits, the first one lowest, and above these, from bit 16 on,
// their number; 0 for a symbol that does not occur.
type code uint32

func (c code) bits() uint64 { return uint64(c & 0xffff) }
func (c code) size() uint   { return uint(c >> 16) }

// lengthCode, lengthBase and lengthBits are the codes of match lengths less 3, the first length of each,
// and the bits that tell which of them it is.
var lengthCode, lengthBase, lengthBits = func() (codes [256]uint8, base [29]uint8, extra [29]uint8) {
	length := 0
	for c := range 28 {
		base[c] = uint8(length)
		if c >= 8 {
			extra[c] = uint8(c-4) / 4
		}
		for range 1 << extra[c] {
			if length < 256 {
				codes[length] = uint8(c)
			}
			length++
		}
	}
	codes[255], base[28] = 28, 255 // 258 has a code of its own
	return codes, base, extra
}()

// distanceCode returns the code of a match's distance, the bits that tell which of its distances it is,
// and their number.
func distanceCode(distance int) (symbol int, extra uint64, size uint) {
	d := uint(distance - 1)
	if d < 2 {
		return int(d), 0, 0
	}
	size = uint(bits.Len(d)) - 2
	return int(2*size + 2 + d>>size&1), uint64(d & (1<<size - 1)), size
}

// codes are those of a block's literals, of its ends and lengths, and of its distances.
type codes struct {
	literals  [fixedLiterals]code
	distances [distanceCodes]code
}

// ownCodes are a block's own, with those of the third alphabet, in which they are described.
type ownCodes struct {
	codes
	lengths [lengthCodes]code

	// What makes them.
	sizes [literalCodes + distanceCodes]uint8
	runs  []run
	times [lengthCodes]uint32 // how often each symbol is in runs
	order []uint64            // symbols that occur, rarest first: count, then symbol
	tree  []uint32
}

// A run is a symbol of the third alphabet: a code length, or a repetition with the bits that say of how
// many.
type run struct{ symbol, extra uint8 }

// size returns the number of those bits.
func (r run) size() uint { return [...]uint{2, 3, 7}[max(r.symbol, 16)-16] * uint(r.symbol>>4) }

// fix makes the codes that the RFC has for blocks without codes of their own.
func (c *codes) fix() {
	var sizes [fixedLiterals]uint8
	for i := range sizes {
		switch {
		case i < 144:
			sizes[i] = 8
		case i < 256:
			sizes[i] = 9
		case i < 280:
			sizes[i] = 7
		default:
			sizes[i] = 8
		}
	}
	assign(c.literals[:], sizes[:])
	for i := range c.distances {
		c.distances[i] = code(bits.Reverse8(uint8(i))>>3) | 5<<16
	}
}

// make makes codes for a block of these counts, and the runs that describe them.
func (c *ownCodes) make(counts *counts) {
	c.optimal(c.sizes[:literalCodes], counts.literals[:], maxBits)
	assign(c.literals[:literalCodes], c.sizes[:literalCodes])
	c.optimal(c.sizes[literalCodes:], counts.distances[:], maxBits)
	assign(c.distances[:], c.sizes[literalCodes:])

	c.describe()
	var sizes [lengthCodes]uint8
	c.optimal(sizes[:], c.times[:], maxLengthBits)
	assign(c.lengths[:], sizes[:])
}

// describe makes runs of the code lengths, and counts them.
func (c *ownCodes) describe() {
	c.runs = c.runs[:0]
	clear(c.times[:])
	add := func(symbol, extra int) {
		c.runs = append(c.runs, run{uint8(symbol), uint8(extra)})
		c.times[symbol]++
	}
	for rest := c.sizes[:]; len(rest) > 0; {
		size := rest[0]
		n := 1
		for n < len(rest) && rest[n] == size {
			n++
		}
		rest = rest[n:]
		if size > 0 {
			add(int(size), 0)
			n--
		}
		for n >= 3 {
			var take int
			switch {
			case size > 0:
				take = min(n, 6)
				add(16, take-3)
			case n <= 10:
				take = n
				add(17, take-3)
			default:
				take = min(n, 138)
				add(18, take-11)
			}
			n -= take
		}
		for range n {
			add(int(size), 0)
		}
	}
}

// optimal computes the lengths of an optimal prefix code for symbols that occur so often; 0 for those
// that do not. None is longer than most: where one would be, the counts are halved, the least of them
// rounded up to 1, until none is, which costs next to nothing. A single symbol gets a code of one bit.
//
// It is the algorithm of Moffat and Katajainen (In-place calculation of minimum-redundancy codes, 1995),
// not quite in place. O(n log n).
func (c *ownCodes) optimal(sizes []uint8, counts []uint32, most int) {
	clear(sizes)
	c.order = c.order[:0]
	for symbol, count := range counts {
		if count > 0 {
			c.order = append(c.order, uint64(count)<<16|uint64(symbol))
		}
	}
	slices.Sort(c.order)
	switch len(c.order) {
	case 0:
		return
	case 1:
		sizes[c.order[0]&0xffff] = 1
		return
	}
	for {
		c.depths()
		if int(c.tree[0]) <= most {
			break
		}
		for i, entry := range c.order {
			c.order[i] = (entry>>16+1)/2<<16 | entry&0xffff
		}
	}
	for i, entry := range c.order {
		sizes[entry&0xffff] = uint8(c.tree[i])
	}
}

// depths fills tree with the depth of each of order's leaves, the deepest first. There are two or more.
func (c *ownCodes) depths() {
	n := len(c.order)
	c.tree = slices.Grow(c.tree[:0], n)[:n]
	tree := c.tree
	for i, entry := range c.order {
		tree[i] = uint32(entry >> 16)
	}
	// Join the two lightest, again and again. tree[root:next] are the weights of inner nodes that have no
	// parent yet, before these are parents, after them leaves.
	root, leaf := 0, 0
	lightest := func(next int) (weight uint32) {
		if leaf >= n || root < next && tree[root] < tree[leaf] {
			weight = tree[root]
			tree[root] = uint32(next)
			root++
			return weight
		}
		leaf++
		return tree[leaf-1]
	}
	for next := range n - 1 {
		weight := lightest(next)
		tree[next] = weight + lightest(next)
	}
	// From parents to depths of inner nodes, the root's being last.
	tree[n-2] = 0
	for i := n - 3; i >= 0; i-- {
		tree[i] = tree[tree[i]] + 1
	}
	// From these to depths of leaves: at each depth, what is not an inner node is a leaf.
	inner, at := n-2, n-1
	for depth, room := uint32(0), 1; room > 0; depth++ {
		nodes := 0
		for inner >= 0 && tree[inner] == depth {
			nodes++
			inner--
		}
		for range room - nodes {
			tree[at] = depth
			at--
		}
		room = 2 * nodes
	}
}

// assign makes the canonical codes of these lengths (RFC 1951, 3.2.2).
func assign(codes []code, sizes []uint8) {
	var next [maxBits + 2]uint16
	for _, size := range sizes {
		next[size+1]++
	}
	next[1] = 0 // symbols that do not occur
	for size := 2; size < len(next); size++ {
		next[size] = (next[size] + next[size-1]) << 1
	}
	for symbol, size := range sizes {
		codes[symbol] = 0
		if size > 0 {
			codes[symbol] = code(bits.Reverse16(next[size])>>(16-size)) | code(size)<<16
			next[size]++
		}
	}
}
