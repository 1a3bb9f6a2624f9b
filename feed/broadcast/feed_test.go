package broadcast_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"freshet/clock"
	"freshet/dashboard"
	"freshet/feed"
	"freshet/feed/broadcast"
	"freshet/feed/mirror"
	"freshet/internal/crawled"
	"freshet/node"
	"freshet/objects"
	"freshet/store"
	"freshet/store/segments"
	"freshet/store/warc"
	"freshet/weburl"
)

// startFeed lets a feed of a world run until stop.
func startFeed(t *testing.T, w *crawled.Web, o broadcast.Options) (feed *broadcast.Server, stop func()) {
	o.Store, o.Bell = w.Store(), &w.Bell
	feed, err := broadcast.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- feed.Run(ctx) }()
	return feed, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// serveFeed lets a feed of a world run and returns it and its address.
func serveFeed(t *testing.T, w *crawled.Web, o broadcast.Options) (*broadcast.Server, string) {
	feed, stop := startFeed(t, w, o)
	server := httptest.NewServer(feed.Handler())
	t.Cleanup(func() {
		stop()
		server.Close()
	})
	return feed, server.URL
}

// subscriber is a mirror that the feed keeps fresh.
type subscriber struct {
	t       *testing.T
	o       mirror.Options
	arrived feed.Bell
	cancel  context.CancelFunc
	ended   chan error
}

// subscribe begins to keep a mirror; stop or the test's end ends it.
func subscribe(t *testing.T, o mirror.Options) *subscriber {
	t.Helper()
	s := &subscriber{t: t, ended: make(chan error, 1)}
	onChange := o.OnChange
	o.OnChange = func(c mirror.Change) error {
		s.arrived.Ring()
		if onChange != nil {
			return onChange(c)
		}
		return nil
	}
	s.o = o
	client, err := mirror.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() { s.ended <- errors.Join(client.Run(ctx), client.Close()) }()
	t.Cleanup(cancel)
	return s
}

// wait waits for the end of the subscriber.
func (s *subscriber) wait() {
	s.t.Helper()
	if err := <-s.ended; err != nil {
		s.t.Error(err)
	}
}

// stop kills the subscriber.
func (s *subscriber) stop() {
	s.t.Helper()
	s.cancel()
	s.wait()
}

// awaitEqual waits until the mirror equals the repository.
func (s *subscriber) awaitEqual(w *crawled.Web) {
	s.t.Helper()
	for {
		news := s.arrived.Wait()
		if difference(s.t, w, s.o) == "" {
			return
		}
		<-news
	}
}

// awaitFile waits for a file of the mirror.
func (s *subscriber) awaitFile(name string) {
	for {
		if _, err := os.Stat(filepath.Join(s.o.Dir, name)); err == nil {
			return
		}
		runtime.Gosched()
	}
}

