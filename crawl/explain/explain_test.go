package explain

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"freshet/crawl/robots"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A world is a crawl that knows at most one page.
type world struct {
	page      *Page // nil: none is known
	site      store.SiteRow
	partly    bool                // only a part of the pages is searched for such a link
	linked    bool                // a stored page links to the URL
	outside   frontier.Reason     // why the URL is kept out; 0: it is not
	limit     frontier.Reason     // which limit it meets; 0: none
	robots    string              // the site's robots.txt
	obstacles []frontier.Obstacle // of its host
	visits    *Visits             // nil: no page is kept fresh
	ranked    bool
	remaining int // pages until the next ranking, -1: it is under way
}

func (w *world) Page(weburl.URL) (Page, error) {
	if w.page == nil {
		return Page{}, store.ErrNotFound
	}
	return *w.page, nil
}

func (w *world) Site(weburl.Site) (store.SiteRow, error) { return w.site, nil }

func (w *world) Link(u weburl.URL) (weburl.Link, bool, bool, error) {
	return weburl.Link{URL: u, Depth: 3}, w.linked, !w.partly, nil
}

func (w *world) Admits(weburl.Link) (frontier.Reason, bool, error) {
	return w.outside, w.outside == 0, nil
}

func (w *world) Limits(weburl.Link, int, time.Time) (frontier.Reason, bool) {
	return w.limit, w.limit == 0
}

func (w *world) Keeps(store.Page) (frontier.Reason, bool, error) {
	return w.outside, w.outside == 0, nil
}

func (w *world) Holds(weburl.Site) bool { return false }

func (w *world) Rules(weburl.Site) (robots.Standing, error) {
	return robots.NewBook("freshet", false, 1<<20).Read([]byte(w.robots), nil, true, true), nil
}

func (w *world) Obstacles(weburl.Site, time.Time) ([]frontier.Obstacle, error) {
	return w.obstacles, nil
}

func (w *world) Visits(weburl.URL) (Visits, bool) { return *w.visits, true }

func (w *world) Remaining() (int, bool) { return max(0, w.remaining), w.remaining >= 0 }

func (w *world) about() About {
	a := About{Options: Options{ScopeName: "site", Retries: 2, MaxStrikes: 3, Guard: fetch.Guard},
		Rows: w, Scope: w, Robots: w, Hosts: w}
	if w.visits != nil {
		a.Keeper = w
	}
	if w.ranked {
		a.Ranked, a.Ranking = firstBatch{}, w
	}
	return a
}

// firstBatch is an ordering that ranks pages. Those with an Order above 9 wait for the next ranking.
type firstBatch struct{ frontier.Ranked }

func (firstBatch) Holds(order uint64) bool { return order > 9 }

// asked is a site. Its robots.txt was fetched an hour ago.
var asked = store.SiteRow{Robots: store.RobotsState{Fetched: now.Add(-time.Hour).UnixNano(), Kept: 1,
	Expires: now.Add(time.Hour).UnixNano(),
	Outcome: store.OutcomeStored, Status: 200}}

func known(change func(*Page)) *Page {
	u, err := weburl.Parse("http://a.test/x")
	if err != nil {
		panic(err)
	}
	p := &Page{Page: store.Page{URL: u, FirstSeen: now.Add(-48 * time.Hour).UnixNano(),
		LastFetched: now.Add(-time.Minute).UnixNano(), Outcome: store.OutcomeStored, Status: 200, Visited: true}}
	change(p)
	return p
}

