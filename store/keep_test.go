package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/internal/powercut"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// refreshed is a small crawl that visits the same pages again and again, each with its own rate of
// change. A visit that finds a page as it was writes a revisit record, as the engine does.
type refreshed struct {
	t       testing.TB
	rng     *rand.Rand
	pages   []weburl.URL
	rates   []float64 // chance that a page has changed since its last visit
	bodies  []string
	minutes int
}

func newRefreshed(t testing.TB, pages int) *refreshed {
	c := &refreshed{t: t, rng: rand.New(rand.NewPCG(5, 5)), bodies: make([]string, pages)}
	for i := range pages {
		c.pages = append(c.pages, parse(t, fmt.Sprintf("http://site%d.test/page/%d", i%5, i)))
		c.rates = append(c.rates, []float64{0, 0.02, 0.1, 0.5, 1}[i%5])
	}
	return c
}

// visit fetches one page.
func (c *refreshed) visit(s *Store) {
	c.minutes++
	i := c.rng.IntN(len(c.pages))
	if c.rng.Float64() < 0.05 {
		commitPages(c.t, s, status(c.pages[i], c.minutes, 503))
		return
	}
	if c.bodies[i] == "" || c.rng.Float64() < c.rates[i] {
		raw := make([]byte, 500+c.rng.IntN(2500))
		for j := range raw {
			raw[j] = byte(c.rng.Uint32())
		}
		c.bodies[i] = hex.EncodeToString(raw)
		commitPages(c.t, s, answer(c.t, c.pages[i], c.minutes, c.bodies[i]))
		return
	}
	commitPages(c.t, s, revisitOf(c.t, s, c.pages[i], c.minutes, c.bodies[i]))
}

// revisitOf returns a fetch that found a page's last version again.
func revisitOf(t testing.TB, s *Store, u weburl.URL, minutes int, body string) Fetch {
	t.Helper()
	page, fp, err := s.PageOf(u)
	if err != nil {
		t.Fatal(err)
	}
	original, err := s.Version(home(u), fp, page.Versions)
	if err != nil {
		t.Fatal(err)
	}
	f := answer(t, u, minutes, body)
	record := &warc.Record{
		Type: warc.Revisit, Profile: warc.ProfileIdentical, Date: time.Unix(0, at(minutes)), TargetURI: u.String(),
		ContentType: warc.TypeResponse, PayloadDigest: original.BodyDigest, RefersTo: original.Capture.ID,
		RefersToURI: u.String(), RefersToDate: time.Unix(0, original.At), Block: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
	}
	record.Seal()
	member, err := warc.NewEncoder(warc.FastLevel).AppendMember(nil, record)
	if err != nil {
		t.Fatal(err)
	}
	f.Members, f.ID = [][]byte{member}, record.ID
	f.Record.(*Fetched).Revisit = true
	return f
}

// checkReferences holds that every row's capture is readable (by Verify), that what every revisit record
// of every file refers to is there, and that the last version of every page is what the page last said.
func (c *refreshed) checkReferences(s *Store) {
	c.t.Helper()
	verify(c.t, s)
	there, wanted := map[warc.ID]bool{}, map[warc.ID]string{}
	paths, err := s.Files()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, path := range paths {
		r, err := warc.Open(s.fs, path)
		if err != nil {
			c.t.Fatal(err)
		}
		for {
			record, err := r.Next()
			if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) && strings.HasSuffix(path, ".open") {
				break
			}
			if err != nil {
				c.t.Fatal(err)
			}
			if there[record.ID] = true; record.Type == warc.Revisit {
				wanted[record.RefersTo] = record.TargetURI
			}
		}
		if err := r.Close(); err != nil {
			c.t.Fatal(err)
		}
	}
	for id, uri := range wanted {
		if !there[id] {
			c.t.Errorf("%s: a revisit refers to %v, which is gone", uri, id)
		}
	}
	for i, u := range c.pages {
		page, fp, err := s.PageOf(u)
		if err != nil || page.Versions == 0 {
			continue
		}
		v, err := s.Version(home(u), fp, page.Versions)
		if err != nil {
			c.t.Fatal(err)
		}
		if body, err := s.Body(v.Capture); err != nil || string(body.Payload) != c.bodies[i] {
			c.t.Errorf("%s: last version: %v", u, err)
		}
	}
}

