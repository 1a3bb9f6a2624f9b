package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/storetest"
	"freshet/weburl"
)

// queue lists a site's queue as "path@order".
func queue(t *testing.T, s *store.Store, site weburl.Site, q store.Queue) string {
	t.Helper()
	var list []string
	var after store.Key
	for {
		entries, err := s.ReadQueue(nil, site, q, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			return strings.Join(list, " ")
		}
		for _, e := range entries {
			page, err := s.Page(site.Partition(storetest.Partitions), e.Fingerprint)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprintf("%s@%d", page.URL.Path(), e.Key.Order))
			after = e.Key
		}
	}
}

// TestQueues walks a site's pages through both queues.
func TestQueues(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	site := weburl.Site("http://page.test")
	p := site.Partition(storetest.Partitions)
	u := func(path string) weburl.URL { return storetest.Parse(t, string(site)+path) }
	fp := func(path string) weburl.Fingerprint { return u(path).Fingerprint() }
	page := func(path string, order uint64) store.NewPage {
		return store.NewPage{URL: u(path), Order: order, Depth: 3}
	}
	steps := []struct {
		name     string
		do       func() ([]store.Move, error)
		new, due string
		moves    string
	}{
		{"discovered pages are queued by order, then arrival",
			func() ([]store.Move, error) {
				return s.Apply(&store.Discovered{Partition: p, At: 1, New: []store.NewPage{page("/b", 5), page("/a", 5), page("/c", 2)}})
			},
			"/c@2 /b@5 /a@5", "", "/b:none>new /a:none>new /c:none>new"},
		{"a page discovered again stays, unless its order is smaller",
			func() ([]store.Move, error) {
				return s.Apply(&store.Discovered{Partition: p, At: 2, New: []store.NewPage{page("/b", 9), page("/a", 1)}})
			},
			"/a@1 /c@2 /b@5", "", "/a:new>new"},
		{"a repeat moves a page forward, not back",
			func() ([]store.Move, error) {
				return s.Apply(&store.Discovered{Partition: p, At: 3, Repeats: []store.Repeat{
					{Fingerprint: fp("/b"), Order: 0, Depth: 1}, {Fingerprint: fp("/c"), Order: 7, Depth: 9}, {Fingerprint: 12345},
				}})
			},
			"/b@0 /a@1 /c@2", "", "/b:new>new"},
		{"a fetch takes a page out", func() ([]store.Move, error) {
			return s.CommitPages([]store.Fetch{storetest.Answer(t, u("/b"), 1, "b")})
		},
			"/a@1 /c@2", "", "/b:new>none"},
		{"a failed fetch puts it into the due queue",
			func() ([]store.Move, error) {
				f := storetest.Status(u("/a"), 2, 503)
				f.Record.(*store.Fetched).RetryAt = 50
				return s.CommitPages([]store.Fetch{f})
			},
			"/c@2", "/a@50", "/a:new>due"},
		{"planned pages come in, and move",
			func() ([]store.Move, error) {
				return s.Apply(&store.Planned{Partition: p, Fingerprint: fp("/b"), Due: 40}, &store.Planned{Partition: p, Fingerprint: fp("/a"), Due: 30}, &store.Planned{Partition: p, Fingerprint: 999, Due: 1})
			},
			"/c@2", "/a@30 /b@40", "/b:none>due /a:due>due"},
		{"a repeat does not move what is due",
			func() ([]store.Move, error) {
				return s.Apply(&store.Discovered{Partition: p, Repeats: []store.Repeat{{Fingerprint: fp("/b"), Order: 0}}})
			},
			"/c@2", "/a@30 /b@40", ""},
		{"a refused page leaves", func() ([]store.Move, error) { return s.Apply(&store.Refused{URL: u("/c"), At: 5, Reason: "robots"}) },
			"", "/a@30 /b@40", "/c:new>none"},
		{"a purged page leaves, and cannot be planned",
			func() ([]store.Move, error) {
				return s.Apply(&store.Purged{Partition: p, Fingerprint: fp("/b"), At: 6}, &store.Planned{Partition: p, Fingerprint: fp("/b"), Due: 1})
			},
			"", "/a@30", "/b:due>none"},
	}
	for _, step := range steps {
		moves, err := step.do()
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		var told []string
		for _, m := range moves {
			row, err := s.Page(p, m.Fingerprint)
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, fmt.Sprintf("%s:%v>%v", row.URL.Path(), m.From, m.To))
		}
		got := []string{queue(t, s, site, store.NewQueue), queue(t, s, site, store.DueQueue), strings.Join(told, " ")}
		if diff := cmp.Diff([]string{step.new, step.due, step.moves}, got); diff != "" {
			t.Errorf("%s: new, due, moves (-want +got):\n%s", step.name, diff)
		}
	}
	storetest.Verify(t, s)
	row, err := s.Site(site)
	if err != nil {
		t.Fatal(err)
	}
	want := store.SiteRow{Site: site, Pages: 3, Fetched: 2, Due: 1, Refused: []store.Reason{{Reason: "robots", Count: 1}}}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Errorf("site (-want +got):\n%s", diff)
	}
}

