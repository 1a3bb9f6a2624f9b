// Package event is the heart of a simulation: events on a virtual time axis, handed out in order.
//
// A simulation pushes what is to happen, pops what happens next, sets its clock to the event's time
// and goes on. There are no goroutines, no timers and no callbacks, so a run is a plain loop that
// can be stopped, stepped and repeated:
//
//	for now, e, ok := q.Pop(); ok; now, e, ok = q.Pop() {
//		switch e.kind { … q.Push(now+e.delay, …) }
//	}
//
// Events of the same time come out in the order in which they were pushed, so that a run depends on
// nothing but its inputs.
package event
