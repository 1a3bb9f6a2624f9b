package allocate

import "math/bits"

// FredericksonJohnson returns the optimal allocation by selection in sorted columns, after Frederickson and Johnson
// 1982. The gains still in doubt are cut into blocks of s, each represented by its last, least gain. The k crawls
// that are needed lie within the k/s best blocks and one more block a page, and wholly contain the best (k -
// n(s-1))/s blocks. So a round leaves doubt of the order of n blocks, and s halves: O(n) a round, log R rounds. The
// error is an *InfeasibleError.
func FredericksonJohnson(p Problem, budget int) ([]int32, error) {
	least, err := feasible(p, budget)
	if err != nil {
		return nil, err
	}
	low := minimums(p)
	need := int64(budget) - least
	high := doubt(p, low, need)
	for size := int64(1) << bits.Len64(uint64(need)); size > 0 && need > 0; size /= 2 {
		blocks, active := cut(p, low, high, size)
		upper := (need + size - 1) / size // blocks that certainly hold all crawls needed
		sure := max(0, (need-active*(size-1))/size)
		if upper <= int64(len(blocks)) {
			selectFirst(blocks, int(upper))
			limit(blocks[:upper], low, high, int32(size))
			blocks = blocks[:upper]
		}
		sure = min(sure, int64(len(blocks)))
		selectFirst(blocks, int(sure))
		for _, b := range blocks[:sure] {
			low[b.page] += int32(size)
		}
		need -= sure * size
	}
	return low, nil
}

// cut returns the blocks of a size in all ranges, by their last elements, and the number of ranges that
// are not empty.
func cut(p Problem, low, high []int32, size int64) (blocks []element, active int64) {
	for i := range low {
		if low[i] < high[i] {
			active++
		}
		for x := int64(low[i]) + size - 1; x < int64(high[i]); x += size {
			blocks = append(blocks, element{p.Gain(i, int(x)), int32(i), int32(x)})
		}
	}
	return blocks, active
}

// limit ends each range before the last element of its first block that is not among the chosen ones.
func limit(chosen []element, low, high []int32, size int32) {
	ends := make([]int64, len(low))
	for i := range ends {
		ends[i] = int64(low[i])
	}
	for _, b := range chosen {
		ends[b.page] += int64(size)
	}
	for i, end := range ends {
		high[i] = int32(min(int64(high[i]), end+int64(size)-1))
	}
}

// selectFirst moves the first n elements, in the order in which they are taken, to the front: quickselect with the
// median of three, O(len) expected.
func selectFirst(all []element, n int) {
	for low, high := 0, len(all); n > low && n < high; {
		pivot := median(all[low], all[low+(high-low)/2], all[high-1])
		i, j := low, high-1
		for i <= j {
			for all[i].before(pivot) {
				i++
			}
			for pivot.before(all[j]) {
				j--
			}
			if i <= j {
				all[i], all[j] = all[j], all[i]
				i++
				j--
			}
		}
		switch {
		case n <= j:
			high = j + 1
		case n >= i:
			low = i
		default:
			return
		}
	}
}

// median returns the one of three that comes second.
func median(a, b, c element) element {
	if b.before(a) {
		a, b = b, a
	}
	if c.before(b) {
		b = c
		if b.before(a) {
			b = a
		}
	}
	return b
}
