package schedule

// worth is a cost in which leaving one task unplaced outweighs any sum of seconds.
type worth struct {
	tasks   int32 // left unplaced
	seconds float64
}

// less compares tasks first.
func (w worth) less(o worth) bool {
	return w.tasks < o.tasks || w.tasks == o.tasks && w.seconds < o.seconds
}

func (w worth) plus(o worth) worth { return worth{w.tasks + o.tasks, w.seconds + o.seconds} }

// An offer is the price that an event asks of events to its right, relative to position 0. A slot offers its own time
// or the time of the task that it serves. A task offers its own time or the time of its slot.
type offer struct {
	worth
	event int32
}

// Regret schedules any numbers of tasks and slots: most tasks, then least cost. Slots must be sorted by start. It
// goes through both in time order and keeps the optimum of what it has seen. Every task and slot leaves one offer in
// its heap. An event that accepts an offer undoes the pairing that is part of the price. A pass back through the
// events finds the pairings that were not undone. O((n+m) log(n+m)), 44 bytes an event.
func Regret(tasks []Task, slots []Slot) Schedule {
	inOrder(slots)
	order := byTime(tasks)
	events := len(tasks) + len(slots)
	accepted := make([]int32, events) // the event whose offer this one took, or -1
	owner := make([]int32, events)    // a task's index, or -1-index for a slot
	var taskOffers, slotOffers offers
	next, at := 0, 0
	for event := range int32(events) {
		accepted[event] = -1
		if next < len(order) && (at == len(slots) || tasks[order[next]].Ideal <= slots[at].Start) {
			task := tasks[order[next]]
			owner[event] = order[next]
			next++
			cost := worth{1, 0}
			if !task.Release && len(slotOffers) > 0 {
				if taken := slotOffers[0].plus(worth{0, task.Ideal}); taken.less(cost) {
					cost, accepted[event] = taken, slotOffers.pop()
				}
			}
			taskOffers.push(offer{worth{-cost.tasks, -task.Ideal - cost.seconds}, event})
			continue
		}
		start := slots[at].Start
		owner[event] = int32(-1 - at)
		at++
		var cost worth
		if len(taskOffers) > 0 {
			if taken := taskOffers[0].plus(worth{0, start}); taken.less(cost) {
				cost, accepted[event] = taken, taskOffers.pop()
			}
		}
		slotOffers.push(offer{worth{-cost.tasks, -start - cost.seconds}, event})
	}
	s := unplaced(len(tasks))
	undone := make([]bool, events)
	for event := events - 1; event >= 0; event-- {
		other := accepted[event]
		if undone[event] || other < 0 {
			continue
		}
		undone[other] = true
		task, slot := owner[event], owner[other]
		if task < 0 {
			task, slot = slot, task
		}
		s.Slot[task] = -1 - slot
	}
	s.tally(tasks, slots)
	return s
}

// offers is a binary heap with the least worth at its root.
type offers []offer

func (h *offers) push(o offer) {
	q := append(*h, o)
	i := len(q) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !o.less(q[parent].worth) {
			break
		}
		q[i] = q[parent]
		i = parent
	}
	q[i] = o
	*h = q
}

// pop removes the root and returns its event.
func (h *offers) pop() int32 {
	q := *h
	top := q[0].event
	last := q[len(q)-1]
	q = q[:len(q)-1]
	*h = q
	for i := 0; len(q) > 0; {
		child := 2*i + 1
		if child+1 < len(q) && q[child+1].less(q[child].worth) {
			child++
		}
		if child >= len(q) || !q[child].less(last.worth) {
			q[i] = last
			break
		}
		q[i] = q[child]
		i = child
	}
	return top
}
