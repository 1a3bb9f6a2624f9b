package scheduler

// An entry of a heap: the larger key stands higher, and of equal ones the lower tie.
type entry struct {
	key     float64
	tie, id int32
}

func (e entry) above(other entry) bool {
	return e.key > other.key || e.key == other.key && e.tie < other.tie
}

// A heap is a binary heap of numbered things that knows where each of them stands, so that any can be
// re-keyed or taken out in O(log n). The zero heap is empty. 20 bytes a thing.
type heap struct {
	entries []entry
	place   []int32 // by id: 1 + its place among entries, 0 if it is not among them
}

// top returns the highest entry; ok is false if there is none.
func (h *heap) top() (e entry, ok bool) {
	if len(h.entries) == 0 {
		return entry{}, false
	}
	return h.entries[0], true
}

// set puts id under a key, wherever it stood before.
func (h *heap) set(e entry) {
	for int(e.id) >= len(h.place) {
		h.place = append(h.place, 0)
	}
	i := int(h.place[e.id]) - 1
	if i < 0 {
		h.entries = append(h.entries, e)
		h.up(len(h.entries)-1, e)
		return
	}
	if h.entries[i] != e {
		h.fix(i, e)
	}
}

// remove takes id out, if it is there.
func (h *heap) remove(id int32) {
	if int(id) >= len(h.place) || h.place[id] == 0 {
		return
	}
	i, last := int(h.place[id])-1, len(h.entries)-1
	moved := h.entries[last]
	h.entries = h.entries[:last]
	h.place[id] = 0
	if i < last {
		h.fix(i, moved)
	}
}

// fix puts e, which belongs near place i, where it belongs.
func (h *heap) fix(i int, e entry) {
	if i > 0 && e.above(h.entries[(i-1)/2]) {
		h.up(i, e)
	} else {
		h.down(i, e)
	}
}

func (h *heap) up(i int, e entry) {
	for i > 0 {
		parent := (i - 1) / 2
		if !e.above(h.entries[parent]) {
			break
		}
		h.put(i, h.entries[parent])
		i = parent
	}
	h.put(i, e)
}

func (h *heap) down(i int, e entry) {
	for {
		child := 2*i + 1
		if child >= len(h.entries) {
			break
		}
		if right := child + 1; right < len(h.entries) && h.entries[right].above(h.entries[child]) {
			child = right
		}
		if !h.entries[child].above(e) {
			break
		}
		h.put(i, h.entries[child])
		i = child
	}
	h.put(i, e)
}

func (h *heap) put(i int, e entry) {
	h.entries[i] = e
	h.place[e.id] = int32(i + 1)
}
