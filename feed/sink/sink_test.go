package sink_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"freshet/clock"
	"freshet/feed"
	"freshet/feed/sink"
	"freshet/internal/crawled"
)

// storeDir names an environment variable: the folder in which a process of this test is a NATS server.
const storeDir = "FRESHET_TEST_STREAMS"

func TestMain(m *testing.M) {
	if dir := os.Getenv(storeDir); dir != "" {
		serveStreams(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// serveStreams is a NATS server until it is killed. It keeps the port that it had before in this folder, and prints
// it.
func serveStreams(dir string) {
	port := server.RANDOM_PORT
	kept := filepath.Join(dir, "port")
	if text, err := os.ReadFile(kept); err == nil {
		port, _ = strconv.Atoi(string(text))
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoLog: true, JetStream: true, StoreDir: dir, SyncAlways: true})
	if err == nil {
		if s.Start(); s.ReadyForConnections(time.Minute) {
			port = s.Addr().(*net.TCPAddr).Port
			err = os.WriteFile(kept, []byte(strconv.Itoa(port)), 0o600)
		} else {
			err = errors.New("the server does not start")
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(port)
	s.WaitForShutdown()
}

// copyOf is the state of a receiver of documents: the texts of the pages, and the largest position of each page.
type copyOf struct {
	texts     map[string]string
	positions map[string]uint64
}

func newCopy() *copyOf { return &copyOf{map[string]string{}, map[string]uint64{}} }

// take applies a change as the docs say.
func (c *copyOf) take(url string, position uint64, text string, deleted bool) {
	if position <= c.positions[url] {
		return
	}
	c.positions[url] = position
	if c.texts[url] = text; deleted {
		delete(c.texts, url)
	}
}

// A place receives a test's documents. It can make a new target, as after a restart of the process, and list its
// content.
type place struct {
	open func() sink.Target
	copy func() *copyOf
	// hurt does harm that the place survives, without an end of the sink.
	hurt func(random *rand.Rand)
}

// options are those of a sink in a folder. Its clock runs a hundred times as fast, so waits are short.
func options(w *crawled.Web, fs vfs.FS, target sink.Target) sink.Options {
	return sink.Options{Name: "test", Target: target, Store: w.Store(), Bell: &w.Bell, Clock: clock.New(time.Unix(1.8e9, 0), 100), Logger: slog.New(slog.DiscardHandler),
		FS: fs, Dir: "sink"}
}

// changes is how many changes a test of a place makes; FRESHET_CHANGES sets another number.
func changes(t *testing.T) int {
	n := 40
	if text := os.Getenv("FRESHET_CHANGES"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatalf("FRESHET_CHANGES=%s: %v", text, err)
		}
	}
	return n
}

// follow changes pages while it kills the sink at any moment and disturbs its place. At the end, the place must have
// the present texts of the pages.
func follow(t *testing.T, p place) {
	const pages = 12
	left := changes(t)
	most := max(4, left/100) // in the life of a sink
	random := rand.New(rand.NewPCG(4, 2))
	w := crawled.New(t, 2, pages)
	fs := vfs.NewCrashableMem()
	want := map[string]string{}
	for s := range 2 {
		for i := range pages {
			want[crawled.URL(s, i)] = fmt.Sprintf("first text of page %d of site %d", i, s)
		}
	}
	round, hurts := 0, 0
	for ; left > 0; round++ {
		ctx, cancel := context.WithCancel(t.Context())
		target := p.open()
		s, err := sink.New(options(w, fs, target))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		some := min(left, 1+random.IntN(most))
		left -= some
		hurting := random.IntN(2 * some) // after that change, if there are that many
		for i := range some {
			at := crawled.URL(random.IntN(2), 1+random.IntN(pages-1))
			text := fmt.Sprintf("text of round %d, %d", round, random.IntN(1000))
			switch random.IntN(5) {
			case 0:
				w.Set(at, "")
				w.Visit(at) // missing once says nothing yet
				w.Visit(at)
				delete(want, at)
			default:
				w.Set(at, text)
				w.Visit(at)
				want[at] = text
			}
			if p.hurt != nil && i == hurting {
				hurts++
				p.hurt(random)
			}
		}
		_ = clock.Real().Sleep(ctx, time.Duration(random.IntN(30))*time.Millisecond)
		killed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if err := target.Close(); err != nil {
			t.Error(err)
		}
		fs = killed
	}
	target := p.open()
	s, err := sink.New(options(w, fs, target))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.CatchUp(t.Context()), target.Close()); err != nil {
		t.Fatal(err)
	}
	got := p.copy().texts
	for url, text := range want {
		if !strings.Contains(got[url], text) {
			t.Errorf("%s says %q, want %q", url, got[url], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %d pages, want %d", len(got), len(want))
	}
	t.Logf("the sink was killed %d times, its place was hurt %d times", round, hurts)
}

// TestRest holds that a sink rests after each batch while the crawl runs, and does not rest after the crawl has
// ended.
func TestRest(t *testing.T) {
	w := crawled.New(t, 1, 3)
	target, err := sink.NewFolder(t.TempDir(), clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	o := options(w, vfs.NewMem(), target)
	ctx, cancel := context.WithCancel(t.Context())
	rests := 0
	o.Rest = func(_ context.Context, worked time.Duration, _ uint64) {
		if rests++; worked <= 0 {
			t.Errorf("it has read for %v", worked)
		}
		cancel()
	}
	for _, run := range []func(*sink.Sink) error{
		func(s *sink.Sink) error { return s.Run(ctx) },
		func(s *sink.Sink) error { w.Visit(crawled.URL(0, 1)); return s.CatchUp(t.Context()) },
	} {
		s, err := sink.New(o)
		if err == nil {
			err = run(s)
		}
		if err != nil || rests != 1 {
			t.Errorf("%d rests, %v", rests, err)
		}
		if lag, err := feed.LagOf(w.Store(), s.Standing().Taken, ""); err != nil || lag.Changes != 0 {
			t.Errorf("%+v is behind by %+v, %v", s.Standing(), lag, err)
		}
	}
}

// line is a change as folders and streams have it.
type line struct {
	Kind     string `json:"kind"`
	Position uint64 `json:"position"`
	URL      string `json:"url"`
	Text     string `json:"text"`
	Diff     string `json:"diff"`
	Deleted  bool   `json:"deleted"`
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "changes")
	follow(t, place{
		open: func() sink.Target {
			if open, _ := filepath.Glob(filepath.Join(dir, "*.open")); len(open) > 0 {
				t.Errorf("%v are open after a stop", open)
			}
			torn := filepath.Join(dir, "changes-20200101T000000.000000Z.jsonl.open")
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(torn, []byte(`{"kind":"resynchronise"}`+"\n"+`{"kind":"new","url":"http`), 0o644)); err != nil {
				t.Fatal(err)
			}
			target, err := sink.NewFolder(dir, clock.Real())
			if err != nil {
				t.Fatal(err)
			}
			return target
		},
		copy: func() *copyOf {
			c := newCopy()
			files, err := filepath.Glob(filepath.Join(dir, "changes-*.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(files)
			diffs := 0
			for _, name := range files {
				all, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				for text := range strings.Lines(string(all)) {
					var l line
					if err := json.Unmarshal([]byte(text), &l); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					if l.Kind != "resynchronise" {
						c.take(l.URL, l.Position, l.Text, l.Deleted)
					}
					if strings.Contains(l.Diff, "+text of round") && strings.Contains(l.Diff, "@@") {
						diffs++
					}
				}
			}
			if diffs == 0 {
				t.Error("no change has its difference")
			}
			return c
		},
	})
}

// TestFolderIsEmptied holds that changes are still handed on after somebody has removed the folder's open file, or the
// folder.
func TestFolderIsEmptied(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	target, err := sink.NewFolder(dir, clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	for i, remove := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "*"), dir} {
		names, err := filepath.Glob(remove)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
		}
		url := fmt.Sprintf("http://h.test/%d", i)
		if _, err := target.Put(t.Context(), []sink.Document{{URL: url, Kind: "new"}}); err != nil {
			t.Fatal(err)
		}
		if names, err = filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) != 1 {
			t.Fatalf("files after %d removals: %v, %v", i, names, err)
		}
		text, err := os.ReadFile(names[0])
		if err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), url) {
			t.Errorf("the folder has %q, want a line about %s: %v", text, url, err)
		}
	}
	if err := target.Close(); err != nil {
		t.Error(err)
	}
}

