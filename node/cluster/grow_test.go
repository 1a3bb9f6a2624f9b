package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"freshet/log"
	"freshet/weburl"
)

// TestGrow has a cluster grow from one node to three and five, and shrink to two. Only partitions move that Assign has
// elsewhere, each once; where it would be enough to move fewer, it moves at most two more for each node. No
// partition rests longer than a lease.
func TestGrow(t *testing.T) {
	const partitions = 64
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "")
		w.calm = true
		nodes := map[string]*simulated{}
		var names []string
		step := func(to int) {
			before, moved := names, w.moved
			watched := make(chan struct{})
			rests := make(chan time.Duration)
			go func() { rests <- w.longestRest(partitions, watched, w.rests) }()
			for i := len(names); i < to; i++ {
				names = append(slices.Clone(names), fmt.Sprint("node-", i))
				nodes[names[i]] = w.start(names[i], "of "+names[i], partitions)
			}
			for _, gone := range before[min(to, len(before)):] {
				nodes[gone].end(true)
				delete(nodes, gone)
			}
			names = names[:to]
			time.Sleep(30 * time.Second)
			close(watched)
			rest := <-rests
			moved = w.moved - moved
			should := differences(Assign(partitions, before), Assign(partitions, names))
			least := leastMoves(partitions, before, names)
			if len(before) == 0 {
				should, least = partitions, partitions
			}
			t.Logf("%d to %d nodes: %d partitions move of %d, %d by Assign, at least %d; the longest rest is %v", len(before), to, moved, partitions, should, least, rest)
			if moved != should || should > least+2*max(to, len(before)) {
				t.Errorf("%d partitions move", moved)
			}
			if rest > defaultLease && len(before) > 0 {
				t.Errorf("a partition rests for %v", rest)
			}
		}
		for _, to := range []int{1, 3, 5, 2} {
			step(to)
		}
		for _, n := range nodes {
			n.end(true)
		}
		time.Sleep(time.Minute)
		w.judgeLogs()
	})
}

// TestNewNodesHaveBudget has a cluster with a budget grow from one node to three and five, and shrink to two. A
// partition that moves has a node again soon, and the node then has more of the budget than the one request that it
// began with.
func TestNewNodesHaveBudget(t *testing.T) {
	const partitions = 64
	for seed := uint64(4); seed <= 40; seed += 4 { // a seed whose world has a budget
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testNewNodesHaveBudget(t, seed, partitions) })
		})
	}
}

func testNewNodesHaveBudget(t *testing.T, seed uint64, partitions int) {
	w := newWorld(t, seed, "")
	w.calm = true
	nodes := map[string]*simulated{}
	rests := func(p weburl.Partition) bool { return w.rests(p) || w.budgets[w.holders[p][0]] <= 1 }
	for _, to := range []int{1, 3, 5, 2} {
		watched, longest := make(chan struct{}), make(chan time.Duration)
		go func() { longest <- w.longestRest(partitions, watched, rests) }()
		for i := range max(to, len(nodes)) {
			name := fmt.Sprint("node-", i)
			if i >= to {
				nodes[name].end(true)
				delete(nodes, name)
			} else if nodes[name] == nil {
				nodes[name] = w.start(name, "of "+name, partitions)
			}
		}
		time.Sleep(30*time.Second + time.Duration(seed)*100*time.Millisecond)
		close(watched)
		rest := <-longest
		t.Logf("%d nodes: a partition has no node with a budget for %v", to, rest)
		if to > 2 && rest > defaultLease {
			t.Errorf("that is longer than a lease, %v", defaultLease)
		}
	}
	for _, n := range nodes {
		n.end(true)
	}
	time.Sleep(time.Minute)
}

// TestNoPartitionWaitsForALoad has a node join a cluster whose logs begin later, so that it loads a snapshot of each
// partition. Each takes long. No partition is given to the node before it can take it.
func TestNoPartitionWaitsForALoad(t *testing.T) {
	const partitions = 8
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "")
		w.calm = true
		nodes := []*simulated{w.start("a", "of a", partitions), w.start("b", "of b", partitions)}
		time.Sleep(5 * time.Minute)
		w.mu.Lock()
		w.loading = 15 * time.Second
		w.mu.Unlock()
		watched := make(chan struct{})
		rests := make(chan time.Duration)
		go func() { rests <- w.longestRest(partitions, watched, w.rests) }()
		nodes = append(nodes, w.start("c", "of c", partitions))
		time.Sleep(5 * time.Minute)
		nodes[1].end(false)
		time.Sleep(5 * time.Minute)
		close(watched)
		if rest := <-rests; rest > 2*defaultLease || w.loads == 0 {
			t.Errorf("a partition rests for %v, %d snapshots are loaded", rest, w.loads)
		}
		for i := range nodes {
			if i != 1 {
				nodes[i].end(true)
			}
		}
	})
}

