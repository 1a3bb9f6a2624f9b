package schedule

import (
	"cmp"
	"slices"
)

const (
	digits  = 1 << 11 // buckets of a level
	crowded = 64      // in one bucket of the second level: too many to insert one by one
)

// keyed is a time and the index of the task or slot that it belongs to.
type keyed struct {
	key   float64
	index int32
}

// order returns the indices of finite keys by key, then index. Times of an interval are spread out, so their leading
// digits nearly say the place: one pass into buckets that fit a cache, a second level of buckets in each, and
// insertion for the rest. A crowded bucket is sorted by comparisons. O(n) for keys that are spread fairly evenly, O(n
// log n) otherwise.
func order(keys []float64) []int32 {
	sorted := make([]int32, len(keys))
	if len(keys) == 0 {
		return sorted
	}
	low, high := slices.Min(keys), slices.Max(keys)
	digit := func(key float64) int { return 0 }
	if scale := (digits*digits - 1) / (high - low); high > low && scale < 1e300 {
		digit = func(key float64) int { return int((key - low) * scale) }
	}
	var ends [digits + 1]int
	for _, key := range keys {
		ends[digit(key)/digits+1]++
	}
	for b := range digits {
		ends[b+1] += ends[b]
	}
	starts := ends
	pairs := make([]keyed, len(keys))
	for i, key := range keys {
		b := digit(key) / digits
		pairs[starts[b]] = keyed{key, int32(i)}
		starts[b]++
	}
	var scratch []keyed
	for b := range digits {
		bucket := pairs[ends[b]:ends[b+1]]
		scratch = slices.Grow(scratch[:0], len(bucket))[:len(bucket)]
		sortBucket(bucket, scratch, digit)
		for i, p := range bucket {
			sorted[ends[b]+i] = p.index
		}
	}
	return sorted
}

// sortBucket sorts pairs whose indices rise. Scratch has the same length as bucket.
func sortBucket(bucket, scratch []keyed, digit func(float64) int) {
	if len(bucket) > crowded {
		var counts [digits + 1]int
		most := 0
		for _, p := range bucket {
			d := digit(p.key)%digits + 1
			counts[d]++
			most = max(most, counts[d])
		}
		if most > crowded {
			slices.SortFunc(bucket, func(a, b keyed) int {
				return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.index, b.index))
			})
			return
		}
		for d := range digits {
			counts[d+1] += counts[d]
		}
		copy(scratch, bucket)
		for _, p := range scratch {
			d := digit(p.key) % digits
			bucket[counts[d]] = p
			counts[d]++
		}
	}
	for i := 1; i < len(bucket); i++ {
		p, j := bucket[i], i
		for ; j > 0 && bucket[j-1].key > p.key; j-- {
			bucket[j] = bucket[j-1]
		}
		bucket[j] = p
	}
}