// TestFolderCompletesFiles holds that a file is complete after an hour though nothing changes.
func TestFolderCompletesFiles(t *testing.T) {
	dir := t.TempDir()
	c := clock.New(time.Unix(1.8e9, 0), 1e6) // an hour is 3.6 ms
	target, err := sink.NewFolder(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Put(t.Context(), []sink.Document{{URL: "http://h.test/", Position: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Sleep(t.Context(), 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := target.Put(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "changes-*.jsonl")); len(files) != 1 {
		t.Errorf("complete are %v", files)
	}
}

// searchServer stands in for OpenSearch: an index by its documented protocol, with versions kept outside.
type searchServer struct {
	t  *testing.T
	mu sync.Mutex
	// made reports whether the index exists. harm reports what happens to the next requests.
	made bool
	harm []string
	copy *copyOf
	ids  map[string]string // id → URL
}

func (s *searchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if user, password, _ := r.BasicAuth(); user != "somebody" || password != "secret" {
		s.t.Error("a request without user and password")
	}
	switch r.Method + " " + r.URL.Path {
	case "HEAD /pages":
		if !s.made {
			w.WriteHeader(http.StatusNotFound)
		}
	case "PUT /pages":
		s.made = true
	case "POST /pages/_bulk":
		s.bulk(w, r)
	default:
		s.t.Errorf("%s %s", r.Method, r.URL)
	}
}

func (s *searchServer) bulk(w http.ResponseWriter, r *http.Request) {
	harm := ""
	if len(s.harm) > 0 {
		harm, s.harm = s.harm[0], s.harm[1:]
	}
	if harm == "busy" {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	in := json.NewDecoder(r.Body)
	var items []map[string]any
	for in.More() {
		var action map[string]struct {
			ID      string `json:"_id"`
			Version uint64 `json:"version"`
			Type    string `json:"version_type"`
		}
		if err := in.Decode(&action); err != nil {
			s.t.Error(err)
			return
		}
		for what, a := range action {
			if a.Type != "external" || a.Version == 0 || len(a.ID) != 32 {
				s.t.Errorf("action %s %+v", what, a)
			}
			var d line
			if what == "index" {
				if err := in.Decode(&d); err != nil {
					s.t.Error(err)
				}
				s.ids[a.ID] = d.URL
			}
			status := 200
			switch {
			case harm == "part" && len(items) == 0:
				status = http.StatusServiceUnavailable
			case s.copy.positions[a.ID] >= a.Version:
				status = http.StatusConflict
			case what == "delete" && s.copy.texts[a.ID] == "":
				status = http.StatusNotFound
				s.copy.take(a.ID, a.Version, "", true)
			default:
				s.copy.take(a.ID, a.Version, d.Text, what == "delete")
			}
			items = append(items, map[string]any{what: map[string]any{"_id": a.ID, "status": status}})
		}
	}
	if len(items) > 3 && harm == "large" {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if harm == "lost" { // it was done, and nobody hears of it
		panic(http.ErrAbortHandler)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
}

func TestSearchEngine(t *testing.T) {
	s := &searchServer{t: t, copy: newCopy(), ids: map[string]string{}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	index, err := url.Parse(strings.Replace(web.URL, "http://", "http://somebody:secret@", 1) + "/pages")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	follow(t, place{
		open: func() sink.Target { return sink.NewSearchEngine(index, transport) },
		hurt: func(random *rand.Rand) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.harm = append(s.harm, []string{"busy", "lost", "part", "large"}[random.IntN(4)])
		},
		copy: func() *copyOf {
			c := newCopy()
			for id, text := range s.copy.texts {
				c.texts[s.ids[id]] = text
			}
			return c
		},
	})
}

// TestRefusedDocument holds that a document that the engine will never take is laid aside, and the others are taken.
func TestRefusedDocument(t *testing.T) {
	w := crawled.New(t, 1, 3)
	web := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return
		}
		var items []map[string]any
		for in := json.NewDecoder(r.Body); in.More(); {
			var said map[string]any
			if err := in.Decode(&said); err != nil {
				t.Error(err)
				return
			}
			if at, ok := said["url"]; ok {
				outcome := map[string]any{"status": 201}
				if at == crawled.URL(0, 1) {
					outcome = map[string]any{"status": 400, "error": map[string]any{"type": "mapper_parsing_exception"}}
				}
				items = append(items, map[string]any{"index": outcome})
			}
		}
		_ = json.NewEncoder(out).Encode(map[string]any{"items": items})
	}))
	t.Cleanup(web.Close)
	index, _ := url.Parse(web.URL + "/pages")
	fs := vfs.NewMem()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s, err := sink.New(options(w, fs, sink.NewSearchEngine(index, transport)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Open("sink/refused.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := make([]byte, 4096)
	n, _ := f.Read(text)
	if text := string(text[:n]); strings.Count(text, "\n") != 1 || !strings.Contains(text, crawled.URL(0, 1)) || !strings.Contains(text, "mapper_parsing_exception") {
		t.Errorf("laid aside is %q", text)
	}
}

// TestLockedIndex holds that documents count as not yet accepted, and not as refused, while an engine is locked or
// has no index.
func TestLockedIndex(t *testing.T) {
	w := crawled.New(t, 1, 3)
	locks := []map[string]any{
		{"status": 403, "error": map[string]any{"type": "cluster_block_exception"}}, {"status": 404, "error": map[string]any{"type": "index_not_found_exception"}},
		{"status": 201}, {"status": 201},
	}
	taken := 0
	web := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return
		}
		outcome := locks[0]
		locks = locks[1:]
		var items []map[string]any
		for in := json.NewDecoder(r.Body); in.More(); {
			var said map[string]any
			if err := in.Decode(&said); err != nil {
				t.Error(err)
				return
			}
			if _, ok := said["url"]; ok {
				items = append(items, map[string]any{"index": outcome})
			}
		}
		if outcome["status"] == 201 {
			taken += len(items)
		}
		_ = json.NewEncoder(out).Encode(map[string]any{"items": items})
	}))
	t.Cleanup(web.Close)
	index, _ := url.Parse(web.URL + "/pages")
	fs := vfs.NewMem()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s, err := sink.New(options(w, fs, sink.NewSearchEngine(index, transport)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat("sink/refused.jsonl"); err == nil || taken != 3 {
		t.Errorf("%d documents are taken, want 3; laid aside: %v", taken, err)
	}
}

// cut is a target that ends its sink when it receives a second batch. pages has the pages that it took. cleared counts
// how often the sink told it that all pages come again.
type cut struct {
	end     func()
	pages   map[string]bool
	cleared int
}

func (c *cut) Put(ctx context.Context, documents []sink.Document) ([]sink.Refusal, error) {
	if c.end != nil && len(c.pages) > 0 {
		c.end()
		return nil, ctx.Err()
	}
	for _, d := range documents {
		c.pages[d.URL] = !d.Deleted
	}
	return nil, nil
}

func (c *cut) Clear(context.Context) error {
	c.cleared++
	return nil
}

func (*cut) Close() error { return nil }

// TestFirstPassIsCut stops a sink during its first delivery of all pages. It must continue, although the log has
// forgotten ends of pages from before its start.
func TestFirstPassIsCut(t *testing.T) {
	const pages = 70 // more than one batch
	w := crawled.New(t, 1, pages)
	ended := crawled.URL(0, 1)
	w.Set(ended, "")
	w.Visit(ended)
	w.Visit(ended)
	w.Forget(ended)
	fs := vfs.NewMem()
	target := &cut{pages: map[string]bool{}}
	for _, end := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		if target.end = nil; end {
			target.end = cancel
		}
		s, err := sink.New(options(w, fs, target))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.CatchUp(ctx); err != nil {
			t.Fatal(err)
		}
		if cancel(); end && len(target.pages) >= pages-1 {
			t.Fatalf("%d pages were taken at once", len(target.pages))
		}
	}
	if target.cleared > 0 || len(target.pages) != pages-1 {
		t.Errorf("cleared %d times, %d pages are taken, want %d", target.cleared, len(target.pages), pages-1)
	}
}

// TestAliasCannotBeCleared holds that a sink stops with advice if its index must be deleted but is an alias.
func TestAliasCannotBeCleared(t *testing.T) {
	w := crawled.New(t, 1, 3)
	asked := 0
	web := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		if asked++; asked == 1 { // which passes
			out.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(out, `{"error":{"type":"snapshot_in_progress_exception","reason":"Cannot delete indices that are being snapshotted"},"status":400}`)
			return
		}
		out.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(out, `{"error":{"root_cause":[],"type":"illegal_argument_exception","reason":"The provided expression [pages] matches an alias, specify the corresponding concrete indices instead."},"status":400}`)
	}))
	t.Cleanup(web.Close)
	index, _ := url.Parse(strings.Replace(web.URL, "http://", "http://somebody:secret@", 1) + "/pages")
	fs := vfs.NewMem()
	if err := errors.Join(fs.MkdirAll("sink", 0o700), feed.WriteKept(fs, "sink/mark", "of another directory")); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s, err := sink.New(options(w, fs, sink.NewSearchEngine(index, transport)))
	if err != nil {
		t.Fatal(err)
	}
	err = s.CatchUp(t.Context())
	if fault := (*sink.Fault)(nil); !errors.As(err, &fault) || !strings.Contains(fault.Cause, "matches an alias") || !strings.Contains(fault.Remedy, "delete the index behind it") ||
		strings.Contains(err.Error(), "secret") || asked != 2 {
		t.Errorf("after %d attempts: %v", asked, err)
	}
}

