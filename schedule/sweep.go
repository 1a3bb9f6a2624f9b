package schedule

import "fmt"

// Sweep schedules as many tasks as slots in one pass in time order, tasks before slots at equal times. Slots must be
// sorted by start. A slot serves the task that has waited longest, or becomes an open hole; an ordinary task takes
// the oldest open hole, or waits; a release task waits. With l units moving left and r right across an instant, r-l
// is fixed by the counts so far and the cost is the integral of r+l: the sweep keeps l at its least everywhere at
// once.
//
// If every task is placed, the cost is the least possible. If not, the number placed is still the largest, but the
// cost may not be least: use Regret. O(n) apart from the sort. It panics unless there are as many tasks as slots.
func Sweep(tasks []Task, slots []Slot) Schedule {
	if len(tasks) != len(slots) {
		panic(fmt.Sprintf("schedule: Sweep of %d tasks and %d slots: want as many", len(tasks), len(slots)))
	}
	inOrder(slots)
	s := unplaced(len(tasks))
	order := byTime(tasks)
	// There are never waiting tasks and open holes at the same time; both queues are first in, first out.
	var holes, waiting []int32
	next := 0
	for at, slot := range slots {
		for ; next < len(order) && tasks[order[next]].Ideal <= slot.Start; next++ {
			task := order[next]
			if len(holes) > 0 && !tasks[task].Release {
				s.Slot[task] = holes[0]
				holes = holes[1:]
			} else {
				waiting = append(waiting, task)
			}
		}
		if len(waiting) > 0 {
			s.Slot[waiting[0]] = int32(at)
			waiting = waiting[1:]
		} else {
			holes = append(holes, int32(at))
		}
	}
	for _, task := range order[next:] {
		if len(holes) > 0 && !tasks[task].Release {
			s.Slot[task] = holes[0]
			holes = holes[1:]
		}
	}
	s.tally(tasks, slots)
	return s
}

// Solve returns the schedule that places the most tasks at the least cost. It uses Sweep if that is exact, and Regret
// otherwise. Slots must be sorted by start.
func Solve(tasks []Task, slots []Slot) Schedule {
	if len(tasks) == len(slots) {
		if s := Sweep(tasks, slots); s.Placed == len(tasks) {
			return s
		}
	}
	return Regret(tasks, slots)
}