func TestExplain(t *testing.T) {
	due := now.Add(time.Hour)
	later := now.Add(3 * time.Hour)
	failed := func(p *Page) {
		p.Queue, p.Key.Order = store.DueQueue, uint64(due.UnixNano())
		p.Outcome, p.Status, p.FailedInRow = store.OutcomeFailed, 0, 1
		p.Reason, p.Failure = "fetch: dns: dns-failed: no such host", "dns-failed"
	}
	fresh := func(p *Page) { p.State, p.Versions, p.LastChanged = store.StateLive, 2, now.Add(-time.Hour).UnixNano() }
	tests := []struct {
		name    string
		url     string // default http://a.test/x
		world   world
		want    string     // "gate: reason" of the gate that stopped it
		nextDue *time.Time // nil: none
		says    string     // within the sentence or a gate's detail
	}{
		{name: "no URL", url: "mailto:a@b.test", want: "syntax: invalid-url", says: "not a URL that can be crawled"},
		{name: "nobody links to it", want: "seen: unknown", says: "no seed names it"},
		{name: "about to be decided", world: world{linked: true}, want: "seen: undecided"},
		{name: "outside",
			world: world{outside: frontier.OutOfScope}, want: "scope: scope", says: "does not take in http://a.test"},
		{name: "opted out",
			world: world{outside: frontier.OptedOut}, want: "scope: opt-out", says: "those who opted out"},
		{name: "too deep",
			world: world{limit: frontier.TooDeep}, want: "guard: depth", says: "3 links and 0 redirects"},
		{name: "stored", world: world{page: known(fresh)}, says: "version 2"},
		{name: "kept fresh",
			world: world{page: known(fresh), visits: &Visits{NextDue: &due, RatePerDay: 2, Stale: 0.5, Bar: 1}}, nextDue: &due,
			says: "It will be worth a visit about 2026-03-01 13:00:00 UTC: 2 changes a day are expected"},
		{name: "kept fresh, and the crawl has just started", world: world{page: known(fresh), visits: &Visits{Reading: true}},
			says: "When it is visited again is not known yet"},
		{name: "kept fresh, and its host is blocked", world: world{page: known(fresh), visits: &Visits{NextDue: &due},
			obstacles: []frontier.Obstacle{{Gate: "empty"}, {Gate: "blocked", Until: later}}},
			want: "host: blocked", nextDue: &later, says: "It is not visited again for now (blocked)"},
		{name: "kept fresh, and its site is paused", world: world{page: known(fresh), visits: &Visits{NextDue: &due},
			obstacles: []frontier.Obstacle{{Gate: "paused"}}},
			want: "host: paused", says: "nothing of a.test is asked for"},
		{name: "known, and too deep by now",
			world: world{outside: frontier.TooDeep, page: known(func(p *Page) { p.Queue = store.NewQueue })},
			want:  "guard: depth"},
		{name: "robots.txt forbids it",
			world: world{robots: "user-agent: *\ndisallow: /x",
				page: known(func(p *Page) { p.RefusedByRobots, p.Reason = true, "robots" })},
			want: "robots: robots", says: "once robots.txt allows it"},
		{name: "robots.txt allows it again",
			world: world{page: known(func(p *Page) { p.RefusedByRobots, p.Reason = true, "robots" })},
			want:  "robots: robots", says: "asked for again now that it is allowed"},
		{name: "its robots.txt is on a host of another shard",
			world: world{page: known(func(p *Page) { p.Queue, p.Visited = store.NewQueue, false }),
				obstacles: []frontier.Obstacle{{Gate: "robots-elsewhere", Host: "b.test", Away: true}}},
			want: "robots: robots-elsewhere", says: "its site waits for robots.txt of b.test from another shard"},
		{name: "a private address", url: "http://127.0.0.1/",
			world: world{page: known(func(p *Page) { p.Queue, p.Visited = store.NewQueue, false })},
			want:  "address: private-address", says: "It is refused when its turn comes."},
		{name: "set aside",
			world: world{page: known(func(p *Page) { p.Strikes = 3 })},
			want:  "crash: crashes", says: "A recrawl lifts that"},
		{name: "struck once",
			world: world{page: known(func(p *Page) { fresh(p); p.Strikes = 1 })}, says: "the last 1 runs"},
		{name: "not of this batch",
			world: world{ranked: true, remaining: 7,
				page: known(func(p *Page) { p.Queue, p.Key.Order = store.NewQueue, 10 })},
			want: "batch: next-batch", says: "when 7 more pages have been fetched"},
		{name: "of this batch",
			world: world{ranked: true, remaining: -1,
				page: known(func(p *Page) { p.Queue, p.Key.Order = store.NewQueue, 9 })},
			want: "queue: new", says: "which is under way"},
		{name: "missing, and asked for again",
			world: world{page: known(func(p *Page) { p.Queue, p.Status, p.State = store.NewQueue, 404, store.StateMissing })},
			want:  "queue: new", says: "It waits for its turn."},
		{name: "tried again",
			world: world{page: known(failed)},
			want:  "fetch: dns-failed", nextDue: &due,
			says: "not before 2026-03-01 13:00:00 UTC"},
		{name: "tried again when its host opens",
			world: world{page: known(failed), obstacles: []frontier.Obstacle{{Gate: "hours", Until: later}}},
			want:  "host: hours", nextDue: &later},
		{name: "given up",
			world: world{page: known(func(p *Page) { failed(p); p.Queue, p.State = store.NoQueue, store.StateUnreached })},
			want:  "fetch: dns-failed", says: "failed once"},
		{name: "the word is not cut out of the text",
			world: world{page: known(func(p *Page) { failed(p); p.Reason = "it broke" })},
			want:  "fetch: dns-failed", nextDue: &due},
		{name: "purged", world: world{page: known(func(p *Page) {
			p.Outcome, p.Status, p.Reason, p.State = store.OutcomeNone, 0, "purged", store.StatePurged
		})}, want: "fetch: purged", says: "It is purged"},
		{name: "no final answer", world: world{page: known(func(p *Page) {
			p.Outcome, p.Status, p.State = store.OutcomeFailed, 101, store.StateError
		})}, want: "fetch: 101"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			url := test.url
			if url == "" {
				url = "http://a.test/x"
			}
			test.world.site = asked
			x, err := test.world.about().Explain(url, now)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if x.StoppedBy != "" {
				got = x.StoppedBy + ": " + x.Reason
			}
			if got != test.want {
				t.Errorf("stopped by %q, want %q\n%+v", got, test.want, x)
			}
			if (x.NextDue == nil) != (test.nextDue == nil) || x.NextDue != nil && !x.NextDue.Equal(*test.nextDue) {
				t.Errorf("due %v, want %v", x.NextDue, test.nextDue)
			}
			text := x.Why
			for _, g := range x.Gates {
				text += "\n" + g.Detail
			}
			if !strings.Contains(text, test.says) {
				t.Errorf("%q is not said in\n%s", test.says, text)
			}
		})
	}
}