// TestTakenIsTold kills a node. Another node takes one of its partitions. The third node hears so at once, and once:
// what it has to send to the partition need not wait for the next try.
func TestTakenIsTold(t *testing.T) {
	const partitions = 16
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "")
		w.calm = true
		a, b, c := w.start("a", "of a", partitions), w.start("b", "of b", partitions), w.start("c", "of c", partitions)
		time.Sleep(30 * time.Second)
		had := map[weburl.Partition]bool{}
		w.mu.Lock()
		for p, holders := range w.holders {
			had[p] = slices.Contains(holders, "c")
		}
		clear(a.resent)
		clear(b.resent)
		w.mu.Unlock()
		c.end(false)
		time.Sleep(30 * time.Second)
		w.mu.Lock()
		for p := range weburl.Partition(partitions) {
			for _, n := range []*simulated{a, b} {
				want := 0
				if had[p] && !slices.Contains(w.holders[p], n.name) {
					want = 1
				}
				if n.resent[p] != want {
					t.Errorf("%s is told %d times that partition %d of the dead node is taken, want %d", n.name, n.resent[p], p, want)
				}
			}
		}
		w.mu.Unlock()
		a.end(true)
		b.end(true)
		time.Sleep(time.Minute)
	})
}

// TestOneCannotBeLoaded has a new node join. The log of one partition begins later than its snapshots reach. The new
// node takes all others that it is given, and the old node keeps that one. Then the old node loses its disk. Both
// nodes say that they lack the partition. One takes it when a snapshot is whole again.
func TestOneCannotBeLoaded(t *testing.T) {
	const partitions = 16
	lost := weburl.Partition(slices.Index(Assign(partitions, []string{"a", "b"}), "b"))
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "")
		w.calm = true
		a := w.start("a", "of a", partitions)
		time.Sleep(5 * time.Minute)
		w.mu.Lock()
		if w.dropped[lost] == 0 {
			t.Error("the log is never truncated")
		}
		w.unreadable = fmt.Sprintf("partitions/test/%05d/", lost)
		w.mu.Unlock()
		b := w.start("b", "of b", partitions)
		time.Sleep(time.Minute)
		w.mu.Lock()
		for p, owner := range Assign(partitions, []string{"a", "b"}) {
			if weburl.Partition(p) == lost {
				owner = "a"
			}
			if holders := w.holders[weburl.Partition(p)]; !slices.Equal(holders, []string{owner}) {
				t.Errorf("partition %d of %s is crawled by %v", p, owner, holders)
			}
		}
		w.mu.Unlock()
		wantLacking(t, a, lost, "b")

		a.end(false)
		delete(w.disks, "a")
		a = w.start("a", "of a", partitions)
		time.Sleep(2 * time.Minute)
		w.mu.Lock()
		if holders := w.holders[lost]; len(holders) > 0 {
			t.Errorf("partition %d is crawled by %v, and nobody has it", lost, holders)
		}
		w.unreadable = ""
		w.mu.Unlock()
		wantLacking(t, b, lost, "a", "b")

		time.Sleep(2 * time.Minute)
		w.mu.Lock()
		if holders := w.holders[lost]; !slices.Equal(holders, []string{"b"}) {
			t.Errorf("partition %d is crawled by %v, want b", lost, holders)
		}
		w.mu.Unlock()
		wantLacking(t, b, lost)
		a.end(true)
		b.end(true)
		time.Sleep(time.Minute)
	})
}

// wantLacking holds that a node knows exactly the nodes that lack a partition.
func wantLacking(t *testing.T, by *simulated, p weburl.Partition, nodes ...string) {
	t.Helper()
	var lacking []string
	for _, m := range by.part.Members() {
		for _, l := range m.Lacking {
			if l.Partition != p || !strings.Contains(l.Why, "none in") {
				t.Errorf("%s lacks partition %d: %s", m.Node, l.Partition, l.Why)
			}
			lacking = append(lacking, m.Node)
		}
	}
	if !slices.Equal(lacking, nodes) {
		t.Errorf("%v lack partition %d, want %v", lacking, p, nodes)
	}
}

// differences counts the partitions that two assignments give to different nodes.
func differences(a, b []string) (n int) {
	for p := range a {
		if a[p] != b[p] {
			n++
		}
	}
	return n
}

// leastMoves returns how many partitions have to move at least until all nodes have even shares again: those of nodes
// that are gone, and those that new ones need.
func leastMoves(partitions int, before, after []string) (n int) {
	if len(after) < len(before) {
		for _, owner := range Assign(partitions, before) {
			if !slices.Contains(after, owner) {
				n++
			}
		}
		return n
	}
	return (partitions / len(after)) * (len(after) - len(before))
}

// rests reports whether a partition has no node. The caller holds the world's lock.
func (w *world) rests(p weburl.Partition) bool { return len(w.holders[p]) == 0 }

