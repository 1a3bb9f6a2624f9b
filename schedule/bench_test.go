package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"freshet/clock"
	"freshet/schedule"
)

// spreadTasks returns n tasks in random order, one at about every slot position of an interval of 1 day
// (stratified), one in five a release task: Figure 10 of Wolf et al. 2002 with spread phases.
func spreadTasks(n int) []schedule.Task {
	rng := rand.New(rand.NewPCG(10, 2002))
	tasks := make([]schedule.Task, n)
	for i, at := range rng.Perm(n) {
		tasks[i] = schedule.Task{Ideal: (float64(at) + rng.Float64()) / float64(n) * 86400, Release: rng.IntN(5) == 0}
	}
	return tasks
}

func BenchmarkSchedule(b *testing.B) {
	for _, n := range []int{100_000, 10_000_000} {
		tasks := spreadTasks(n)
		slots, err := schedule.Slots([]schedule.Crawlers{{Count: 10, Slots: n / 10}}, 86400)
		if err != nil {
			b.Fatal(err)
		}
		for _, by := range []struct {
			name     string
			schedule func([]schedule.Task, []schedule.Slot) schedule.Schedule
		}{{"sweep", schedule.Sweep}, {"regret", schedule.Regret}} {
			b.Run(fmt.Sprintf("by=%s/slots=%d", by.name, n), func(b *testing.B) {
				b.ReportAllocs()
				var s schedule.Schedule
				before := clock.Processor()
				for b.Loop() {
					s = by.schedule(tasks, slots)
				}
				b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(n)*1e9, "ns/slot")
				b.ReportMetric((clock.Processor()-before).Seconds()/float64(b.N), "cpu-s/op")
				b.ReportMetric(s.Cost/float64(s.Placed)/(86400/float64(n/10)), "mean-deviation-slots")
				b.ReportMetric(float64(n-s.Placed), "unplaced")
			})
		}
	}
}