// failing is a target that fails the first time, after it has called meanwhile. taken has the first document that it
// accepted for each page.
type failing struct {
	meanwhile func()
	taken     map[string]sink.Document
}

func (f *failing) Put(_ context.Context, documents []sink.Document) ([]sink.Refusal, error) {
	if meanwhile := f.meanwhile; meanwhile != nil && len(documents) > 0 {
		f.meanwhile = nil
		meanwhile()
		return nil, errors.New("not now")
	}
	for _, d := range documents {
		if _, ok := f.taken[d.URL]; !ok {
			f.taken[d.URL] = d
		}
	}
	return nil, nil
}

func (*failing) Clear(context.Context) error { return nil }
func (*failing) Close() error                { return nil }

// TestEndsMeanwhile holds that a page that ends while its text waits for a target is never put with that text, and that
// a page that asks not to be indexed is not put with its own.
func TestEndsMeanwhile(t *testing.T) {
	w := crawled.New(t, 1, 3)
	target := &failing{taken: map[string]sink.Document{}}
	target.meanwhile = func() {
		w.Set(crawled.URL(0, 1), "")
		w.Visit(crawled.URL(0, 1))
		w.Visit(crawled.URL(0, 1))
		w.Set(crawled.URL(0, 2), "<title>No</title><meta name=robots content=noindex><p>another text")
		w.Visit(crawled.URL(0, 2))
	}
	s, err := sink.New(options(w, vfs.NewMem(), target))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	for page, deleted := range []bool{false, true, true} {
		if d := target.taken[crawled.URL(0, page)]; d.Deleted != deleted || deleted && d.Text != "" {
			t.Errorf("page %d: %+v", page, d)
		}
	}
}

