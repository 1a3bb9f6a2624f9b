package allocate

import "slices"

// GalilMegiddo returns the optimal allocation by selecting the R-th gain of all (Galil and Megiddo
// 1979). Each page has a range of gains still in doubt. A round takes the middle gain of every range and
// of these the median weighted by the ranges' sizes, finds by bisection what lies before it, and settles
// one side: at least a quarter of the doubt. O(n log R) rounds of bisections at most; 36 bytes a page.
// The error is an *InfeasibleError.
func GalilMegiddo(p Problem, budget int) ([]int32, error) {
	least, err := feasible(p, budget)
	if err != nil {
		return nil, err
	}
	low := minimums(p) // what is settled
	high := doubt(p, low, int64(budget)-least)
	for need := int64(budget) - least; need > 0; {
		pivot := weightedMedian(p, low, high)
		split := make([]int32, len(low))
		var taken int64
		for i := range low {
			split[i] = ahead(p, i, low[i], high[i], pivot)
			taken += int64(split[i] - low[i])
		}
		if taken >= need {
			high = split
			if taken == need {
				return split, nil
			}
			continue
		}
		split[pivot.page]++ // the pivot itself is the next
		low = split
		need -= taken + 1
	}
	return low, nil
}

// doubt returns the most crawls that each page can have when the budget allows need more than low.
func doubt(p Problem, low []int32, need int64) []int32 {
	high := make([]int32, len(low))
	for i := range high {
		_, most := p.Bounds(i)
		high[i] = int32(min(int64(most), int64(low[i])+need))
	}
	return high
}

// weightedMedian returns the median of the middles of the ranges, each counted as often as its range is
// long. Some range must not be empty.
func weightedMedian(p Problem, low, high []int32) element {
	var middles []element
	var total int64
	for i := range low {
		if low[i] < high[i] {
			x := low[i] + (high[i]-low[i])/2
			middles = append(middles, element{p.Gain(i, int(x)), int32(i), x})
			total += int64(high[i] - low[i])
		}
	}
	slices.SortFunc(middles, order)
	half := total / 2
	for _, m := range middles {
		if half -= int64(high[m.page] - low[m.page]); half <= 0 {
			return m
		}
	}
	return middles[len(middles)-1]
}

// ahead returns where the elements of page i, from low to high, stop coming before the pivot.
func ahead(p Problem, i int, low, high int32, pivot element) int32 {
	for low < high {
		x := low + (high-low)/2
		if (element{p.Gain(i, int(x)), int32(i), x}).before(pivot) {
			low = x + 1
		} else {
			high = x
		}
	}
	return low
}
