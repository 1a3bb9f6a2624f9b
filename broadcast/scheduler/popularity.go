package scheduler

// Popularity sends the chunk of largest R/b: the requests for it (Demand.Requests) a byte. One heap;
// O(log n) a touch, O(1) a pick, 20 bytes a chunk.
type Popularity struct {
	d    *Demand
	heap heap
}

// NewPopularity returns a Popularity.
func NewPopularity() *Popularity { return &Popularity{} }

// Attach implements Scheduler.
func (s *Popularity) Attach(d *Demand) { s.d = d }

// Touch implements Scheduler.
func (s *Popularity) Touch(i int, now float64) {
	if !s.d.Needed(i) {
		s.heap.remove(int32(i))
		return
	}
	s.heap.set(entry{s.d.Requests(i) / s.d.Cost(i), int32(i), int32(i)})
}

// Pick implements Scheduler.
func (s *Popularity) Pick(now float64) (int, bool) {
	top, ok := s.heap.top()
	return int(top.id), ok
}
