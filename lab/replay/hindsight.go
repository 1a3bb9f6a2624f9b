package replay

import (
	"cmp"
	"math"
	"slices"

	"freshet/refresh"
)

// hindsight knows every future update. At each slot it visits the stale copy with the largest product of weight and
// time to its next update. With equal weights this is optimal. A crawl is a job of one slot that can start after an
// update and gains the time until the next update. To take the job with the latest deadline is the greedy rule of a
// transversal matroid. With other weights it is only a good rule.
type hindsight struct {
	known
	world   *World
	updates []update      // of all pages, in order of time
	stale   refresh.Queue // by -value, an upper bound, as values fall with time
	next    []int         // by ID: the next update
	alive   []bool
}

type update struct {
	at float64
	id refresh.ID
	n  int
}

func newHindsight(w *World) *hindsight {
	h := &hindsight{world: w, next: make([]int, len(w.Lives)), alive: make([]bool, len(w.Lives))}
	for i, l := range w.Lives {
		for n, at := range l.Updates {
			h.updates = append(h.updates, update{at, refresh.ID(i), n})
		}
	}
	slices.SortStableFunc(h.updates, func(a, b update) int { return cmp.Compare(a.at, b.at) })
	return h
}

// value returns the seconds that a copy made now stays fresh, times its weight.
func (h *hindsight) value(id refresh.ID, now float64) float64 {
	life := &h.world.Lives[id]
	until := life.End
	if n := h.next[id]; n < len(life.Updates) {
		until = life.Updates[n]
	}
	return h.pages[id].weight * math.Max(0, until-now)
}

func (h *hindsight) Add(id refresh.ID, page refresh.Page) {
	h.add(id, page)
	h.alive[id] = true
}

func (h *hindsight) Remove(id refresh.ID) {
	h.alive[id] = false
	h.stale.Drop(id)
}

func (h *hindsight) Weigh(id refresh.ID, weight float64) { h.pages[id].weight = weight }

func (h *hindsight) Visited(id refresh.ID, v refresh.Visit) { h.stale.Drop(id) }

func (h *hindsight) Next(now float64) (refresh.ID, float64, bool) {
	for ; len(h.updates) > 0 && h.updates[0].at <= now; h.updates = h.updates[1:] {
		u := h.updates[0]
		h.next[u.id] = u.n + 1
		if h.alive[u.id] {
			h.stale.Set(u.id, -h.value(u.id, now))
		}
	}
	for h.stale.Len() > 0 {
		id, bound := h.stale.Pop()
		v := -h.value(id, now)
		if v > bound && h.stale.Len() > 0 {
			if _, best := h.stale.First(); v > best {
				h.stale.Set(id, v)
				continue
			}
		}
		return id, now, true
	}
	return 0, math.Inf(1), false
}