// difference lists the pages that a mirror lacks or should not have.
func difference(t *testing.T, w *crawled.Web, o mirror.Options) string {
	t.Helper()
	want := map[[sha1.Size]byte]int{}
	pages := 0
	for p := range w.Store().Partitions() {
		for page, err := range w.Store().Pages(weburl.Partition(p)) {
			if err != nil {
				t.Fatal(err)
			}
			if page.State == store.StateLive && o.Interest.Wants(page.URL) {
				want[page.BodyDigest]++
				pages++
			}
		}
	}
	got := 0
	wrong := ""
	err := filepath.WalkDir(o.Dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // it has gone meanwhile
			return nil
		case err != nil:
			return err
		case entry.Name() == ".freshet":
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		content, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if got++; want[sha1.Sum(content)] == 0 {
			wrong = fmt.Sprintf("%s holds %q", name, content)
		}
		want[sha1.Sum(content)]--
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if wrong == "" && got != pages {
		wrong = fmt.Sprintf("%d pages of %d", got, pages)
	}
	return wrong
}

// stir changes pages of a world, takes one away and lets the crawl see it.
func stir(w *crawled.Web, sites, pages int) {
	for site := range sites {
		for page := 1; page < pages; page += 2 {
			w.Set(crawled.URL(site, page), fmt.Sprintf("second text of page %d of site %d", page, site))
			w.Visit(crawled.URL(site, page))
		}
		w.Set(crawled.URL(site, 2), "")
		w.Visit(crawled.URL(site, 2))
		w.Visit(crawled.URL(site, 2))
	}
}

func parse(t *testing.T, text string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestMirrorsEqualTheRepository keeps mirrors with overlapping interests of a running crawl, and downloads, under
// each scheduler.
func TestMirrorsEqualTheRepository(t *testing.T) {
	w := crawled.New(t, 3, 6)
	for i, scheduler := range []string{"", "rq", "circular", "popularity", "rxw", "rxc"} {
		t.Run("scheduler "+scheduler, func(t *testing.T) {
			feed, address := serveFeed(t, w, broadcast.Options{Scheduler: scheduler, ChunkBytes: 2000})
			var all []*subscriber
			for _, interest := range []broadcast.Interest{
				{}, {Sites: []string{"http://h0.test"}}, {Sites: []string{"http://h0.test", "http://h1.test"}},
				{Domains: []string{"h2.test"}}, {Patterns: []string{"http://h1.test/docs/*.html"}},
				{Patterns: []string{"*/docs/3.html"}[:0], Domains: []string{"h1.test", "h2.test"}},
			} {
				all = append(all, subscribe(t, mirror.Options{Addresses: []string{address}, Interest: interest, Dir: t.TempDir()}))
			}
			for _, s := range all {
				s.awaitEqual(w)
			}
			if i == 0 {
				stir(w, 3, 6)
			}
			w.Set(crawled.URL(0, 1), fmt.Sprintf("text %d", i+3))
			w.Visit(crawled.URL(0, 1))
			for _, s := range all {
				s.awaitEqual(w)
			}
			once := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: t.TempDir(), Once: true})
			once.wait()
			if fault := difference(t, w, once.o); fault != "" {
				t.Errorf("a download: %s", fault)
			}
			totals, err := feed.Totals(t.Context())
			if err != nil || totals.Downloads != 1 || totals.Subscribers != len(all) || totals.SentBytes < totals.ChunkBytes {
				t.Errorf("%+v, %v", totals, err)
			}
			for _, s := range all {
				s.stop()
			}
		})
	}
}

// TestClients says of each client what it lacks and for how long, and of the scheduler what it waits for.
func TestClients(t *testing.T) {
	w := crawled.New(t, 2, 8)
	for _, test := range []struct {
		rate  float64 // of bytes a second
		waits string
		holds func(broadcast.Client) bool
	}{
		{0, broadcast.WaitsForChanges, func(c broadcast.Client) bool {
			return c.Chunks == 0 && c.LagS == 0 && c.Freshness != nil && *c.Freshness == 1
		}},
		{1, broadcast.WaitsForRate, func(c broadcast.Client) bool { return c.Chunks > 0 && c.LagS > 0 }},
	} {
		served, address := serveFeed(t, w, broadcast.Options{ChunkBytes: 2000, Rate: test.rate, Lease: 400 * time.Millisecond})
		s := subscribe(t, mirror.Options{Addresses: []string{address}, Interest: broadcast.Interest{Sites: []string{"http://h0.test"}, Domains: []string{"h1.test", "b.test", "c.test"}}, Dir: t.TempDir()})
		for i := 0; ; i++ {
			totals, err := served.Totals(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			open, all, err := served.Clients(t.Context(), 1)
			if err == nil && open == 1 && test.holds(all[0]) && totals.Waits == test.waits {
				if c := all[0]; c.Address == "" || c.Since.IsZero() || c.Download || !slices.Equal(c.Wants, []string{"http://h0.test", "h1.test", "b.test"}) || c.More != 1 {
					t.Errorf("%+v", c)
				}
				if totals.Scheduler != "lifetime" || totals.Objective != "freshness" || totals.Over != "clients" || totals.RateBytesPerS != test.rate || totals.ChunkMeanBytes < 500 || totals.ChunkMeanBytes > 3000 {
					t.Errorf("%+v", totals)
				}
				break
			}
			if _ = clock.Real().Sleep(t.Context(), 10*time.Millisecond); i > 1000 {
				t.Fatalf("at a rate of %v: %+v, %+v, %v", test.rate, all, totals, err)
			}
		}
		s.stop()
	}
}

// TestResume kills a client in its first copy and again later; changes come while it is away.
func TestResume(t *testing.T) {
	w := crawled.New(t, 2, 8)
	_, address := serveFeed(t, w, broadcast.Options{ChunkBytes: 500})
	dir := t.TempDir()
	got := 0
	errKilled := errors.New("killed")
	first := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: dir, OnChange: func(mirror.Change) error {
		if got++; got == 5 {
			return errKilled
		}
		return nil
	}})
	if err := <-first.ended; !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	var second []string
	var mu sync.Mutex
	again := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: dir, OnChange: func(c mirror.Change) error {
		mu.Lock()
		defer mu.Unlock()
		second = append(second, c.URL)
		return nil
	}})
	again.awaitEqual(w)
	again.stop()
	if len(second) != 16-5 {
		t.Errorf("%d pages came after the first 5 of 16: %v", len(second), second)
	}
	stir(w, 2, 8)
	last := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: dir})
	last.awaitEqual(w)
	last.stop()
}

