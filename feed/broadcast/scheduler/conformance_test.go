package scheduler_test

import (
	"testing"

	"freshet/feed/broadcast/scheduler"
	"freshet/feed/broadcast/scheduler/schedulertest"
)

// kinds returns every scheduler and setting there is.
func kinds() map[string]func() scheduler.Scheduler {
	all := map[string]func() scheduler.Scheduler{
		"circular, backwards": func() scheduler.Scheduler { return scheduler.NewCircular([]int32{5, 4, 3, 2, 1, 0}) },
		"rxc-ideal": func() scheduler.Scheduler {
			return scheduler.NewIdealRxC(func(i int) float64 { return float64(i + 1) })
		},
	}
	for _, kind := range scheduler.Kinds() {
		all[kind.Name] = func() scheduler.Scheduler { return kind.New(scheduler.Objective{}) }
	}
	for name, objective := range map[string]scheduler.Objective{
		"lifetime, over data":      {OverData: true},
		"lifetime, age":            {Age: true},
		"lifetime, age, over data": {Age: true, OverData: true},
	} {
		all[name] = func() scheduler.Scheduler { return scheduler.NewLifetime(objective) }
	}
	return all
}

func TestConformance(t *testing.T) {
	for name, fresh := range kinds() {
		t.Run(name, func(t *testing.T) { schedulertest.Run(t, fresh) })
	}
}

// TestHold holds that a held chunk is not picked, whatever happens to its clients meanwhile, and is picked afterwards.
func TestHold(t *testing.T) {
	for name, fresh := range kinds() {
		t.Run(name, func(t *testing.T) {
			d := scheduler.NewDemand(fresh(), scheduler.Options{})
			var wants []scheduler.Want
			for range 2 {
				wants = append(wants, scheduler.Want{Chunk: d.AddChunk(scheduler.Chunk{Pages: 2, Bytes: 1}, 0), Missing: 1})
			}
			reader := d.Join(scheduler.Client{}, wants, 1)
			d.Join(scheduler.Client{Downloader: true}, wants, 1)
			held, _ := d.Pick(2)
			d.Hold(held, true, 2)
			d.Change(held, 1, 3)
			d.Pause(reader, 4)
			d.Resume(reader, 5)
			other, ok := d.Pick(6)
			if !ok || other == held {
				t.Fatalf("picks %d, %v while %d is held", other, ok, held)
			}
			d.Sent(other, 6)
			if i, ok := d.Pick(7); ok {
				t.Fatalf("picks %d while %d is held", i, held)
			}
			if d.Outstanding(reader) != 1 {
				t.Errorf("a client lacks %d chunks, want 1", d.Outstanding(reader))
			}
			d.Hold(held, false, 8)
			if i, ok := d.Pick(8); !ok || i != held {
				t.Errorf("picks %d, %v, want %d", i, ok, held)
			}
			d.Sent(held, 8)
			if _, ok := d.Pick(9); ok {
				t.Error("picks a chunk that all have")
			}
		})
	}
}
