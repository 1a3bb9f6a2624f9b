package scheduler

// Circular sends the needed chunks in a fixed order, one after another. A pick or touch costs O(log n) to the base
// 64. It takes one bit a chunk.
type Circular struct {
	d       *Demand
	place   []int32 // of a chunk in the order; nil is its number
	chunk   []int32 // at a place
	needed  ring    // places
	pointer int
}

// NewCircular returns a Circular that sends in the given order. The order names every chunk once. If it is nil,
// chunks are sent by number.
func NewCircular(order []int32) *Circular {
	s := &Circular{chunk: order}
	if order != nil {
		s.place = make([]int32, len(order))
		for place, i := range order {
			s.place[i] = int32(place)
		}
	}
	return s
}

// Attach implements Scheduler.
func (s *Circular) Attach(d *Demand) { s.d = d }

// Touch implements Scheduler.
func (s *Circular) Touch(i int, now float64) {
	place := i
	if s.place != nil {
		place = int(s.place[i])
	}
	if s.d.Needed(i) {
		s.needed.add(place)
		return
	}
	s.needed.remove(place)
	if place == s.pointer { // it was sent
		s.pointer++
	}
}

// Pick implements Scheduler. The pointer stays before the chunk until it is sent.
func (s *Circular) Pick(now float64) (int, bool) {
	place, ok := s.needed.next(s.pointer)
	if !ok {
		return 0, false
	}
	s.pointer = place
	if s.chunk != nil {
		return int(s.chunk[place]), true
	}
	return place, true
}
