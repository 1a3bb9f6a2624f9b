package node

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/crawl"
	"freshet/store"
	"freshet/store/transfer"
	"freshet/weburl"
)

// TestCrawl crawls a small web to its end: every page once, nothing else, politely.
func TestCrawl(t *testing.T) {
	web := newTestWeb(t, 3, 40)
	o := web.options(t, vfs.NewMem(), "data")
	summary := run(t, o)
	if diff := cmp.Diff(web.want(), stored(t, o)); diff != "" {
		t.Errorf("stored pages (-want +got):\n%s", diff)
	}
	verify(t, o)
	if want := int64(len(web.want())); summary.Pages != want || summary.StoppedBy != crawl.FrontierEmpty {
		t.Errorf("summary %+v: want %d pages, stopped by %s", summary, want, crawl.FrontierEmpty)
	}
	for url, n := range web.requests {
		if n != 1 {
			t.Errorf("%s was asked for %d times", url, n)
		}
	}
	if len(web.overlap) > 0 {
		t.Errorf("two requests at once: %v", web.overlap)
	}
	if web.requests["h0.test/private/x"] != 0 {
		t.Error("a page that robots.txt forbids was asked for")
	}
}

// TestFates looks at the rows of pages that are not plain.
func TestFates(t *testing.T) {
	web := newTestWeb(t, 2, 5)
	o := web.options(t, vfs.NewMem(), "data")
	run(t, o)
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, tt := range []struct {
		url   string
		state store.State
	}{
		{"http://h0.test/old", store.StateRedirect},
		{"http://h0.test/p/1", store.StateLive},
		{"http://h0.test/missing/1", store.StateMissing},
		{"http://h1.test/private/x", store.StateDenied},
	} {
		row, _, err := s.PageOf(mustParse(t, tt.url))
		if err != nil || row.State != tt.state {
			t.Errorf("%s: state %v, error %v: want %v", tt.url, row.State, err, tt.state)
		}
	}
	if _, _, err := s.PageOf(mustParse(t, "http://elsewhere.test/")); err == nil {
		t.Error("a page out of scope has a row")
	}
}

// TestStopAndGoOn stops a crawl again and again. The result equals that of an undisturbed crawl.
func TestStopAndGoOn(t *testing.T) {
	web := newTestWeb(t, 3, 60)
	o := web.options(t, vfs.NewMem(), "data")
	o.MaxPages = 17
	runs := 0
	for stop := crawl.MaxPages; stop == crawl.MaxPages; runs++ {
		stop = run(t, o).StoppedBy
		verify(t, o)
		if runs > 50 {
			t.Fatal("no end after 50 runs")
		}
	}
	if diff := cmp.Diff(web.want(), stored(t, o)); diff != "" {
		t.Errorf("stored pages after %d runs (-want +got):\n%s", runs, diff)
	}
	for url, n := range web.requests {
		if n != 1 {
			t.Errorf("%s was asked for %d times", url, n)
		}
	}
}

// TestSeenSetDamaged damages the set of seen URLs in mid-crawl. The crawl finds and names the damage, and rebuilds the
// set from the page table. It stores every page and asks for none twice.
func TestSeenSetDamaged(t *testing.T) {
	flip := func(at func(size int) int) func([]byte) []byte {
		return func(content []byte) []byte { content[at(len(content))] ^= 1; return content }
	}
	for _, test := range []struct {
		name, suffix string
		damage       func(content []byte) []byte // nil: the file is removed
		named        string                      // what is said of it
	}{
		{"bit of a block", ".run", flip(func(int) int { return 10 }), ".run at 0: block's checksum differs"},
		{"bit of a head", ".run", flip(func(n int) int { return n - 80 }), "head's checksum differs"},
		{"bit of a directory", ".run", flip(func(n int) int { return n - 30 }), "directory's checksum differs"},
		{"torn run", ".run", func(content []byte) []byte { return content[:len(content)/2] }, "no end of a run"},
		{"missing run", ".run", nil, ".run: "},
		{"bit of the manifest", "manifest", flip(func(n int) int { return n / 2 }), "manifest: checksum differs"},
		{"missing manifest", "manifest", nil, "lost or behind"},
		{"bit of a journal", ".log", flip(func(int) int { return 10 }), "journal ends with a broken frame"},
		{"torn journal", ".log", func(content []byte) []byte { return content[:len(content)/2] }, "journal ends with a broken frame"},
		{"missing journal", ".log", nil, ".log: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			web := newTestWeb(t, 2, 30)
			o := web.options(t, vfs.NewMem(), "data")
			dir := o.FS.PathJoin(o.Dir, "seen", "main")
			o.MaxPages = 10
			run(t, o)
			if err := o.FS.RemoveAll(dir); err != nil { // rebuilding it makes a run
				t.Fatal(err)
			}
			run(t, o)
			damageFiles(t, o.FS, dir, test.suffix, test.damage)
			var told strings.Builder
			o.MaxPages, o.Logger = 0, slog.New(slog.NewTextHandler(&told, nil))
			run(t, o)
			if !strings.Contains(told.String(), test.named) {
				t.Errorf("not said: %s\n%s", test.named, told.String())
			}
			if diff := cmp.Diff(web.want(), stored(t, o)); diff != "" {
				t.Errorf("stored pages (-want +got):\n%s", diff)
			}
			for url, n := range web.requests {
				if n != 1 && !strings.HasSuffix(url, "/robots.txt") {
					t.Errorf("%s was asked for %d times", url, n)
				}
			}
			verify(t, o)
		})
	}
}

