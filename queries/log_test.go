package queries_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/cmd/freshet/plan"
	"freshet/internal/powercut"
	"freshet/internal/remains"
	"freshet/queries"
)

var begin = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

const limit = 64 << 10

func newLog(disk vfs.FS, crawl string) *queries.Log {
	return queries.New(disk, "queries", crawl, queries.Limits{Age: 90 * 24 * time.Hour, Bytes: limit}, slog.New(slog.DiscardHandler))
}

// hits are pages as one result page shows them.
func hits(urls ...string) (shown []queries.Shown) {
	for i, u := range urls {
		shown = append(shown, queries.Shown{URL: u, Page: 1, Position: i + 1, Version: 3})
	}
	return shown
}

// text returns all that a log's files say.
func text(t *testing.T, disk vfs.FS, l *queries.Log) string {
	t.Helper()
	files, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		all.WriteString(content(t, disk, f.Path))
	}
	return all.String()
}

func content(t *testing.T, disk vfs.FS, path string) string {
	t.Helper()
	f, err := disk.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, info.Size())
	if _, err := f.ReadAt(raw, 0); err != nil && len(raw) > 0 {
		t.Fatal(err)
	}
	return string(raw)
}

// write makes a file of a content.
func write(t *testing.T, disk vfs.FS, path, content string) {
	t.Helper()
	f, err := disk.Create(path, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write([]byte(content))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// weigh reads a log as freshet weights does.
func weigh(t *testing.T, disk vfs.FS, l *queries.Log) *plan.Clicks {
	t.Helper()
	var clicks plan.ClickLog
	files, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := clicks.Read(f.Path, strings.NewReader(content(t, disk, f.Path))); err != nil {
			t.Error(err)
		}
	}
	return clicks.Learned(begin.Add(24*time.Hour), 3)
}

// TestLog notes queries and clicks, over midnight and a restart, and holds what the files say of them, to the letter
// and by who reads them.
func TestLog(t *testing.T) {
	disk := vfs.NewMem()
	l := newLog(disk, "main")
	first := l.Asked(begin, "group,\n\"by\"", hits("http://a.test/?x=1,2", "http://b.test/"))
	if first == "" || l.Asked(begin, "nothing", nil) != "" {
		t.Error("a query has no name, or one that found nothing has")
	}
	late := l.Asked(begin.Add(12*time.Hour-time.Second), "late", hits("http://b.test/"))
	for _, click := range []struct {
		id, url string
		want    bool
	}{
		{first, "http://a.test/?x=1,2", true}, {first, "http://a.test/?x=1,2", false}, {first, "http://c.test/", false},
		{"", "http://b.test/", false}, {"odd", "http://b.test/", false}, {late, "http://b.test/", true},
	} {
		if got := l.Clicked(begin.Add(12*time.Hour), click.id, click.url); got != click.want {
			t.Errorf("a click on %s by query %q: %v, want %v", click.url, click.id, got, click.want)
		}
	}
	l = newLog(disk, "main")
	if l.Clicked(begin, first, "http://b.test/") {
		t.Error("a click on what was shown before the restart")
	}
	third := l.Asked(begin.Add(13*time.Hour), "b", hits("http://b.test/"))
	want := "query,time,words,url,page,position,version,event\n" +
		"1,2026-01-31T12:00:00Z,\"group, \"\"by\"\"\",\"http://a.test/?x=1,2\",1,1,3,\n" +
		"1,2026-01-31T12:00:00Z,,http://b.test/,1,2,3,\n" +
		"2,2026-01-31T23:59:59Z,late,http://b.test/,1,1,3,\n" +
		"1,2026-02-01T00:00:00Z,,\"http://a.test/?x=1,2\",1,1,3,click\n" +
		"2,2026-02-01T00:00:00Z,,http://b.test/,1,1,3,click\n" +
		"query,time,words,url,page,position,version,event\n" +
		"3,2026-02-01T01:00:00Z,b,http://b.test/,1,1,3,\n"
	if got := strings.NewReplacer(first, "1", late, "2", third, "3").Replace(text(t, disk, l)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	c := weigh(t, disk, l)
	if a, b := c.Pages["http://a.test/?x=1,2"], c.Pages["http://b.test/"]; !(b > a && a > c.Other && c.Other > 0) || c.Embarrassment == 0 {
		t.Errorf("%+v: want b, which was shown three times, before a, and both before others", c)
	}
}

// TestBounds floods a log for half a year: it never takes more than it may, and no day, however busy, costs the days
// before it all of their place; what is too old goes, also when nobody searches.
func TestBounds(t *testing.T) {
	disk := vfs.NewMem()
	l := newLog(disk, "main")
	rng := rand.New(rand.NewPCG(1, 1))
	sum := func() (bytes int64, files int) {
		all, err := l.Files()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			bytes += f.Bytes
		}
		return bytes, len(all)
	}
	for d := range 180 {
		now := begin.AddDate(0, 0, d)
		for range rng.IntN(200) {
			l.Asked(now, strings.Repeat("word ", rng.IntN(1000)), hits("http://a.test/", "http://b.test/"))
		}
		if bytes, files := sum(); bytes > limit || d > 20 && files < 7 {
			t.Fatalf("day %d: %d bytes in %d files", d, bytes, files)
		}
	}
	if bytes, _ := sum(); bytes < limit/2 {
		t.Errorf("only %d bytes are kept", bytes)
	}
	now := begin.AddDate(0, 0, 179)
	if err := l.Sweep(now.AddDate(0, 0, 89)); err != nil {
		t.Fatal(err)
	}
	if _, files := sum(); files == 0 {
		t.Error("they went too early")
	}
	if err := newLog(disk, "other").Sweep(now.AddDate(0, 0, 92)); err != nil {
		t.Fatal(err)
	}
	if _, files := sum(); files != 0 {
		t.Errorf("%d files of old days are left", files)
	}
}

// TestLongAgo holds that memory is bounded: of many queries the last may be clicked, the first no longer.
func TestLongAgo(t *testing.T) {
	l := queries.New(vfs.NewMem(), "queries", "main", queries.Limits{Age: 90 * 24 * time.Hour, Bytes: 1 << 30}, slog.New(slog.DiscardHandler))
	long := "http://a.test/" + strings.Repeat("x", 64<<10)
	first := l.Asked(begin, "words", hits(long))
	last := ""
	for range 100 {
		last = l.Asked(begin, "words", hits(long))
	}
	if l.Clicked(begin, first, long) || !l.Clicked(begin, last, long) {
		t.Error("want a click by the last query, and none by one that is long ago")
	}
}

// TestTornLine goes on with a file whose last line is torn, wherever that is.
func TestTornLine(t *testing.T) {
	disk := vfs.NewMem()
	l := newLog(disk, "main")
	l.Asked(begin, "a", hits("http://a.test/"))
	const path = "queries/main/2026-01-31.csv"
	whole := content(t, disk, path)
	header := strings.Index(whole, "\n") + 1
	for cut := range whole {
		write(t, disk, path, whole[:cut])
		l = newLog(disk, "main")
		l.Clicked(begin, l.Asked(begin, "b", hits("http://b.test/")), "http://b.test/")
		if c := weigh(t, disk, l); len(c.Pages) != 1 {
			t.Errorf("cut at %d: %d pages\n%s", cut, len(c.Pages), content(t, disk, path))
		}
		write(t, disk, path, whole+whole[header:max(cut, header)])
		l = newLog(disk, "main")
		l.Asked(begin, "b", hits("http://b.test/"))
		if c := weigh(t, disk, l); len(c.Pages) != 2 {
			t.Errorf("cut at %d in the second row: %d pages\n%s", cut, len(c.Pages), content(t, disk, path))
		}
	}
}

// TestForget takes pages out of the logs of two crawls, one of them damaged, with the power cut at every change of the
// disk: when it is done no file has anything of the queries that showed them, and the others are as they were.
func TestForget(t *testing.T) {
	disk := powercut.Watch(vfs.NewCrashableMem(), 100)
	hit := func(u string) bool { return strings.HasPrefix(u, "http://secret.test/") }
	main, other := newLog(disk, "main"), newLog(disk, "other")
	good := main.Asked(begin, "good", hits("http://a.test/"))
	bad := main.Asked(begin, "quagmire", hits("http://a.test/", "http://secret.test/x"))
	main.Clicked(begin, bad, "http://secret.test/x")
	for d := range 3 {
		other.Asked(begin.AddDate(0, 0, d), "quagmire too", hits("http://secret.test/y"))
		other.Asked(begin.AddDate(0, 0, d), "also good", hits("http://b.test/"))
	}
	write(t, disk, "queries/other/2026-01-01.csv", "what is this? quagmire secret.test\n")
	disk.Take()
	if err := main.Forget(context.Background(), hit); err != nil {
		t.Fatal(err)
	}
	check := func(disk vfs.FS, cut string) {
		t.Helper()
		for _, secret := range []string{"secret", "quagmire", bad} {
			if found, err := remains.Find(disk, "queries", secret); err != nil || len(found) > 0 {
				t.Errorf("cut %q: %s is still in %q, %v", cut, secret, found, err)
			}
		}
	}
	check(disk, "")
	if main.Clicked(begin, bad, "http://a.test/") {
		t.Error("a click by a query that is forgotten")
	}
	if !main.Clicked(begin, good, "http://a.test/") {
		t.Error("no click by another query")
	}
	if got := strings.Count(text(t, disk, other), "http://b.test/"); got != 3 {
		t.Errorf("%d other queries, want 3", got)
	}
	cuts := disk.Take()
	if len(cuts) < 5 {
		t.Errorf("%d changes of the disk", len(cuts))
	}
	for _, cut := range cuts {
		l := newLog(cut.Disk, "main")
		if err := l.Forget(context.Background(), hit); err != nil {
			t.Fatalf("cut %s: %v", cut.Before, err)
		}
		check(cut.Disk, cut.Before)
	}
}

// TestAtOnce has many people search and click while pages are taken down and days end: every file can be read.
func TestAtOnce(t *testing.T) {
	disk := vfs.NewMem()
	l := newLog(disk, "main")
	var all sync.WaitGroup
	for person := range 8 {
		all.Go(func() {
			for n := range 50 {
				now := begin.Add(time.Duration(n) * time.Hour)
				page := fmt.Sprintf("http://h%d.test/%d", person, n%5)
				l.Clicked(now, l.Asked(now, "words", hits("http://a.test/", page)), page)
				if n%10 == 9 {
					if err := l.Forget(context.Background(), func(u string) bool { return u == page }); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	if c := weigh(t, disk, l); c.Pages["http://a.test/"] == 0 {
		t.Error("nothing was noted")
	}
}

// FuzzFile has a log go on with a file of any content, and forget: then it can be read, and what is left of a page that
// is not hit is a page.
func FuzzFile(f *testing.F) {
	f.Add("query,time,words,url,page,position,version,event\n1,2026-01-31T12:00:00Z,a,http://a.test/,1,1,1,\n")
	f.Add("\"\n")
	f.Add("a,b,c,http://secret.test/,e,f,g,h\n\n,,,,,,,\n\"x\ny\",,,,,,,")
	f.Fuzz(func(t *testing.T, was string) {
		if len(was) > limit/16 {
			return
		}
		disk := vfs.NewMem()
		if err := disk.MkdirAll("queries/main", 0o700); err != nil {
			t.Fatal(err)
		}
		const path = "queries/main/2026-01-31.csv"
		write(t, disk, path, was)
		l := newLog(disk, "main")
		if l.Asked(begin, "b", hits("http://b.test/")) == "" {
			t.Fatal("not noted")
		}
		if err := l.Forget(context.Background(), func(u string) bool { return strings.Contains(u, "secret") }); err != nil {
			t.Fatal(err)
		}
		after := content(t, disk, path)
		if !strings.Contains(after, "http://b.test/") {
			t.Errorf("the query is lost:\n%s", after)
		}
		if err := l.Forget(context.Background(), func(string) bool { return false }); err != nil || content(t, disk, path) != after {
			t.Errorf("the second time it is another, %v", err)
		}
	})
}
