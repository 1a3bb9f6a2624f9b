// Package cluster divides partitions among nodes.
package cluster

import (
	"cmp"
	"hash/fnv"
	"slices"

	"freshet/weburl"
)

// Assign assigns each partition to a node, by rendezvous hashing with bounded loads. A partition goes to the node
// with the highest score among those with room. A node has room for at most one partition more than an even share.
// If a node comes or goes, few other partitions move. The order of the nodes does not matter. Assign returns nil if
// there is no node. O(partitions × nodes).
func Assign(partitions int, nodes []string) []string {
	if len(nodes) == 0 {
		return nil
	}
	room := partitions/len(nodes) + 1
	load := make([]int, len(nodes))
	owners := make([]string, partitions)
	for p := range owners {
		best, highest := -1, uint64(0)
		for i, name := range nodes {
			if load[i] == room {
				continue
			}
			its := score(weburl.Partition(p), name)
			if best < 0 || its > highest || its == highest && name < nodes[best] {
				best, highest = i, its
			}
		}
		owners[p] = nodes[best]
		load[best]++
	}
	return owners
}

// byScore returns the nodes by their score for a partition, the highest first.
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

// score is FNV-1a of both, whose last bytes are then mixed.
func score(p weburl.Partition, node string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(node))
	h.Write([]byte{byte(p >> 8), byte(p)})
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