// longestRest returns the longest time in which a partition rests. It watches until stop is closed.
func (w *world) longestRest(partitions int, stop chan struct{}, rests func(weburl.Partition) bool) (longest time.Duration) {
	since := make([]time.Time, partitions)
	for {
		w.mu.Lock()
		for p := range since {
			if !rests(weburl.Partition(p)) {
				since[p] = time.Time{}
			} else if since[p].IsZero() {
				since[p] = time.Now()
			} else {
				longest = max(longest, time.Since(since[p]))
			}
		}
		w.mu.Unlock()
		select {
		case <-stop:
			return longest
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestCopies has five nodes that keep one copy of each partition, or two. After a long absence of a node, and after
// its return, each partition has its number of copies again. With two copies, a short absence makes no node copy
// anything. All nodes learn of all seeds.
func TestCopies(t *testing.T) {
	for copies := range 2 {
		t.Run(fmt.Sprint(copies+1), func(t *testing.T) { testCopies(t, copies+1) })
	}
}

func testCopies(t *testing.T, copies int) {
	const partitions = 32
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "")
		w.calm, w.copies = true, copies
		nodes := map[string]*simulated{}
		start := func(name string) { nodes[name] = w.start(name, "of "+name, partitions) }
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			start(name)
		}
		check := func(when string) {
			t.Helper()
			w.mu.Lock()
			defer w.mu.Unlock()
			for p := range weburl.Partition(partitions) {
				var have []string
				for name, n := range nodes {
					if n.places[p] != (log.Place{}) {
						have = append(have, name)
					}
					if owner := slices.Contains(w.holders[p], name); !owner && !n.scope[siteOf(p)] {
						t.Errorf("%s: %s does not know the seed of partition %d", when, name, p)
					}
				}
				if len(have) != copies || len(w.holders[p]) != 1 || !slices.Contains(have, w.holders[p][0]) {
					t.Errorf("%s: partition %d lies at %v and is crawled by %v", when, p, have, w.holders[p])
				}
			}
		}
		time.Sleep(3 * time.Minute)
		check("in the beginning")

		w.mu.Lock()
		before := w.loads - w.behind // … of partitions of which they had nothing
		w.mu.Unlock()
		nodes["c"].end(true)
		time.Sleep(20 * time.Second)
		start("c")
		time.Sleep(time.Minute)
		check("after a restart")
		w.mu.Lock()
		if copied := w.loads - w.behind - before; copies > 1 && copied > 0 {
			t.Errorf("%d partitions are copied for the restart of a node", copied)
		}
		w.mu.Unlock()

		watched, rests := make(chan struct{}), make(chan time.Duration)
		go func() { rests <- w.longestRest(partitions, watched, w.rests) }()
		nodes["c"].end(false)
		delete(nodes, "c")
		time.Sleep(3 * time.Minute)
		close(watched)
		if rest := <-rests; rest > 2*defaultLease {
			t.Errorf("a partition rests for %v", rest)
		}
		check("without a node")

		start("c")
		time.Sleep(3 * time.Minute)
		check("with the node again")
		for _, n := range nodes {
			n.end(true)
		}
		time.Sleep(time.Minute)
		w.judgeLogs()
	})
}

// TestTakenIsNotForgotten simulates a cluster that waits for a node that has just ended. Meanwhile another node takes
// a partition that it need not keep. It must not forget that partition.
func TestTakenIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { simulate(t, 300136, "") })
}

// TestLateHolding holds that a partition is free if its entry is from a run that is over, even if the entry came after
// all leases of the node. An entry is not free if the lease of its run is not known yet.
func TestLateHolding(t *testing.T) {
	m := newMembers("a", "run of a", 1, 0, defaultLease, time.Now())
	m.see(State{Node: "b", Run: "second", Ended: true}, 10, time.Now())
	for _, tt := range []struct {
		its  holding
		free bool
	}{
		{holding{"b", "first", 5}, true},
		{holding{"b", "second", 8}, true},
		{holding{"b", "third", 11}, false},
		{holding{"c", "first", 11}, false},
		{holding{}, true},
	} {
		if got := m.free(knownHolding{tt.its, 12}); got != tt.free {
			t.Errorf("%+v is free: %v", tt.its, got)
		}
	}
}

// TestDrainedIsTheLastResort holds that a drained node takes the partitions of the last other node when that has ended,
// and gives them back when it runs again.
func TestDrainedIsTheLastResort(t *testing.T) {
	now := time.Now()
	m := newMembers("a", "run of a", 1, 0, defaultLease, now)
	m.layout.Drained = []string{"a"}
	m.follows(0)
	m.see(State{Node: "b", Run: "first", Ended: true}, 1, now)
	m.seeHolding(0, holding{"b", "first", 1}, 2)
	m.plan(now)
	now = now.Add(defaultLease)
	if p := m.plan(now); len(p.take) != 1 {
		t.Errorf("b has ended, and the plan of a is %+v", p)
	}
	m.had[0] = true
	m.seeHolding(0, holding{"a", "run of a", 0}, 3)
	m.see(State{Node: "b", Run: "second", Followed: []weburl.Partition{0}}, 4, now)
	m.plan(now)
	now = now.Add(defaultLease / 2)
	if p := m.plan(now); len(p.give) != 1 {
		t.Errorf("b runs again, and the plan of a is %+v", p)
	}
}