// TestRepeatSums holds that repeats sum cash and lower depth. A new page that the store knows adds no cash: a batch
// that is applied twice counts once.
func TestRepeatSums(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	u := storetest.Parse(t, "http://page.test/x")
	p, fp := storetest.Home(u), u.Fingerprint()
	first := &store.Discovered{Partition: p, At: 1, New: []store.NewPage{{URL: u, Depth: 4, Hops: 2, Cash: 0.5, Order: 9}}}
	if _, err := s.Apply(first, first, &store.Discovered{Partition: p, Repeats: []store.Repeat{{Fingerprint: fp, Depth: 2, Hops: 3, Cash: 0.25, Order: 9}}}); err != nil {
		t.Fatal(err)
	}
	page, err := s.Page(p, fp)
	if err != nil {
		t.Fatal(err)
	}
	if page.Cash != 0.75 || page.Depth != 2 || page.Hops != 2 {
		t.Errorf("cash %v, depth %d, hops %d: want 0.75, 2, 2", page.Cash, page.Depth, page.Hops)
	}
	entries, err := s.ReadQueue(nil, u.Site(), store.NewQueue, store.Key{}, 5)
	if err != nil || len(entries) != 1 || entries[0].Cash != 0.75 {
		t.Errorf("queue %v, %v: want one entry of cash 0.75", entries, err)
	}
}