// TestEveryAddress holds that a crawl without a guard may ask every address.
func TestEveryAddress(t *testing.T) {
	w := &world{site: asked, page: known(func(p *Page) { p.Queue = store.NewQueue })}
	a := w.about()
	for _, guard := range []func(netip.Addr) error{fetch.Guard, nil} {
		a.Guard = guard
		x, err := a.Explain("http://10.0.0.1/", now)
		if err != nil || (x.StoppedBy == "address") != (guard != nil) {
			t.Errorf("guarded %v: stopped by %q, %v", guard != nil, x.StoppedBy, err)
		}
	}
}

// TestPartlySearched holds that a search of a part of the pages does not say that no page links to a URL.
func TestPartlySearched(t *testing.T) {
	for partly, want := range map[bool]string{true: "A part of the stored pages", false: "No stored page links to it"} {
		x, err := (&world{partly: partly}).about().Explain("http://a.test/x", now)
		if err != nil || !strings.Contains(x.Why, want) {
			t.Errorf("%+v, %v: want %q", x, err, want)
		}
	}
}

// TestUnsearched holds that an unknown URL is explained without a search for links if that is asked for, and that the
// answer then does not say that no page links to it.
func TestUnsearched(t *testing.T) {
	for outside, want := range map[frontier.Reason]string{0: "freshet explain does that", frontier.OutOfScope: "does not belong to the crawl"} {
		a := (&world{linked: true, outside: outside}).about()
		a.Unsearched = true
		x, err := a.Explain("http://a.test/x", now)
		if err != nil || !strings.Contains(x.Why, want) {
			t.Errorf("%+v, %v: want %q", x, err, want)
		}
	}
}
