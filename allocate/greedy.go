package allocate

// Greedy returns the optimal allocation by taking the largest gain again and again (Fox 1966). It is the reference
// for tests of the others: O(n + R log n) time, 16 bytes a page apart from the result. The error is an
// *InfeasibleError.
func Greedy(p Problem, budget int) ([]int32, error) {
	least, err := feasible(p, budget)
	if err != nil {
		return nil, err
	}
	crawls := minimums(p)
	heap := make(queue, 0, len(crawls))
	for i, x := range crawls {
		if _, most := p.Bounds(i); int(x) < most {
			heap = append(heap, element{p.Gain(i, int(x)), int32(i), x})
		}
	}
	heap.take(p, crawls, int64(budget)-least)
	return crawls, nil
}

// A queue is a binary heap of elements, the one that is taken next at its root:
// !heap[i].before(heap[(i-1)/2]) for every i > 0, once it is heaped.
type queue []element

// take makes q a heap and gives the n best further crawls to its pages. Every page has at most its next element in q.
// The pages must have n more crawls.
func (q queue) take(p Problem, crawls []int32, n int64) {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
	for ; n > 0; n-- {
		top := &q[0]
		top.x++
		crawls[top.page] = top.x
		if _, most := p.Bounds(int(top.page)); int(top.x) < most {
			top.gain = p.Gain(int(top.page), int(top.x))
		} else {
			q[0] = q[len(q)-1]
			q = q[:len(q)-1]
		}
		q.down(0)
	}
}

// down moves the element at i to its place, O(log n).
func (q queue) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(q) {
			return
		}
		if child+1 < len(q) && q[child+1].before(q[child]) {
			child++
		}
		if !q[child].before(q[i]) {
			return
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
}

// giveBack is the reverse of take: it makes q a heap and takes the n worst crawls from its pages. Every page has at
// most the element it took last in q. The pages must have n crawls to give.
func (q queue) giveBack(p Problem, crawls []int32, n int64) {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.up(i)
	}
	for ; n > 0; n-- {
		top := &q[0]
		crawls[top.page] = top.x
		if least, _ := p.Bounds(int(top.page)); int(top.x) > least {
			top.x--
			top.gain = p.Gain(int(top.page), int(top.x))
		} else {
			q[0] = q[len(q)-1]
			q = q[:len(q)-1]
		}
		q.up(0)
	}
}

// up is down with the order reversed.
func (q queue) up(i int) {
	for {
		child := 2*i + 1
		if child >= len(q) {
			return
		}
		if child+1 < len(q) && q[child].before(q[child+1]) {
			child++
		}
		if !q[i].before(q[child]) {
			return
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
}
