package sequence

import "container/heap"

// Balanced returns a cycle in which page i has counts[i] ≥ 1 visits, made of regular words. The two
// pages with the fewest visits are joined into one, until one is left; then each joint page's visits are
// split again, of m visits those to one half for which ⌊(t+1)a/m⌋ exceeds ⌊t·a/m⌋, which is the evenest
// way to take a of m. Equal counts, and powers of two, come out evenly spaced. O(L·depth) for L visits.
func Balanced(counts []int) []int32 {
	cycle := make([]int32, sum(counts))
	if len(counts) == 0 {
		return cycle
	}
	joints := join(counts)
	places := make([]int32, len(cycle))
	for at := range places {
		places[at] = int32(at)
	}
	joints.split(len(joints)-1, places, cycle)
	return cycle
}

// A joint is a page, or two joints taken together.
type joint struct {
	visits      int
	left, right int // joints; −1 for a page
}

type joints []joint

// join makes the tree of joints: pages first, in order, the root last.
func join(counts []int) joints {
	all := make(joints, 0, 2*len(counts))
	queue := &fewest{}
	for i, n := range counts {
		all = append(all, joint{n, -1, -1})
		queue.index = append(queue.index, i)
	}
	queue.all = &all
	heap.Init(queue)
	for queue.Len() > 1 {
		a, b := heap.Pop(queue).(int), heap.Pop(queue).(int)
		all = append(all, joint{all[a].visits + all[b].visits, a, b})
		heap.Push(queue, len(all)-1)
	}
	return all
}

// split gives the places of a joint to its pages. Places are divided in the slice itself.
func (all joints) split(at int, places, cycle []int32) {
	node := all[at]
	if node.left < 0 {
		for _, place := range places {
			cycle[place] = int32(at)
		}
		return
	}
	a, m := all[node.left].visits, node.visits
	left, right := make([]int32, 0, a), make([]int32, 0, m-a)
	for t, place := range places {
		if (t+1)*a/m > t*a/m {
			left = append(left, place)
		} else {
			right = append(right, place)
		}
	}
	all.split(node.left, left, cycle)
	all.split(node.right, right, cycle)
}

// fewest is a heap of joints, those with the fewest visits first, ties to the earlier.
type fewest struct {
	all   *joints
	index []int
}

// Len, Less, Swap, Push and Pop are heap.Interface's.
func (f *fewest) Len() int { return len(f.index) }

// Less reports whether joint i has fewer visits than j.
func (f *fewest) Less(i, j int) bool {
	a, b := (*f.all)[f.index[i]].visits, (*f.all)[f.index[j]].visits
	return a < b || a == b && f.index[i] < f.index[j]
}

// Swap swaps two joints.
func (f *fewest) Swap(i, j int) { f.index[i], f.index[j] = f.index[j], f.index[i] }

// Push adds a joint.
func (f *fewest) Push(x any) { f.index = append(f.index, x.(int)) }

// Pop takes the last joint away.
func (f *fewest) Pop() any {
	last := len(f.index) - 1
	x := f.index[last]
	f.index = f.index[:last]
	return x
}
