package schedule_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/schedule"
)

// exact returns the most tasks that can be placed and the least cost of placing that many, by dynamic
// programming over the sets of slots.
func exact(tasks []schedule.Task, slots []schedule.Slot, allowed []func(schedule.Slot) bool) (placed int, cost float64) {
	best := make([]float64, 1<<len(slots)) // by slots used, after the tasks so far
	for mask := range best {
		best[mask] = math.Inf(1)
	}
	best[0] = 0
	for i, task := range tasks {
		after := slices.Clone(best) // the task stays unplaced
		for mask, cost := range best {
			for at, slot := range slots {
				if math.IsInf(cost, 1) || mask>>at&1 == 1 || task.Release && slot.Start < task.Ideal ||
					allowed != nil && allowed[i] != nil && !allowed[i](slot) {
					continue
				}
				after[mask|1<<at] = math.Min(after[mask|1<<at], cost+math.Abs(slot.Start-task.Ideal))
			}
		}
		best = after
	}
	cost = math.Inf(1)
	for mask, c := range best {
		if n := bits.OnesCount(uint(mask)); !math.IsInf(c, 1) && (n > placed || n == placed && c < cost) {
			placed, cost = n, c
		}
	}
	return placed, cost
}

// valid fails unless every slot has at most one task, no rule is broken, and count and cost are right.
func valid(t *testing.T, s schedule.Schedule, tasks []schedule.Task, slots []schedule.Slot, allowed []func(schedule.Slot) bool) {
	t.Helper()
	used := map[int32]bool{}
	placed, cost := 0, 0.0
	for i, at := range s.Slot {
		if at == -1 {
			continue
		}
		start := slots[at].Start
		if used[at] || tasks[i].Release && start < tasks[i].Ideal || allowed != nil && allowed[i] != nil && !allowed[i](slots[at]) {
			t.Fatalf("task %d %+v must not have slot %d at %v: %v", i, tasks[i], at, start, s.Slot)
		}
		used[at] = true
		placed++
		cost += math.Abs(start - tasks[i].Ideal)
	}
	if placed != s.Placed || math.Abs(cost-s.Cost) > 1e-9 {
		t.Fatalf("%d placed at %v, but Schedule says %d at %v", placed, cost, s.Placed, s.Cost)
	}
}

// instance draws tasks and slots on few positions, so that many times are equal.
func instance(rng *rand.Rand, mostTasks, mostSlots int) (tasks []schedule.Task, slots []schedule.Slot) {
	grid := float64(1 + rng.IntN(12))
	position := func() float64 {
		if rng.IntN(4) == 0 {
			return grid * rng.Float64()
		}
		return float64(rng.IntN(int(grid) + 1))
	}
	release := rng.IntN(4)
	for range rng.IntN(mostTasks + 1) {
		tasks = append(tasks, schedule.Task{Ideal: position(), Release: rng.IntN(4) < release})
	}
	for range rng.IntN(mostSlots + 1) {
		slots = append(slots, schedule.Slot{Start: position(), Crawler: int32(rng.IntN(3))})
	}
	slices.SortFunc(slots, func(a, b schedule.Slot) int { return int(math.Copysign(1, a.Start-b.Start)) })
	return tasks, slots
}

// TestAgainstExactSearch holds all schedules to exact search on 10,000 instances, with and without
// unplaceable tasks and spare slots.
func TestAgainstExactSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(2002, 7))
	sweeps, short := 0, 0
	for range 10_000 {
		tasks, slots := instance(rng, 7, 8)
		if rng.IntN(2) == 0 {
			n := min(len(tasks), len(slots))
			tasks, slots = tasks[:n], slots[:n]
		}
		placed, cost := exact(tasks, slots, nil)
		for name, got := range map[string]schedule.Schedule{"Regret": schedule.Regret(tasks, slots), "Solve": schedule.Solve(tasks, slots)} {
			valid(t, got, tasks, slots, nil)
			if got.Placed != placed || math.Abs(got.Cost-cost) > 1e-9 {
				t.Fatalf("%s of %+v on %+v: %d at %v, want %d at %v", name, tasks, slots, got.Placed, got.Cost, placed, cost)
			}
		}
		if placed < min(len(tasks), len(slots)) {
			short++
		}
		if len(tasks) == len(slots) {
			got := schedule.Sweep(tasks, slots)
			valid(t, got, tasks, slots, nil)
			if got.Placed != placed || placed == len(tasks) && math.Abs(got.Cost-cost) > 1e-9 {
				t.Fatalf("Sweep of %+v on %+v: %d at %v, want %d at %v", tasks, slots, got.Placed, got.Cost, placed, cost)
			}
			sweeps++
		}
	}
	t.Logf("%d with as many tasks as slots, %d with tasks that no slot is left for", sweeps, short)
	if sweeps < 1000 || short < 500 {
		t.Error("too few of a kind")
	}
}

