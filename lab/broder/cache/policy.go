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
	// Touch requests fp, which must not be 0, and holds it. hit reports whether it was held before. slot is its place
	// until it leaves. After a miss, the former tenant of the slot, if there was one, has left. Only a Static policy
	// may decline an item: slot is then -1.
	Touch(fp weburl.Fingerprint) (slot int, hit bool)

	// Slots is the number of slots: every slot is below it. It is constant, except that Infinite
	// grows with each item.
	Slots() int
}

// MaxSize is the largest size of a policy.
const MaxSize = seen.MaxCache

// Names returns the names that New accepts, in the order of the table in the package comment.
func Names() []string {
	return []string{"clock", "clock-set", "lru", "random", "sieve", "s3-fifo", "w-tinylfu", "static", "min", "infinite"}
}

// Offline reports whether the named policy needs the whole trace before it starts.
func Offline(name string) bool { return name == "min" || name == "static" }

// New returns an empty cache of size slots with the named policy. trace is the trace that it will serve; only Offline
// policies read it. Static holds the most requested fingerprints of trace from the start. Only random draws from rng.
// The error names a wrong name or size.
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

// Misses sends the requests of trace to p and returns the number of misses. An Offline policy must have been made for
// this trace.
func Misses(p Policy, trace []weburl.Fingerprint) (n int) {
	for _, fp := range trace {
		if _, hit := p.Touch(fp); !hit {
			n++
		}
	}
	return n
}

// checkSize panics if size is outside 1 to MaxSize.
func checkSize(policy string, size int) {
	if size < 1 || size > MaxSize {
		panic(fmt.Sprintf("cache: New%s: size %d: want 1 to %d", policy, size, MaxSize))
	}
}

// MostRequested returns the n most requested fingerprints of trace, or all if there are fewer. The most requested
// comes first; equals are sorted by value. O(len(trace) + d log d) for d distinct ones.
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
