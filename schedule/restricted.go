package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Restricted is Regret for tasks that may not have every slot: allowed[i], if not nil, has the slots that task i may
// have; slots must be sorted by start. It starts from Regret's schedule. Tasks in forbidden slots lose them. Each is
// brought back by a shortest augmenting path. Neither the removal of forbidden pairs nor a shortest path makes a cycle
// of negative cost, so the result is exact: most tasks, then least cost.
//
// With h tasks in forbidden slots and g stretches of slots that tasks may have, it takes O(h·k·(m+g log g)), where k is
// the number of rounds until no path gets shorter, some tens for thousands of tasks. A task with a window has two
// stretches, one bound to some crawlers up to one a slot.
func Restricted(tasks []Task, slots []Slot, allowed []func(Slot) bool) Schedule {
	if len(allowed) != len(tasks) {
		panic(fmt.Sprintf("schedule: Restricted: rules of %d tasks for %d", len(allowed), len(tasks)))
	}
	s := Solve(tasks, slots)
	r := &residual{tasks: tasks, slots: slots, allowed: allowed, slotOf: s.Slot,
		taskOf: make([]int32, len(slots)), owed: make([]bool, len(slots)),
		toTask: make([]label, len(tasks)), toSlot: make([]label, len(slots))}
	for at := range r.taskOf {
		r.taskOf[at] = -1
	}
	var bad []int32
	for i, at := range s.Slot {
		switch {
		case at < 0:
		case allowed[i] != nil && !allowed[i](slots[at]):
			bad = append(bad, int32(i))
			r.owed[at] = true
			s.Slot[i] = pending
		default:
			r.taskOf[at] = int32(i)
		}
	}
	if len(bad) > 0 {
		r.findRuns()
	}
	for _, i := range bad {
		r.augment(i)
	}
	s.tally(tasks, slots)
	return s
}

// pending marks a task that lost its slot and has not been brought back: it is neither placed nor given
// up. Its slot is owed one.
const pending = -2

// A residual is the residual network of a schedule: task → slot at its cost; slot → the task that has it
// at minus the cost; free slot → sink at 0 and task → sink at one task unplaced, and back from the sink
// to slots that are taken or owed and to tasks given up.
type residual struct {
	tasks   []Task
	slots   []Slot
	allowed []func(Slot) bool
	right   []run
	left    []run
	slotOf  []int32 // of each task; -1 given up
	taskOf  []int32 // of each slot; -1 none
	owed    []bool  // slots that a path must end at
	// Lengths of shortest paths and the node before the last.
	toTask, toSlot []label
	toSink         label
	changed        bool
}

// A label is the length of the shortest path found so far and the node it comes through.
type label struct {
	worth
	from int32 // for a slot the task, for the sink a task, or -2-slot; viaSink, or the slot's own task
}

const viaSink = -1

var far = worth{math.MaxInt32, 0}

// lower replaces the label if the new path is shorter.
func (r *residual) lower(l *label, w worth, from int32) {
	// The tolerance prevents an endless walk around a cycle of length 0 that rounding makes negative.
	if w.tasks < l.tasks || w.tasks == l.tasks && w.seconds < l.seconds-1e-9*(1+math.Abs(l.seconds)) {
		*l = label{w, from}
		r.changed = true
	}
}

// augment brings back a pending task by a shortest path to a slot that is owed one.
func (r *residual) augment(source int32) {
	for i := range r.toTask {
		r.toTask[i] = label{far, viaSink}
	}
	for at := range r.toSlot {
		r.toSlot[at] = label{far, viaSink}
	}
	r.toSink = label{far, viaSink}
	r.toTask[source] = label{worth{}, pending}
	for r.changed = true; r.changed; {
		r.changed = false
		r.relaxSlots()
		r.relaxSink()
		for at, task := range r.taskOf {
			if l := r.toSlot[at]; task >= 0 && l.tasks != far.tasks {
				r.lower(&r.toTask[task], l.plus(worth{0, -r.tasks[task].at(r.slots[at].Start)}), int32(at))
			}
		}
	}
	best := -1
	for at, owed := range r.owed {
		if owed && (best < 0 || r.toSlot[at].less(r.toSlot[best].worth)) {
			best = at
		}
	}
	r.apply(source, int32(best))
}

// A run is a stretch of slots, from first to the one before end, that a task may have, all on one side of
// its ideal time.
type run struct{ task, first, end int32 }

