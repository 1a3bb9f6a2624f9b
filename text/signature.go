package text

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

const (
	bands   = 20
	rows    = 5 // of a band
	hashes  = bands * rows
	shingle = 4 // words

	// alikeHashes of two signatures make their texts near-duplicates: an estimate of 0.72 and more. Texts with a
	// Jaccard of 0.8 reach it in 98 of 100 cases, with 0.5 in less than one of 100,000.
	alikeHashes = 72

	// compared bounds how many clusters of one bucket a signature is compared with.
	compared = 32
)

// A Signature is a MinHash of the runs of four words of a text, one byte per hash (Broder 1997, "On the resemblance
// and containment of documents"; Li, König 2010, "b-bit minwise hashing"). The zero value stands for a text that is
// too short to compare.
type Signature [hashes]byte

// fewestShingles is the least number of runs of a text that can be compared.
const fewestShingles = 8

// Sign returns the signature of a text, in time linear in its length.
func Sign(said string) (sig Signature) {
	words := strings.Fields(strings.ToLower(said))
	if len(words) < fewestShingles+shingle-1 {
		return sig
	}
	var least [hashes]uint64
	for i := range least {
		least[i] = ^uint64(0)
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
		h := xxh3.Hash(raw[:])
		for j := range least {
			h = h*0x9e3779b97f4a7c15 + 0x632be59bd9b4e019 // the next hash of the same run
			if mixed := h ^ h>>31; mixed < least[j] {
				least[j] = mixed
			}
		}
	}
	for i, h := range least {
		sig[i] = byte(h * 0xbf58476d1ce4e5b9 >> 56)
	}
	return sig
}

// Near reports whether two texts are near-duplicates.
func (s *Signature) Near(other *Signature) bool {
	same := 0
	for i := range s {
		if s[i] == other[i] {
			same++
		}
	}
	return same >= alikeHashes && *s != Signature{}
}

// Clusters groups n signatures that are Near: cluster[i] is the least index of the group of signature i. A zero
// signature is alone in its group. signatures has them one behind the other. For each band, Clusters sorts them by the
// bytes of the band and compares those with equal bytes. It takes 16 bytes of memory per signature and O(n log n) time,
// reads all signatures in order once a band, and single ones as they are compared. Its errors are those of reading and
// of ctx.
func Clusters(ctx context.Context, signatures io.ReaderAt, n int) (cluster []int32, err error) {
	g := &groups{signatures: signatures, parent: make([]int32, n)}
	for i := range g.parent {
		g.parent[i] = int32(i)
	}
	order := make([]banded, 0, n)
	for b := range bands {
		if order, err = g.readBand(ctx, b, order[:0]); err != nil {
			return nil, err
		}
		slices.SortFunc(order, banded.compare)
		for from := 0; from < len(order); {
			to := from + 1
			for to < len(order) && order[from].band == order[to].band {
				to++
			}
			if to-from > 1 {
				if err := g.join(order[from:to]); err != nil {
					return nil, err
				}
			}
			from = to
		}
	}
	for i := range g.parent {
		g.parent[i] = g.root(int32(i))
	}
	return g.parent, nil
}

// banded is a signature and its bytes of one band.
type banded struct {
	band [rows]byte
	i    int32
}

func (a banded) compare(b banded) int {
	return cmp.Or(bytes.Compare(a.band[:], b.band[:]), cmp.Compare(a.i, b.i))
}

// groups are signatures that are being grouped.
type groups struct {
	signatures io.ReaderAt
	parent     []int32 // of each: itself, or one before it in the same group
}

// at reads a signature.
func (g *groups) at(i int32) (sig Signature, err error) {
	n, err := g.signatures.ReadAt(sig[:], int64(i)*int64(len(sig)))
	if n == len(sig) {
		err = nil
	}
	return sig, err
}

// readBand appends all signatures but zero ones to order.
func (g *groups) readBand(ctx context.Context, b int, order []banded) ([]banded, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(g.signatures, 0, int64(len(g.parent))*hashes), 1<<20)
	for i := range g.parent {
		var sig Signature
		if _, err := io.ReadFull(in, sig[:]); err != nil {
			return nil, err
		}
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if sig != (Signature{}) {
			order = append(order, banded{[rows]byte(sig[b*rows:]), int32(i)})
		}
	}
	return order, nil
}

// root returns the least index of a signature's group.
func (g *groups) root(i int32) int32 {
	for g.parent[i] != i {
		g.parent[i] = g.parent[g.parent[i]]
		i = g.parent[i]
	}
	return i
}

// join merges the groups of signatures in a bucket that are near one of its first members of other groups.
func (g *groups) join(bucket []banded) error {
	type leader struct {
		i   int32
		sig Signature
	}
	var leaders []leader
next:
	for _, member := range bucket {
		mine := g.root(member.i)
		var sig Signature // read if it is needed
		for n := range leaders {
			theirs := g.root(leaders[n].i)
			if theirs == mine {
				continue next
			}
			if sig == (Signature{}) {
				var err error
				if sig, err = g.at(member.i); err != nil {
					return err
				}
			}
			if sig.Near(&leaders[n].sig) {
				g.parent[max(mine, theirs)] = min(mine, theirs)
				continue next
			}
		}
		if len(leaders) == compared {
			continue
		}
		sig, err := g.at(member.i)
		if err != nil {
			return err
		}
		leaders = append(leaders, leader{member.i, sig})
	}
	return nil
}
