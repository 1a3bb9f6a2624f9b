package sequence

import "container/heap"

// Balanced returns a cycle with counts[i] ≥ 1 visits of page i, built from regular (Sturmian) words. It joins the two
// pages with the fewest visits into one, until one is left. Then it splits each joint page's m visits again: a of them
// go to one half, those for which ⌊(t+1)a/m⌋ exceeds ⌊t·a/m⌋. That is the most even choice of a from m. Counts that are
// equal, or powers of two, come out evenly spaced. O(L·depth) for L visits.
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

// A joint is a page, or two joints combined.
type joint struct {
	visits      int
	left, right int // joints; −1 for a page
}

type joints []joint

// join builds the tree of joints: the pages first, in order, and the root last.
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

// split distributes the places of a joint among its pages. It reorders places.
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

// fewest is a heap of joints, those with the fewest visits first. Of equal joints, the earlier is first.
type fewest struct {
	all   *joints
	index []int
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
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

// Pop removes and returns the last joint.
func (f *fewest) Pop() any {
	last := len(f.index) - 1
	x := f.index[last]
	f.index = f.index[:last]
	return x
}