// TestCaptureOutOfReach holds that a page is not put as ended while its capture cannot be read, as when an object store
// is down. It is put with its text when the capture can be read again.
func TestCaptureOutOfReach(t *testing.T) {
	w := crawled.New(t, 1, 2)
	target := &failing{taken: map[string]sink.Document{}}
	o := options(w, vfs.NewMem(), target)
	warned := make(crawled.Warnings, 100)
	o.Logger = slog.New(slog.NewTextHandler(warned, nil))
	s, err := sink.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.Fail(errors.New("no answer"))
	ended := make(chan error, 1)
	go func() { ended <- s.CatchUp(t.Context()) }()
	if said := <-warned; !strings.Contains(said, "no answer") {
		t.Errorf("it warns: %s", said)
	}
	w.Fail(nil)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for page := range 2 {
		if d := target.taken[crawled.URL(0, page)]; d.Deleted || d.Text == "" {
			t.Errorf("page %d: %+v", page, d)
		}
	}
}

// TestLostCapture holds that a page whose capture is lost costs no other page its place, that it is warned of once with
// what to do, and that its next version is put.
func TestLostCapture(t *testing.T) {
	w := crawled.New(t, 1, 3)
	target := &failing{taken: map[string]sink.Document{}, meanwhile: func() {}}
	o := options(w, vfs.NewMem(), target)
	warned := make(crawled.Warnings, 100)
	o.Logger = slog.New(slog.NewTextHandler(warned, nil))
	s, err := sink.New(o)
	if err != nil {
		t.Fatal(err)
	}
	lost := crawled.URL(0, 1)
	w.Lose(lost)
	if err := s.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	for page := range 3 {
		if d := target.taken[crawled.URL(0, page)]; d.Deleted != (page == 1) {
			t.Errorf("page %d: %+v", page, d)
		}
	}
	var of []string
	for len(warned) > 0 {
		if said := <-warned; strings.Contains(said, lost) {
			of = append(of, said)
		}
	}
	if len(of) != 1 || !strings.Contains(of[0], "input/output error") || !strings.Contains(of[0], "freshet verify --repair") {
		t.Errorf("it warns: %q", of)
	}
	delete(target.taken, lost)
	w.Set(lost, "a zebra")
	w.Visit(lost)
	if err := s.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := target.taken[lost]; d.Text == "" {
		t.Errorf("its next version: %+v", d)
	}
}

