package refresh_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"freshet/change"
	"freshet/refresh"
)

// taught returns a default policy that has watched pages of two folders for two years, in one of which all
// pages change together, and the time.
func taught() (*refresh.Index, float64) {
	x := refresh.NewIndex(refresh.Default())
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		x.Add(refresh.ID(i), page(i, 0))
	}
	visited := make([]float64, 60)
	now := 0.0
	for range 730 * 4 {
		now += day / 4
		id, _, _ := x.Next(now)
		v := refresh.Visit{At: now, Outcome: refresh.Unchanged}
		together := id < 30 && int(now/(50*day)) > int(visited[id]/(50*day))
		alone := id >= 30 && rng.Float64() < -math.Expm1(-(now-visited[id])/(40*day))
		if together || alone {
			v.Outcome = refresh.Changed
		}
		visited[id] = now
		x.Visited(id, v)
	}
	return x, now
}

func page(i int, fresh float64) refresh.Page {
	folder := "/together/"
	if i >= 30 {
		folder = "/alone/"
	}
	return refresh.Page{Site: "https://a.example", Path: folder + string(rune('a'+i)), Weight: 1, Fresh: fresh}
}

// TestRestart holds that a restored policy believes what it believed.
func TestRestart(t *testing.T) {
	before, now := taught()
	shared := before.AppendShared(nil, now)
	after := refresh.NewIndex(refresh.Default())
	for i := range 60 {
		// The last visit is known from elsewhere; here all are taken at their due times' side.
		after.Add(refresh.ID(i), page(i, now))
	}
	if err := after.RestoreShared(shared); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		id := refresh.ID(i)
		state := before.AppendPage(nil, id)
		if want := 1 + change.Rates; len(state) != want && len(state) != want+25 {
			t.Errorf("the state of a page has %d bytes, want %d: a version, one for each rate, and 25 if it was visited within a day", len(state), want)
		}
		if err := after.RestorePage(id, state); err != nil {
			t.Fatal(err)
		}
		before.Visited(id, refresh.Visit{At: now, Outcome: refresh.Unknown})
		if b, a := before.Due(id, now).Rate, after.Due(id, now).Rate; !near(a, b, 0.03) {
			t.Errorf("page %d changes %g times a second, %g after a restart", i, b, a)
		}
	}
	if again := after.AppendShared(nil, now); len(again) != len(shared) {
		t.Errorf("the shared state has %d bytes, %d after a restart", len(shared), len(again))
	}
	if per := float64(len(shared)) / 3 / 730; per > 5 {
		t.Errorf("%.1f bytes a day and group", per)
	}
}

// TestFolderNews holds what the policy is about: when some pages of a folder that changes together are seen
// to have changed, the others are believed stale.
func TestFolderNews(t *testing.T) {
	x, now := taught()
	stale := func(from, to refresh.ID) (sum float64) {
		for id := from; id < to; id++ {
			sum += x.Due(id, now).Stale / float64(to-from)
		}
		return sum
	}
	for id := range refresh.ID(60) {
		x.Visited(id, refresh.Visit{At: now, Outcome: refresh.Unchanged})
	}
	now += 10 * day
	before := stale(25, 30)
	for id := range refresh.ID(25) {
		x.Visited(id, refresh.Visit{At: now, Outcome: refresh.Changed})
	}
	now += 3 * day
	x.Next(now)
	if after := stale(25, 30); !(before < 0.25 && after > 0.35) {
		t.Errorf("others of the folder are stale by %.2f before and %.2f after 25 were seen to change", before, after)
	}
}

func TestRestoreErrors(t *testing.T) {
	x, now := taught()
	shared := x.AppendShared(nil, now)
	for name, state := range map[string][]byte{
		"empty": nil, "version": append([]byte{9}, shared[1:]...), "truncated": shared[:len(shared)-1],
		"more": append(bytes.Clone(shared), 0), "half": shared[:len(shared)/2],
		"day 0 long ago": begun(shared, -1e300), "no day 0": begun(shared, math.NaN()),
	} {
		if err := x.RestoreShared(state); err == nil || !strings.HasPrefix(err.Error(), "refresh: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, state := range [][]byte{nil, make([]byte, 17), append([]byte{1}, make([]byte, 17)...)} {
		if err := x.RestorePage(3, state); err == nil {
			t.Errorf("state of %d bytes: no error", len(state))
		}
	}
}

// begun returns shared state as it were with another day 0, in seconds.
func begun(shared []byte, origin float64) []byte {
	state := bytes.Clone(shared)
	binary.BigEndian.PutUint64(state[1:], math.Float64bits(origin))
	return state
}

func FuzzRestoreShared(f *testing.F) {
	x, now := taught()
	f.Add(x.AppendShared(nil, now))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, state []byte) {
		y := refresh.NewIndex(refresh.Default())
		for i := range 60 {
			y.Add(refresh.ID(i), page(i, 0))
		}
		if y.RestoreShared(state) != nil {
			return
		}
		for k := range 20 {
			y.Next(float64(k+1) * day)
		}
	})
}

func near(a, b, relative float64) bool {
	return math.Abs(a-b) <= relative*math.Max(math.Abs(a), math.Abs(b))
}
