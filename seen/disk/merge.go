package disk

import (
	"math/bits"
	"slices"

	"freshet/weburl"
)

// run is a sorted sequence of segments. No URL is in two of its segments, but one may be in several
// runs: after it was met at a lower depth, or while a merge is under way. Its lowest depth counts.
type run struct{ segments []*segment }

func (r *run) entries() (n int) {
	for _, g := range r.segments {
		n += g.n
	}
	return n
}

// Once merges have caught up, a run is at least mergeRatio times as large as all newer runs together. A larger ratio
// means more writing and fewer runs for a question to pass. With 2, a hundred million new entries in 760 tables are
// written 8 times each, including the first, and leave 3.6 runs on average and 6 at most.
const mergeRatio = 2

// toMerge returns how many of the newest runs are to be made one, 0 for none.
func toMerge(runs []*run) (n int) {
	newer := 0
	for i, r := range runs {
		size := r.entries()
		if i > 0 && size < mergeRatio*newer {
			n = i + 1
		}
		newer += size
	}
	return n
}

// merge makes one run of several, a segment at a time. After every step the set consists of the segments written so
// far and those of the inputs that are not passed yet. So a merge needs the space of some segments only.
type merge struct {
	inputs  []*run    // without the segments that are passed; newest first
	cursors []*cursor // one an input
	pieces  []planned // still to be written
	out     *run
	older   []*run // the set's other runs that are older
	width   int    // how many of the set's runs are the merge's own
	size    int    // entries a segment, about
}

// planned is a piece of the outcome with its expected size.
type planned struct {
	piece
	n     int
	depth uint16
}

// newMerge begins to make one of the n newest of runs.
func newMerge(runs []*run, n, size int) (*merge, error) {
	m := &merge{inputs: slices.Clone(runs[:n]), older: runs[n:], width: n, out: &run{}, size: size, pieces: plan(runs[:n], size)}
	for _, r := range m.inputs {
		c, err := newCursor(r.segments)
		if err != nil {
			return nil, err
		}
		m.cursors = append(m.cursors, c)
	}
	return m, nil
}

// plan cuts every partition into pieces, a power of two in number, so that none is expected to be larger than size.
func plan(inputs []*run, size int) (pieces []planned) {
	type total struct {
		n         int
		depthBits int
	}
	totals := map[int]total{}
	last := 0
	for _, r := range inputs {
		for _, g := range r.segments {
			for i := range g.sections {
				s := &g.sections[i]
				p := int(s.partition)
				totals[p] = total{totals[p].n + s.n, max(totals[p].depthBits, s.depthBits)}
				last = max(last, p)
			}
		}
	}
	for p := range last + 1 {
		t := totals[p]
		if t.n == 0 {
			continue
		}
		cut := bits.Len(uint((t.n - 1) / size))
		for prefix := range 1 << cut {
			pieces = append(pieces, planned{piece{weburl.Partition(p), uint64(prefix), cut}, t.n >> cut, uint16(1<<t.depthBits - 1)})
		}
	}
	return pieces
}

// next returns how many pieces make the next segment.
func (m *merge) next() (pieces int) {
	n := 0 // entries that are expected of them
	for pieces < len(m.pieces) && (n == 0 || n+m.pieces[pieces].n <= m.size) {
		n += m.pieces[pieces].n
		pieces++
	}
	return pieces
}

// step writes the entries of the next segment, which has that many pieces, or more if these turn out to be empty.
// It calls stopped now and then, and returns errStopped when that is true.
func (m *merge) step(w *segmentWriter, pieces int, stopped func() bool) error {
	for ; len(m.pieces) > 0 && (pieces > 0 || w.segment.n == 0); pieces, m.pieces = pieces-1, m.pieces[1:] {
		p := &m.pieces[0]
		w.begin(p.piece, p.n, p.depth)
		if err := m.write(p.piece, w, stopped); err != nil {
			return err
		}
		w.end()
	}
	return nil
}

// write adds the entries of a piece, each once and with its lowest depth.
func (m *merge) write(p piece, w *segmentWriter, stopped func() bool) error {
	var held Entry // not written yet: another input may have it too
	left := slices.DeleteFunc(slices.Clone(m.cursors), func(c *cursor) bool { return !c.in(p) })
	for written := 0; len(left) > 0; written++ {
		first := 0
		for i := 1; i < len(left); i++ {
			if compare(*left[i].entry(), *left[first].entry()) < 0 {
				first = i
			}
		}
		c := left[first]
		e := *c.entry()
		switch {
		case Same(e, held):
			held.Value = min(held.Value, e.Value)
		case held.Fingerprint != 0:
			w.add(held)
			held = e
		default:
			held = e
		}
		if err := c.next(); err != nil {
			return err
		}
		if !c.in(p) {
			left = slices.Delete(left, first, first+1)
		}
		if w.err != nil {
			return w.err
		}
		if written%(1<<16) == 0 && stopped() {
			return errStopped
		}
	}
	if held.Fingerprint != 0 {
		w.add(held)
	}
	return nil
}

// pass adds the segment that step has written to the outcome, takes from the inputs those that the
// cursors have left behind, and returns these.
func (m *merge) pass(g *segment) (passed []*segment) {
	m.out = &run{append(slices.Clone(m.out.segments), g)}
	for i, c := range m.cursors {
		segments := m.inputs[i].segments
		n := len(segments) - len(c.segments)
		passed = append(passed, segments[:n]...)
		m.inputs[i] = &run{segments[n:]}
	}
	return passed
}

// runs returns what the merge has made and what is left of its inputs, the newest first.
func (m *merge) runs() []*run {
	runs := []*run{m.out}
	for _, r := range m.inputs {
		if len(r.segments) > 0 {
			runs = append(runs, r)
		}
	}
	return runs
}
