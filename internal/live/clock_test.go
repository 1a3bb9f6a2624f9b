package live

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/crawl"
	"freshet/fetch"
	"freshet/node"
	"freshet/weburl"
)

// A stepped site sees a crawl whose machine's clock is set between runs. The site logs by a correct clock.
type stepped struct {
	truth *clock.Clock
	mu    sync.Mutex
	asked []time.Time
}

func (s *stepped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, s.truth.Now())
	s.mu.Unlock()
	if r.URL.Path == "/robots.txt" {
		_, _ = io.WriteString(w, "User-agent: *\nDisallow:\n")
		return
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<p>The text of %s", r.URL.Path)
	if r.URL.Path == "/" {
		for i := range 19 {
			fmt.Fprintf(w, `<a href="/%d">x</a>`, i)
		}
	}
}

// TestClockIsSet sets the machine's clock by a day, back and forward, between runs of a crawl that keeps twenty pages
// fresh. Requests stay as far apart as asked, refresh goes on within the hour, and at its pace.
func TestClockIsSet(t *testing.T) {
	all := [][]time.Duration{{-day, day}, {day, -day}, {-day, -day}}
	if testing.Short() {
		all = all[:1]
	}
	for _, steps := range all {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runStepped(t, steps) })
		})
	}
}

func runStepped(t *testing.T, steps []time.Duration) {
	const delay = time.Minute
	s := &stepped{truth: clock.New(time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC), 8640)}
	n := newNetworkOf(s, "a.test")
	o := node.Options{
		Dir: "data", FS: vfs.NewMem(), Partitions: 1, UserAgent: "freshet-test", Seeds: []weburl.URL{mustParse(t, "http://a.test/")},
		Delay: delay, For: 3 * day, WARCLevel: new(0), Refresh: &crawl.Refresh{Budget: 240, Policy: "uniform"},
		Fetch: fetch.Options{Resolver: n, Dial: n.dial},
	}
	set := time.Duration(0)
	for _, step := range append([]time.Duration{0}, steps...) {
		if err := s.truth.Sleep(t.Context(), delay); err != nil { // the start of the next run takes so long
			t.Fatal(err)
		}
		set += step
		o.Clock = clock.New(s.truth.Now().Add(set), 8640)
		began, before := s.truth.Now(), len(s.asked)
		engine, err := node.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Run(t.Context(), t.Context()); err != nil {
			t.Error(err)
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
		asked := s.asked[before:]
		if len(asked) == 0 || asked[0].Sub(began) > time.Hour {
			t.Fatalf("set by %v: %d requests, none within the hour", step, len(asked))
		}
		if len(asked) < 3*200 || len(asked) > 3*250+20 {
			t.Errorf("set by %v: %d requests in three days, want 240 a day", step, len(asked))
		}
		t.Logf("set by %v: first after %v, %d requests", step, asked[0].Sub(began), len(asked))
	}
	n.stop()
	for i := 1; i < len(s.asked); i++ {
		if apart := s.asked[i].Sub(s.asked[i-1]); apart < delay {
			t.Errorf("requests %d and %d are %v apart, want %v", i-1, i, apart, delay)
		}
	}
}
