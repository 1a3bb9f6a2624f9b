package live

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/crawl"
	"freshet/crawl/robots"
	"freshet/fetch"
	"freshet/node"
	"freshet/store"
	"freshet/weburl"
)

// A ruled site has that many pages and a robots.txt that changes from day to day.
type ruled struct {
	pages    int
	robots   atomic.Pointer[func(http.ResponseWriter)]
	asked    atomic.Int64 // for robots.txt
	visits   atomic.Int64 // of pages
	network  *network
	fs       vfs.FS
	clock    *clock.Clock
	home     weburl.URL
	starting time.Time
}

func (s *ruled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		s.asked.Add(1)
		(*s.robots.Load())(w)
		return
	}
	s.visits.Add(1)
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<p>The text of %s", r.URL.Path)
	if r.URL.Path == "/" {
		for i := range s.pages - 1 {
			fmt.Fprintf(w, `<a href="/%d">x</a>`, i)
		}
	}
}

func says(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { _, _ = io.WriteString(w, text) }
}

func fails(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }

func newRuled(t *testing.T, pages int, robots func(http.ResponseWriter)) *ruled {
	t.Helper()
	s := &ruled{pages: pages, fs: vfs.NewMem(), starting: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	s.clock = clock.New(s.starting, 8640)
	s.robots.Store(&robots)
	s.network = newNetworkOf(s, "ruled.test")
	var err error
	if s.home, err = weburl.Parse("http://ruled.test/"); err != nil {
		t.Fatal(err)
	}
	return s
}

// open opens a crawl of the site; what is changes its options.
func (s *ruled) open(t *testing.T, change func(*node.Options)) *node.Node {
	t.Helper()
	o := node.Options{
		Dir: "data", FS: s.fs, Partitions: 1, Clock: s.clock, UserAgent: "freshet-test", Seeds: []weburl.URL{s.home},
		WARCLevel: new(0), Fetch: fetch.Options{Resolver: s.network, Dial: s.network.dial},
	}
	change(&o)
	engine, err := node.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// kept lets a crawl that keeps the site fresh run for some days, and calls at on each morning.
func (s *ruled) kept(t *testing.T, days int, at func(day int, e *node.Node)) {
	t.Helper()
	engine := s.open(t, func(o *node.Options) {
		o.For, o.Refresh = time.Duration(days)*day, &crawl.Refresh{Budget: int64(2 * s.pages), Policy: "uniform"}
	})
	done := make(chan error)
	go func() {
		_, err := engine.Run(t.Context(), t.Context())
		done <- err
	}()
	for d := range days {
		at(d, engine)
		if err := s.clock.Sleep(t.Context(), day); err != nil {
			t.Error(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	at(days, engine)
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
	s.network.stop()
}

func states(t *testing.T, e *node.Node) store.Counters {
	t.Helper()
	total, err := e.Store().Total()
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// TestTwoDaysOfDisallow has a site forbid everything for two days. Meanwhile the crawl withdraws its pages and tells
// so in the change feed. Afterwards every page is fresh again.
func TestTwoDaysOfDisallow(t *testing.T) {
	pages := 479
	if testing.Short() {
		pages = 60
	}
	synctest.Test(t, func(t *testing.T) {
		open, shut := says("User-agent: *\nDisallow:\n"), says("User-agent: *\nDisallow: /\n")
		s := newRuled(t, pages, open)
		visits := int64(0)
		s.kept(t, 10, func(day int, e *node.Node) {
			switch day {
			case 3:
				if total := states(t, e); total.States[store.StateLive] != int64(pages) {
					t.Errorf("%d of %d pages are live before", total.States[store.StateLive], pages)
				}
				s.robots.Store(&shut)
			case 5:
				total := states(t, e)
				if total.States[store.StateWithdrawn] != int64(pages) || total.States[store.StateLive] != 0 {
					t.Errorf("after two days %d of %d pages are withdrawn, %d live", total.States[store.StateWithdrawn], pages, total.States[store.StateLive])
				}
				if x, err := e.Explain(s.home.String()); err != nil || x.StoppedBy != "robots" || x.Reason != "robots" {
					t.Errorf("explained as %+v, %v", x, err)
				}
				visits = s.visits.Load()
				s.robots.Store(&open)
			case 10:
				total := states(t, e)
				if total.States[store.StateLive] != int64(pages) {
					t.Errorf("%d of %d pages are live again, %d withdrawn", total.States[store.StateLive], pages, total.States[store.StateWithdrawn])
				}
				old := 0
				for page, err := range e.Store().Pages(0) {
					if err != nil {
						t.Fatal(err)
					}
					if time.Unix(0, page.LastFetched).Before(s.clock.Now().Add(-48 * time.Hour)) {
						old++
					}
				}
				if old > 0 {
					t.Errorf("%d of %d copies are older than two days", old, pages)
				}
			}
		})
		t.Logf("%d visits until it allowed all again, %d in all; robots.txt was asked for %d times", visits, s.visits.Load(), s.asked.Load())
	})
}

// TestRobotsOutage holds that an outage of robots.txt is not an answer. The crawl goes on by the last rules of the
// site, and withdraws no page.
func TestRobotsOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open, out := says("User-agent: *\nDisallow: /7\n"), fails
		s := newRuled(t, 50, open)
		before := int64(0)
		s.kept(t, 7, func(day int, e *node.Node) {
			switch day {
			case 2:
				s.robots.Store(&out)
				before = s.visits.Load()
			case 6:
				total := states(t, e)
				if total.States[store.StateLive] != 49 || total.States[store.StateDenied] != 1 {
					t.Errorf("states %v: want 49 live and 1 denied", total.States)
				}
				if made := s.visits.Load() - before; made < 200 {
					t.Errorf("%d visits in four days of outage", made)
				}
			}
		})
		if n := s.asked.Load(); n > 130 {
			t.Errorf("robots.txt was asked for %d times in a week", n)
		}
	})
}

// TestNewSiteInAnOutage holds that a new site without a reachable robots.txt keeps its seed. A crawl that does not
// wait ends by itself and says so; the next one asks again. A crawl that waits gets the page when robots.txt is back.
func TestNewSiteInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, open := fails, says("User-agent: *\nDisallow: /7\n")
		s := newRuled(t, 9, out)
		for range 2 {
			asked := s.asked.Load()
			e := s.open(t, func(*node.Options) {})
			summary, err := e.Run(t.Context(), t.Context())
			if err != nil || summary.StoppedBy != crawl.FrontierEmpty || summary.RobotsWaiting != 1 {
				t.Errorf("a run that does not wait: %+v, %v", summary, err)
			}
			if n := s.asked.Load() - asked; n != 3 {
				t.Errorf("robots.txt was asked for %d times: want once and two retries", n)
			}
			x, err := e.Explain(s.home.String())
			if err != nil || x.StoppedBy != "robots" || x.Reason != "robots-unreachable" || x.NextDue != nil && x.NextDue.Before(s.clock.Now()) {
				t.Errorf("explained as %+v, %v", x, err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
		asked := s.asked.Load()
		s.kept(t, 6, func(day int, e *node.Node) {
			switch day {
			case 3:
				if n := s.asked.Load() - asked; n < 12 || n > 40 {
					t.Errorf("robots.txt was asked for %d times in three days", n)
				}
				s.robots.Store(&open)
			case 6:
				if total := states(t, e); total.States[store.StateLive] != 8 {
					t.Errorf("states %v: want 8 pages live", total.States)
				}
			}
		})
	})
}

// TestRefusedPagesComeBack holds that a later run asks for pages that robots.txt refused before and allows now.
// Nothing is queued meanwhile: the crawl watches the site.
func TestRefusedPagesComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shut, open := says("User-agent: *\nDisallow: /\n"), says("User-agent: *\nDisallow: /7\n")
		s := newRuled(t, 9, shut)
		want := func(when string, live, denied int64) {
			t.Helper()
			e := s.open(t, func(*node.Options) {})
			if _, err := e.Run(t.Context(), t.Context()); err != nil {
				t.Error(err)
			}
			if total := states(t, e); total.States[store.StateLive] != live || total.States[store.StateDenied] != denied {
				t.Errorf("%s: %d live and %d denied, want %d and %d", when, total.States[store.StateLive], total.States[store.StateDenied], live, denied)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if err := s.clock.Sleep(t.Context(), 25*time.Hour); err != nil {
				t.Error(err)
			}
		}
		want("shut", 0, 1)
		want("still shut", 0, 1)
		s.robots.Store(&open)
		want("open", 8, 1)
		asked := s.asked.Load()
		want("a day later", 8, 1)
		if n := s.asked.Load() - asked; n != 1 {
			t.Errorf("robots.txt of a watched site was asked for %d times", n)
		}
		s.network.stop()
	})
}

// TestRulesAreObeyedAfterAStop has a crawl end between the arrival of new rules and the check of the pages. The crawl
// makes the check when it begins again.
func TestRulesAreObeyedAfterAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRuled(t, 300, says("User-agent: *\nDisallow:\n"))
		e := s.open(t, func(*node.Options) {})
		if _, err := e.Run(t.Context(), t.Context()); err != nil {
			t.Error(err)
		}
		now := s.clock.Now()
		body := []byte("User-agent: *\nDisallow: /1\n")
		rules := robots.Parse(body, "freshet-test")
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		stopped, err := store.Open("data", store.Options{FS: s.fs, Crawl: "main", Clock: s.clock})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stopped.CommitPages([]store.Fetch{{Record: &store.Robots{Site: s.home.Site(), At: now.UnixNano(), End: now.UnixNano(), Outcome: store.OutcomeStored,
			Status: 200, Keep: true, Body: body, Rules: rules.Digest(), Expires: now.Add(robots.Life).UnixNano()}}}); err != nil {
			t.Error(err)
		}
		if err := stopped.Close(); err != nil {
			t.Error(err)
		}
		e = s.open(t, func(*node.Options) {})
		if _, err := e.Run(t.Context(), t.Context()); err != nil {
			t.Error(err)
		}
		withdrawn := int64(1 + 10 + 100) // /1, /10 to /19, /100 to /199
		if total := states(t, e); total.States[store.StateWithdrawn] != withdrawn || total.States[store.StateLive] != 300-withdrawn {
			t.Errorf("%d withdrawn and %d live of 300", total.States[store.StateWithdrawn], total.States[store.StateLive])
		}
		row, err := e.Store().Site(s.home.Site())
		if err != nil || row.Robots.Obeyed != rules.Digest() {
			t.Errorf("%+v, %v", row.Robots, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		s.network.stop()
	})
}
