package change

import "math"

// longestPaths finds, for every number of crawls, the instants that keep a Quasi page fresh for longest. A set of
// instants is a path from a virtual start before the first instant to the interval's end. The path's weight is the
// fresh time. The edge from i to m weighs the fresh time after a crawl at i up to the next one at m:
//
//	V(i, m) = Σ_{j=i..m-1} (u_{j+1}-u_j) Π_{k=i+1..j} (1-k_k)
//
// V(i,m) + V(i',m') ≥ V(i,m') + V(i',m) for i < i' < m < m' (Monge), so the best predecessor does not fall from one
// node to the next. Divide and conquer then computes a layer of the dynamic program in O(Q log Q).
type longestPaths struct {
	nodes int
	edge  []float64 // V(i, m) at i*nodes+m
	best  []float64 // heaviest path with the current number of edges from the start to each node; -Inf: none
	layer []float64
	first bool
}

// paths prepares the graph. O(Q²) in time and memory.
func (q *Quasi) paths() *longestPaths {
	n := len(q.times)
	p := &longestPaths{nodes: n, edge: make([]float64, n*n), best: make([]float64, n), layer: make([]float64, n), first: true}
	for i := range n - 1 {
		fresh, sum := 1.0, 0.0
		for j := i; j < n-1; j++ {
			if j > i {
				fresh *= q.keep[j]
			}
			sum += (q.times[j+1] - q.times[j]) * fresh
			p.edge[i*n+j+1] = sum
		}
	}
	fresh, sum := 1.0, 0.0
	for j := range n - 1 { // from the virtual start: the copy as it was before the interval
		p.best[j] = sum
		fresh *= q.keep[j]
		sum += (q.times[j+1] - q.times[j]) * fresh
	}
	p.best[n-1] = sum
	return p
}

// next adds one crawl to every path and returns the weight of the heaviest path to the end; the first call has no
// crawl. If from is not nil, next writes each node's predecessor there.
func (p *longestPaths) next(from []int32) float64 {
	if p.first {
		p.first = false
		return p.best[p.nodes-1]
	}
	for m := range p.layer {
		p.layer[m] = math.Inf(-1)
	}
	p.divide(1, p.nodes-1, 0, p.nodes-2, from)
	p.best, p.layer = p.layer, p.best
	return p.best[p.nodes-1]
}

// divide finds the predecessors of the nodes from low to high, all of which are between left and right.
func (p *longestPaths) divide(low, high, left, right int, from []int32) {
	if low > high {
		return
	}
	middle := (low + high) / 2
	at, heaviest := left, math.Inf(-1)
	for i := left; i <= min(right, middle-1); i++ {
		if w := p.best[i] + p.edge[i*p.nodes+middle]; w > heaviest {
			at, heaviest = i, w
		}
	}
	p.layer[middle] = heaviest
	if from != nil {
		from[middle] = int32(at)
	}
	p.divide(low, middle-1, left, at, from)
	p.divide(middle+1, high, at, right, from)
}
