package change

import "math"

// longestPaths finds, for every number of crawls, the set of instants that keeps a Quasi page fresh longest. A set is
// a path over the instants, from a virtual start before the first to the interval's end. Its weight is the fresh
// time. The edge from i to m weighs the fresh time after a crawl at i up to the next one at m:
//
//	V(i, m) = Σ_{j=i..m-1} (u_{j+1}-u_j) Π_{k=i+1..j} (1-k_k)
//
// V(i,m) + V(i',m') ≥ V(i,m') + V(i',m) for i < i' < m < m' (Monge), so the best predecessor of a node does not fall
// from node to node, and a layer of the dynamic program takes O(Q log Q) by divide and conquer.
type longestPaths struct {
	nodes int
	edge  []float64 // V(i, m) at i*nodes+m
	best  []float64 // heaviest path of so many edges from the start to each node; -Inf: none
	layer []float64
	first bool
}

// paths prepares the graph, O(Q²) in time and memory.
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

// next adds one crawl, beginning with none, and returns the weight of the heaviest path to the end. If from is not
// nil, it writes each node's predecessor there.
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

// divide finds the predecessors of nodes low to high, which lie in left to right.
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
