package scheduler

import "math"

// An entry of a ranking. The larger key ranks higher; of equal keys the lower tie does.
type entry struct {
	key     float64 // finite
	tie, id int32
}

func (e entry) above(other entry) bool {
	return e.key > other.key || e.key == other.key && e.tie < other.tie
}

// absent fills a place without an entry.
var absent = entry{key: math.Inf(-1), tie: math.MaxInt32, id: -1}

// fan is how many nodes of a ranking share a parent: four cache lines.
const fan = 16

// A ranking knows the highest of numbered entries. Any entry can be set again or removed. It is a tree: the parent
// of 16 nodes is a copy of the highest of them.
//
// Most entries neither were nor become the highest of their 16. Such an entry is written and compared once: O(1),
// two cache lines. A heap would move other entries and note their places. An entry that rises to the top costs a
// comparison a level. If the highest sinks or is removed, its 16 are searched, at each level where it was the
// highest: O(16 log₁₆ n). The zero ranking is empty. Memory: 17 bytes for each number up to the highest ever set,
// and up to half as much again after growing.
type ranking struct {
	nodes  []entry // the leaves, by id, then the copies above them, level by level, to the top
	leaves int
}

// top returns the highest entry; ok is false if there is none.
func (r *ranking) top() (e entry, ok bool) {
	if len(r.nodes) == 0 || r.nodes[len(r.nodes)-1] == absent {
		return entry{}, false
	}
	return r.nodes[len(r.nodes)-1], true
}

// set gives an id a key, whether or not it had one.
func (r *ranking) set(e entry) {
	if int(e.id) >= r.leaves {
		r.grow(int(e.id) + 1)
	}
	r.put(int(e.id), e)
}

// remove removes id if it is there.
func (r *ranking) remove(id int32) {
	if int(id) < r.leaves {
		r.put(int(id), absent)
	}
}

// put writes e to a leaf and updates the copies above it.
func (r *ranking) put(leaf int, e entry) {
	id := int32(leaf)
	first, width, at := 0, r.leaves, leaf
	for {
		r.nodes[first+at] = e
		if width == 1 {
			return
		}
		level := r.nodes[first : first+width]
		first, width = first+width, (width+fan-1)/fan
		at /= fan
		switch above := &r.nodes[first+at]; {
		case *above == e:
			return
		case e.above(*above): // the next level holds e too
		case above.id == id: // it was the highest, and may no longer be
			e = highest(level[at*fan : min((at+1)*fan, len(level))])
		default:
			return
		}
	}
}

// highest returns the highest of some entries.
func highest(entries []entry) entry {
	best := entries[0]
	for _, e := range entries[1:] {
		if e.above(best) {
			best = e
		}
	}
	return best
}

// grow makes room for at least n entries, and for at least half as many again as before.
func (r *ranking) grow(n int) {
	old := *r
	r.leaves = (max(n, old.leaves+old.leaves/2) + fan - 1) / fan * fan
	size := r.leaves
	for width := r.leaves; width > 1; size += width {
		width = (width + fan - 1) / fan
	}
	r.nodes = make([]entry, size)
	for i := range r.nodes {
		r.nodes[i] = absent
	}
	for i := range old.leaves {
		if e := old.nodes[i]; e.id >= 0 {
			r.put(i, e)
		}
	}
}