// rules draws a forbidden window or a set of crawlers for some tasks.
func rules(rng *rand.Rand, n int) []func(schedule.Slot) bool {
	allowed := make([]func(schedule.Slot) bool, n)
	for i := range allowed {
		switch rng.IntN(4) {
		case 0:
			from := float64(rng.IntN(12))
			to := from + float64(rng.IntN(5))
			allowed[i] = func(s schedule.Slot) bool { return s.Start < from || s.Start >= to }
		case 1:
			crawler := int32(rng.IntN(3))
			allowed[i] = func(s schedule.Slot) bool { return s.Crawler == crawler }
		}
	}
	return allowed
}

func TestRestrictedAgainstExactSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(2002, 8))
	for range 10_000 {
		tasks, slots := instance(rng, 7, 8)
		allowed := rules(rng, len(tasks))
		placed, cost := exact(tasks, slots, allowed)
		got := schedule.Restricted(tasks, slots, allowed)
		valid(t, got, tasks, slots, allowed)
		if got.Placed != placed || math.Abs(got.Cost-cost) > 1e-7 {
			t.Fatalf("%+v on %+v: %v: %d at %v, want %d at %v", tasks, slots, got.Slot, got.Placed, got.Cost, placed, cost)
		}
	}
}

// TestSpaced holds the spacing, and reports how far the heuristic is from the lower bound.
func TestSpaced(t *testing.T) {
	rng := rand.New(rand.NewPCG(2002, 9))
	var cost, bound float64
	var placed, most int
	for range 300 {
		n := 40
		slots, err := schedule.Slots([]schedule.Crawlers{{Count: 2, Slots: n / 2}}, 60)
		if err != nil {
			t.Fatal(err)
		}
		tasks, site := make([]schedule.Task, n-rng.IntN(6)), make([]int32, n)
		for i := range tasks {
			tasks[i] = schedule.Task{Ideal: 60 * rng.Float64(), Release: rng.IntN(5) == 0}
			site[i] = int32(rng.IntN(12) - 1)
		}
		site = site[:len(tasks)]
		var allowed []func(schedule.Slot) bool
		if rng.IntN(2) == 0 {
			allowed = rules(rng, len(tasks))
		}
		got := schedule.Spaced(tasks, slots, allowed, site, 4)
		valid(t, got, tasks, slots, allowed)
		for i := range tasks {
			for j := range i {
				if a, b := got.Slot[i], got.Slot[j]; site[i] >= 0 && site[i] == site[j] && a >= 0 && b >= 0 && math.Abs(slots[a].Start-slots[b].Start) < 4 {
					t.Fatalf("tasks %d and %d of site %d at %v and %v", i, j, site[i], slots[a].Start, slots[b].Start)
				}
			}
		}
		free := schedule.Solve(tasks, slots)
		if allowed != nil {
			free = schedule.Restricted(tasks, slots, allowed)
		}
		cost, bound, placed, most = cost+got.Cost, bound+free.Cost, placed+got.Placed, most+free.Placed
	}
	t.Logf("%d of %d placed, cost %.0f, without spacing %.0f", placed, most, cost, bound)
	if float64(placed) < 0.98*float64(most) {
		t.Errorf("%d of %d placed", placed, most)
	}
}

