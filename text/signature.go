package text

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

const (
	bands   = 20
	rows    = 5 // of a band
	hashes  = bands * rows
	shingle = 4 // words

	// alikeHashes of two signatures make it worth while to compare their texts: an estimate of 0.68 and more. Texts
	// with a Jaccard of 0.8 reach it in 999 of 1,000 cases.
	alikeHashes = 68

	// nearly is the least Jaccard similarity of near-duplicates.
	nearly = 0.8

	// mostRuns bounds a sketch. Two texts with at most as many runs together are compared exactly, longer ones with a
	// standard error of 0.006.
	mostRuns = 4096
)

// A Signature is a MinHash of the runs of four words of a text, one byte per hash (Broder 1997, "On the resemblance
// and containment of documents"; Li, König 2010, "b-bit minwise hashing"). The zero value stands for a text that is
// too short to compare.
type Signature [hashes]byte

// Runs is a sketch of a text: the least hashes of its runs of four words, sorted, at most 4,096 of 4 bytes. It is
// empty for a text that is too short to compare.
type Runs []uint32

// fewestShingles is the least number of runs of a text that can be compared.
const fewestShingles = 8

// runs yields a hash of each run of four words of a text, and none if they are too few to compare.
func runs(said string) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		words := strings.Fields(strings.ToLower(said))
		if len(words) < fewestShingles+shingle-1 {
			return
		}
		var run [shingle]uint64
		var raw [8 * shingle]byte
		for i, word := range words {
			copy(run[:], run[1:])
			run[shingle-1] = xxh3.HashString(word)
			if i < shingle-1 {
				continue
			}
			for j, h := range run {
				binary.LittleEndian.PutUint64(raw[8*j:], h)
			}
			if !yield(xxh3.Hash(raw[:])) {
				return
			}
		}
	}
}

// Sign returns the signature of a text, in time linear in its length.
func Sign(said string) (sig Signature) {
	var least [hashes]uint64
	for i := range least {
		least[i] = math.MaxUint64
	}
	some := false
	for h := range runs(said) {
		some = true
		for j := range least {
			h = h*0x9e3779b97f4a7c15 + 0x632be59bd9b4e019 // the next hash of the same run
			if mixed := h ^ h>>31; mixed < least[j] {
				least[j] = mixed
			}
		}
	}
	if !some {
		return sig
	}
	for i, h := range least {
		sig[i] = byte(h * 0xbf58476d1ce4e5b9 >> 56)
	}
	return sig
}

// same returns how many hashes two signatures have in common.
func (s *Signature) same(other *Signature) (same int) {
	for i := range s {
		if s[i] == other[i] {
			same++
		}
	}
	return same
}

// RunsOf returns the sketch of a text.
func RunsOf(said string) Runs {
	var all Runs
	for h := range runs(said) {
		all = append(all, uint32(h>>32))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.Clone(all[:min(len(all), mostRuns)])
}

// Near reports whether two texts are near-duplicates: whether they share four fifths of the runs that they have
// together. Empty sketches are near to none.
func (r Runs) Near(other Runs) bool {
	both, all := 0, 0
	for i, j := 0, 0; (i < len(r) || j < len(other)) && all < mostRuns; all++ {
		switch {
		case j == len(other) || i < len(r) && r[i] < other[j]:
			i++
		case i == len(r) || other[j] < r[i]:
			j++
		default:
			i, j, both = i+1, j+1, both+1
		}
	}
	return both > 0 && float64(both) >= nearly*float64(all)
}
