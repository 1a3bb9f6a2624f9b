package feed_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/clock"
	"freshet/feed"
	"freshet/internal/crawled"
	"freshet/weburl"
)

// changesOf serves the change feed of a world.
func changesOf(t *testing.T, w *crawled.Web) string {
	done := make(chan struct{})
	server := httptest.NewServer(&feed.Changes{Store: w.Store(), Bell: &w.Bell, Clock: clock.Real(), Done: done})
	t.Cleanup(func() {
		close(done)
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return server.URL
}

// stream opens the change feed and returns a function that gives the next line.
func stream(t *testing.T, address, query string) (next func() feed.Change, stop func()) {
	t.Helper()
	response, err := http.Get(address + "?" + query)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", query, response.Status)
	}
	lines := json.NewDecoder(response.Body)
	return func() (c feed.Change) {
		t.Helper()
		if err := lines.Decode(&c); err != nil {
			t.Fatal(err)
		}
		return c
	}, func() { response.Body.Close() }
}

// TestChangesOfALiveCrawl follows a running crawl from the start: all pages, then each change, including the end of a
// page. A second reader continues from a cursor of the first.
func TestChangesOfALiveCrawl(t *testing.T) {
	w := crawled.New(t, 3, 4)
	address := changesOf(t, w)
	next, stop := stream(t, address, "since=start")
	defer stop()
	var urls []string
	var cursor string
	for range 12 {
		c := next()
		if c.Kind != "new" || c.Version != 1 || len(c.Digest) != 40 || c.At == nil {
			t.Errorf("%+v", c)
		}
		urls, cursor = append(urls, c.URL), c.Cursor
	}
	if slices.Sort(urls); len(slices.Compact(urls)) != 12 {
		t.Errorf("got %v", urls)
	}
	now, stopNow := stream(t, address, "")
	defer stopNow()
	only, stopOnly := stream(t, address, "site=http://h1.test")
	defer stopOnly()

	w.Set(crawled.URL(0, 1), "second text")
	w.Visit(crawled.URL(0, 1))
	w.Set(crawled.URL(1, 2), "")
	w.Visit(crawled.URL(1, 2))
	w.Visit(crawled.URL(1, 2))
	again, stopAgain := stream(t, address, "since="+cursor)
	defer stopAgain()
	for name, next := range map[string]func() feed.Change{"from the start": next, "from now": now, "resumed": again} {
		got := map[string]string{}
		for range 2 {
			c := next()
			got[c.URL] = c.Kind
		}
		if got[crawled.URL(0, 1)] != "changed" || got[crawled.URL(1, 2)] != "gone" {
			t.Errorf("%s: %v", name, got)
		}
	}
	if c := only(); c.URL != crawled.URL(1, 2) || c.Kind != "gone" || c.Digest != "" {
		t.Errorf("of one site: %+v", c)
	}
	last, stopLast := stream(t, address, "since="+cursor+"&follow=false")
	defer stopLast()
	for range 2 {
		last()
	}
	if c := last(); c.Kind != feed.KindHeartbeat || c.Cursor == "" {
		t.Errorf("the end: %+v", c)
	}
}

// TestStreamsAreKnown says of open streams who reads what and how far behind it is, and of ended ones nothing.
func TestStreamsAreKnown(t *testing.T) {
	w := crawled.New(t, 3, 4)
	changes := &feed.Changes{Store: w.Store(), Bell: &w.Bell, Clock: clock.Real()}
	server := httptest.NewServer(changes)
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	await := func(what string, holds func(open int, some []feed.Standing) bool) {
		t.Helper()
		for i := 0; !holds(changes.Streams(10)); i++ {
			if i > 1000 {
				open, some := changes.Streams(10)
				t.Fatalf("not %s: %d open, %+v", what, open, some)
			}
			_ = clock.Real().Sleep(t.Context(), 10*time.Millisecond)
		}
	}
	_, stopAll := stream(t, server.URL, "since=start")
	_, stopOne := stream(t, server.URL, "site=http://h1.test")
	await("both streams", func(open int, some []feed.Standing) bool {
		return open == 2 && some[0].Handed+some[1].Handed == 12 && some[0].Site+some[1].Site == "http://h1.test" && some[0].Name != "" && !some[0].Since.IsZero()
	})
	if open, some := changes.Streams(1); open != 2 || len(some) != 1 {
		t.Errorf("%d open, %d listed", open, len(some))
	}
	stopAll()
	stopOne()
	await("the end", func(open int, _ []feed.Standing) bool { return open == 0 })
}

// TestLag counts the changes that a reader has not taken, up to a bound, all or those of one site.
func TestLag(t *testing.T) {
	w := crawled.New(t, 3, 4)
	reader, err := feed.NewReader(w.Store(), feed.Start, "")
	if err != nil {
		t.Fatal(err)
	}
	begin := reader.Cursor()
	for site, want := range map[weburl.Site]int{"": 12, "http://h1.test": 4, "http://nowhere.test": 0} {
		lag, err := feed.LagOf(w.Store(), begin, site)
		if err != nil || lag.Changes != want || lag.More || lag.Oldest.IsZero() != (want == 0) {
			t.Errorf("of %q: %+v, %v, want %d", site, lag, err, want)
		}
	}
	if records, err := reader.Behind(); err != nil || records < 12 {
		t.Errorf("%d records are not read, %v, want those of 12 changes at least", records, err)
	}
	if _, err := reader.Next(100); err != nil {
		t.Fatal(err)
	}
	if records, err := reader.Behind(); err != nil || records != 0 {
		t.Errorf("%d records are not read after the last one, %v", records, err)
	}
	if lag, err := feed.LagOf(w.Store(), reader.Cursor(), ""); err != nil || lag != (feed.Lag{}) {
		t.Errorf("behind all: %+v, %v", lag, err)
	}
	w.Set(crawled.URL(0, 1), "second text")
	w.Visit(crawled.URL(0, 1))
	if lag, err := feed.LagOf(w.Store(), reader.Cursor(), ""); err != nil || lag.Changes != 1 {
		t.Errorf("after a change: %+v, %v", lag, err)
	}
	large := crawled.New(t, 2, 60)
	if lag, err := feed.LagOf(large.Store(), begin, ""); err != nil || lag.Changes != 100 || !lag.More {
		t.Errorf("of many: %+v, %v", lag, err)
	}
}

func TestChangesAsEvents(t *testing.T) {
	w := crawled.New(t, 1, 1)
	request, _ := http.NewRequest(http.MethodGet, changesOf(t, w)+"?since=start&follow=false", nil)
	request.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var fields []string
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, _, _ := strings.Cut(lines.Text(), " ")
		fields = append(fields, name)
	}
	want := []string{"id:", "event:", "data:", "", "id:", "event:", "data:", ""}
	if !slices.Equal(fields, want) || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("got %q of type %s", fields, response.Header.Get("Content-Type"))
	}
}

