package frontier

// heap is a binary heap of hosts. Every host knows its place in the heap, so a host can be moved or removed in O(log
// hosts). A host is in a heap at most once.
type heap struct {
	slot  int // index of this heap in host.place
	less  func(a, b *host) bool
	hosts []*host
}

// The heaps that a host may be in.
const (
	freshHeap = iota
	dueHeap
	wakeHeap
	numHeaps
)

// top returns the least host, or nil.
func (q *heap) top() *host {
	if len(q.hosts) == 0 {
		return nil
	}
	return q.hosts[0]
}

// set moves h to its place: into the heap if in is true, else out of it.
func (q *heap) set(h *host, in bool) {
	place := int(h.place[q.slot]) - 1
	switch {
	case in && place < 0:
		q.hosts = append(q.hosts, h)
		place = len(q.hosts) - 1
		h.place[q.slot] = int32(place + 1)
		q.up(place)
	case in:
		if !q.down(place) {
			q.up(place)
		}
	case place >= 0:
		last := len(q.hosts) - 1
		q.swap(place, last)
		q.hosts[last] = nil
		q.hosts = q.hosts[:last]
		h.place[q.slot] = 0
		if place < last && !q.down(place) {
			q.up(place)
		}
	}
}

func (q *heap) swap(i, j int) {
	q.hosts[i], q.hosts[j] = q.hosts[j], q.hosts[i]
	q.hosts[i].place[q.slot] = int32(i + 1)
	q.hosts[j].place[q.slot] = int32(j + 1)
}

func (q *heap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.less(q.hosts[i], q.hosts[parent]) {
			return
		}
		q.swap(i, parent)
		i = parent
	}
}

// down moves the host at i down to its place and reports whether it moved.
func (q *heap) down(i int) bool {
	start := i
	for {
		child := 2*i + 1
		if child >= len(q.hosts) {
			break
		}
		if right := child + 1; right < len(q.hosts) && q.less(q.hosts[right], q.hosts[child]) {
			child = right
		}
		if !q.less(q.hosts[child], q.hosts[i]) {
			break
		}
		q.swap(i, child)
		i = child
	}
	return i > start
}
