package scheduler

import "math"

// oldWeight is w of the paper: the weight of the estimate so far, against the last interval.
const oldWeight = 2.0 / 3

// RxC sends the chunk of largest R·C/b, where C is its interval between changes (Lam and Garcia-Molina 2001, Figure
// 3). C is the time to the first change; then every change of any page makes it w·C + (1-w)·(last interval), w =
// 2/3. Chunks that have never changed go first, those of largest R/b before others. We correct the figure: C starts
// at infinity, and only needed chunks are picked.
//
// The ideal variant knows C. A touch or change costs O(log n), a pick O(1). Memory: two rankings, 50 bytes a chunk.
type RxC struct {
	d         *Demand
	unchanged ranking
	changed   ranking
	interval  func(chunk int) float64 // of the ideal variant
	mean      []float64               // C, in s; +Inf before the first change
	last      []float64               // when the last change was
}

// NewRxC returns an RxC that estimates intervals, from time 0 on.
func NewRxC() *RxC { return &RxC{} }

// NewIdealRxC returns an RxC that knows the mean time between changes of a chunk, in seconds: 1/Σλ of its pages.
func NewIdealRxC(interval func(chunk int) float64) *RxC { return &RxC{interval: interval} }

// Attach implements Scheduler.
func (s *RxC) Attach(d *Demand) { s.d = d }

// Change implements ChangeFollower. Changes at one instant are one.
func (s *RxC) Change(i, page int, now float64) {
	s.know(i)
	if s.interval != nil || now == s.last[i] {
		return
	}
	if math.IsInf(s.mean[i], 1) {
		s.mean[i] = now - s.last[i]
	} else {
		s.mean[i] = oldWeight*s.mean[i] + (1-oldWeight)*(now-s.last[i])
	}
	s.last[i] = now
	s.Touch(i, now)
}

// Touch implements Scheduler.
func (s *RxC) Touch(i int, now float64) {
	s.know(i)
	if !s.d.Needed(i) {
		s.unchanged.remove(int32(i))
		s.changed.remove(int32(i))
		return
	}
	key := s.d.Requests(i) / s.d.Cost(i)
	if math.IsInf(s.mean[i], 1) {
		s.unchanged.set(entry{key, int32(i), int32(i)})
		return
	}
	s.unchanged.remove(int32(i))
	s.changed.set(entry{key * s.mean[i], int32(i), int32(i)})
}

// know makes room for a chunk.
func (s *RxC) know(i int) {
	for len(s.mean) <= i {
		mean := math.Inf(1)
		if s.interval != nil {
			mean = s.interval(len(s.mean))
		}
		s.mean = append(s.mean, mean)
		s.last = append(s.last, 0)
	}
}

// Pick implements Scheduler.
func (s *RxC) Pick(now float64) (int, bool) {
	if top, ok := s.unchanged.top(); ok {
		return int(top.id), true
	}
	top, ok := s.changed.top()
	return int(top.id), ok
}
