// Package queue is the experiment that holds the simulator's events to theory: a queue of bounded
// length with one server, whose starvation and loss are known, and the staleness of pages that change
// as Poisson processes, under visits at equal spacing, at random, and in a cyclic sequence.
//
// What is simulated is told nothing of the formulas: it draws arrivals, services, changes and visits,
// and counts.
package queue
