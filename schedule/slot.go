package schedule

import (
	"fmt"
	"math"
)

// A Slot is an instant at which a crawler can start a crawl.
type Slot struct {
	Start   float64 // s
	Crawler int32
}

// A Task is a crawl that needs a slot.
type Task struct {
	Ideal   float64 // s
	Release bool    // not before Ideal
}

// at returns the cost of the task at a time: +Inf if the task may not run then.
func (t Task) at(start float64) float64 {
	if t.Release && start < t.Ideal {
		return math.Inf(1)
	}
	return math.Abs(start - t.Ideal)
}

// A Schedule assigns slots to tasks.
type Schedule struct {
	Slot   []int32 // of each task, its index among the slots, or -1
	Placed int     // tasks that got one
	Cost   float64 // s, the sum over these
}

// tally counts and adds up what the tasks got.
func (s *Schedule) tally(tasks []Task, slots []Slot) {
	s.Placed, s.Cost = 0, 0
	for i, slot := range s.Slot {
		if slot >= 0 {
			s.Placed++
			s.Cost += tasks[i].at(slots[slot].Start)
		}
	}
}

// unplaced returns a schedule of n tasks without slots.
func unplaced(n int) Schedule {
	s := Schedule{Slot: make([]int32, n)}
	for i := range s.Slot {
		s.Slot[i] = -1
	}
	return s
}

// Crawlers is a number of crawlers of equal speed, with the number of slots of each.
type Crawlers struct{ Count, Slots int }

// MaxSlots is the most slots of a schedule; they are counted in 32 bits.
const MaxSlots = 1<<31 - 1

// Slots returns the slots of all crawlers in an interval, in seconds, sorted by start and then by crawler. A crawler
// with S slots has them at (l-1)·interval/S for l = 1 … S. Crawlers are numbered from 0 in the order of fleet. It
// returns an error if a number or the interval is out of range. O(slots).
func Slots(fleet []Crawlers, interval float64) ([]Slot, error) {
	total, crawlers := 0, 0
	for _, c := range fleet {
		if c.Count < 0 || c.Slots < 0 || c.Count > MaxSlots-crawlers || c.Slots > MaxSlots || c.Count*c.Slots > MaxSlots-total {
			return nil, fmt.Errorf("schedule: %d crawlers of %d slots: want at most %d crawlers and slots in all", c.Count, c.Slots, MaxSlots)
		}
		total += c.Count * c.Slots
		crawlers += c.Count
	}
	if !(interval > 0) || math.IsInf(interval, 1) {
		return nil, fmt.Errorf("schedule: interval %v: want a positive finite number of seconds", interval)
	}
	slots := make([]Slot, 0, total)
	first := int32(0)
	for _, c := range fleet {
		for l := range c.Slots {
			for k := range int32(c.Count) {
				slots = append(slots, Slot{float64(l) * interval / float64(c.Slots), first + k})
			}
		}
		first += int32(c.Count)
	}
	if len(fleet) == 1 {
		return slots, nil
	}
	keys := make([]float64, len(slots))
	for i, s := range slots {
		keys[i] = s.Start
	}
	sorted := make([]Slot, len(slots))
	for i, at := range order(keys) { // stable, so equal starts stay by crawler
		sorted[i] = slots[at]
	}
	return sorted, nil
}

// inOrder panics unless slots are sorted by start.
func inOrder(slots []Slot) {
	for i := 1; i < len(slots); i++ {
		if !(slots[i-1].Start <= slots[i].Start) {
			panic(fmt.Sprintf("schedule: slot %d starts at %v, after slot %d at %v: want them by start", i-1, slots[i-1].Start, i, slots[i].Start))
		}
	}
}

// byTime returns the indices of tasks by ideal time, then index.
func byTime(tasks []Task) []int32 {
	keys := make([]float64, len(tasks))
	for i, t := range tasks {
		keys[i] = t.Ideal
	}
	return order(keys)
}