// A mischief is a bad network: it cuts each connection after a number of bytes, and alters a byte of every second
// one.
type mischief struct {
	mu          sync.Mutex
	chance      *rand.Rand
	connections int
	until       int // connections that it spoils
}

func (m *mischief) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || r.URL.Path != "/feed/stream" || m.connections >= m.until {
		return response, err
	}
	m.connections++
	spoiled := &spoiledBody{ReadCloser: response.Body, left: 50 + m.chance.IntN(4000), alter: -1}
	if m.connections%2 == 0 {
		spoiled.alter = m.chance.IntN(spoiled.left)
	}
	response.Body = spoiled
	return response, nil
}

type spoiledBody struct {
	io.ReadCloser
	left, alter int
}

func (b *spoiledBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	if b.alter >= 0 && b.alter < n {
		p[b.alter] ^= 0x20
	}
	b.alter -= n
	b.left -= n
	return n, err
}

// digests returns those of the bodies that the repository holds.
func digests(t *testing.T, w *crawled.Web) map[string]bool {
	all := map[string]bool{}
	for p := range w.Store().Partitions() {
		for page, err := range w.Store().Pages(weburl.Partition(p)) {
			if err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprintf("%x", page.BodyDigest[:])] = true
		}
	}
	return all
}

// TestBadNetwork holds that no mirror takes a wrong byte and that all comes in the end.
func TestBadNetwork(t *testing.T) {
	w := crawled.New(t, 2, 8)
	_, address := serveFeed(t, w, broadcast.Options{ChunkBytes: 1000})
	truth := digests(t, w)
	for seed := range uint64(4) {
		network := &mischief{chance: rand.New(rand.NewPCG(seed, 1)), until: 4}
		dir := t.TempDir()
		s := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: dir, HTTP: &http.Client{Transport: network}, OnChange: func(c mirror.Change) error {
			content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.File)))
			if sum := fmt.Sprintf("%x", sha1.Sum(content)); err != nil || sum != c.Digest || !truth[sum] {
				t.Errorf("%s: %q, %v", c.URL, content, err)
			}
			return nil
		}})
		s.awaitEqual(w)
		s.stop()
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestBehindTheHorizon lets the log forget the end of a page. A mirror with an old cursor lists its pages and is told
// to drop that page.
func TestBehindTheHorizon(t *testing.T) {
	w := crawled.New(t, 1, 4)
	_, address := serveFeed(t, w, broadcast.Options{})
	dir := t.TempDir()
	witness := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: t.TempDir()})
	first := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: dir})
	first.awaitEqual(w)
	first.awaitFile(".freshet/cursor.json")
	first.stop()
	w.Set(crawled.URL(0, 2), "")
	w.Visit(crawled.URL(0, 2))
	w.Visit(crawled.URL(0, 2))
	witness.awaitEqual(w) // the server has seen the end
	w.Forget(crawled.URL(0, 2))
	again := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: dir})
	again.awaitEqual(w)
	again.stop()
	witness.stop()
}

