package retain_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/internal/powercut"
	"freshet/store"
	"freshet/store/internal/format"
	"freshet/store/internal/storetest"
	"freshet/store/repair"
	"freshet/store/retain"
	"freshet/store/transfer"
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
func asCrawl(o store.Options, name string) store.Options {
	o.Crawl = name
	return o
}

// TestTakeDownTwoCrawls has several crawls store the same site in one directory. One begins to take the site down, and
// another finishes, as after a crash. The site is gone from all. A sweep by one crawl moves captures of all.
func TestTakeDownTwoCrawls(t *testing.T) {
	disk := vfs.NewMem()
	o := purgeOptions(disk)
	for _, name := range []string{"first", "second", "third"} {
		s := storetest.Open(t, asCrawl(o, name))
		secretWeb(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := storetest.Open(t, asCrawl(o, "first"))
	if _, err := retain.Sweep(context.Background(), s, retain.Keep{Versions: 1, Age: time.Hour}, storetest.Begin.Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.BeginPurge(storetest.Begin, store.Target{Site: "http://bad.test"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.Open(t, asCrawl(o, "second"))
	if _, err := retain.FinishPurges(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found := filesWithSecret(t, disk, "data"); len(found) > 0 {
		t.Errorf("what was purged is still in %q", found)
	}
	for _, name := range []string{"first", "second", "third"} {
		s := storetest.Open(t, asCrawl(o, name))
		storetest.Verify(t, s)
		if page, _, err := s.PageOf(storetest.Parse(t, "http://bad.test/page")); err != nil || page.State != store.StatePurged {
			t.Errorf("%s: row of the purged page: %v, %v", name, page.State, err)
		}
		if page, fp, err := s.PageOf(storetest.Parse(t, "http://good.test/1")); err != nil || page.State != store.StateLive {
			t.Errorf("%s: row of another page: %v, %v", name, page.State, err)
		} else if v, err := s.Version(storetest.Home(page.URL), fp, page.Versions); err != nil {
			t.Error(err)
		} else if _, err := s.Body(v.Capture); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// leftovers leaves the possible remains of a dying program in a directory, each with the secret. s is open in it.
func leftovers(t *testing.T, s *store.Store, disk vfs.FS, rng *rand.Rand) {
	t.Helper()
	ctx := context.Background()
	if err := errors.Join(s.Inside().EndFile(), format.MakeDir(disk, "data/"+format.TempDir)); err != nil {
		t.Fatal(err)
	}
	// A snapshot with a reader, one of an older program, and one that was cut.
	for _, to := range []string{format.TempDir + "/snapshot-1", fmt.Sprintf("snapshot-%d", 1+rng.IntN(1<<22)), "snapshot-7.part"} {
		if err := transfer.Snapshot(ctx, s, "data/"+to); err != nil {
			t.Fatal(err)
		}
	}
	// A damaged file that a repair has set aside.
	files, err := s.Files() // all are closed
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	path := files[rng.IntN(len(files))]
	raw, err := format.ReadFile(disk, path, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	copy(raw[len(raw)-40:], "damage")
	if err := format.WriteFile(disk, path, raw); err != nil {
		t.Fatal(err)
	}
	if err := repair.Repair(ctx, s, false, func(store.Problem) {}); err != nil {
		t.Fatal(err)
	}
	if err := format.WriteFile(disk, "data/aside/rows-0.jsonl", []byte(secret)); err != nil {
		t.Fatal(err)
	}
	if err := format.WriteFile(disk, "data/freshet.json.new", []byte(secret)); err != nil {
		t.Fatal(err)
	}
}

// TestTakeDownSearch draws directories with two crawls and all kinds of leftovers. It takes a page or a site down
// while somebody holds a snapshot of the state before. It cuts the power at some change of the disk, and either crawl
// does the rest. Then no file has any of the page or site, however packed, and everything else is whole. FRESHET_SEEDS
// is the number of directories.
func TestTakeDownSearch(t *testing.T) {
	for seed := range seeds(t, 3) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { takeDownSearch(t, seed) })
	}
}

func takeDownSearch(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 6))
	crawls := []string{"main", "other"}
	disk := powercut.Watch(vfs.NewCrashableMem(), rng.IntN(101))
	o := purgeOptions(disk)
	for _, i := range rng.Perm(2) {
		s := storetest.Open(t, asCrawl(o, crawls[i]))
		secretWeb(t, s)
		if rng.IntN(2) == 0 {
			if err := s.Inside().DB.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := storetest.Open(t, asCrawl(o, crawls[rng.IntN(2)]))
	leftovers(t, s, disk, rng)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.Open(t, asCrawl(o, crawls[rng.IntN(2)]))
	if len(filesWithSecret(t, disk, "data")) < 4 {
		t.Fatal("the secret is not where it is looked for")
	}
	targets := []store.Target{{Site: "http://bad.test"}}
	if rng.IntN(2) == 0 {
		targets = []store.Target{{URL: storetest.Parse(t, "http://bad.test/page")}, {URL: storetest.Parse(t, "http://bad.test/other")}}
		// The text of robots.txt belongs to the site.
		targets = append(targets, store.Target{Site: "http://bad.test"})
	}
	disk.Take()
	// A snapshot of the database makes a compaction keep deleted values.
	held := s.Inside().DB.NewSnapshot()
	if _, err := s.BeginPurge(storetest.Begin, targets...); err != nil {
		t.Fatal(err)
	}
	begun := len(disk.Take())
	from, to := []byte{format.KeyFormat}, []byte{format.KeyFormat + 1}
	if err := errors.Join(s.Inside().DB.Flush(), s.Inside().DB.Compact(context.Background(), from, to, false), held.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := retain.FinishPurges(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	checkTakenDown(t, disk, "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cuts := disk.Take()
	for range min(len(cuts), 3) {
		cut := cuts[rng.IntN(len(cuts))]
		o := asCrawl(purgeOptions(cut.Disk), crawls[rng.IntN(2)])
		after := storetest.Open(t, o)
		_, err := retain.FinishPurges(context.Background(), after)
		if err = errors.Join(err, after.Close()); err != nil {
			t.Fatal(err)
		}
		checkTakenDown(t, cut.Disk, cut.Before)
		for _, name := range crawls {
			s := storetest.Open(t, asCrawl(o, name))
			storetest.Verify(t, s)
			checkGood(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d, cut before %s", seed, cut.Before)
		}
	}
	t.Logf("%d changes of the disk to begin, %d to finish", begun, len(cuts))
}

// TestTakeDownRead cuts the power at every change of the disk while a site is taken down. A reader of what is left sees
// the site as a writer would, or is refused.
func TestTakeDownRead(t *testing.T) {
	disk := powercut.Watch(vfs.NewCrashableMem(), 0)
	o := purgeOptions(disk)
	s := storetest.Open(t, o)
	secretWeb(t, s)
	disk.Take()
	if _, err := s.BeginPurge(storetest.Begin, store.Target{Site: "http://bad.test"}); err != nil {
		t.Fatal(err)
	}
	states := func(o store.Options) (states []store.State, err error) {
		s, err := store.Open("data", o)
		if err != nil {
			return nil, err
		}
		for _, raw := range []string{"http://bad.test/page", "http://bad.test/other"} {
			page, _, err := s.PageOf(storetest.Parse(t, raw))
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, page.State)
		}
		return states, s.Close()
	}
	refused := 0
	for _, cut := range disk.Take() {
		o.FS, o.ReadOnly = cut.Disk, true
		seen, reading := states(o)
		o.ReadOnly = false
		want, err := states(o)
		if err != nil {
			t.Fatal(err)
		}
		if errors.Is(reading, store.ErrTakeDown) {
			refused++
			o.ReadOnly = true
			seen, reading = states(o)
		}
		if reading != nil || !slices.Equal(seen, want) {
			t.Errorf("cut before %s: a reader sees %v, %v: want %v", cut.Before, seen, reading, want)
		}
	}
	if refused < 2 {
		t.Errorf("readers are refused after %d cuts: the note comes before the records", refused)
	}
}

func checkTakenDown(t *testing.T, disk vfs.FS, cut string) {
	t.Helper()
	if found := filesWithSecret(t, disk, "data"); len(found) > 0 {
		t.Errorf("cut %q: what was purged is still in %q", cut, found)
	}
}

// checkGood holds that the pages that nobody has taken down can be read.
func checkGood(t *testing.T, s *store.Store) {
	t.Helper()
	for n := range 7 {
		page, fp, err := s.PageOf(storetest.Parse(t, fmt.Sprintf("http://good.test/%d", n)))
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Version(storetest.Home(page.URL), fp, page.Versions)
		if err == nil && !v.Capture.IsZero() { // one may be lost by the damage
			_, err = s.Body(v.Capture)
		}
		if err != nil {
			t.Errorf("%s: %v", page.URL, err)
		}
	}
}

// TestSnapshotCutOff has a reader take its time over a snapshot while a page is taken down.
func TestSnapshotCutOff(t *testing.T) {
	disk := vfs.NewMem()
	s := storetest.Open(t, purgeOptions(disk))
	secretWeb(t, s)
	w := &slow{purge: func() error {
		_, err := retain.Purge(context.Background(), s, storetest.Begin, store.Target{Site: "http://bad.test"})
		return err
	}}
	if err := transfer.WriteSnapshot(context.Background(), s, w); !errors.Is(err, store.ErrCut) || w.err != nil {
		t.Errorf("the snapshot: %v; the purge: %v", err, w.err)
	}
	checkTakenDown(t, disk, "")
	var whole bytes.Buffer
	if err := transfer.WriteSnapshot(context.Background(), s, &whole); err != nil || whole.Len() == 0 {
		t.Errorf("the next snapshot: %d bytes, %v", whole.Len(), err)
	}
	storetest.Verify(t, s)
}

// slow purges at the first byte.
type slow struct {
	purge func() error
	err   error
	begun bool
}

func (w *slow) Write(p []byte) (int, error) {
	if !w.begun {
		w.begun = true
		w.err = w.purge()
	}
	return len(p), nil
}

// TestStrangers has verify name the files that do not belong in a directory.
func TestStrangers(t *testing.T) {
	disk := vfs.NewMem()
	s := storetest.Open(t, storetest.Options(disk))
	for _, name := range []string{"data/notes.txt", "data/warc/copy.cdx", "data/snapshot-20260101", "data/sinks/mark"} {
		if err := disk.MkdirAll(disk.PathDir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := format.WriteFile(disk, name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	var named []string
	if err := repair.Verify(context.Background(), s, func(p store.Problem) { named = append(named, p.Place) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"notes.txt", "snapshot-20260101", "warc/copy.cdx"}; !slices.Equal(named, want) {
		t.Errorf("named: %q, want %q", named, want)
	}
}