// TestReference is the worked example of three crawlers, T = 60, with a quasi-deterministic task at 4, 16,
// 22 and 35. Origin: sweep, two heaps and the Hungarian method of a prototype, which agreed.
func TestReference(t *testing.T) {
	slots, err := schedule.Slots([]schedule.Crawlers{{1, 5}, {1, 4}, {1, 3}}, 60)
	if err != nil {
		t.Fatal(err)
	}
	var starts []float64
	for _, s := range slots {
		starts = append(starts, s.Start)
	}
	if diff := cmp.Diff([]float64{0, 0, 0, 12, 15, 20, 24, 30, 36, 40, 45, 48}, starts); diff != "" {
		t.Fatal(diff)
	}
	var tasks []schedule.Task
	for _, ideal := range []float64{1, 4, 7, 11, 16, 18, 22, 29, 33, 35, 41, 47} {
		tasks = append(tasks, schedule.Task{Ideal: ideal, Release: slices.Contains([]float64{4, 16, 22, 35}, ideal)})
	}
	got := schedule.Sweep(tasks, slots)
	if diff := cmp.Diff([]int32{0, 3, 1, 2, 5, 4, 6, 7, 8, 9, 10, 11}, got.Slot); diff != "" || got.Cost != 50 {
		t.Errorf("cost %v, %s", got.Cost, diff)
	}
	if got := schedule.Regret(tasks, slots); got.Cost != 50 || got.Placed != 12 {
		t.Errorf("Regret: %d at %v", got.Placed, got.Cost)
	}
	tasks[11] = schedule.Task{Ideal: 52, Release: true}
	if got := schedule.Solve(tasks, slots); got.Cost != 49 || got.Placed != 11 {
		t.Errorf("with a task too late: %d at %v", got.Placed, got.Cost)
	}
}

// TestSweepEqualsRegret on instances too large for exact search.
func TestSweepEqualsRegret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3000).Draw(t, "n")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		slots, err := schedule.Slots([]schedule.Crawlers{{2, n / 3}, {1, n - n/3*2}}, 86400)
		if err != nil {
			t.Fatal(err)
		}
		tasks := make([]schedule.Task, n)
		for i := range tasks {
			tasks[i] = schedule.Task{Ideal: 80000 * rng.Float64(), Release: rng.IntN(5) == 0}
		}
		sweep, regret := schedule.Sweep(tasks, slots), schedule.Regret(tasks, slots)
		if sweep.Placed != regret.Placed || sweep.Placed == n && math.Abs(sweep.Cost-regret.Cost) > 1e-9*(1+regret.Cost) {
			t.Fatalf("sweep %d at %v, regret %d at %v", sweep.Placed, sweep.Cost, regret.Placed, regret.Cost)
		}
	})
}

// TestSorted holds that slots come by start whatever their distribution.
func TestSorted(t *testing.T) {
	for _, fleet := range [][]schedule.Crawlers{{{3, 1000}, {2, 700}}, {{1, 1}, {1, 50_000}}, {{500, 1}, {1, 3}}, {}, {{0, 5}, {4, 0}}} {
		slots, err := schedule.Slots(fleet, 86400)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(slots); i++ {
			if a, b := slots[i-1], slots[i]; a.Start > b.Start || a.Start == b.Start && a.Crawler >= b.Crawler {
				t.Fatalf("%v: %v before %v", fleet, a, b)
			}
		}
	}
	for _, bad := range []schedule.Crawlers{{-1, 1}, {1, -1}, {1 << 20, 1 << 20}} {
		if _, err := schedule.Slots([]schedule.Crawlers{bad}, 60); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	if _, err := schedule.Slots([]schedule.Crawlers{{1, 1}}, math.NaN()); err == nil {
		t.Error("an interval of NaN is taken")
	}
}

func ExampleSolve() {
	slots, _ := schedule.Slots([]schedule.Crawlers{{Count: 1, Slots: 4}}, 60) // at 0, 15, 30 and 45 s
	tasks := []schedule.Task{{Ideal: 14}, {Ideal: 15.5, Release: true}, {Ideal: 16}}
	s := schedule.Solve(tasks, slots)
	fmt.Println(s.Slot, s.Placed, s.Cost)
	// Output: [0 2 1] 3 29.5
}
