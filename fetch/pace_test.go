package fetch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"freshet/clock"
)

// TestPaceKeepsItsRate holds that a caller that waits as Pace says moves no more than the rate allows, except for one
// piece. Without a pause it moves no less. The sizes of the pieces do not matter.
func TestPaceKeepsItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const rate = 1e5
		p := NewPace(func(time.Time) float64 { return rate })
		start := time.Unix(1e9, 0)
		now, moved := start, 0
		same := func(d time.Duration) time.Duration { return d }
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 1e6), 1, 50).Draw(t, "pieces") {
			now = now.Add(p.reserve(n, now, same))
			moved += n
		}
		took, want := now.Sub(start).Seconds(), float64(moved)/rate
		if took > want+1e-6 || took < want-leastWait.Seconds()-1e-6 {
			t.Fatalf("%d bytes in %v s: want %v", moved, took, want)
		}
	})
}

func TestPaceByTheHour(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	p := NewPace(func(now time.Time) float64 {
		if now.Hour() == 12 {
			return 1000
		}
		return 0
	})
	same := func(d time.Duration) time.Duration { return d }
	for _, step := range []struct {
		at   time.Duration
		n    int
		want time.Duration
	}{{0, 1000, time.Second}, {time.Second, 10, 0}, {time.Second, 90, 100 * time.Millisecond}, {time.Minute, 500, 500 * time.Millisecond}, {time.Hour, 1e9, 0}} {
		if got := p.reserve(step.n, noon.Add(step.at), same); got != step.want {
			t.Errorf("%d bytes after %v: wait %v, want %v", step.n, step.at, got, step.want)
		}
	}
}

// TestPacedFetch holds that a body comes whole at the pace, however long that takes: our own wait is none
// of the server's.
func TestPacedFetch(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 100_000)) }))
	t.Cleanup(server.Close)
	f, err := New(Options{Clock: clock.Real(), UserAgent: "test", AllowPrivate: true, TotalTimeout: 150 * time.Millisecond,
		In: NewPace(func(time.Time) float64 { return 400_000 }), Out: NewPace(func(time.Time) float64 { return 1e6 })})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r := f.Fetch(t.Context(), Request{URL: page(t, server.URL+"/")})
	if r.Outcome != Answered || r.BodyLen != 100_000 || r.Total < 200*time.Millisecond {
		t.Errorf("%v, %d bytes in %v: want all, in at least 200ms", r.Err, r.BodyLen, r.Total)
	}
}

func TestPaceWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Real()
		p := NewPace(func(time.Time) float64 { return 10 })
		begun := c.Now()
		if took, err := p.wait(t.Context(), c, 50); err != nil || took != 5*time.Second || c.Now().Sub(begun) != 5*time.Second {
			t.Errorf("%v, %v", took, err)
		}
		var none *Pace
		if took, err := none.wait(t.Context(), c, 50); err != nil || took != 0 {
			t.Errorf("no cap: %v, %v", took, err)
		}
	})
}

// TestPaceFollows holds that a cap in use takes over the rate of another cap, or of none.
func TestPaceFollows(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	same := func(d time.Duration) time.Duration { return d }
	p := Uncapped()
	for _, step := range []struct {
		follow *Pace
		want   time.Duration
	}{{Uncapped(), 0}, {NewPace(func(time.Time) float64 { return 100 }), time.Second}, {NewPace(func(time.Time) float64 { return 1000 }), 100 * time.Millisecond}, {nil, 0}} {
		p.Follow(step.follow)
		now = now.Add(time.Hour)
		if got := p.reserve(100, now, same); got != step.want {
			t.Errorf("wait %v, want %v", got, step.want)
		}
	}
}