// findRuns lists every task's runs on the right of its ideal time by their first slot, and those on the
// left by their last one, backwards.
func (r *residual) findRuns() {
	for i, task := range r.tasks {
		turn := sort.Search(len(r.slots), func(at int) bool { return r.slots[at].Start >= task.Ideal })
		r.right = r.appendRuns(r.right, i, turn, len(r.slots))
		if !task.Release {
			r.left = r.appendRuns(r.left, i, 0, turn)
		}
	}
	slices.SortStableFunc(r.right, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	slices.SortStableFunc(r.left, func(a, b run) int { return cmp.Compare(b.end, a.end) })
}

// appendRuns appends the runs of task i among some slots.
func (r *residual) appendRuns(runs []run, i, first, end int) []run {
	allowed := r.allowed[i]
	for first < end {
		if allowed != nil && !allowed(r.slots[first]) {
			first++
			continue
		}
		last := end
		if allowed != nil {
			for last = first + 1; last < end && allowed(r.slots[last]); {
				last++
			}
		}
		runs = append(runs, run{int32(i), int32(first), int32(last)})
		first = last
	}
	return runs
}

// relaxSlots goes from the tasks to the slots that they may have: a sweep to the right and one to the left, each with
// a heap of the runs that it is in. A run is skipped if another one costs less and ends later.
func (r *residual) relaxSlots() {
	var in offers
	next := 0
	for at := range int32(len(r.slots)) {
		for ; next < len(r.right) && r.right[next].first == at; next++ {
			enter := r.right[next]
			if l := r.toTask[enter.task]; l.tasks != far.tasks {
				w := l.plus(worth{0, -r.tasks[enter.task].Ideal})
				if len(in) == 0 || w.less(in[0].worth) || enter.end > r.right[in[0].event].end {
					in.push(offer{w, int32(next)})
				}
			}
		}
		for len(in) > 0 && r.right[in[0].event].end <= at {
			in.pop()
		}
		if len(in) > 0 {
			r.lower(&r.toSlot[at], in[0].plus(worth{0, r.slots[at].Start}), r.right[in[0].event].task)
		}
	}
	in, next = in[:0], 0
	for at := int32(len(r.slots)) - 1; at >= 0; at-- {
		for ; next < len(r.left) && r.left[next].end == at+1; next++ {
			enter := r.left[next]
			if l := r.toTask[enter.task]; l.tasks != far.tasks {
				w := l.plus(worth{0, r.tasks[enter.task].Ideal})
				if len(in) == 0 || w.less(in[0].worth) || enter.first < r.left[in[0].event].first {
					in.push(offer{w, int32(next)})
				}
			}
		}
		for len(in) > 0 && r.left[in[0].event].first > at {
			in.pop()
		}
		if len(in) > 0 {
			r.lower(&r.toSlot[at], in[0].plus(worth{0, -r.slots[at].Start}), r.left[in[0].event].task)
		}
	}
}

// relaxSink relaxes the edges into the sink, from free slots and from tasks that may be given up, and those out of
// it.
func (r *residual) relaxSink() {
	for at, l := range r.toSlot {
		if r.taskOf[at] < 0 && !r.owed[at] && l.tasks != far.tasks {
			r.lower(&r.toSink, l.worth, int32(-2-at))
		}
	}
	for i, l := range r.toTask {
		if r.slotOf[i] != -1 && l.tasks != far.tasks {
			r.lower(&r.toSink, l.plus(worth{1, 0}), int32(i))
		}
	}
	if r.toSink.tasks == far.tasks {
		return
	}
	for at := range r.toSlot {
		if r.taskOf[at] >= 0 || r.owed[at] {
			r.lower(&r.toSlot[at], r.toSink.worth, viaSink)
		}
	}
	for i := range r.toTask {
		if r.slotOf[i] == -1 {
			r.lower(&r.toTask[i], r.toSink.plus(worth{-1, 0}), viaSink)
		}
	}
}

// apply goes back along the path from an owed slot to the source and moves one unit along it.
func (r *residual) apply(source, end int32) {
	r.owed[end] = false
	slot := end      // the node to be reached, while task < 0
	task := int32(0) // the node to be reached, while slot < 0
	for slot >= 0 || task != source {
		if slot >= 0 {
			if task = r.toSlot[slot].from; task == viaSink {
				// The slot takes no further unit: the path goes on through the sink.
				slot, task = r.throughSink()
				continue
			}
			r.taskOf[slot], r.slotOf[task] = task, slot
			slot = -1
			continue
		}
		switch from := r.toTask[task].from; from {
		case viaSink: // the task had been given up
			slot, task = r.throughSink()
		default: // the task had this slot
			if r.taskOf[from] == task {
				r.taskOf[from] = -1
			}
			slot = from
		}
	}
}

// throughSink returns the node before the sink on the path: a slot that was free, or else a task, which
// is given up.
func (r *residual) throughSink() (slot, task int32) {
	from := r.toSink.from
	if from <= -2 {
		return -2 - from, 0
	}
	r.slotOf[from] = -1
	return -1, from
}
