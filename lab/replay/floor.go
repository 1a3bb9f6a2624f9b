package replay

import "freshet/refresh"

// A floor gives a share of the visits to the page visited longest ago; the index decides the others. It shows the
// cost of a guard: every page gets at least that share of its uniform visits.
type floor struct {
	*refresh.Index
	uniform *refresh.Uniform
	share   float64
	owed    float64
}

func newFloor(index *refresh.Index, share float64) *floor {
	return &floor{Index: index, uniform: refresh.NewUniform(), share: share}
}

func (f *floor) Add(id refresh.ID, page refresh.Page) {
	f.Index.Add(id, page)
	f.uniform.Add(id, page)
}

func (f *floor) Remove(id refresh.ID) {
	f.Index.Remove(id)
	f.uniform.Remove(id)
}

func (f *floor) Visited(id refresh.ID, v refresh.Visit) {
	f.Index.Visited(id, v)
	f.uniform.Visited(id, v)
}

func (f *floor) Next(now float64) (refresh.ID, float64, bool) {
	if f.owed += f.share; f.owed >= 1 {
		f.owed--
		return f.uniform.Next(now)
	}
	return f.Index.Next(now)
}
