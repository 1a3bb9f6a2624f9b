package trial

import (
	"testing"
	"time"
)

// short is the length of test cases: some hours with faults, and the calm.
const short = calmTime + 14*time.Hour

// TestClean holds that the trial finds no fault in the crawl as it is.
func TestClean(t *testing.T) {
	for seed := range uint64(20) {
		c := Draw(seed, short)
		if seed%4 == 0 {
			c.endOften(crash)
		}
		if r := Run(c, Options{}); r.Failure != nil {
			t.Errorf("seed %d, of %v: %v", seed, short, r.Failure)
		}
	}
}

// TestFound holds that the seeds that once found a fault find none now.
func TestFound(t *testing.T) {
	for _, seed := range []uint64{114, 437, 10088, 10099, 20575, 21032, 23299, 26293, 31228, 51404, 6206460} {
		if r := Run(Draw(seed, 48*time.Hour), Options{}); r.Failure != nil {
			t.Errorf("seed %d: %v", seed, r.Failure)
		}
	}
}

// TestSameTrace holds that a case makes the same trace each time.
func TestSameTrace(t *testing.T) {
	for seed := range uint64(5) {
		c := Draw(seed, short)
		if first, second := Run(c, Options{}), Run(c, Options{}); first.Trace != second.Trace || first.Steps != second.Steps {
			t.Errorf("seed %d: %d and %d steps, traces %x and %x", seed, first.Steps, second.Steps, first.Trace, second.Trace)
		}
	}
}

// TestPlants holds that the trial finds each planted fault by its effect.
func TestPlants(t *testing.T) {
	const within = 240
	for _, plant := range Plants {
		t.Run(plant.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(within) {
				c := Draw(seed, short)
				if plant.ends != "" {
					c.endOften(plant.ends)
				}
				r := Run(c, Options{Plant: plant.Name})
				if r.Failure == nil {
					continue
				}
				t.Logf("seed %d: %v", seed, r.Failure)
				if r := Run(c, Options{}); r.Failure != nil {
					t.Errorf("seed %d fails without it too: %v", seed, r.Failure)
				}
				return
			}
			t.Errorf("not found within %d seeds: %s", within, plant.Says)
		})
	}
}

// TestShrink holds that a shrunk case fails the same check as the whole case, without the faults and sites that it does
// not need.
func TestShrink(t *testing.T) {
	o := Options{Plant: "outage-allows"}
	for seed := range uint64(50) {
		c := Draw(seed, short)
		failed := Run(c, o)
		if failed.Failure == nil || len(c.Faults) < 3 {
			continue
		}
		labels, small, result := Shrink(c, o, failed)
		again, err := c.Without(labels...)
		if err != nil || again.String() != small.String() {
			t.Errorf("without %v: %v\n%v\n%v", labels, err, again, small)
		}
		if result.Failure == nil || result.Failure.Check != failed.Failure.Check || len(small.parts()) >= len(c.parts()) {
			t.Errorf("of %d faults and %d sites, %d and %d are left: %v", len(c.Faults), len(c.Sites), len(small.Faults), len(small.Sites), result.Failure)
		}
		for _, part := range small.parts() {
			if less, err := small.Without(part); err == nil {
				if r := Run(less, o); r.Failure != nil && r.Failure.Check == failed.Failure.Check {
					t.Errorf("without %s it fails, too: %v", part, r.Failure)
				}
			}
		}
		return
	}
	t.Error("no case to shrink")
}
