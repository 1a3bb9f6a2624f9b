package scheduler

import "math"

// An entry of a ranking: the larger key stands higher, and of equal ones the lower tie.
type entry struct {
	key     float64 // finite
	tie, id int32
}

func (e entry) above(other entry) bool {
	return e.key > other.key || e.key == other.key && e.tie < other.tie
}

// absent stands where nothing does.
var absent = entry{key: math.Inf(-1), tie: math.MaxInt32, id: -1}

// fan is how many nodes of a ranking have one above them: four lines of a processor's cache.
const fan = 16

// A ranking knows the highest of numbered entries, any of which can be set again or removed. Above each 16
// of them stands a copy of the highest, above each 16 copies another, up to one.
//
// An entry that neither was nor becomes the highest of its 16 is written and compared once: O(1), two
// lines of cache, where a heap would move others and note their places. Most are such. The highest goes
// up with its key, a comparison a level; if it sinks or goes, the 16 are looked through, at each level
// where it stood: O(16 log₁₆ n). The zero ranking is empty. 17 bytes for each number up to the highest ever set, half
// as many more where it had to grow.
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

// set puts id under a key, wherever it stood before.
func (r *ranking) set(e entry) {
	if int(e.id) >= r.leaves {
		r.grow(int(e.id) + 1)
	}
	r.put(int(e.id), e)
}

// remove takes id out, if it is there.
func (r *ranking) remove(id int32) {
	if int(id) < r.leaves {
		r.put(int(id), absent)
	}
}

// put lets e stand at a leaf, and the copies above follow.
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
		case e.above(*above): // so does the next level hold e
		case above.id == id: // it was the highest, and need no longer be
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

// grow makes room for at least n entries, and half as many again as there was for.
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
