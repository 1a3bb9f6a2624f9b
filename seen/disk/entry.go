package disk

import (
	"cmp"
	"slices"

	"freshet/weburl"
)

// Entry is a URL as the set knows it. Two URLs that agree in all but Value are one URL to the set.
type Entry struct {
	Fingerprint weburl.Fingerprint
	Value       uint32 // the lowest depth, below 65536; in a question, its place in the answers
	Partition   weburl.Partition
	Check       uint8 // bits of another hash, to tell apart what shares a fingerprint
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
	digitBits = 11 // of a pass over the fingerprints
	digits    = 1 << digitBits
	sortedBy  = 3 * digitBits // leading bits of the fingerprint that the passes look at
	fewToSort = 512           // fewer entries are sorted by comparing
)

// sortEntries sorts by compare, with the help of spare, which is as long: three passes over the leading
// 33 bits of the fingerprints, which among a million are nearly always enough to tell them apart, two
// over the partitions, and a look at what is still tied. O(n) for the fingerprints that hashing gives.
func sortEntries(entries, spare []Entry) {
	if len(entries) < fewToSort {
		slices.SortFunc(entries, compare)
		return
	}
	from, to := entries, spare
	pass := func(digit func(*Entry) int) {
		if distribute(to, from, digit) {
			from, to = to, from
		}
	}
	for shift := 64 - sortedBy; shift < 64; shift += digitBits {
		pass(func(e *Entry) int { return int(e.Fingerprint>>shift) & (digits - 1) })
	}
	pass(func(e *Entry) int { return int(e.Partition & 255) })
	pass(func(e *Entry) int { return int(e.Partition >> 8) })
	if &from[0] != &entries[0] {
		copy(entries, from)
	}
	sortTied(entries)
}

// distribute makes dst src in the order of one digit, and otherwise in its own. It does nothing, and says
// so, if all have the same digit.
func distribute(dst, src []Entry, digit func(*Entry) int) bool {
	var next [digits]int32
	for i := range src {
		next[digit(&src[i])]++
	}
	if next[digit(&src[0])] == int32(len(src)) {
		return false
	}
	sum := int32(0)
	for d, n := range next {
		next[d] = sum
		sum += n
	}
	for i := range src {
		d := digit(&src[i])
		dst[next[d]] = src[i]
		next[d]++
	}
	return true
}

// sortTied sorts entries that are in order but for what agrees in all that the passes look at.
func sortTied(entries []Entry) {
	tied := func(a, b Entry) bool {
		return a.Fingerprint>>(64-sortedBy) == b.Fingerprint>>(64-sortedBy) && a.Partition == b.Partition
	}
	for from := 0; from < len(entries); {
		to := from + 1
		for to < len(entries) && tied(entries[from], entries[to]) {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(entries[from:to], compare)
		}
		from = to
	}
}
