package scheduler

// RxW sends the chunk of largest R·W/b: its requests a byte times the longest time that any client has waited for
// it (Aksoy and Franklin 1998). All keys grow with time, each at its own rate, so a heap cannot hold them. Lam and
// Garcia-Molina did not run the heuristic for that reason, and others approximate it. A chunk's key is a line in
// time, R/b·(now - since), until its requests change. A kinetic tournament finds the highest line exactly, in
// O(log² n) a step on average; see tournament.
type RxW struct {
	d     *Demand
	lines tournament
}

// NewRxW returns an RxW.
func NewRxW() *RxW { return &RxW{} }

// Attach implements Scheduler.
func (s *RxW) Attach(d *Demand) { s.d = d }

// Touch implements Scheduler.
func (s *RxW) Touch(i int, now float64) {
	if !s.d.Needed(i) {
		s.lines.remove(i, now)
		return
	}
	s.lines.set(i, curve{slope: s.d.Requests(i) / s.d.Cost(i), from: s.d.Oldest(i)}, now)
}

// Pick implements Scheduler.
func (s *RxW) Pick(now float64) (int, bool) { return s.lines.top(now) }
