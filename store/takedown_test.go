package store

import (
	"context"

	"os"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// seeds returns how many seeds a test of random cases takes: FRESHET_SEEDS, or few.
func seeds(t testing.TB, few uint64) uint64 {
	t.Helper()
	text := os.Getenv("FRESHET_SEEDS")
	if text == "" {
		return few
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("FRESHET_SEEDS: %v", err)
	}
	return n
}

// asCrawl returns the options of another crawl of the same directory.
func asCrawl(o Options, name string) Options {
	o.Crawl = name
	return o
}

// TestTakeDownTwoCrawls has two crawls store the same site in one directory. What one of them is told to take
// down is taken down in both, from whichever a crash has left it to; and a sweep by one moves captures of both.
func TestTakeDownTwoCrawls(t *testing.T) {
	disk := vfs.NewMem()
	o := purgeOptions(disk)
	for _, name := range []string{"first", "second", "third"} {
		s := openTest(t, asCrawl(o, name))
		secretWeb(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := openTest(t, asCrawl(o, "first"))
	if _, err := s.Sweep(context.Background(), Keep{Versions: 1, Age: time.Hour}, begin.Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.BeginPurge(begin, Target{Site: "http://bad.test"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, asCrawl(o, "second"))
	if _, err := s.FinishPurges(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found := filesWithSecret(t, disk, "data"); len(found) > 0 {
		t.Errorf("what was purged is still in %q", found)
	}
	for _, name := range []string{"first", "second", "third"} {
		s := openTest(t, asCrawl(o, name))
		verify(t, s)
		if page, _, err := s.PageOf(parse(t, "http://bad.test/page")); err != nil || page.State != StatePurged {
			t.Errorf("%s: row of the purged page: %v, %v", name, page.State, err)
		}
		if page, fp, err := s.PageOf(parse(t, "http://good.test/1")); err != nil || page.State != StateLive {
			t.Errorf("%s: row of another page: %v, %v", name, page.State, err)
		} else if v, err := s.Version(home(page.URL), fp, page.Versions); err != nil {
			t.Error(err)
		} else if _, err := s.Body(v.Capture); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
