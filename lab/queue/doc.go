// Package queue is the experiment that compares the simulator's events with theory. The first case is a bounded queue
// with one server, whose starvation and loss are known. The second is the staleness of pages that change as Poisson
// processes, under visits at equal spacing, at random, and in a cyclic sequence.
//
// The simulation does not use the formulas. It draws arrivals, services, changes and visits, and counts.
package queue