func warcBytes(t testing.TB, s *Store) (bytes int64) {
	t.Helper()
	paths, err := s.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		info, err := s.fs.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

// databaseBytes returns what keys and values take.
func databaseBytes(t testing.TB, s *Store) (bytes int64) {
	t.Helper()
	err := database.Scan(s.db, []byte{format.KeyFormat}, []byte{format.KeyFormat + 1}, func(key, value []byte) error {
		bytes += int64(len(key) + len(value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// versionsKept returns how many versions there are.
func versionsKept(t testing.TB, s *Store) int64 {
	t.Helper()
	total, err := s.Total()
	if err != nil {
		t.Fatal(err)
	}
	return total.Versions - total.Pruned
}

// readAll notes that the one consumer there is has read all records, so that they can go.
func readAll(t testing.TB, s *Store) {
	t.Helper()
	for p := range weburl.Partition(testPartitions) {
		total, err := s.Counters(p)
		if err == nil {
			_, err = s.Apply(&Mark{Partition: p, Consumer: "test", Record: total.Records})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestYear keeps pages fresh for a year of 100,000 fetches a day, at 1 : 10,000: 10 fetches a day, files
// of 100 KiB for a GiB, a sweep a week. Whatever limit is asked, the WARC files stay below it
// from day to day and use most of it, and the database is as large as what is kept; what is referred to is
// never gone.
func TestYear(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		name     string
		keep     Keep
		atMost   int64 // bytes of WARC files after any sweep, and six days later
		atLeast  int64 // … at the end
		versions int64 // of a page, at most
	}{
		{"bytes", Keep{Bytes: 1 << 20}, 1<<20 + 192<<10, 1 << 19, 1 << 20},
		{"versions", Keep{Versions: 3}, 4 << 20, 1 << 18, 3}, /* and up to 64 revisits a page */
		{"age", Keep{Age: 30 * day, Tombstones: 30 * day}, 2 << 20, 1 << 18, 1 << 20},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := testOptions(vfs.NewMem())
			o.WARC.MaxBytes = 100 << 10
			s := openTest(t, o)
			c := newRefreshed(t, 60)
			var all Swept
			most := int64(0)
			for d := range 365 {
				c.minutes = d * 24 * 60
				for range 10 {
					c.visit(s)
				}
				if bytes := warcBytes(t, s); bytes > test.atMost {
					t.Fatalf("day %d: %d bytes of WARC files: want at most %d", d, bytes, test.atMost)
				}
				if d%7 != 6 && d != 364 {
					continue
				}
				now := begin.Add(time.Duration(d+1) * day)
				swept, err := s.Sweep(context.Background(), test.keep, now)
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
					c.checkReferences(s)
				}
				readAll(t, s)
			}
			c.checkReferences(s)
			bytes := warcBytes(t, s)
			t.Logf("%d bytes at the end, %d at most; %d versions and %d captures let go, %d files rewritten, %d bytes freed; database %d bytes",
				bytes, most, all.Versions, all.Captures, all.Files, all.FreedBytes, databaseBytes(t, s))
			if bytes < test.atLeast {
				t.Errorf("%d bytes at the end: want at least %d: more was let go than asked", bytes, test.atLeast)
			}
			// What rows take does not grow with time: the last visits of a page are kept, and the versions asked for.
			if kept := int64(len(c.pages))*keptVisits*150 + versionsKept(t, s)*200 + 64<<10; databaseBytes(t, s) > kept {
				t.Errorf("%d bytes in the database: want at most %d", databaseBytes(t, s), kept)
			}
			for p := range weburl.Partition(testPartitions) {
				for page, err := range s.Pages(p) {
					if err != nil || int64(page.Versions-page.Pruned) > test.versions {
						t.Errorf("%s: %d versions kept, %v: want at most %d", page.URL, page.Versions-page.Pruned, err, test.versions)
					}
				}
			}
		})
	}
}

// TestSweepCrash cuts a sweep that prunes and rewrites before every change of the disk. After each cut
// everything is readable, the state is what the records make, and the next sweep does the rest.
func TestSweepCrash(t *testing.T) {
	disk := powercut.Watch(vfs.NewCrashableMem(), 0)
	o, log := promising(disk)
	o.WARC.MaxBytes = 16 << 10
	s := openTest(t, o)
	web := newRefreshed(t, 12)
	for range 90 {
		web.visit(s)
	}
	disk.Take()
	keep := Keep{Versions: 2, Age: 40 * time.Minute}
	now := begin.Add(90 * time.Minute)
	swept, err := s.Sweep(context.Background(), keep, now)
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
		if !checkCut(t, *log, cut) {
			t.Fatalf("after cut %d, before %s", i, cut.Before)
		}
		after := openTest(t, testOptions(cut.Disk))
		if _, err := after.Sweep(context.Background(), keep, now); err != nil {
			t.Fatalf("after cut %d, before %s: %v", i, cut.Before, err)
		}
		web.t = t
		verify(t, after)
		if got := warcBytes(t, after); got > want+want/2+64<<10 {
			t.Errorf("after cut %d, before %s: %d bytes once it was swept: want about %d", i, cut.Before, got, want)
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSweepReaders holds that who read a row before a sweep can read its capture after it.
func TestSweepReaders(t *testing.T) {
	o := testOptions(vfs.NewMem())
	o.WARC.MaxBytes = 16 << 10
	s := openTest(t, o)
	web := newRefreshed(t, 12)
	for range 90 {
		web.visit(s)
	}
	type old struct {
		u  weburl.URL
		at Pointer
	}
	var pointers []old
	for _, u := range web.pages {
		if page, fp, err := s.PageOf(u); err == nil && page.Versions > 0 {
			v, err := s.Version(home(u), fp, page.Versions)
			if err != nil {
				t.Fatal(err)
			}
			pointers = append(pointers, old{u, v.Capture})
		}
	}
	swept, err := s.Sweep(context.Background(), Keep{Versions: 1}, begin.Add(90*time.Minute))
	if err != nil || swept.Files == 0 {
		t.Fatalf("%+v, %v", swept, err)
	}
	for _, p := range pointers {
		if body, err := s.Body(p.at); err != nil || body.URL != p.u.String() {
			t.Errorf("%s: %v", p.u, err)
		}
	}
	var other bytes.Buffer
	if err := s.ExportPartition(home(web.pages[0]), &other); err != nil {
		t.Error(err)
	}
}
