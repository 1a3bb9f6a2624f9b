package replay

import (
	"flag"
	"hash/fnv"
	"testing"

	"freshet/lab"
	"freshet/refresh"
)

var watchedKind = flag.String("watched", "", "kind of docs/evidence.md of which TestWatched watches half of the pages")

// TestWatched measures what others could tell at best. Half of the pages, drawn by name, are visited daily at no cost
// and are not scored. The default visits the other half as usual, and learns from both.
func TestWatched(t *testing.T) {
	if *watchedKind == "" {
		t.Skip("measures only with -watched")
	}
	for _, k := range kinds() {
		if k.name != *watchedKind {
			continue
		}
		p := &parameters{histories: "testdata/" + k.file, window: k.window, score: k.score, accelerate: 1, sites: k.sites}
		all, err := p.world()
		if err != nil {
			t.Fatal(err)
		}
		w, rest := &World{Window: all.Window, Score: all.Score}, []Life(nil)
		for _, l := range all.shuffled(lab.Random(1, 0)).Lives {
			name := fnv.New32a()
			name.Write([]byte(l.Path))
			if name.Sum32()>>13&1 == 0 {
				w.Lives = append(w.Lives, l)
			} else {
				rest = append(rest, l)
			}
		}
		for _, share := range k.shares {
			low, high, way := between(t, w, share)
			alone := refresh.NewIndex(refresh.Default())
			told := &watcher{Index: refresh.NewIndex(refresh.Default()), lives: rest, first: refresh.ID(len(w.Lives))}
			t.Logf("%g: of the way from uniform, %.4f, to the oracle, %.4f: default %.2f, with half of the pages watched %.2f",
				share, low, high, way(alone), way(told))
		}
	}
}

// A watcher is the default that is also told daily which of some other pages have changed.
type watcher struct {
	*refresh.Index
	lives []Life // of these pages
	first refresh.ID
	seen  []float64 // when each was visited last; 0 if it is not known
	days  int
}

func (v *watcher) Next(now float64) (refresh.ID, float64, bool) {
	v.seen = append(v.seen, make([]float64, len(v.lives)-len(v.seen))...)
	for ; float64(v.days)*day < now; v.days++ {
		at := float64(v.days) * day
		for i, l := range v.lives {
			id, seen := v.first+refresh.ID(i), v.seen[i]
			switch {
			case at <= l.Born || seen >= l.End:
			case seen == 0:
				v.Add(id, refresh.Page{Site: l.Site, Path: l.Path, Fresh: at}) // of weight 0: a visit is worth nothing
				v.seen[i] = at
			case at >= l.End:
				v.Remove(id)
				v.seen[i] = at
			default:
				visit := refresh.Visit{At: at, Outcome: refresh.Unchanged}
				for _, u := range l.Updates {
					if u > seen && u <= at {
						visit.Outcome = refresh.Changed
					}
				}
				v.Visited(id, visit)
				v.seen[i] = at
			}
		}
	}
	for {
		if id, wake, ok := v.Index.Next(now); !ok || id < v.first {
			return id, wake, ok
		}
	}
}