// TestCash holds that a queue by cash is kept in order as cash comes, and the site's sum with it.
func TestCash(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	site := weburl.Site("http://page.test")
	p := site.Partition(storetest.Partitions)
	u := func(path string) weburl.URL { return storetest.Parse(t, string(site)+path) }
	page := func(path string, cash float64) store.NewPage {
		return store.NewPage{URL: u(path), Cash: cash, Order: weburl.CashOrder(cash)}
	}
	if _, err := s.Apply(&store.Discovered{Partition: p, ByCash: true, New: []store.NewPage{page("/a", 0.5), page("/b", 0.25), page("/c", 0.125)}}); err != nil {
		t.Fatal(err)
	}
	moves, err := s.Apply(&store.Discovered{Partition: p, ByCash: true, Repeats: []store.Repeat{{Fingerprint: u("/c").Fingerprint(), Cash: 0.25}}})
	if err != nil || len(moves) != 1 || moves[0].FromCash != 0.125 || moves[0].Cash != 0.375 {
		t.Fatalf("moves %+v, error %v", moves, err)
	}
	check := func(want float64, paths ...string) {
		t.Helper()
		entries, err := s.ReadQueue(nil, site, store.NewQueue, store.Key{}, 9)
		if err != nil || len(entries) != len(paths) {
			t.Fatalf("queue %v, error %v, want %v", entries, err, paths)
		}
		for i, e := range entries {
			if e.Fingerprint != u(paths[i]).Fingerprint() || weburl.OrderCash(e.Key.Order) != e.Cash {
				t.Errorf("place %d: %+v, want %s", i, e, paths[i])
			}
		}
		row, err := s.Site(site)
		if err != nil || row.Cash.Cash() != want {
			t.Errorf("cash of the site %v, error %v, want %v", row.Cash.Cash(), err, want)
		}
	}
	check(1.125, "/a", "/c", "/b")
	if _, err := s.CommitPages([]store.Fetch{storetest.Answer(t, u("/c"), 1, "c")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(&store.Discovered{Partition: p, ByCash: true, Repeats: []store.Repeat{{Fingerprint: u("/c").Fingerprint(), Cash: 1}}}); err != nil {
		t.Fatal(err)
	}
	check(0.75, "/a", "/b")
}

// TestCollision holds that two URLs of one fingerprint both have a row. The collision is made by
// putting a row where another URL belongs.
func TestCollision(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	u := storetest.Parse(t, "http://page.test/x")
	p := storetest.Home(u)
	if err := s.Squat(p, u.Fingerprint(), store.Page{URL: storetest.Parse(t, "http://page.test/squatter")}); err != nil {
		t.Fatal(err)
	}
	storetest.Discover(t, s, u.String())
	storetest.Commit(t, s, storetest.Answer(t, u, 1, "x"))

	page, fp, err := s.PageOf(u)
	if err != nil {
		t.Fatal(err)
	}
	if fp != u.Fingerprint()+1 || page.URL != u || page.Versions != 1 {
		t.Errorf("row of %s with %d versions at %v: want %s, 1, %v", page.URL, page.Versions, fp, u, u.Fingerprint()+1)
	}
	if c, err := s.Counters(p); err != nil || c.Collisions != 2 {
		t.Errorf("%d collisions, %v: want 2, the squatter's among them", c.Collisions, err)
	}
}

// TestTrim holds that records go once all consumers have passed them.
func TestTrim(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	u := storetest.Parse(t, "http://page.test/")
	p := storetest.Home(u)
	var many []store.Record
	for range 500 {
		many = append(many, &store.Gated{Partition: p, Host: u.Host()})
	}
	if _, err := s.Apply(many...); err != nil {
		t.Fatal(err)
	}
	kept := func() (first uint64) {
		err := s.Records(p, 0, func(n uint64, _ store.Record) error { first = n; return database.ErrStop })
		if err != nil {
			t.Fatal(err)
		}
		return first
	}
	steps := []struct {
		name  string
		mark  store.Mark
		first uint64
	}{
		{"a consumer has passed nothing", store.Mark{Consumer: "seen", Record: 0}, 1},
		{"one consumer alone", store.Mark{Consumer: "seen", Record: 300}, 301},
		{"a second consumer holds back", store.Mark{Consumer: "links", Record: 310}, 301},
		{"the second lags", store.Mark{Consumer: "seen", Record: 1 << 40}, 311},
		{"a mark never goes back", store.Mark{Consumer: "seen", Record: 1}, 311},
		{"a mark is at most the last record", store.Mark{Consumer: "links", Record: 1 << 50}, 504},
	}
	for _, step := range steps {
		step.mark.Partition = p
		if _, err := s.Apply(&step.mark); err != nil {
			t.Fatal(err)
		}
		if first := kept(); first != step.first {
			t.Errorf("%s: records begin with %d: want %d", step.name, first, step.first)
		}
	}
	marks, err := s.Marks(p)
	if err != nil {
		t.Fatal(err)
	}
	// seen's last but one mark came as record 504, links' last as 506.
	want := []store.Mark{{Partition: p, Consumer: "links", Record: 505}, {Partition: p, Consumer: "seen", Record: 503}}
	if diff := cmp.Diff(want, marks); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	storetest.Verify(t, s)
}

// TestPurge holds that a purge leaves a tombstone and nothing else.
func TestPurge(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	u := storetest.Parse(t, "http://page.test/")
	p, fp := storetest.Home(u), u.Fingerprint()
	storetest.Discover(t, s, u.String())
	f := storetest.Answer(t, u, 1, "body")
	f.Record.(*store.Fetched).Links = store.EncodeLinks([]store.OutLink{{URL: u}})
	storetest.Commit(t, s, f)
	if _, err := s.Apply(&store.Purged{Partition: p, Fingerprint: fp, At: storetest.At(2)}); err != nil {
		t.Fatal(err)
	}
	storetest.Commit(t, s, storetest.Answer(t, u, 3, "body again")) // was in flight
	page, err := s.Page(p, fp)
	if err != nil || page.State != store.StatePurged || page.Versions != 0 || page.BodyDigest != (store.BodyDigest{}) {
		t.Errorf("row %+v, %v: want a bare tombstone", page, err)
	}
	versions, err1 := s.Versions(p, fp)
	visits, err2 := s.Visits(p, fp)
	links, err3 := s.OutLinks(p, fp)
	changes, err4 := s.Changes(p, 0, 10)
	if err := errors.Join(err1, err2, err3, err4); err != nil || len(versions)+len(visits)+len(links) > 0 || len(changes) != 1 || changes[0].Kind != store.ChangePurged {
		t.Errorf("%d versions, %d visits, %d links, changes %v, %v: want one change of a purge", len(versions), len(visits), len(links), changes, err)
	}
	storetest.Verify(t, s)
}

// TestOutLinksTo holds that the links of a page are found by the URL that one leads to, compressed or not.
func TestOutLinksTo(t *testing.T) {
	s, u := storetest.Open(t, storetest.Options(vfs.NewMem())), storetest.Parse(t, "http://page.test/")
	p, fp := s.Home(u.Site()), u.Fingerprint()
	for _, links := range []int{0, 1, 100} {
		var all []store.OutLink
		for i := range links {
			all = append(all, store.OutLink{URL: storetest.Parse(t, fmt.Sprintf("http://page.test/%d.html", i))})
		}
		f := storetest.Answer(t, u, links, fmt.Sprint(links))
		f.Record.(*store.Fetched).Links = store.EncodeLinks(all)
		storetest.Commit(t, s, f)
		for i := range links + 1 {
			found, err := s.OutLinksTo(p, fp, storetest.Parse(t, fmt.Sprintf("http://page.test/%d.html", i)))
			if want := map[bool]int{true: links}[i < links]; err != nil || len(found) != want {
				t.Errorf("%d links: %d found for number %d, %v", links, len(found), i, err)
			}
		}
	}
}

// TestTDMRep holds the effect of records on a site's tdmrep.json. Records of older programs end in a line feed.
func TestTDMRep(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	site := storetest.Parse(t, "http://page.test/").Site()
	for _, step := range []struct {
		name   string
		record store.Robots
		want   string
		none   bool
	}{
		{"none was asked for", store.Robots{Keep: true, Body: []byte("Sitemap: /x")}, "", true},
		{"one was out of reach", store.Robots{TDMRep: true}, "", true},
		{"one came", store.Robots{TDMRep: true, KeepTDMRep: true, Body: []byte("[1]")}, "[1]", false},
		{"one is out of reach, the older stays", store.Robots{TDMRep: true}, "[1]", false},
		{"the site has none any more", store.Robots{TDMRep: true, KeepTDMRep: true}, "", false},
		{"an older program: one came", store.Robots{TDMRep: true, Reserves: []byte("[2]\n")}, "[2]\n", false},
		{"an older program: there is none", store.Robots{TDMRep: true, Reserves: []byte("\n")}, "\n", false},
	} {
		step.record.Site, step.record.Outcome = site, store.OutcomeStored
		storetest.Commit(t, s, store.Fetch{Record: &step.record})
		body, err := s.TDMRepBody(site)
		if string(body) != step.want || errors.Is(err, store.ErrNotFound) != step.none || err != nil && !step.none {
			t.Errorf("%s: %q, %v", step.name, body, err)
		}
		if rules, err := s.RobotsBody(site); string(rules) != "Sitemap: /x" {
			t.Errorf("%s: robots.txt is %q, %v", step.name, rules, err)
		}
	}
	storetest.Verify(t, s)
}

func TestApplyRefuses(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	u := storetest.Parse(t, "http://page.test/")
	before := storetest.Dump(t, s)
	for name, r := range map[string]store.Record{
		"a page without URL":       &store.Discovered{New: []store.NewPage{{}}},
		"a partition too large":    &store.Planned{Partition: storetest.Partitions},
		"a gate without host":      &store.Gated{},
		"a refusal without URL":    &store.Refused{},
		"a consumer without name":  &store.Mark{},
		"a fetch without captures": &store.Fetched{URL: u, Outcome: store.OutcomeStored},
	} {
		if _, err := s.Apply(&store.Gated{Partition: storetest.Home(u), Host: u.Host()}, r); err == nil {
			t.Errorf("apply of %s: no error", name)
		}
	}
	for name, f := range map[string]store.Fetch{
		"another record":      {Record: &store.Gated{Host: "x"}},
		"no URL":              {Record: &store.Fetched{Outcome: store.OutcomeStored}},
		"no outcome":          {Record: &store.Fetched{URL: u}},
		"links that are none": {Record: &store.Fetched{URL: u, Outcome: store.OutcomeStored, Links: []byte{0xff}}},
		"a main member too far": {
			Record: &store.Fetched{URL: u, Outcome: store.OutcomeStored}, Members: [][]byte{{1}}, Main: 1,
		},
		"two files at once":           {Record: &store.Robots{Site: u.Site(), Keep: true, TDMRep: true}},
		"a tdmrep.json of robots.txt": {Record: &store.Robots{Site: u.Site(), KeepTDMRep: true}},
		"robots too long":             {Record: &store.Robots{Site: u.Site(), Body: make([]byte, 512<<10+1)}},
	} {
		if _, err := s.CommitPages([]store.Fetch{storetest.Status(u, 1, 200), f}); err == nil {
			t.Errorf("commit of %s: no error", name)
		}
	}
	if diff := cmp.Diff(before, storetest.Dump(t, s)); diff != "" {
		t.Errorf("refused records changed the state:\n%s", diff)
	}
}