func TestRefusedCursors(t *testing.T) {
	w := crawled.New(t, 1, 1)
	address := changesOf(t, w)
	for name, test := range map[string]struct {
		query string
		code  int
	}{
		"garbage":             {"since=x!", http.StatusBadRequest},
		"other partitions":    {"since=" + feed.Cursor{1, 2}.String(), http.StatusBadRequest},
		"ahead of the log":    {"since=" + feed.Cursor{9999, 9999, 9999, 9999}.String(), http.StatusGone},
		"no site":             {"site=h0.test", http.StatusBadRequest},
		"altered on the way":  {"since=" + strings.Replace(feed.Cursor{1, 2, 3, 4}.String(), "A", "B", 1), http.StatusBadRequest},
		"the first directory": {"since=" + feed.Cursor{0, 0, 0, 0}.String() + "&follow=false", http.StatusOK},
	} {
		response, err := http.Get(address + "?" + test.query)
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != test.code {
			t.Errorf("%s: %s: want %d", name, response.Status, test.code)
		}
	}
}

// TestFirstPassAfterTheHorizon reads a log from the beginning that has forgotten the end of a page. The client is cut
// off before that position and continues from its cursor. It must resynchronise only when the log forgets an end that
// concerns it.
func TestFirstPassAfterTheHorizon(t *testing.T) {
	w := crawled.New(t, 1, 5)
	address := changesOf(t, w)
	end := func(at string) {
		w.Set(at, "")
		w.Visit(at)
		w.Visit(at)
		w.Forget(at)
	}
	end(crawled.URL(0, 1))
	next, stop := stream(t, address, "since=start")
	first := next()
	stop()
	next, stop = stream(t, address, "since="+first.Cursor+"&follow=false")
	urls := []string{first.URL, next().URL, next().URL, next().URL}
	stop()
	if slices.Sort(urls); !slices.Equal(urls, []string{crawled.URL(0, 0), crawled.URL(0, 2), crawled.URL(0, 3), crawled.URL(0, 4)}) {
		t.Errorf("told of %v", urls)
	}
	end(crawled.URL(0, 2))
	response, err := http.Get(address + "?since=" + first.Cursor)
	if err != nil {
		t.Fatal(err)
	}
	if response.Body.Close(); response.StatusCode != http.StatusGone {
		t.Errorf("another end is forgotten: %s", response.Status)
	}
}

func TestCursorText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := feed.Cursor(rapid.SliceOfN(rapid.Uint64(), 1, 40).Draw(t, "positions"))
		got, err := feed.ParseCursor(c.String(), len(c))
		if err != nil || !slices.Equal(got, c) {
			t.Fatalf("%v: got %v, %v", c, got, err)
		}
	})
}

func FuzzParseCursor(f *testing.F) {
	f.Add(feed.Cursor{1, 2, 300}.String())
	f.Add("AgMBAgMABAUgHnUk")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := feed.ParseCursor(text, 3)
		if err == nil && len(c) != 3 || err != nil && !errors.Is(err, feed.ErrCursor) {
			t.Errorf("%q: %v, %v", text, c, err)
		}
		place, err := feed.ParsePlace(text, 3)
		if err != nil {
			if !errors.Is(err, feed.ErrCursor) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if again, err := feed.ParsePlace(place.String(), 3); err != nil || again.String() != place.String() {
			t.Errorf("%q is %s, and that is %s, %v", text, place, again, err)
		}
	})
}

// TestSiteBesideOthers holds that a reader of one site has it all when it says that there is no more, however many
// entries of other sites in the partition come first.
func TestSiteBesideOthers(t *testing.T) {
	const sites, pages = 5, 3 // two of the sites are in one of the four partitions
	w := crawled.New(t, sites, pages)
	for i := range sites {
		u, err := weburl.Parse(crawled.URL(i, 0))
		if err != nil {
			t.Fatal(err)
		}
		reader, err := feed.NewReader(w.Store(), feed.Start, u.Site())
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for {
			entries, err := reader.Next(1)
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) == 0 {
				break
			}
			read += len(entries)
		}
		if read != pages {
			t.Errorf("%s: %d entries, want %d", u.Site(), read, pages)
		}
	}
}