// TestMarkIsAhead holds that a sink whose mark is ahead of its node, as after a power cut, goes on when the node of the
// cluster has read the others' log again.
func TestMarkIsAhead(t *testing.T) {
	_, other, l := crawled.TwoNodes(t, 1)
	fs, warned := vfs.NewMem(), make(crawled.Warnings, 100)
	s, err := sink.New(sink.Options{
		Name: "test", Target: &failing{}, Store: other, Bell: new(feed.Bell), Clock: clock.New(time.Unix(1.8e9, 0), 100),
		Logger: slog.New(slog.NewTextHandler(warned, nil)), FS: fs, Dir: "sink",
	})
	if err == nil {
		err = feed.WriteKept(fs, "sink/mark", feed.Cursor{1}.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.CatchUp(t.Context()) }()
	select {
	case <-warned:
	case err := <-ended:
		t.Fatalf("it ends: %v", err)
	}
	if _, err := other.Follow(0, *l...); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// streams is a real server of NATS, in a process of its own.
type streams struct {
	t       *testing.T
	dir     string
	port    string
	running *exec.Cmd
}

// newStreams starts a server. The end of the test stops it.
func newStreams(t *testing.T) *streams {
	b := &streams{t: t, dir: t.TempDir()}
	t.Cleanup(func() { b.kill() })
	b.begin()
	return b
}

func (b *streams) begin() {
	b.t.Helper()
	b.running = exec.Command(os.Args[0])
	b.running.Env, b.running.Stderr = append(os.Environ(), storeDir+"="+b.dir), os.Stderr
	out, err := b.running.StdoutPipe()
	if err == nil {
		err = b.running.Start()
	}
	if err == nil {
		_, err = fmt.Fscan(out, &b.port)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// kill ends the server as kill -9 does.
func (b *streams) kill() {
	_ = b.running.Process.Kill()
	_ = b.running.Wait() // says that it was killed
}

func (b *streams) connect() *nats.Conn {
	conn, err := nats.Connect("nats://127.0.0.1:"+b.port, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		b.t.Fatal(err)
	}
	return conn
}

// events returns the messages of a stream.
func (b *streams) events(name string) (all []*jetstream.RawStreamMsg) {
	conn := b.connect()
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		b.t.Fatal(err)
	}
	stream, err := js.Stream(b.t.Context(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	info, err := stream.Info(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if info.Config.MaxBytes <= 0 {
		b.t.Error("the stream that was made has no bound")
	}
	for n := info.State.FirstSeq; n <= info.State.LastSeq; n++ {
		message, err := stream.GetMsg(b.t.Context(), n)
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, message)
	}
	return all
}

// TestStreamOfSeveral holds that a stream has the changes of several crawls, also of the same page at the same
// position. A change that comes twice from one crawl is in the stream once.
func TestStreamOfSeveral(t *testing.T) {
	b := newStreams(t)
	fs := vfs.NewMem()
	one := sink.Document{URL: "http://h.test/", Kind: "new", Position: 7, Text: "a text"}
	for range 2 {
		for _, from := range [][2]string{{"main", "a"}, {"other one", "a"}, {"main", "b"}} {
			origin, err := sink.Origin(fs, from[1])
			if err != nil {
				t.Fatal(err)
			}
			target, err := sink.NewStream(b.connect(), "corpus", from[0], origin, clock.Real())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := target.Put(t.Context(), []sink.Document{one}); err != nil {
				t.Error(err)
			}
			if err := target.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	sources := map[string]bool{}
	all := b.events("corpus")
	for _, message := range all {
		if message.Subject != "corpus.new.test.h" {
			t.Errorf("a page of h.test is told of at %s", message.Subject)
		}
		var event struct{ ID, Source string }
		if err := json.Unmarshal(message.Data, &event); err != nil {
			t.Fatal(err)
		}
		if sources[event.Source] = true; event.ID != message.Header.Get("Nats-Msg-Id") {
			t.Errorf("%+v has the id %s", event, message.Header.Get("Nats-Msg-Id"))
		}
	}
	if len(all) != 3 || len(sources) != 3 {
		t.Errorf("%d events of %v, want 3", len(all), sources)
	}
}

// TestStreamIsGone holds that a sink makes its stream again after it was deleted, or the server's disk was lost.
func TestStreamIsGone(t *testing.T) {
	b := newStreams(t)
	target, err := sink.NewStream(b.connect(), "corpus", "main", "here", clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	put := func(position uint64) error {
		_, err := target.Put(t.Context(), []sink.Document{{URL: "http://h.test/", Kind: "new", Position: position}})
		return err
	}
	if err := put(1); err != nil {
		t.Fatal(err)
	}
	conn := b.connect()
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err == nil {
		err = js.DeleteStream(t.Context(), "corpus")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := put(2); err == nil {
		t.Error("it puts into a stream that is gone")
	}
	if err := put(2); err != nil {
		t.Error(err)
	}
	if all := b.events("corpus"); len(all) != 1 {
		t.Errorf("%d events, want 1", len(all))
	}
}

// TestStreamAtTheLimit holds that a page whose message has about the most bytes that the server takes is taken or laid
// aside, whichever number of bytes it has, and delays no other.
func TestStreamAtTheLimit(t *testing.T) {
	b := newStreams(t)
	conn := b.connect()
	target, err := sink.NewStream(conn, "corpus", "main", "here", clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	var all []sink.Document
	for short := range 50 {
		text := strings.Repeat("a", int(conn.MaxPayload())-20*short)
		all = append(all, sink.Document{URL: "http://h.test/", Kind: "new", Position: uint64(1 + short), Text: text})
	}
	refusals, err := target.Put(t.Context(), all)
	if taken := len(b.events("corpus")); err != nil || taken == 0 || len(refusals) == 0 || taken+len(refusals) != len(all) {
		t.Errorf("of %d documents %d are taken and %d refused: %v", len(all), taken, len(refusals), err)
	}
}

// TestStream sends changes to a real NATS server. The test kills and starts the server meanwhile.
func TestStream(t *testing.T) {
	b := newStreams(t)
	follow(t, place{
		open: func() sink.Target {
			target, err := sink.NewStream(b.connect(), "corpus.pages", "main", "here", clock.Real())
			if err != nil {
				t.Fatal(err)
			}
			return target
		},
		hurt: func(*rand.Rand) { b.kill(); b.begin() },
		copy: func() *copyOf {
			c := newCopy()
			for _, message := range b.events("corpus-pages") {
				var event struct {
					SpecVersion string `json:"specversion"`
					ID, Type    string
					Subject     string
					Data        line
				}
				if err := json.Unmarshal(message.Data, &event); err != nil {
					t.Fatal(err)
				}
				if event.SpecVersion != "1.0" || event.ID != message.Header.Get("Nats-Msg-Id") || event.Type != "freshet.page."+event.Data.Kind ||
					event.Subject != event.Data.URL || !strings.HasPrefix(message.Subject, "corpus.pages."+event.Data.Kind+".") {
					t.Errorf("%s has %+v", message.Subject, event)
				}
				c.take(event.Data.URL, event.Data.Position, event.Data.Text, event.Data.Deleted)
			}
			return c
		},
	})
}
