package refresh_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"freshet/refresh"
)

// kindred is a policy that finds its pages by path.
type kindred struct {
	*refresh.Index
	ids map[string]refresh.ID
}

func newKindred(paths ...string) *kindred {
	k := &kindred{refresh.NewIndex(refresh.Default()), map[string]refresh.ID{}}
	k.Find(func(_, path string) (refresh.ID, bool) {
		id, ok := k.ids[path]
		return id, ok
	})
	for n, path := range paths {
		id := refresh.ID(n)
		k.Add(id, refresh.Page{Site: "s", Path: path, Weight: 1})
		k.ids[path] = id
	}
	return k
}

// TestKin holds which pages are believed stale after a page has changed: those of the same small folder, and the page
// with the folder's name, in whichever order they were added. It is no claim of the site.
func TestKin(t *testing.T) {
	const gone = "/x/a/3"
	for _, paths := range [][]string{
		{"/x/a", "/x/a/1", "/x/a/2", gone, "/x/b/1", "/x/b", "/y"},
		{gone, "/x/a/2", "/x/a/1", "/y", "/x/b", "/x/b/1", "/x/a"},
	} {
		for changed, kin := range map[string]map[string]bool{
			"/x/a":   {"/x/a/1": true, "/x/a/2": true, "/x/b": true},
			"/x/a/1": {"/x/a": true, "/x/a/2": true},
			"/x/b/1": {"/x/b": true},
			"/y":     {},
		} {
			told, untold := newKindred(paths...), newKindred(paths...)
			for x, outcome := range map[*kindred]refresh.Outcome{told: refresh.Changed, untold: refresh.Unchanged} {
				x.Remove(x.ids[gone])
				x.Visited(x.ids[changed], refresh.Visit{At: day, Outcome: outcome})
			}
			for path, id := range told.ids {
				if path == gone || path == changed {
					continue
				}
				with, without := told.Copy(id, 2*day), untold.Copy(id, 2*day)
				if stale := added(without, with) > 0.4; stale != kin[path] {
					t.Errorf("%s changed: %s is stale with %.3f, else with %.3f; want kin: %v", changed, path, with.Stale, without.Stale, kin[path])
				}
				if source := told.Claimed(id); source != 0 {
					t.Errorf("%s changed: %s is claimed by source %d", changed, path, source)
				}
			}
			for path, id := range told.ids {
				if path == gone || path == changed {
					continue
				}
				told.Visited(id, refresh.Visit{At: 3 * day, Outcome: refresh.Unchanged})
				if stale := told.Copy(id, 3*day+1).Stale; stale > 0.01 {
					t.Errorf("%s changed: %s is stale with %.3f right after a visit", changed, path, stale)
				}
			}
		}
	}
}

// TestKinTogether has two folders of four pages each, which change together every ten days. The pages are visited in
// turn, so each change is found four times. The later three tell nothing new: hints stay right. After a visit to one
// page that found nothing, the others are believed fresher, and a visit is worth more than one to a page of its own.
func TestKinTogether(t *testing.T) {
	paths := []string{"/a", "/a/1", "/a/2", "/a/3", "/b", "/b/1", "/b/2", "/b/3", "/alone/page"}
	x := newKindred(paths...)
	at, seen := 0.0, make([]float64, len(paths))
	visit := func(id refresh.ID, outcome refresh.Outcome) {
		x.Visited(id, refresh.Visit{At: at, Outcome: outcome})
		x.Learn(at)
		seen[id] = at
	}
	for n := range 60 * len(paths) {
		at += day / 3
		id := n % len(paths)
		outcome := refresh.Unchanged
		if math.Floor(at/(10*day)) > math.Floor(seen[id]/(10*day)) {
			outcome = refresh.Changed
		}
		visit(refresh.ID(id), outcome)
	}
	for id := range paths {
		at += day / 3
		visit(refresh.ID(id), refresh.Unchanged)
	}
	later := at + 4*day
	if kin, alone := x.Value(x.ids["/b"], later), x.Value(x.ids["/alone/page"], later); kin < 2*alone {
		t.Errorf("a visit to a page with three kin is worth %.0f, to a page without kin %.0f: want twice as much", kin, alone)
	}
	at = later
	before := x.Copy(x.ids["/a/1"], at).Stale
	visit(x.ids["/a"], refresh.Unchanged)
	if after := x.Copy(x.ids["/a/1"], at).Stale; after > before/2 {
		t.Errorf("a page is stale with %.3f before its kin was found unchanged, and with %.3f after: want half", before, after)
	}
	visit(x.ids["/b"], refresh.Changed)
	if stale := x.Copy(x.ids["/b/1"], at).Stale; stale < 0.8 {
		t.Errorf("a page is stale with %.3f after its kin changed, want 0.8", stale)
	}
	at += day / 3
	visit(x.ids["/b/1"], refresh.Changed)
	if stale := x.Copy(x.ids["/b"], at).Stale; stale > 0.2 {
		t.Errorf("a page visited since its kin changed is stale with %.3f, want at most 0.2", stale)
	}
}

// TestLargeFoldersHaveNoKin holds that a change in a folder of ten pages is a hint about none of them alone.
func TestLargeFoldersHaveNoKin(t *testing.T) {
	x, y := newKindred(), newKindred()
	for id := range refresh.ID(10) {
		for _, k := range []*kindred{x, y} {
			k.Add(id, refresh.Page{Site: "s", Path: "/a/" + string('0'+id), Weight: 1})
		}
	}
	x.Visited(0, refresh.Visit{At: day, Outcome: refresh.Changed})
	y.Visited(0, refresh.Visit{At: day, Outcome: refresh.Unchanged})
	if p := added(y.Copy(1, 2*day), x.Copy(1, 2*day)); p > 0.3 {
		t.Errorf("another page is stale with %.3f more", p)
	}
}

// TestAgain holds that the same visits, each after the claim that was open, give the same beliefs.
func TestAgain(t *testing.T) {
	paths := []string{"/a", "/a/1", "/a/2", "/b/1", "/b/2", "/b"}
	rng := rand.New(rand.NewPCG(5, 6))
	live, again := newKindred(paths...), newKindred(paths...)
	visit := func(id refresh.ID, v refresh.Visit) {
		if claimed := live.Claimed(id); claimed != 0 && v.Outcome != refresh.Unknown {
			again.Claim(id, claimed, v.At)
		}
		for _, x := range []*kindred{live, again} {
			x.Visited(id, v)
			x.Learn(v.At)
		}
	}
	at := 0.0
	for range 400 {
		at += day / 4
		if rng.IntN(3) == 0 {
			live.Claim(refresh.ID(rng.IntN(len(paths))), refresh.Source(1+rng.IntN(2)), at-day/8)
		}
		visit(refresh.ID(rng.IntN(len(paths))), refresh.Visit{At: at, Outcome: refresh.Outcome(rng.IntN(3))})
	}
	for id := range paths { // closes the claims that are open
		at += day
		visit(refresh.ID(id), refresh.Visit{At: at, Outcome: refresh.Unchanged})
	}
	for id := range paths {
		if a, b := live.Due(refresh.ID(id), at+day), again.Due(refresh.ID(id), at+day); a != b {
			t.Errorf("%s: %+v, want %+v", paths[id], b, a)
		}
	}
}
