package seen

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"freshet/seen/disk"
	"freshet/weburl"
)

// buffer holds the links that were offered and are not decided yet, each once, in order of discovery. It also holds
// the marks that are reached when they are decided.
type buffer struct {
	links   []waiting
	index   []indexed // of links by fingerprint, by open addressing; as many as a power of two, or none
	inDoubt int       // links that are not settled
	joined  int       // offers of links that were in the buffer already
	bytes   int       // of the links, see Bytes
	marks   map[weburl.Partition]uint64
	since   time.Time // when the oldest link came
}

// waiting is a link with the sum of all its offers.
type waiting struct {
	weburl.Link
	partition weburl.Partition
	check     uint8 // see checkOf
	settled   bool  // known, and at no greater depth than this: nothing to look up
}

// indexed is a slot of the index, free if it is zero.
type indexed struct {
	tag  uint32 // of the link's second hash, see tagOf
	next int32  // the link's place in links, plus 1
}

// tagOf returns the tag of a second hash, which distinguishes links that share a fingerprint.
func tagOf(second weburl.Fingerprint) uint32 { return uint32(second) }

// entry returns the set's entry for a link.
func (w *waiting) entry(value uint32) disk.Entry {
	return disk.Entry{Fingerprint: w.Fingerprint, Value: value, Partition: w.partition, Check: w.check}
}

const smallestIndex = 1 << 10

// newBuffer returns an empty buffer. Only one with an index can be filled.
func newBuffer(index []indexed) *buffer {
	return &buffer{index: index, marks: map[weburl.Partition]uint64{}}
}

func (b *buffer) empty() bool { return len(b.links) == 0 && len(b.marks) == 0 }

// clear empties the buffer, whose memory is used again.
func (b *buffer) clear() {
	clear(b.links)
	clear(b.marks)
	b.links, b.inDoubt, b.joined, b.bytes = b.links[:0], 0, 0, 0
}

// unsettle puts all links in doubt.
func (b *buffer) unsettle() {
	for i := range b.links {
		b.links[i].settled = false
	}
	b.inDoubt = len(b.links)
}

// add adds a link with its cash, or joins it to the same link in the buffer.
func (b *buffer) add(link *weburl.Link, second weburl.Fingerprint, p weburl.Partition, settled bool, cash float64) {
	slot := b.slot(link.Fingerprint, tagOf(second))
	if slot.next > 0 {
		have := &b.links[slot.next-1]
		have.Cash += cash
		have.Depth = min(have.Depth, link.Depth)
		have.Hops = min(have.Hops, link.Hops)
		have.LastMod = max(have.LastMod, link.LastMod)
		b.joined++
		if have.settled && !settled {
			have.settled = false
			b.inDoubt++
		}
		return
	}
	b.links = append(b.links, waiting{*link, p, checkOf(second), settled})
	b.links[len(b.links)-1].Cash = cash
	b.bytes += waitingBytes + len(link.URL.String())
	if !settled {
		b.inDoubt++
	}
	*slot = indexed{tagOf(second), int32(len(b.links))}
	if 2*len(b.links) > len(b.index) {
		b.grow()
	}
}

// slot returns the slot of a link in the index, or the free slot for it.
func (b *buffer) slot(fp weburl.Fingerprint, tag uint32) *indexed {
	for at := fp.Slot(len(b.index)); ; at = (at + 1) & (len(b.index) - 1) {
		slot := &b.index[at]
		if slot.next == 0 || slot.tag == tag && b.links[slot.next-1].Fingerprint == fp {
			return slot
		}
	}
}

// touch loads the first slots of the searches for these links, all at once.
func (b *buffer) touch(links []weburl.Link) {
	touched := int32(0)
	for i := range links {
		touched += b.index[links[i].Fingerprint.Slot(len(b.index))].next
	}
	runtime.KeepAlive(touched)
}

func (b *buffer) grow() {
	old := b.index
	b.index = make([]indexed, 2*len(old))
	for _, slot := range old {
		if slot.next > 0 {
			*b.slot(b.links[slot.next-1].Fingerprint, slot.tag) = slot
		}
	}
}

// follow prepares b to be filled after another buffer, whose index it takes over.
func (b *buffer) follow(other *buffer) {
	b.index, other.index = other.index, nil
	clear(b.index)
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