// damageFiles changes or removes the files in dir that end with suffix.
func damageFiles(t *testing.T, fs vfs.FS, dir, suffix string, damage func(content []byte) []byte) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for _, name := range names {
		if !strings.HasSuffix(name, suffix) {
			continue
		}
		damaged++
		path := fs.PathJoin(dir, name)
		content, err := readAll(fs, path)
		if err == nil {
			err = fs.Remove(path)
		}
		if err == nil && damage != nil {
			err = writeAll(fs, path, damage(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if damaged == 0 {
		t.Fatalf("no %s to damage in %v", suffix, names)
	}
}

func readAll(fs vfs.FS, path string) ([]byte, error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(file)
	return content, errors.Join(err, file.Close())
}

func writeAll(fs vfs.FS, path string, content []byte) error {
	file, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// TestPartitionMoves exports every partition of a half-done crawl, imports them elsewhere, and lets the
// crawl go on there.
func TestPartitionMoves(t *testing.T) {
	web := newTestWeb(t, 5, 30)
	o := web.options(t, vfs.NewMem(), "data")
	o.MaxPages = 60
	run(t, o)
	there := o
	there.FS, there.Dir, there.MaxPages = vfs.NewMem(), "elsewhere", 0
	movePartitions(t, o, there)
	verify(t, there)
	run(t, there)
	if diff := cmp.Diff(web.want(), stored(t, there)); diff != "" {
		t.Errorf("stored pages (-want +got):\n%s", diff)
	}
	verify(t, there)
	for url, n := range web.requests {
		if n != 1 {
			t.Errorf("%s was asked for %d times", url, n)
		}
	}
}

func movePartitions(t *testing.T, from, to Options) {
	t.Helper()
	source, err := store.Open(from.Dir, store.Options{FS: from.FS, Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	target, err := store.Open(to.Dir, store.Options{FS: to.FS, Crawl: "main", Partitions: source.Partitions()})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for p := range source.Partitions() {
		var stream bytes.Buffer
		if err := transfer.ExportPartition(source, weburl.Partition(p), &stream); err != nil {
			t.Fatalf("export partition %d: %v", p, err)
		}
		if got, err := transfer.ImportPartition(target, &stream); err != nil || int(got) != p {
			t.Fatalf("import partition %d: %d, %v", p, got, err)
		}
	}
}

// TestReplay replays the records of a crawl into an empty directory: the key-value state is the same.
func TestReplay(t *testing.T) {
	web := newTestWeb(t, 3, 40)
	o := web.options(t, vfs.NewMem(), "data")
	type record struct {
		partition weburl.Partition
		number    uint64
		bytes     []byte
	}
	var records []record
	o.OnRecord = func(p weburl.Partition, n uint64, b []byte) {
		records = append(records, record{p, n, append([]byte(nil), b...)})
	}
	run(t, o)
	copyOf := vfs.NewMem()
	s, err := store.Open("copy", store.Options{FS: copyOf, Crawl: "main", Partitions: 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := s.Replay(r.partition, r.number, r.bytes); err != nil {
			t.Fatalf("replay record %d of partition %d: %v", r.number, r.partition, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want, got := keyValues(t, o.FS, "data/db"), keyValues(t, copyOf, "copy/db")
	if len(want) < 100 {
		t.Fatalf("only %d keys", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%d records replayed: keys and values (-crawl +replay):\n%s", len(records), diff)
	}
}

// TestInterrupt ends both contexts in mid-crawl: the pages in flight stay queued.
func TestInterrupt(t *testing.T) {
	web := newTestWeb(t, 3, 60)
	o := web.options(t, vfs.NewMem(), "data")
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	e.opt.OnRecord = nil
	web.mu.Lock()
	web.onRequest = func(n int) {
		if n == 30 {
			cancel()
		}
	}
	web.mu.Unlock()
	summary, err := e.Run(ctx, ctx)
	if err != nil || summary.StoppedBy != crawl.Signal {
		t.Errorf("stopped by %s, error %v: want %s", summary.StoppedBy, err, crawl.Signal)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	verify(t, o)
	run(t, o)
	if diff := cmp.Diff(web.want(), stored(t, o)); diff != "" {
		t.Errorf("stored pages (-want +got):\n%s", diff)
	}
}

// TestLog reads crawl.log after two runs: a line a fetch, the second run's after the first's.
func TestLog(t *testing.T) {
	web := newTestWeb(t, 2, 10)
	o := web.options(t, vfs.NewMem(), "data")
	o.MaxPages = 5
	run(t, o)
	o.MaxPages = 0
	run(t, o)
	f, err := o.FS.Open("data/crawl.log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 11 {
			t.Errorf("line of %d fields: %s", len(fields), line)
			continue
		}
		lines[fields[3]]++
	}
	for url, n := range web.requests {
		if lines["http://"+url] != n {
			t.Errorf("%s: %d lines: want %d", url, lines["http://"+url], n)
		}
	}
}

// TestOrders crawls by every ordering that goes by cash, stops in the middle and goes on. It fetches all pages. The
// queues agree with the totals of the sites (verify).
func TestOrders(t *testing.T) {
	for _, order := range []string{"length", "in-links", "opic", "cash-sum"} {
		t.Run(order, func(t *testing.T) {
			web := newTestWeb(t, 3, 20)
			o := web.options(t, vfs.NewMem(), "data")
			o.Order, o.MaxPages = order, 20
			run(t, o)
			verify(t, o)
			o.MaxPages = 0
			run(t, o)
			verify(t, o)
			if diff := cmp.Diff(web.want(), stored(t, o)); diff != "" {
				t.Errorf("stored pages (-want +got):\n%s", diff)
			}
			s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			u, err := weburl.Parse("http://h1.test/p/3")
			if err != nil {
				t.Fatal(err)
			}
			if row, _, err := s.PageOf(u); err != nil || (row.Cash > 0) != (order != "length") {
				t.Errorf("cash %v, error %v", row.Cash, err)
			}
		})
	}
}
