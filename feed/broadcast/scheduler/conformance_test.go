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
