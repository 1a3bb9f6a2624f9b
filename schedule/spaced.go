package schedule

import (
	"math"
	"slices"
	"sort"
)

// swapReach bounds the slots that Spaced looks at, on either side of a task's ideal time, for a swap.
const swapReach = 256

// Spaced keeps the crawls of each site at least gap seconds apart: site[i] is the site of task i, or -1. It starts
// from the exact schedule without spacing, whose cost is a lower bound. In the order of their slots, tasks that come
// too soon after another of their site are set aside. Each of these, by ideal time, gets the nearest free slot where
// it keeps its distance. If that is cheaper, it gets the slot of a nearby task and that task moves to a free slot. A
// task for which neither is found stays unplaced.
//
// The result keeps the spacing and the rules of allowed (as in Restricted, may be nil), but it may cost more, or
// place fewer tasks, than the optimum. O(a·(s·log m + m)) for a tasks set aside and s slots in reach.
func Spaced(tasks []Task, slots []Slot, allowed []func(Slot) bool, site []int32, gap float64) Schedule {
	var exact Schedule
	if allowed == nil {
		allowed = make([]func(Slot) bool, len(tasks))
		exact = Solve(tasks, slots)
	} else {
		exact = Restricted(tasks, slots, allowed)
	}
	sp := &spacing{tasks: tasks, slots: slots, allowed: allowed, site: site, gap: gap,
		Schedule: unplaced(len(tasks)), taskOf: make([]int32, len(slots)), starts: map[int32][]float64{}}
	for at := range sp.taskOf {
		sp.taskOf[at] = -1
	}
	wish := make([]int32, len(slots))
	for at := range wish {
		wish[at] = -1
	}
	for i, at := range exact.Slot {
		if at >= 0 {
			wish[at] = int32(i)
		}
	}
	aside := make([]bool, len(tasks))
	for i := range aside {
		aside[i] = true
	}
	for at, i := range wish {
		if i >= 0 && sp.fits(i, int32(at)) {
			sp.put(i, int32(at))
			aside[i] = false
		}
	}
	for at, i := range sp.taskOf {
		if i < 0 {
			sp.free = append(sp.free, int32(at))
		}
	}
	for _, i := range byTime(tasks) {
		if aside[i] {
			sp.place(i)
		}
	}
	sp.tally(tasks, slots)
	return sp.Schedule
}

// spacing is a schedule that keeps the spacing at every moment.
type spacing struct {
	Schedule
	tasks   []Task
	slots   []Slot
	allowed []func(Slot) bool
	site    []int32
	gap     float64
	taskOf  []int32             // of each slot, or -1
	free    []int32             // slots without a task, rising
	starts  map[int32][]float64 // of each site's tasks, rising
}

// fits reports whether a task may have a slot beside the tasks of its site.
func (sp *spacing) fits(i, at int32) bool {
	slot := sp.slots[at]
	if math.IsInf(sp.tasks[i].at(slot.Start), 1) || sp.allowed[i] != nil && !sp.allowed[i](slot) {
		return false
	}
	if sp.site[i] < 0 || sp.gap <= 0 {
		return true
	}
	starts := sp.starts[sp.site[i]]
	k := sort.SearchFloat64s(starts, slot.Start)
	return (k == 0 || slot.Start-starts[k-1] >= sp.gap) && (k == len(starts) || starts[k]-slot.Start >= sp.gap)
}

// put gives a task a slot.
func (sp *spacing) put(i, at int32) {
	sp.Slot[i], sp.taskOf[at] = at, i
	if s := sp.site[i]; s >= 0 {
		start := sp.slots[at].Start
		k := sort.SearchFloat64s(sp.starts[s], start)
		sp.starts[s] = slices.Insert(sp.starts[s], k, start)
	}
}

// take takes a task's slot away.
func (sp *spacing) take(i int32) {
	at := sp.Slot[i]
	sp.Slot[i], sp.taskOf[at] = -1, -1
	if s := sp.site[i]; s >= 0 {
		k := sort.SearchFloat64s(sp.starts[s], sp.slots[at].Start)
		sp.starts[s] = slices.Delete(sp.starts[s], k, k+1)
	}
}

// place finds a slot for a task set aside.
func (sp *spacing) place(i int32) {
	ideal := sp.tasks[i].Ideal
	bestAt, cost := sp.nearestFree(i)
	swapTo := int32(-1)
	right := int32(sort.Search(len(sp.slots), func(at int) bool { return sp.slots[at].Start >= ideal }))
	left := right - 1
	for range 2 * swapReach {
		at := left // the nearer of the two
		if left < 0 || int(right) < len(sp.slots) && sp.slots[right].Start-ideal < ideal-sp.slots[left].Start {
			at = right
			right++
		} else {
			left--
		}
		if at < 0 || int(at) >= len(sp.slots) || math.Abs(sp.slots[at].Start-ideal) >= 2*cost {
			break
		}
		if to, total := sp.swap(i, at); total < cost {
			bestAt, swapTo, cost = at, to, total
		}
	}
	if bestAt < 0 {
		return
	}
	used := bestAt
	if swapTo >= 0 {
		other := sp.taskOf[bestAt]
		sp.take(other)
		sp.put(i, bestAt)
		sp.put(other, swapTo)
		used = swapTo
	} else {
		sp.put(i, bestAt)
	}
	k, _ := slices.BinarySearch(sp.free, used)
	sp.free = slices.Delete(sp.free, k, k+1)
}

// nearestFree returns the cheapest free slot that a task may have and its cost, or -1 and +Inf.
func (sp *spacing) nearestFree(i int32) (at int32, cost float64) {
	ideal := sp.tasks[i].Ideal
	right := sort.Search(len(sp.free), func(k int) bool { return sp.slots[sp.free[k]].Start >= ideal })
	at, cost = -1, math.Inf(1)
	for k := right; k < len(sp.free); k++ {
		if sp.fits(i, sp.free[k]) {
			at, cost = sp.free[k], sp.slots[sp.free[k]].Start-ideal
			break
		}
	}
	for k := right - 1; k >= 0 && !sp.tasks[i].Release && ideal-sp.slots[sp.free[k]].Start < cost; k-- {
		if sp.fits(i, sp.free[k]) {
			at, cost = sp.free[k], ideal-sp.slots[sp.free[k]].Start
			break
		}
	}
	return at, cost
}

// swap considers that task i takes slot at. It returns the free slot for the task that has slot at now, and the cost
// of both moves; +Inf if they are impossible.
func (sp *spacing) swap(i, at int32) (to int32, cost float64) {
	other := sp.taskOf[at]
	if other < 0 {
		return -1, math.Inf(1)
	}
	sp.take(other)
	defer sp.put(other, at)
	if !sp.fits(i, at) {
		return -1, math.Inf(1)
	}
	sp.put(i, at)
	to, cost = sp.nearestFree(other)
	sp.take(i)
	start := sp.slots[at].Start
	return to, cost + sp.tasks[i].at(start) - sp.tasks[other].at(start)
}
