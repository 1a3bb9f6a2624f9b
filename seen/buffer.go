package seen

import (
	"cmp"
	"slices"
	"time"

	"freshet/weburl"
)

// buffer holds what was offered and is not decided yet: every link once, in order of discovery, and
// the marks that will have been decided with them.
type buffer struct {
	links []waiting
	index map[weburl.Fingerprint]int32 // position in links
	bytes int                          // of the links' URLs
	marks map[weburl.Partition]uint64
	since time.Time // when the oldest content came
}

// waiting is a link with all that was offered of it summed.
type waiting struct {
	weburl.Link
	settled bool // known, and at no greater depth than this: nothing to look up
}

func newBuffer() *buffer {
	return &buffer{index: map[weburl.Fingerprint]int32{}, marks: map[weburl.Partition]uint64{}}
}

func (b *buffer) empty() bool { return len(b.links) == 0 && len(b.marks) == 0 }

// add joins a link to what waits.
func (b *buffer) add(w waiting) {
	if i, ok := b.index[w.Fingerprint]; ok {
		have := &b.links[i]
		have.Cash += w.Cash
		have.Depth = min(have.Depth, w.Depth)
		have.Hops = min(have.Hops, w.Hops)
		have.LastMod = max(have.LastMod, w.LastMod)
		have.settled = have.settled && w.settled
		return
	}
	b.index[w.Fingerprint] = int32(len(b.links))
	b.links = append(b.links, w)
	b.bytes += len(w.URL.String())
}

// mark notes that m's record has been offered as a whole.
func (b *buffer) mark(m Mark) {
	if m.Record > 0 {
		b.marks[m.Partition] = max(b.marks[m.Partition], m.Record)
	}
}

// sortedMarks returns marks in order of partition.
func sortedMarks(marks map[weburl.Partition]uint64) []Mark {
	sorted := make([]Mark, 0, len(marks))
	for p, record := range marks {
		sorted = append(sorted, Mark{p, record})
	}
	slices.SortFunc(sorted, func(a, b Mark) int { return cmp.Compare(a.Partition, b.Partition) })
	return sorted
}
