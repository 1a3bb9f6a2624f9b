package text

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
)

const (
	// compared bounds how many clusters of one bucket a signature is compared with, and with how many texts that it is
	// not near to.
	compared = 32

	// mostKept bounds how many texts of a group the others are compared with. Their sketches have at most 64 MB.
	mostKept = 4096
)

// Clusters groups n texts that are Near: cluster[i] is the least index of the group of text i. Each text of a group is
// near to another text of the group, but not to all. The signatures are one behind the other. A text with a zero
// signature is alone. Texts with equal signatures are together, without a look at their runs.
//
// For each band, Clusters sorts the signatures by the bytes of the band. Those with equal bytes are compared, and are
// in one group if they have enough in common. A signature is only an estimate. So Clusters then reads the runs of the
// texts of each group, and parts the group by them. In a group of more than 4,096 different texts, it compares each
// text with the first 4,096.
//
// It takes 16 bytes of memory per text and at most 66 MB for sketches, and O(n log n) time. It reads all signatures in
// order once a band, and single ones as it compares them. Its errors are those of reading, of runs and of ctx.
func Clusters(ctx context.Context, signatures io.ReaderAt, n int, runs func(i int32) (Runs, error)) (cluster []int32, err error) {
	g := &groups{signatures: signatures, parent: make([]int32, n)}
	for i := range g.parent {
		g.parent[i] = int32(i)
	}
	if err := g.guess(ctx); err != nil {
		return nil, err
	}
	grouped := g.list()
	for len(grouped) > 0 {
		n := 1
		for n < len(grouped) && g.parent[grouped[n]] == g.parent[grouped[0]] {
			n++
		}
		if err := g.part(ctx, grouped[:n], runs); err != nil {
			return nil, err
		}
		grouped = grouped[n:]
	}
	for i := range g.parent {
		g.parent[i] = g.root(int32(i))
	}
	return g.parent, nil
}

// guess groups the texts by their signatures.
func (g *groups) guess(ctx context.Context) (err error) {
	order := make([]banded, 0, len(g.parent))
	for b := range bands {
		if order, err = g.readBand(ctx, b, order[:0]); err != nil {
			return err
		}
		slices.SortFunc(order, banded.compare)
		for from := 0; from < len(order); {
			to := from + 1
			for to < len(order) && order[from].band == order[to].band {
				to++
			}
			if to-from > 1 {
				if err := g.join(order[from:to]); err != nil {
					return err
				}
			}
			from = to
		}
	}
	return nil
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

// merge merges the groups of two texts.
func (g *groups) merge(a, b int32) {
	a, b = g.root(a), g.root(b)
	g.parent[max(a, b)] = min(a, b)
}

// join merges the groups of signatures in a bucket that have enough in common with one of its first members of other
// groups.
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
			if sig.same(&leaders[n].sig) >= alikeHashes {
				g.merge(mine, theirs)
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

// list returns the texts that are in a group with others, those of a group one behind the other. Their parents are the
// roots.
func (g *groups) list() (grouped []int32) {
	size := make([]int32, len(g.parent))
	for i := range g.parent {
		g.parent[i] = g.root(int32(i))
		size[g.parent[i]]++
	}
	for i, root := range g.parent {
		if size[root] > 1 {
			grouped = append(grouped, int32(i))
		}
	}
	slices.SortFunc(grouped, func(a, b int32) int {
		return cmp.Or(cmp.Compare(g.parent[a], g.parent[b]), cmp.Compare(a, b))
	})
	return grouped
}

// kept is a text of a group with which others are compared.
type kept struct {
	i    int32
	sig  Signature
	runs Runs // nil: not read
}

// part parts a group: its texts stay with those that they are near to. A text is compared with those before it, the
// likeliest first.
func (g *groups) part(ctx context.Context, members []int32, runs func(i int32) (Runs, error)) error {
	for _, i := range members {
		g.parent[i] = i
	}
	near := func(a, b *kept) (_ bool, err error) {
		for _, of := range []*kept{a, b} {
			if of.runs != nil {
				continue
			}
			if of.runs, err = runs(of.i); err != nil {
				return false, err
			}
			if of.runs == nil {
				of.runs = Runs{}
			}
		}
		return a.runs.Near(b.runs), nil
	}
	type candidate struct {
		*kept
		same int
	}
	var all []*kept
	var candidates []candidate
next:
	for _, i := range members {
		if err := ctx.Err(); err != nil {
			return err
		}
		sig, err := g.at(i)
		if err != nil {
			return err
		}
		candidates = candidates[:0]
		for _, other := range all {
			same := sig.same(&other.sig)
			if same == hashes {
				g.merge(i, other.i)
				continue next
			}
			if same >= alikeHashes {
				candidates = append(candidates, candidate{other, same})
			}
		}
		slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.same, a.same) })
		this, others := &kept{i: i, sig: sig}, 0
		for _, other := range candidates {
			if others == compared {
				break
			}
			if g.root(i) == g.root(other.i) {
				continue
			}
			yes, err := near(this, other.kept)
			if err != nil {
				return err
			}
			if yes {
				g.merge(i, other.i)
			} else {
				others++
			}
		}
		if len(all) < mostKept {
			all = append(all, this)
		}
	}
	return nil
}
