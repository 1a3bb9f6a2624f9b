// Package event is the core of a simulation: a queue of events, ordered by virtual time.
//
// A simulation pushes future events, pops the next one, sets its clock to the time of that event and handles it. There
// are no goroutines, timers or callbacks. So a run is a plain loop that can be stopped, stepped and repeated:
//
//	for now, e, ok := q.Pop(); ok; now, e, ok = q.Pop() {
//		switch e.kind { … q.Push(now+e.delay, …) }
//	}
//
// Events of the same time are popped in the order in which they were pushed, so a run depends only on its inputs.
package event