// TestLiars holds that a client with a false inventory harms only itself, and that invalid requests are refused.
func TestLiars(t *testing.T) {
	w := crawled.New(t, 1, 3)
	_, address := serveFeed(t, w, broadcast.Options{})
	for name, test := range map[string]struct {
		ask  string
		code int
	}{
		"not JSON":       {"x", http.StatusBadRequest},
		"unknown fields": {`{"all":true}`, http.StatusBadRequest},
		"no site":        {`{"sites":["h0"]}`, http.StatusBadRequest},
		"a false cursor": {`{"cursor":"` + feed.Cursor{1, 2, 3, 1 << 60}.String() + `"}`, http.StatusGone},
		"false claims":   {`{"download":true,"have":{"http://h0.test/":"00","../../x":"11","http://h0.test/none":""}}`, http.StatusOK},
	} {
		response, err := http.Post(address+"/feed/stream", "application/json", bytes.NewReader([]byte(test.ask)))
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != test.code {
			t.Errorf("%s: %s: want %d", name, response.Status, test.code)
		}
		if test.code == http.StatusOK {
			m, err := broadcast.ReadFrame(response.Body)
			if err != nil || !slices.Equal(m.Drop, []string{"../../x", "http://h0.test/none"}) {
				t.Errorf("%s: %+v, %v", name, m, err)
			}
		}
		response.Body.Close()
	}
	// These clients stay. One claims to have everything and has nothing. One claims bodies that nobody sent. One
	// claims to have everything up to now.
	claims := []broadcast.Subscription{{Have: map[string]string{}}, {Have: map[string]string{}}, {}}
	for page := range 3 {
		row, _, err := w.Store().PageOf(parse(t, crawled.URL(0, page)))
		if err != nil {
			t.Fatal(err)
		}
		claims[0].Have[crawled.URL(0, page)] = fmt.Sprintf("%x", row.BodyDigest[:])
		claims[1].Have[crawled.URL(0, page)] = fmt.Sprintf("%x", sha1.Sum([]byte("what nobody sent")))
	}
	now, err := feed.NewReader(w.Store(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	claims[2].Cursor = now.Cursor().String()
	for _, claim := range claims {
		text, err := json.Marshal(claim)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.Post(address+"/feed/stream", "application/json", bytes.NewReader(text))
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", text, response, err)
		}
		defer response.Body.Close()
	}
	for round := range 3 {
		honest := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: t.TempDir()})
		honest.awaitEqual(w)
		w.Set(crawled.URL(0, 1), fmt.Sprintf("text %d", round))
		w.Visit(crawled.URL(0, 1))
		honest.awaitEqual(w)
		honest.stop()
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestTokens holds that the feed gives nothing without the token, or with a token that is no longer valid. The client
// then reports it instead of trying forever.
func TestTokens(t *testing.T) {
	w := crawled.New(t, 1, 3)
	feed, stop := startFeed(t, w, broadcast.Options{})
	server := httptest.NewServer(dashboard.Access{Token: "the new one"}.Guard(feed.Handler()))
	defer server.Close()
	defer stop()
	for name, token := range map[string]string{"none": "", "stolen, and replaced since": "the old one", "part of it": "the new"} {
		dir := t.TempDir()
		client, err := mirror.New(mirror.Options{Addresses: []string{server.URL}, Token: token, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(client.Run(t.Context()), client.Close()); !errors.Is(err, mirror.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		for _, path := range []string{"/feed/status", "/feed/group", "/feed/frame?serial=1"} {
			request, _ := http.NewRequest(http.MethodGet, server.URL+path, nil)
			request.Header.Set("Authorization", "Bearer "+token)
			response, err := http.DefaultClient.Do(request)
			if err != nil || response.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s: %s: %v, %v", name, path, response, err)
			}
			response.Body.Close()
		}
	}
	right := subscribe(t, mirror.Options{Addresses: []string{server.URL}, Token: "the new one", Dir: t.TempDir()})
	right.awaitEqual(w)
	right.stop()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestArchive keeps a mirror and WARC files of it: they hold every version that came, as it came.
func TestArchive(t *testing.T) {
	w := crawled.New(t, 1, 4)
	_, address := serveFeed(t, w, broadcast.Options{})
	files := vfs.NewMem()
	archive, err := warc.NewWriter(files, "warc", warc.Options{Now: clock.Real().Now})
	if err != nil {
		t.Fatal(err)
	}
	want := digests(t, w)
	s := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: t.TempDir(), Archive: archive})
	s.awaitEqual(w)
	w.Set(crawled.URL(0, 1), "second text")
	w.Visit(crawled.URL(0, 1))
	s.awaitEqual(w)
	s.stop()
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	maps.Copy(want, digests(t, w))
	names, err := files.List("warc")
	if err != nil {
		t.Fatal(err)
	}
	responses := 0
	for _, name := range names {
		file, err := files.Open(files.PathJoin("warc", name))
		if err != nil {
			t.Fatal(err)
		}
		for in := warc.NewReader(file, name); ; {
			record, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			block, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			if record.Type != warc.Response {
				continue
			}
			message, err := warc.ParseResponse(block)
			if err != nil || message.Status != 200 || !want[fmt.Sprintf("%x", sha1.Sum(message.Body))] {
				t.Errorf("%s: %v, %v", record.TargetURI, message, err)
			}
			responses++
		}
		file.Close()
	}
	if responses != 5 {
		t.Errorf("%d responses in %v: want 5", responses, names)
	}
}

// TestMetrics holds that a scrape shows the feed, if the daemon has one.
func TestMetrics(t *testing.T) {
	w := crawled.New(t, 1, 3)
	feed, address := serveFeed(t, w, broadcast.Options{})
	mirror := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: t.TempDir()})
	mirror.awaitEqual(w)
	for _, runs := range []bool{true, false} {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(broadcast.Collector(func() (broadcast.Totals, bool) {
			totals, err := feed.Totals(t.Context())
			return totals, err == nil && runs
		}))
		families, err := registry.Gather()
		if err != nil || runs != (len(families) == 10) {
			t.Errorf("%d metrics, %v", len(families), err)
		}
		for _, f := range families {
			if f.GetName() == "freshet_feed_freshness" && f.GetMetric()[0].GetGauge().GetValue() != 1 {
				t.Errorf("%v", f)
			}
		}
	}
	mirror.stop()
}

