package crawl

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

// studying is a crawl whose policy has much to think over, and what could be done meanwhile.
type studying struct {
	*Engine
	pages            []weburl.URL
	answers, visited int
	told             map[pageKey]bool // picks of which a visit was told
	due              []int64          // pages in the frontier's due queue, at each answer
}

// TestPlanningStopsNothing has a policy learn from 20,000 visits and rank 5,000 pages. Between the pieces of
// that, Status and explain are answered, visits are taken notice of, and new ones are handed out. No time
// passes.
func TestPlanningStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		s := &studying{told: map[pageKey]bool{}}
		e, err := Open(Options{
			Dir: "data", FS: vfs.NewMem(), Clock: clock.New(start, 1), UserAgent: "freshet-test", AllowPrivate: true,
			Seeds:   []weburl.URL{mustParse(t, "http://s0.test/")},
			Refresh: &Refresh{Budget: 400, Interval: time.Second, OnVisit: func(weburl.URL, time.Time, bool, bool) { s.meanwhile(t) }},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}()
		s.Engine = e
		s.fill(t, start, 5000, 4)
		s.leave(t, 0)
		e.refresher.plan()
		if s.answers < 50 || s.visited < 50 {
			t.Errorf("%d looks and %d visits while it planned: want 50 of each", s.answers, s.visited)
		}
		if last := s.due[len(s.due)-1]; s.due[0] != 0 || last < int64(s.visited) {
			t.Errorf("due pages rose from %d to %d: want 0, then what %d visits made room for", s.due[0], last, s.visited)
		}
	})
}

// fill makes pages of three sites, each visited some times in the month before.
func (s *studying) fill(t *testing.T, now time.Time, pages, visits int) {
	r := s.refresher
	month := 30 * 24 * time.Hour
	records := make([]store.Record, 3)
	for site := range records {
		discovered := &store.Discovered{At: now.UnixNano()}
		for i := site; i < pages; i += len(records) {
			u := mustParse(t, fmt.Sprintf("http://s%d.test/%d/%d", site, i%50, i))
			discovered.Partition = s.partition(u.Site())
			discovered.New = append(discovered.New, store.NewPage{URL: u, Rel: weburl.RelAnchor})
			r.enter(pageKey{discovered.Partition, u.Fingerprint()}, u, keepfresh.Seconds(now.Add(-month)))
			s.pages = append(s.pages, u)
		}
		records[site] = discovered
	}
	if _, err := s.store.Apply(records...); err != nil {
		t.Fatal(err)
	}
	for i := range pages * visits {
		at := now.Add(-month + time.Duration(i+1)*month/time.Duration(pages*visits))
		r.belief.Visited(refresh.ID(i%pages), refresh.Visit{At: keepfresh.Seconds(at), Outcome: refresh.Outcome(1 + i%2)})
	}
}

// leave leaves a note of a visit.
func (s *studying) leave(t *testing.T, id refresh.ID) {
	page := &s.refresher.pages[id]
	n := note{key: page.key, row: store.Page{URL: page.url}, at: s.opt.Clock.Now(), outcome: refresh.Unchanged, fresh: true}
	s.refresher.leave(t.Context(), []note{n})
}

// meanwhile is called between two pieces: it looks, and has a page that was picked visited.
func (s *studying) meanwhile(t *testing.T) {
	if _, ok := s.Refreshing(s.pages[s.answers], s.pages[s.answers].Fingerprint()); !ok {
		t.Errorf("nothing is said of %s", s.pages[s.answers])
	}
	s.answers++
	s.due = append(s.due, int64(s.Status().QueuedDue))
	picks, err := s.store.ReadQueue(nil, s.pages[s.visited%3].Site(), store.DueQueue, store.Key{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, pick := range picks {
		key := pageKey{s.partition(s.pages[s.visited%3].Site()), pick.Fingerprint}
		if !s.told[key] {
			s.told[key] = true
			s.visited++
			s.leave(t, s.refresher.ids[key])
			return
		}
	}
	s.leave(t, 0)
}
