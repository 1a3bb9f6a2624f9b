// Package schedulertest holds what every scheduler of a feed must do, whatever it prefers.
package schedulertest

import (
	"testing"

	"pgregory.net/rapid"

	"freshet/feed/broadcast/scheduler"
)

// Run checks a scheduler against the laws of scheduler.Scheduler, on random histories of joining, leaving, pausing,
// changing and sending:
//
//   - Pick returns a chunk that a ready client lacks, and ok exactly if there is one;
//   - two picks in a row return the same;
//   - the same history gives the same picks;
//   - once changes stop, each sending serves a chunk permanently, until nobody ready lacks anything.
func Run(t *testing.T, fresh func() scheduler.Scheduler) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		history := NewHistory(t, fresh())
		twin := scheduler.NewDemand(fresh(), history.Options)
		history.Each = func(again func(Facility)) {
			again(twin)
			check(t, history.Demand, twin, history.Now)
		}
		history.Run(t)
		drain(t, history.Demand, history.Now)
	})
}

// check checks that two demands with the same history pick the same chunk, twice, and that a ready client lacks it.
func check(t *rapid.T, d, twin *scheduler.Demand, now float64) {
	first, ok := d.Pick(now)
	if ok != anyNeeded(d) {
		t.Fatalf("pick at %v: %v, %v: something is needed: %v", now, first, ok, !ok)
	}
	if ok && !d.Needed(first) {
		t.Fatalf("pick at %v: chunk %d: nobody ready lacks it", now, first)
	}
	if again, _ := d.Pick(now); ok && again != first {
		t.Fatalf("pick at %v: %d, then %d", now, first, again)
	}
	if other, same := twin.Pick(now); same != ok || ok && other != first {
		t.Fatalf("pick at %v: %d, %v; with the same history again: %d, %v", now, first, ok, other, same)
	}
}

// drain sends until nothing is needed.
func drain(t *rapid.T, d *scheduler.Demand, now float64) {
	for range d.Chunks() {
		i, ok := d.Pick(now)
		if !ok {
			break
		}
		d.Sent(i, now)
		if d.Needed(i) {
			t.Fatalf("chunk %d is needed though it was just sent", i)
		}
	}
	if anyNeeded(d) {
		t.Fatalf("something is needed though each chunk was sent once")
	}
}

func anyNeeded(d *scheduler.Demand) bool {
	for i := range d.Chunks() {
		if d.Needed(i) {
			return true
		}
	}
	return false
}