// TestTooMany holds that the feed refuses new clients for now when all places are taken. Clients with a place stay.
func TestTooMany(t *testing.T) {
	w := crawled.New(t, 1, 3)
	_, address := serveFeed(t, w, broadcast.Options{MaxClients: 1})
	first := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: t.TempDir()})
	first.awaitEqual(w)
	response, err := http.Post(address+"/feed/stream", "application/json", bytes.NewReader([]byte("{}")))
	if err != nil || response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%v, %v", response, err)
	}
	response.Body.Close()
	w.Set(crawled.URL(0, 1), "second text")
	w.Visit(crawled.URL(0, 1))
	first.awaitEqual(w)
	first.stop()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestTooManyBeforeAdmission holds that a client with half a subscription takes a place. The feed then refuses others
// without reading their subscriptions. The place is free again when the connection ends.
func TestTooManyBeforeAdmission(t *testing.T) {
	w := crawled.New(t, 1, 3)
	_, address := serveFeed(t, w, broadcast.Options{MaxClients: 1})
	half, write := io.Pipe()
	reading := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		request, _ := http.NewRequestWithContext(ctx, http.MethodPost, address+"/feed/stream", half)
		_, err := http.DefaultClient.Do(request)
		reading <- err
	}()
	if _, err := write.Write([]byte(`{"sites":[`)); err != nil {
		t.Fatal(err)
	}
	post := func() int {
		response, err := http.Post(address+"/feed/stream", "application/json", bytes.NewReader([]byte("no JSON")))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	await := func(code int) {
		for post() != code { // until the test's own time limit
			runtime.Gosched()
		}
	}
	await(http.StatusServiceUnavailable)
	cancel()
	write.Close()
	<-reading
	await(http.StatusBadRequest)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestCaptureOutOfReach holds that a mirror keeps a page while its capture cannot be read, as when an object store is
// down, and gets it afterwards.
func TestCaptureOutOfReach(t *testing.T) {
	w := crawled.New(t, 1, 3)
	waits := make(lines, 100)
	_, address := serveFeed(t, w, broadcast.Options{Clock: clock.New(time.Unix(1.8e9, 0), 100), Logger: slog.New(slog.NewTextHandler(waits, nil))})
	dropped := false
	s := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: t.TempDir(), OnChange: func(c mirror.Change) error {
		dropped = dropped || c.Kind == "withheld"
		return nil
	}})
	s.awaitEqual(w)
	w.Fail(errors.New("no answer"))
	w.Set(crawled.URL(0, 1), "a zebra")
	w.Visit(crawled.URL(0, 1))
	if said := <-waits; !strings.Contains(said, "no answer") {
		t.Errorf("it says %s", said)
	}
	w.Fail(nil)
	s.awaitEqual(w)
	s.stop()
	if dropped {
		t.Error("the mirror dropped a page")
	}
}

