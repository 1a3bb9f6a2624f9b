package replay

import "freshet/refresh"

// A floor gives a share of the visits to the page visited longest ago; its policy decides the others. It shows the
// cost of a guard: every page gets at least that share of its uniform visits.
type floor struct {
	refresh.Policy
	uniform *refresh.Uniform
	share   float64
	owed    float64
}

func newFloor(policy refresh.Policy, share float64) *floor {
	return &floor{Policy: policy, uniform: refresh.NewUniform(), share: share}
}

func (f *floor) Add(id refresh.ID, page refresh.Page) {
	f.Policy.Add(id, page)
	f.uniform.Add(id, page)
}

func (f *floor) Remove(id refresh.ID) {
	f.Policy.Remove(id)
	f.uniform.Remove(id)
}

func (f *floor) Visited(id refresh.ID, v refresh.Visit) {
	f.Policy.Visited(id, v)
	f.uniform.Visited(id, v)
}

func (f *floor) Next(now float64) (refresh.ID, float64, bool) {
	if f.owed += f.share; f.owed >= 1 {
		f.owed--
		return f.uniform.Next(now)
	}
	return f.Policy.Next(now)
}
