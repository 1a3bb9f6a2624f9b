// Package cluster divides partitions among nodes.
package cluster

import (
	"cmp"
	"hash/fnv"
	"slices"

	"freshet/weburl"
)

// Assign gives each partition to one of the nodes, by rendezvous hashing with bounded loads: a partition goes to the
// node that scores highest for it among those that have room, and a node has room for one partition more than an even
// share at most. Where a node comes or goes few others' partitions move. The order of the nodes does not matter. It
// returns nil if there is no node. O(partitions × nodes × log nodes).
func Assign(partitions int, nodes []string) []string {
	if len(nodes) == 0 {
		return nil
	}
	room := partitions/len(nodes) + 1
	load := make(map[string]int, len(nodes))
	owners := make([]string, partitions)
	for p := range owners {
		for _, n := range byScore(weburl.Partition(p), nodes) {
			if load[n] < room {
				owners[p] = n
				load[n]++
				break
			}
		}
	}
	return owners
}

// byScore returns nodes in the order in which they score for a partition, the highest first.
func byScore(p weburl.Partition, nodes []string) []string {
	type scored struct {
		name  string
		score uint64
	}
	all := make([]scored, len(nodes))
	for i, name := range nodes {
		all[i] = scored{name, score(p, name)}
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.name, b.name))
	})
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.name
	}
	return names
}

func score(p weburl.Partition, node string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(node))
	h.Write([]byte{byte(p >> 8), byte(p)})
	x := h.Sum64() // FNV mixes its last bytes little
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
