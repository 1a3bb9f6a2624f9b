package disk

import (
	"math/bits"
	"sort"

	"freshet/weburl"
)

// piece is an aligned part of a partition's range of fingerprints: those whose leading bits are prefix.
type piece struct {
	partition weburl.Partition
	prefix    uint64
	bits      int // length of prefix
}

// contains reports whether e falls into p.
func (p piece) contains(e *Entry) bool {
	return e.Partition == p.partition && uint64(e.Fingerprint)>>(64-p.bits) == p.prefix
}

// after reports whether e comes after all of p.
func (p piece) after(e *Entry) bool {
	return e.Partition > p.partition || e.Partition == p.partition && uint64(e.Fingerprint)>>(64-p.bits) > p.prefix
}

// head is the part of a section that stays in memory: of each fingerprint the leading bits, as
// Elias-Fano coding has them, and a byte more. What follows the piece's prefix is cut in three:
//
//	┌────────┬────────┬──────┬──────┐
//	│ prefix │ bucket │ byte │ rest │
//	└────────┴────────┴──────┴──────┘
//
// buckets has, for every bucket in turn, a 1 for each of its fingerprints and a closing 0. bytes has the bytes, in
// order. A fingerprint's number is the number of ones before it, and gives its place on disk. There are between one
// and two fingerprints a bucket: 9.5 to 10.5 bits each, the samples included. The probability that an absent
// fingerprint shares bucket and byte with a present one is below 1 in 128.
type head struct {
	piece
	bucketBits int
	buckets    []uint64
	bytes      []byte
	samples    []uint32 // for every 64th bucket, the number of its first bit in buckets
}

const sampled = 64 // buckets a sample

// minBucketBits keeps rest and check below 57 bits, which one unaligned load can take in.
const minBucketBits = 8

// newHead returns the head of an empty section of p for about n fingerprints.
func newHead(p piece, n int) *head {
	h := &head{piece: p, bucketBits: max(minBucketBits, bits.Len(uint(n))-1)}
	h.buckets = make([]uint64, 0, (n+n/64+1<<h.bucketBits)/64+1)
	h.bytes = make([]byte, 0, n+n/64)
	return h
}

func (h *head) restBits() int { return 64 - 8 - h.bucketBits - h.bits }

// split cuts a fingerprint of the piece into bucket, byte and rest.
func (h *head) split(fp weburl.Fingerprint) (bucket int, b byte, rest uint64) {
	v := uint64(fp) << h.bits
	shift := 64 - h.bucketBits
	return int(v >> shift), byte(v >> (shift - 8)), v << (h.bucketBits + 8) >> (64 - h.restBits())
}

// join is the inverse of split.
func (h *head) join(bucket int, b byte, rest uint64) weburl.Fingerprint {
	restBits := h.restBits()
	return weburl.Fingerprint(h.prefix<<(64-h.bits) | uint64(bucket)<<(restBits+8) | uint64(b)<<restBits | rest)
}

// append adds the next fingerprint's bucket and byte.
func (h *head) append(bucket int, b byte) {
	at := bucket + len(h.bytes)
	for at/64 >= len(h.buckets) {
		h.buckets = append(h.buckets, 0)
	}
	h.buckets[at/64] |= 1 << (at % 64)
	h.bytes = append(h.bytes, b)
}

// finish makes the head ready for searches: it closes and samples all buckets. It reports whether there are as many
// ones as bytes, and no more zeros than buckets.
func (h *head) finish() bool {
	words := (len(h.bytes)+1<<h.bucketBits)/64 + 1
	for len(h.buckets) < words {
		h.buckets = append(h.buckets, 0)
	}
	h.samples = make([]uint32, 0, 1<<h.bucketBits/sampled)
	zeros, ones := 0, 0
	for i, word := range h.buckets {
		// A sample for every bucket that begins in this word: behind the zero before it.
		for next := len(h.samples) * sampled; next < 1<<h.bucketBits && (next == 0 || next-1 < zeros+bits.OnesCount64(^word)); next += sampled {
			at := 0
			if next > 0 {
				at = 64*i + selectBit(^word, next-1-zeros) + 1
			}
			h.samples = append(h.samples, uint32(at))
		}
		zeros += bits.OnesCount64(^word)
		ones += bits.OnesCount64(word)
	}
	return ones == len(h.bytes) && len(h.samples) == 1<<h.bucketBits/sampled
}

// search returns the range of numbers of the fingerprints with byte b in the bucket that begins at bit at, whose
// first fingerprint has the number from.
func (h *head) search(at, from int, b byte) (int, int) {
	for steps := 0; h.has(at) && h.bytes[from] < b; at, from = at+1, from+1 {
		if steps++; steps == longBucket {
			return h.searchLong(at, from, b)
		}
	}
	to := from
	for ; h.has(at) && h.bytes[to] == b; at, to = at+1, to+1 {
		if to-from == longBucket {
			_, to = h.searchLong(at, to, b)
			break
		}
	}
	return from, to
}

func (h *head) has(at int) bool { return h.buckets[at/64]>>(at%64)&1 == 1 }

// longBucket is longer than any bucket from random hashes; a hostile site may choose URLs that make one.
const longBucket = 24

// searchLong goes on with a search at bit at, with b at number from or later.
func (h *head) searchLong(at, from int, b byte) (int, int) {
	i := at / 64
	word := ^h.buckets[i] &^ (1<<(at%64) - 1)
	for word == 0 {
		i++
		word = ^h.buckets[i]
	}
	length := 64*i + bits.TrailingZeros64(word) - at
	rest := h.bytes[from : from+length]
	lower := sort.Search(length, func(i int) bool { return rest[i] >= b })
	upper := lower + sort.Search(length-lower, func(i int) bool { return rest[lower+i] > b })
	return from + lower, from + upper
}

// start returns the bit of buckets where a bucket begins: behind the zero that closes the one before.
func (h *head) start(bucket int) int {
	at := int(h.samples[bucket/sampled])
	zeros := bucket % sampled // to pass
	if zeros == 0 {
		return at
	}
	i := at / 64
	word := ^h.buckets[i] &^ (1<<(at%64) - 1)
	for n := bits.OnesCount64(word); n < zeros; n = bits.OnesCount64(word) {
		zeros -= n
		i++
		word = ^h.buckets[i]
	}
	return 64*i + selectBit(word, zeros-1) + 1
}

// selectBit returns the place of the n-th one of word, from 0. There must be that many. It has no branches, because
// no processor could predict them: it counts the ones up to each byte, finds the byte, and uses a table.
func selectBit(word uint64, n int) (at int) {
	const ones = 0x0101010101010101
	upTo := word - word>>1&(0x55*ones)
	upTo = upTo&(0x33*ones) + upTo>>2&(0x33*ones)
	upTo = (upTo + upTo>>4) & (0x0f * ones) * ones
	passed := 8 * bits.OnesCount64(((uint64(n)*ones|0x80*ones)-upTo)&(0x80*ones))
	n -= int(upTo << 8 >> passed & 255)
	return passed + int(inByte[n&7][byte(word>>passed)])
}

// inByte has the place of each byte's n-th one, from 0.
var inByte = func() (places [8][256]uint8) {
	for b := range 256 {
		n := 0
		for i := range uint8(8) {
			if b>>i&1 == 1 {
				places[n][b] = i
				n++
			}
		}
	}
	return places
}()