// TestOthersGoOn holds that a page whose capture is out of reach costs only its own chunk: pages of other sites come
// meanwhile, and it comes afterwards. A copy without it is not whole.
func TestOthersGoOn(t *testing.T) {
	w := crawled.New(t, 2, 2)
	away := crawled.URL(0, 1)
	w.FailPage(away, errors.New("no answer"))
	waits := make(lines, 100)
	_, address := serveFeed(t, w, broadcast.Options{Clock: clock.New(time.Unix(1.8e9, 0), 100), Logger: slog.New(slog.NewTextHandler(waits, nil))})
	came := make(lines, 100)
	client, err := mirror.New(mirror.Options{Addresses: []string{address}, Dir: t.TempDir(), Once: true, OnChange: func(c mirror.Change) error {
		_, err := came.Write([]byte(c.URL))
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(client.Run(t.Context()), client.Close()) }()
	for range 2 {
		if at := <-came; !strings.HasPrefix(at, "http://h1.test/") {
			t.Errorf("%s came first", at)
		}
	}
	if said := <-waits; !strings.Contains(said, "no answer") {
		t.Errorf("it says %s", said)
	}
	select {
	case err := <-ended:
		t.Fatalf("the copy ended without a page: %v", err)
	default:
	}
	w.FailPage(away, nil)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(came) != 2 {
		t.Errorf("%d pages came at last, want 2", len(came))
	}
}

// stuck is an object store that does not answer reads while answers is locked.
type stuck struct {
	objects.Store
	answers sync.RWMutex
}

func (s *stuck) ReadAt(ctx context.Context, name string, p []byte, offset int64) (int, error) {
	s.answers.RLock()
	defer s.answers.RUnlock()
	return s.Store.ReadAt(ctx, name, p, offset)
}

// TestStoreDoesNotAnswer holds that pages on the disk, and answers to questions, do not wait for an object store that
// does not answer. The pages in it come once it does.
func TestStoreDoesNotAnswer(t *testing.T) {
	kept, err := objects.Open(vfs.NewMem(), "objects")
	if err != nil {
		t.Fatal(err)
	}
	at := &stuck{Store: kept}
	w := crawled.NewWith(t, 3, 1, func(o *node.Options) {
		o.WARCSize = 1
		o.Segments = segments.New(segments.Options{Store: at, Publish: true, Clock: clock.Real()})
	})
	last := crawled.URL(2, 0)
	w.Set(last, "a zebra")
	w.Visit(last) // its capture is in the file that is being written
	for w.OnDisk(crawled.URL(0, 0)) || w.OnDisk(crawled.URL(1, 0)) {
		_ = clock.Real().Sleep(t.Context(), time.Millisecond)
	}
	if !w.OnDisk(last) {
		t.Fatal("the last capture is not on the disk")
	}
	at.answers.Lock()
	server, address := serveFeed(t, w, broadcast.Options{})
	came := make(lines, 100)
	s := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: t.TempDir(), OnChange: func(c mirror.Change) error {
		_, err := came.Write([]byte(c.URL))
		return err
	}})
	within, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	select {
	case first := <-came:
		if first != last {
			t.Errorf("%s came, want %s", first, last)
		}
	case <-within.Done():
		t.Error("the page on the disk does not come")
	}
	if _, err := server.Totals(within); err != nil {
		t.Errorf("the feed does not answer: %v", err)
	}
	at.answers.Unlock()
	s.awaitEqual(w)
	s.stop()
}

// TestLostCapture holds that a page whose capture is lost costs no mirror its other pages, that it is warned of once
// with what to do, and that its next version comes.
func TestLostCapture(t *testing.T) {
	w := crawled.New(t, 1, 3)
	lost := crawled.URL(0, 1)
	w.Lose(lost)
	warned := make(lines, 100)
	_, address := serveFeed(t, w, broadcast.Options{Logger: slog.New(slog.NewTextHandler(warned, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	for range 2 {
		came := map[string]string{}
		client, err := mirror.New(mirror.Options{Addresses: []string{address}, Dir: t.TempDir(), Once: true, OnChange: func(c mirror.Change) error {
			came[c.URL] = c.Kind
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(client.Run(t.Context()), client.Close()); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{crawled.URL(0, 0), crawled.URL(0, 2)} {
			if came[at] != "new" {
				t.Errorf("%s is %q", at, came[at])
			}
		}
	}
	if len(warned) != 1 {
		t.Fatalf("%d warnings, want one", len(warned))
	}
	if said := <-warned; !strings.Contains(said, lost) || !strings.Contains(said, "input/output error") || !strings.Contains(said, "freshet verify --repair") {
		t.Errorf("it warns: %s", said)
	}
	w.Set(lost, "a zebra")
	w.Visit(lost)
	s := subscribe(t, mirror.Options{Addresses: []string{address}, Dir: t.TempDir()})
	s.awaitEqual(w)
	s.stop()
}

// lines are the lines of a log.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}
