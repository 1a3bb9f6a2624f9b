package refresh

import "testing"

// TestReach holds the believed reach of shared changes. It falls to nearly no page if other pages have not changed, and
// rises to nearly all if they have. It follows a group that changes its behaviour.
func TestReach(t *testing.T) {
	r := newReach()
	visits := func(n int, changed bool) {
		for range n {
			r.see(0.05, 0.5, changed)
		}
	}
	for _, step := range []struct {
		changed   bool
		low, high float64
	}{{false, 0, 0.1}, {true, 0.9, 1}, {false, 0, 0.1}} {
		if visits(60, step.changed); r.mean < step.low || r.mean > step.high {
			t.Errorf("after 60 visits, changed: %v, shared changes reach %.2f of the pages, want %v to %v", step.changed, r.mean, step.low, step.high)
		}
	}
}
