package broder

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"freshet/lab/broder/cache"
	"freshet/sim/discovery"
	"freshet/weburl"
)

// assign returns the thread of each fetch. A fetch goes to the idle thread that finished last.
func assign(fetches []discovery.Fetch) (by []uint16) {
	by = make([]uint16, len(fetches))
	order := make([]int, len(fetches)) // by start; fetches are by end
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(fetches[a].Start, fetches[b].Start) })
	var idle []uint16
	made, ended := uint16(0), 0
	for _, i := range order {
		for ; fetches[ended].End <= fetches[i].Start; ended++ {
			idle = append(idle, by[ended])
		}
		if len(idle) == 0 {
			by[i] = made
			made++
			continue
		}
		by[i] = idle[len(idle)-1]
		idle = idle[:len(idle)-1]
	}
	return by
}

// perThread returns the miss rate if every thread has its own cache. Together the caches have that many entries.
func perThread(t trace, entries int) float64 {
	n := max(threads, int(slices.Max(t.by))+1)
	caches := make([]cache.Policy, n)
	for i := range caches {
		caches[i] = cache.NewClock(max(1, entries/n))
	}
	misses := 0
	for i, fp := range t.full {
		if _, hit := caches[t.by[i]].Touch(fp); !hit {
			misses++
		}
	}
	return rate(misses, len(t.full))
}

// shards is the number of caches that split uses.
const shards = 16

// split returns the miss rate if the fingerprint chooses one of sixteen caches. Together the caches have that many
// entries.
func split(requests []weburl.Fingerprint, entries int) float64 {
	var caches [shards]cache.Policy
	for i := range caches {
		caches[i] = cache.NewClock(max(1, entries/shards))
	}
	misses := 0
	for _, fp := range requests {
		if _, hit := caches[uint64(fp)>>60].Touch(fp); !hit {
			misses++
		}
	}
	return rate(misses, len(requests))
}

func rate(misses, requests int) float64 {
	if requests == 0 {
		return 0
	}
	return float64(misses) / float64(requests)
}

// random returns the source of randomness of the RANDOM policy of a size.
func random(seed uint64, size int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(size))) }
