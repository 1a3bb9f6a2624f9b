package fleet

// closedClasses returns the closed classes of a chain of n states, each as the states in it: the
// strongly connected components that nothing leaves. The function appends a state's successors to
// its argument. Tarjan's algorithm with a stack of its own, O(states + successors).
func closedClasses(n int, successors func(i int, to []int) []int) [][]int {
	type visit struct {
		state int
		left  []int // successors still to be visited
	}
	var (
		closed  [][]int
		path    []visit
		pending []int             // states of components that are not complete
		number  = make([]int, n)  // order of discovery, from 1
		lowest  = make([]int, n)  // the lowest number that is known to be reachable and pending
		done    = make([]bool, n) // in a complete component
		leaves  = make([]bool, n) // has an edge into another component
		count   int
	)
	enter := func(i int) {
		count++
		number[i], lowest[i] = count, count
		pending = append(pending, i)
		path = append(path, visit{i, successors(i, nil)})
	}
	for root := range n {
		if number[root] == 0 {
			enter(root)
		}
		for len(path) > 0 {
			top := &path[len(path)-1]
			i := top.state
			if len(top.left) > 0 {
				j := top.left[0]
				top.left = top.left[1:]
				switch {
				case number[j] == 0:
					enter(j)
				case done[j]:
					leaves[i] = true
				default:
					lowest[i] = min(lowest[i], number[j])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				from := path[len(path)-1].state
				lowest[from] = min(lowest[from], lowest[i])
				leaves[from] = leaves[from] || lowest[i] == number[i]
			}
			if lowest[i] < number[i] {
				if len(path) > 0 && leaves[i] {
					leaves[path[len(path)-1].state] = true
				}
				continue
			}
			first := len(pending) - 1
			for pending[first] != i {
				first--
			}
			component := append([]int(nil), pending[first:]...)
			pending = pending[:first]
			for _, j := range component {
				done[j] = true
			}
			if !leaves[i] {
				closed = append(closed, component)
			}
		}
	}
	return closed
}
