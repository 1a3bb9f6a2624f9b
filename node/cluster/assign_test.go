package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAssign holds that nodes have even shares whatever their order, and that few partitions move when a node leaves.
func TestAssign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const partitions = 64
		var nodes []string
		for i := range rapid.IntRange(1, 9).Draw(t, "nodes") {
			nodes = append(nodes, fmt.Sprintf("node-%d", i))
		}
		owners := Assign(partitions, nodes)
		shuffled := rapid.Permutation(nodes).Draw(t, "order")
		if !slices.Equal(owners, Assign(partitions, shuffled)) {
			t.Fatalf("the order of %v matters", shuffled)
		}
		for _, n := range nodes {
			if got, most := count(owners, n), partitions/len(nodes)+1; got > most {
				t.Fatalf("%s has %d partitions of %d, want at most %d", n, got, partitions, most)
			}
		}
		if len(nodes) == 1 {
			return
		}
		moved := 0
		left := count(owners, nodes[0])
		for p, owner := range Assign(partitions, nodes[1:]) {
			if owners[p] != nodes[0] && owner != owners[p] {
				moved++
			}
		}
		if moved > left {
			t.Fatalf("%d partitions move from node to node beside the %d of the node that left", moved, left)
		}
	})
	if Assign(3, nil) != nil {
		t.Error("partitions are given to nobody")
	}
}

func count(owners []string, node string) (n int) {
	for _, o := range owners {
		if o == node {
			n++
		}
	}
	return n
}

// TestBalance holds that partitions are laid out so that no node has far more pages than another, few move, and drained
// nodes have none.
func TestBalance(t *testing.T) {
	pages := []int64{1000, 10, 10, 10, 500, 490, 10, 10}
	owners := []string{"a", "a", "a", "a", "a", "b", "b", "c"}
	next := Balance(pages, owners, []string{"a", "b"})
	load := map[string]int64{}
	moved := 0
	for p, name := range next {
		load[name] += pages[p]
		if name != owners[p] {
			moved++
		}
	}
	if load["a"] < 980 || load["b"] < 980 {
		t.Errorf("%v: %v", next, load)
	}
	if moved > 4 {
		t.Errorf("%d partitions move: %v", moved, next)
	}
}

// BenchmarkPlan is what a node of a hundred decides every half a second, with 400 partitions of two copies.
func BenchmarkPlan(b *testing.B) {
	now := time.Unix(0, 0)
	m := newMembers("node-0", "run", 400, 2, defaultLease, now)
	for i := 1; i < 100; i++ {
		m.see(State{Node: fmt.Sprint("node-", i), Run: "run"}, uint64(i), now)
	}
	m.plan(now)
	for b.Loop() {
		m.plan(now.Add(defaultLease / 2))
	}
}
