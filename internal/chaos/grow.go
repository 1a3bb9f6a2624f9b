//go:build linux

package main

import (
	"fmt"
	"slices"
	"syscall"

	"freshet/node/cluster"
	"freshet/weburl"
)

// grow grows the cluster from one node to three and five, and shrinks it to two, while it crawls. It prints how many
// partitions move and how long a host gets no request.
func grow(s settings) (err error) {
	t := newTrial(s)
	defer func() { t.end(err) }()
	if err := t.begin(1); err != nil {
		return err
	}
	fmt.Println("| nodes | partitions that move | by the nodes' names | at least | a host was not asked for | lease and usual pause |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, to := range []int{3, 5, 2} {
		if err := t.resize(to); err != nil {
			return err
		}
	}
	return t.judge()
}

// resize starts nodes or stops them in order, waits until all is well, and prints the cost.
func (t *trial) resize(to int) error {
	before := t.names()
	had := t.owners()
	begin := real.Now()
	for len(t.nodes) < to {
		n, err := t.newNode(nodeAddress + 1 + len(t.nodes))
		if err != nil {
			return err
		}
		t.nodes = append(t.nodes, n)
		n.up()
	}
	for _, n := range t.nodes[to:] {
		if err := n.down(syscall.SIGTERM); err != nil {
			return err
		}
	}
	after := t.names()
	should := cluster.Assign(t.set.partitions, after)
	if err := t.await("all partitions are where they should be", func() string {
		for p, owner := range t.owners() {
			if owner != should[p] {
				return fmt.Sprintf("%q has partition %d, and %s should", owner, p, should[p])
			}
		}
		return ""
	}); err != nil {
		return err
	}
	well, err := t.recovered(real.Now())
	if err != nil {
		return err
	}
	named, least := 0, 0
	for p, owner := range had {
		if owner != should[p] {
			named++
		}
		if !slices.Contains(after, owner) {
			least++ // its node is gone
		}
	}
	if to > len(before) {
		least = t.set.partitions / to * (to - len(before)) // the new ones need them
	}
	fmt.Printf("| %d to %d | %d | %d | %d | %.1f s | %.1f s |\n", len(before), to, t.taken(begin.UnixNano()), named, least,
		t.longestPause(begin, well).Seconds(), (lease + t.usual).Seconds())
	return nil
}

// names returns the names of the nodes that are up.
func (t *trial) names() (names []string) {
	for _, n := range t.nodes {
		if n.isUp() {
			names = append(names, n.Name)
		}
	}
	return names
}

// owners returns the node of each partition.
func (t *trial) owners() []string {
	owners := make([]string, t.set.partitions)
	t.mu.Lock()
	defer t.mu.Unlock()
	of := map[weburl.Partition]uint64{}
	for _, h := range t.holdings {
		if h.revision > of[h.partition] {
			owners[h.partition], of[h.partition] = h.node, h.revision
		}
	}
	return owners
}

// taken counts how often a partition was taken since a moment.
func (t *trial) taken(since int64) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	counted := map[uint64]bool{}
	for _, h := range t.holdings {
		if h.node != "" && h.at.UnixNano() > since && !counted[h.revision] {
			counted[h.revision] = true
			n++
		}
	}
	return n
}
