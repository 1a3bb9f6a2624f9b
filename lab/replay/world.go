package replay

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"freshet/refresh"
)

const day = 86400.0

// A Life is the life of one page within the window. Times are in seconds from the window's start.
type Life struct {
	Site, Path string
	Born, End  float64
	Updates    []float64 // after Born and before End, rising
	Noise      []float64 // changes that only a crawl sees, as Updates
}

// A World holds the lives of all pages within a window.
type World struct {
	Lives  []Life
	Window float64 // seconds
	Score  float64 // seconds, at the end of the window, in which copies are scored
}

// NewWorld places histories in a window, in seconds. It shifts each site's clock so that its last observation is the
// end of the window. Then it divides all times by accelerate.
func NewWorld(histories []History, window, score, accelerate float64) *World {
	last := make(map[string]float64)
	for _, h := range histories {
		last[h.Site] = max(last[h.Site], h.End)
	}
	w := &World{Window: window / accelerate, Score: score / accelerate}
	for _, h := range histories {
		at := func(t float64) float64 { return (t - last[h.Site] + window) / accelerate }
		life := Life{Site: h.Site, Path: h.Path, Born: max(0, at(h.Times[0])), End: at(h.End)}
		if h.Alive {
			life.End = w.Window
		}
		if !(life.Born < life.End) {
			continue
		}
		within := func(times []float64) (lived []float64) {
			for _, t := range times {
				if u := at(t); u > life.Born && u < life.End {
					lived = append(lived, u)
				}
			}
			return lived
		}
		life.Updates, life.Noise = within(h.Times[1:]), within(h.Noise)
		w.Lives = append(w.Lives, life)
	}
	return w
}

// A finder is a policy that relates pages by their paths.
type finder interface {
	Find(page func(site, path string) (refresh.ID, bool))
}

// find returns the function that finds a page by its path.
func (w *World) find() func(site, path string) (refresh.ID, bool) {
	type name struct{ site, path string }
	named := map[name]refresh.ID{}
	for i := range w.Lives {
		named[name{w.Lives[i].Site, w.Lives[i].Path}] = refresh.ID(i)
	}
	return func(site, path string) (refresh.ID, bool) {
		id, ok := named[name{site, path}]
		return id, ok
	}
}

// Updates returns the number of updates of all pages.
func (w *World) Updates() int {
	n := 0
	for _, l := range w.Lives {
		n += len(l.Updates)
	}
	return n
}

// MeanLiving returns the number of pages alive, on average over the window.
func (w *World) MeanLiving() float64 {
	sum := 0.0
	for _, l := range w.Lives {
		sum += l.End - l.Born
	}
	return sum / w.Window
}

// Sites returns the names of the sites, sorted.
func (w *World) Sites() []string {
	var names []string
	for _, l := range w.Lives {
		names = append(names, l.Site)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Only returns the world with only the named sites.
func (w *World) Only(sites []string) *World {
	part := &World{Window: w.Window, Score: w.Score}
	for _, l := range w.Lives {
		if slices.Contains(sites, l.Site) {
			part.Lives = append(part.Lives, l)
		}
	}
	return part
}

// shuffled returns the world with its pages in a random order. A page's ID is its index.
func (w *World) shuffled(r *rand.Rand) *World {
	mixed := *w
	mixed.Lives = slices.Clone(w.Lives)
	r.Shuffle(len(mixed.Lives), func(i, j int) {
		mixed.Lives[i], mixed.Lives[j] = mixed.Lives[j], mixed.Lives[i]
	})
	return &mixed
}

// zipf returns the weights 1/rank in a random order of ranks.
func zipf(n int, r *rand.Rand) []float64 {
	weights := make([]float64, n)
	for rank, i := range r.Perm(n) {
		weights[i] = 1 / float64(rank+1)
	}
	return weights
}

// An event is the birth or death of a page.
type event struct {
	at float64
	id refresh.ID
}

// byTime returns the pages' events in order of time.
func (w *World) byTime(at func(Life) float64) []event {
	events := make([]event, len(w.Lives))
	for i, l := range w.Lives {
		events[i] = event{at(l), refresh.ID(i)}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return events
}
