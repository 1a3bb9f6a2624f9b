package disk

import (
	"cmp"
	"math/bits"
	"slices"

	"freshet/weburl"
)

// Entry is a URL as the set knows it. Two URLs that agree in all but Value are one URL to the set.
type Entry struct {
	Fingerprint weburl.Fingerprint
	Value       uint32 // the lowest depth, below 65536; in a question, its place in the answers
	Partition   weburl.Partition
	Check       uint8 // bits of another hash, to distinguish URLs with the same fingerprint
}

// compare is the order of all that lies on disk: partition, fingerprint, check.
func compare(a, b Entry) int {
	if a.Partition != b.Partition {
		return cmp.Compare(a.Partition, b.Partition)
	}
	if a.Fingerprint != b.Fingerprint {
		return cmp.Compare(a.Fingerprint, b.Fingerprint)
	}
	return cmp.Compare(a.Check, b.Check)
}

// Same reports whether a and b are one URL.
func Same(a, b Entry) bool {
	return a.Fingerprint == b.Fingerprint && a.Check == b.Check && a.Partition == b.Partition
}

const (
	digitBits = 11 // of a pass
	digits    = 1 << digitBits
	fewToSort = 512 // fewer entries are sorted by comparing
)

// order sorts entries whose partitions are numbered below 2^partitionBits.
type order struct{ partitionBits int }

// orderOf returns the order of entries of that many partitions.
func orderOf(partitions int) order { return order{bits.Len(uint(partitions - 1))} }

// leading returns the leading bits of the order: the partition, then the fingerprint as far as it fits.
func (o order) leading(e *Entry) uint64 {
	return uint64(e.Partition)<<(64-o.partitionBits) | uint64(e.Fingerprint)>>o.partitionBits
}

// sort sorts by compare. spare has the same length. It makes radix passes over as many leading bits as separate
// nearly all entries, 22 for a quarter of a million, and then sorts the ties by comparison. There are more ties if
// few partitions have all entries. O(n) for hashed fingerprints.
func (o order) sort(entries, spare []Entry) {
	if len(entries) < fewToSort {
		slices.SortFunc(entries, compare)
		return
	}
	passes := (bits.Len(uint(len(entries))) + 3 + digitBits) / digitBits
	from, to := entries, spare
	for i := passes; i > 0; i-- {
		if o.distribute(to, from, 64-i*digitBits) {
			from, to = to, from
		}
	}
	if &from[0] != &entries[0] {
		copy(entries, from)
	}
	o.sortTied(entries, 64-passes*digitBits)
}

// distribute copies src to dst, sorted stably by the digit at bit shift of the leading bits. If all have the same
// digit, it does nothing and returns false.
func (o order) distribute(dst, src []Entry, shift int) bool {
	var next [digits]int32
	for i := range src {
		next[o.leading(&src[i])>>shift%digits]++
	}
	if next[o.leading(&src[0])>>shift%digits] == int32(len(src)) {
		return false
	}
	sum := int32(0)
	for d, n := range next {
		next[d] = sum
		sum += n
	}
	for i := range src {
		d := o.leading(&src[i]) >> shift % digits
		dst[next[d]] = src[i]
		next[d]++
	}
	return true
}

// sortTied sorts the ties among entries that are in order by their leading bits from bit shift on.
func (o order) sortTied(entries []Entry, shift int) {
	for from := 0; from < len(entries); {
		to, tied := from+1, o.leading(&entries[from])>>shift
		for to < len(entries) && o.leading(&entries[to])>>shift == tied {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(entries[from:to], compare)
		}
		from = to
	}
}
