package sequence

import "container/heap"

// Apart returns a cycle of L visits, counts[i] ≥ 1 of them to page i. It keeps the lag of every page below one visit:
// after t visits page i has had more than t·counts[i]/L − 1 and fewer than t·counts[i]/L + 1. It is a Pfair schedule,
// made by Tijdeman's rule (The chairman assignment problem, 1980): each visit goes to the page with the earliest
// deadline, of those whose next visit is already released. O(L log n).
func Apart(counts []int) []int32 {
	length := sum(counts)
	cycle := make([]int32, length)
	if len(counts) < 2 {
		return cycle
	}
	// In units of 1/unit visits: visit number j of page i is released when t·unit·count ≥ (j·unit + 1)·L, and its
	// deadline has passed when t·unit·count > ((j+1)·unit − 1)·L.
	unit := 2*len(counts) - 2
	earned, due := &timed{}, &timed{}
	given := make([]int, len(counts))
	earn := func(i int) { heap.Push(earned, event{up((given[i]*unit+1)*length, unit*counts[i]), int32(i)}) }
	for i := range counts {
		earn(i)
	}
	for t := 1; t <= length; t++ {
		for len(*earned) > 0 && (*earned)[0].time <= t {
			i := heap.Pop(earned).(event).page
			heap.Push(due, event{up(((given[i]+1)*unit-1)*length, unit*counts[i]), i})
		}
		i := heap.Pop(due).(event).page
		cycle[t-1] = i
		if given[i]++; given[i] < counts[i] {
			earn(int(i))
		}
	}
	return cycle
}

// up returns ⌈a/b⌉.
func up(a, b int) int { return (a + b - 1) / b }

// An event is a page and the time of its release or deadline, in visits.
type event struct {
	time int
	page int32
}

// timed is a heap of events, the earliest first. Of equal times, the lower page is first.
type timed []event

func (h timed) Len() int { return len(h) }
func (h timed) Less(i, j int) bool {
	return h[i].time < h[j].time || h[i].time == h[j].time && h[i].page < h[j].page
}
func (h timed) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timed) Push(x any)   { *h = append(*h, x.(event)) }
func (h *timed) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
