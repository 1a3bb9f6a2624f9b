package retain_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/internal/powercut"
	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/internal/storetest"
	"freshet/store/retain"
	"freshet/store/transfer"
	"freshet/weburl"
)

func warcBytes(t testing.TB, s *store.Store) (bytes int64) {
	t.Helper()
	paths, err := s.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		info, err := s.Inside().FS.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

// databaseBytes returns the size of keys and values.
func databaseBytes(t testing.TB, s *store.Store) (bytes int64) {
	t.Helper()
	err := database.Scan(s.Inside().DB, []byte{format.KeyFormat}, []byte{format.KeyFormat + 1}, func(key, value []byte) error {
		bytes += int64(len(key) + len(value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// versionsKept returns how many versions there are.
func versionsKept(t testing.TB, s *store.Store) int64 {
	t.Helper()
	total, err := s.Total()
	if err != nil {
		t.Fatal(err)
	}
	return total.Versions - total.Pruned
}

// readAll notes that the only consumer has read all records. A sweep may then remove them.
func readAll(t testing.TB, s *store.Store) {
	t.Helper()
	for p := range weburl.Partition(storetest.Partitions) {
		total, err := s.Counters(p)
		if err == nil {
			_, err = s.Apply(&store.Mark{Partition: p, Consumer: "test", Record: total.Records})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestForgottenCapturesGo holds that the captures of partitions that were emptied, perhaps in an earlier run, are gone
// after Reclaim, and that it does nothing where there are none.
func TestForgottenCapturesGo(t *testing.T) {
	o := storetest.Options(vfs.NewMem())
	s := storetest.Open(t, o)
	c := storetest.NewRefreshed(t, 60)
	for range 60 {
		c.Visit(s)
	}
	for p := range weburl.Partition(storetest.Partitions) {
		if err := transfer.ForgetPartition(s, p); err != nil {
			t.Fatal(err)
		}
	}
	before := warcBytes(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.Open(t, o)
	again := storetest.Parse(t, "http://again.test/")
	storetest.Discover(t, s, again.String())
	storetest.Commit(t, s, storetest.Answer(t, again, 1, "a page after the restart"))
	if err := retain.Reclaim(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if after := warcBytes(t, s); after > before/10 {
		t.Errorf("%d of %d bytes are left", after, before)
	}
	storetest.Verify(t, s)
	if n, err := s.Inside().Unnamed(); n != 0 || err != nil {
		t.Errorf("%d intakes may still have left something, %v", n, err)
	}
}

// TestYear keeps pages fresh for a year of 100,000 fetches a day, at 1 : 10,000. So there are 10 fetches a day, files
// of 100 KiB for a GiB, and a sweep a week. Under any limit, the WARC files stay below it from day to day and use most
// of it. The database is as large as the kept rows. No sweep removes a capture that a row refers to.
func TestYear(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		name     string
		keep     retain.Keep
		atMost   int64 // bytes of WARC files after any sweep, and six days later
		atLeast  int64 // … at the end
		versions int64 // of a page, at most
	}{
		{"bytes", retain.Keep{Bytes: 1 << 20}, 1<<20 + 192<<10, 1 << 19, 1 << 20},
		{"versions", retain.Keep{Versions: 3}, 4 << 20, 1 << 18, 3}, /* and up to 64 revisits a page */
		{"age", retain.Keep{Age: 30 * day, Tombstones: 30 * day}, 2 << 20, 1 << 18, 1 << 20},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := storetest.Options(vfs.NewMem())
			o.WARC.MaxBytes = 100 << 10
			s := storetest.Open(t, o)
			c := storetest.NewRefreshed(t, 60)
			var all retain.Swept
			most := int64(0)
			for d := range 365 {
				c.Minutes = d * 24 * 60
				for range 10 {
					c.Visit(s)
				}
				if bytes := warcBytes(t, s); bytes > test.atMost {
					t.Fatalf("day %d: %d bytes of WARC files: want at most %d", d, bytes, test.atMost)
				}
				if d%7 != 6 && d != 364 {
					continue
				}
				now := storetest.Begin.Add(time.Duration(d+1) * day)
				swept, err := retain.Sweep(context.Background(), s, test.keep, now)
				if err != nil {
					t.Fatal(err)
				}
				all.Versions += swept.Versions
				all.Captures += swept.Captures
				all.Files += swept.Files
				all.FreedBytes += swept.FreedBytes
				bytes := warcBytes(t, s)
				if most = max(most, bytes); test.keep.Bytes > 0 && bytes > test.keep.Bytes {
					t.Fatalf("day %d: %d bytes of WARC files once it was swept: want at most %d", d, bytes, test.keep.Bytes)
				}
				if d == 179 {
					c.CheckReferences(s)
				}
				readAll(t, s)
			}
			c.CheckReferences(s)
			bytes := warcBytes(t, s)
			t.Logf("%d bytes at the end, %d at most; %d versions and %d captures let go, %d files rewritten, %d bytes freed; database %d bytes",
				bytes, most, all.Versions, all.Captures, all.Files, all.FreedBytes, databaseBytes(t, s))
			if bytes < test.atLeast {
				t.Errorf("%d bytes at the end: want at least %d: more was let go than asked", bytes, test.atLeast)
			}
			// The size of rows does not grow with time: a page keeps its last visits, and as many versions as the
			// settings ask for.
			if kept := int64(len(c.Pages))*store.KeptVisits*150 + versionsKept(t, s)*200 + 64<<10; databaseBytes(t, s) > kept {
				t.Errorf("%d bytes in the database: want at most %d", databaseBytes(t, s), kept)
			}
			for p := range weburl.Partition(storetest.Partitions) {
				for page, err := range s.Pages(p) {
					if err != nil || int64(page.Versions-page.Pruned) > test.versions {
						t.Errorf("%s: %d versions kept, %v: want at most %d", page.URL, page.Versions-page.Pruned, err, test.versions)
					}
				}
			}
		})
	}
}

// TestSweepCrash cuts a sweep before every change of the disk. The sweep prunes and rewrites. After each cut
// everything is readable, the state follows from the records, and the next sweep does the rest.
func TestSweepCrash(t *testing.T) {
	disk := powercut.Watch(vfs.NewCrashableMem(), 0)
	o, log := storetest.Promising(disk)
	o.WARC.MaxBytes = 16 << 10
	s := storetest.Open(t, o)
	web := storetest.NewRefreshed(t, 12)
	for range 90 {
		web.Visit(s)
	}
	disk.Take()
	keep := retain.Keep{Versions: 2, Age: 40 * time.Minute}
	now := storetest.Begin.Add(90 * time.Minute)
	swept, err := retain.Sweep(context.Background(), s, keep, now)
	if err != nil || swept.Versions == 0 || swept.Captures == 0 || swept.Files < 2 || swept.FreedBytes == 0 {
		t.Fatalf("sweep: %+v, %v: want something of each", swept, err)
	}
	cuts := disk.Take()
	want := warcBytes(t, s)
	t.Logf("%d cuts; %+v", len(cuts), swept)
	for i, cut := range cuts {
		if testing.Short() && i%7 != 0 {
			continue
		}
		if !storetest.CheckCut(t, (*log)[:cut.Promised], *log, cut.Disk) {
			t.Fatalf("after cut %d, before %s", i, cut.Before)
		}
		after := storetest.Open(t, storetest.Options(cut.Disk))
		if _, err := retain.Sweep(context.Background(), after, keep, now); err != nil {
			t.Fatalf("after cut %d, before %s: %v", i, cut.Before, err)
		}
		web.T = t
		storetest.Verify(t, after)
		if got := warcBytes(t, after); got > want+want/2+64<<10 {
			t.Errorf("after cut %d, before %s: %d bytes once it was swept: want about %d", i, cut.Before, got, want)
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSweepReaders holds that a reader with a row from before a sweep can read its capture after the sweep.
func TestSweepReaders(t *testing.T) {
	o := storetest.Options(vfs.NewMem())
	o.WARC.MaxBytes = 16 << 10
	s := storetest.Open(t, o)
	web := storetest.NewRefreshed(t, 12)
	for range 90 {
		web.Visit(s)
	}
	type old struct {
		u  weburl.URL
		at store.Pointer
	}
	var pointers []old
	for _, u := range web.Pages {
		if page, fp, err := s.PageOf(u); err == nil && page.Versions > 0 {
			v, err := s.Version(storetest.Home(u), fp, page.Versions)
			if err != nil {
				t.Fatal(err)
			}
			pointers = append(pointers, old{u, v.Capture})
		}
	}
	swept, err := retain.Sweep(context.Background(), s, retain.Keep{Versions: 1}, storetest.Begin.Add(90*time.Minute))
	if err != nil || swept.Files == 0 {
		t.Fatalf("%+v, %v", swept, err)
	}
	for _, p := range pointers {
		if body, err := s.Body(p.at); err != nil || body.URL != p.u.String() {
			t.Errorf("%s: %v", p.u, err)
		}
	}
	var other bytes.Buffer
	if err := transfer.ExportPartition(s, storetest.Home(web.Pages[0]), &other); err != nil {
		t.Error(err)
	}
}
