package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"freshet/seen"
	"freshet/weburl"
)

// Policy is a cache of fingerprints. It is a pure state machine and not for concurrent use.
type Policy interface {
	// Touch asks for fp, which is not 0, and makes it held. hit says that it was held before. slot is
	// where it is held from now on until it leaves; after a miss the slot's former tenant, if it had
	// one, has left. Only a Static policy may decline what it does not hold: slot is -1 then.
	Touch(fp weburl.Fingerprint) (slot int, hit bool)

	// Slots is the number of slots there are: all slots are below it. It is constant except for Infinite,
	// whose grow with what it holds.
	Slots() int
}

// MaxSize is the largest size of a policy.
const MaxSize = seen.MaxCache

// Names returns the names of the policies, as New takes them, in order of this package's table.
func Names() []string {
	return []string{"clock", "clock-set", "lru", "random", "sieve", "s3-fifo", "w-tinylfu", "static", "min", "infinite"}
}

// Offline reports whether the policy of that name must know the whole trace before it starts.
func Offline(name string) bool { return name == "min" || name == "static" }

// New returns an empty cache of size slots with the policy of that name. trace is what it will be asked
// for, and only looked at by policies that are Offline: static holds the most requested of it from the
// start. rng is random's chance. The error names a wrong name or size.
func New(name string, size int, trace []weburl.Fingerprint, rng *rand.Rand) (Policy, error) {
	if size < 1 || size > MaxSize {
		return nil, fmt.Errorf("cache: size %d: want 1 to %d", size, MaxSize)
	}
	switch name {
	case "clock":
		return NewClock(size), nil
	case "clock-set":
		return seen.NewSetClock(size), nil
	case "lru":
		return NewLRU(size), nil
	case "random":
		return NewRandom(size, rng), nil
	case "sieve":
		return NewSieve(size), nil
	case "s3-fifo":
		return NewS3FIFO(size), nil
	case "w-tinylfu":
		return NewTinyLFU(size), nil
	case "static":
		return NewStatic(MostRequested(trace, size)), nil
	case "min":
		return NewMin(size, Foresee(trace)), nil
	case "infinite":
		return NewInfinite(), nil
	}
	return nil, fmt.Errorf("cache: policy %q: want one of %s", name, strings.Join(Names(), ", "))
}

// Misses returns how many requests of trace p, in its present state, does not hold. A policy of the
// whole future must have been made for this trace.
func Misses(p Policy, trace []weburl.Fingerprint) (n int) {
	for _, fp := range trace {
		if _, hit := p.Touch(fp); !hit {
			n++
		}
	}
	return n
}

// checkSize panics at a size that no policy can have.
func checkSize(policy string, size int) {
	if size < 1 || size > MaxSize {
		panic(fmt.Sprintf("cache: New%s: size %d: want 1 to %d", policy, size, MaxSize))
	}
}

// MostRequested returns the n fingerprints that trace asks for most often, or all if there are fewer,
// the most requested first and the lower of equals first. O(len(trace) + d log d) for d distinct ones.
func MostRequested(trace []weburl.Fingerprint, n int) []weburl.Fingerprint {
	counts := map[weburl.Fingerprint]int{}
	for _, fp := range trace {
		counts[fp]++
	}
	distinct := make([]weburl.Fingerprint, 0, len(counts))
	for fp := range counts {
		distinct = append(distinct, fp)
	}
	slices.SortFunc(distinct, func(a, b weburl.Fingerprint) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		if a < b {
			return -1
		}
		return 1
	})
	return distinct[:min(n, len(distinct))]
}
