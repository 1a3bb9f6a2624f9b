package scheduler

import "math/bits"

// A ring is a set of numbers in a circle: after the last comes the first. Each word of a level says which 64 words
// of the level below have a member. So finding the next member costs O(log n) to the base 64: four words for 16
// million numbers. It takes 1.02 bits a number.
type ring struct {
	levels [][]uint64 // the first holds the members; the last is one word
}

// add puts i in.
func (r *ring) add(i int) {
	for len(r.levels) == 0 || i>>6 >= len(r.levels[0]) {
		r.grow()
	}
	for _, level := range r.levels {
		level[i>>6] |= 1 << (i & 63)
		i >>= 6
	}
}

// remove takes i out.
func (r *ring) remove(i int) {
	if len(r.levels) == 0 || i>>6 >= len(r.levels[0]) {
		return
	}
	for _, level := range r.levels {
		level[i>>6] &^= 1 << (i & 63)
		if level[i>>6] != 0 {
			return
		}
		i >>= 6
	}
}

// next returns the first member that is at least from. If there is none, it returns the least member. ok is false
// if the ring is empty.
func (r *ring) next(from int) (member int, ok bool) {
	if member, ok = r.atLeast(from); ok {
		return member, true
	}
	return r.atLeast(0)
}

func (r *ring) atLeast(from int) (member int, ok bool) {
	for height, level := range r.levels {
		if from>>6 >= len(level) {
			return 0, false
		}
		rest := level[from>>6] >> (from & 63) << (from & 63)
		if rest == 0 {
			from = from>>6 + 1
			continue
		}
		member = from&^63 + bits.TrailingZeros64(rest)
		for height--; height >= 0; height-- {
			member = member<<6 + bits.TrailingZeros64(r.levels[height][member])
		}
		return member, true
	}
	return 0, false
}

// grow makes room for at least twice as many numbers.
func (r *ring) grow() {
	words := 1
	if len(r.levels) > 0 {
		words = 2 * len(r.levels[0])
	}
	var old []uint64
	if len(r.levels) > 0 {
		old = r.levels[0]
	}
	r.levels = nil
	for n := words; ; n = (n + 63) / 64 {
		r.levels = append(r.levels, make([]uint64, n))
		if n == 1 {
			break
		}
	}
	copy(r.levels[0], old)
	for height := 1; height < len(r.levels); height++ {
		for i, word := range r.levels[height-1] {
			if word != 0 {
				r.levels[height][i>>6] |= 1 << (i & 63)
			}
		}
	}
}
