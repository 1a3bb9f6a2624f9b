package damage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/crawl"
	"freshet/importer"
	"freshet/node"
	"freshet/store"
	"freshet/store/repair"
	"freshet/store/warc"
	"freshet/weburl"
)

// TestDamage runs trials by seed. FRESHET_DAMAGE_TRIALS is their number (default 20), FRESHET_DAMAGE_SEED the seed of
// the first. Each trial damages files of a copy of one directory and holds that
//
//   - the store serves no body that differs from the page's;
//   - verify, an error that names damage, or the repair reports every loss;
//   - after the repair verify finds nothing, purged pages are purged, in rows and captures, and the orders stand;
//   - the crawl goes on and ends with the pages of the undisturbed one.
func TestDamage(t *testing.T) {
	trials, first := number(t, "FRESHET_DAMAGE_TRIALS", 20), number(t, "FRESHET_DAMAGE_SEED", 1)
	w := newWorld(t)
	t.Logf("%d pages known, %d at the end", len(w.had), len(w.want))
	table := map[string]*tally{}
	for seed := first; seed < first+trials; seed++ {
		var name string
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { name = w.trial(t, uint64(seed), table) })
		if !ok {
			t.Errorf("seed %d failed (%s): FRESHET_DAMAGE_SEED=%d FRESHET_DAMAGE_TRIALS=1 go test ./internal/damage -run TestDamage -v", seed, name, seed)
			table[name].failed++
		}
	}
	fmt.Printf("%-34s %7s %7s %7s %7s %7s\n", "file and damage", "trials", "found", "mended", "lost", "failed")
	for _, name := range slices.Sorted(maps.Keys(table)) {
		c := table[name]
		fmt.Printf("%-34s %7d %7d %7d %7d %7d\n", name, c.trials, c.found, c.mended, c.lost, c.failed)
	}
}

// tally counts the trials of a kind of file and damage: in how many verify found something, repair did something, rows
// were lost until the crawl went on, and a check failed.
type tally struct{ trials, found, mended, lost, failed int }

func number(t *testing.T, variable string, otherwise int) int {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (w *world) trial(t *testing.T, seed uint64, table map[string]*tally) string {
	rng := rand.New(rand.NewPCG(seed, 25))
	disk := clone(t, w.base)
	var name string
	touched := map[string]bool{}
	for n := range []int{1, 1, 1, 2, 3}[rng.IntN(5)] {
		path := pick(t, rng, disk)
		what := w.damage(t, rng, disk, path)
		t.Logf("%s: %s", path, what)
		touched[kindOf(path)] = true
		if name = kindOf(path) + ", " + what; n > 0 {
			name = "several files"
		}
	}
	if table[name] == nil {
		table[name] = &tally{}
	}
	c := table[name]
	c.trials++
	served(t, clone(t, disk))
	w.meets(t, clone(t, disk))
	found := findings(t, clone(t, disk))
	done := 0
	if err := importer.Repair(t.Context(), "data", store.Options{FS: disk, Partitions: 4}, func(p store.Problem) { done++; t.Log("repair:", p) }); err != nil {
		t.Errorf("repair: %v", err)
		return name
	}
	lost := w.missing(t, disk)
	if len(lost) > 0 && found == 0 && done == 0 {
		t.Errorf("lost in silence: %v", lost)
	}
	if left := findings(t, clone(t, disk)); left > 0 {
		t.Errorf("%d problems after the repair", left)
	}
	stands(t, disk)
	w.goOn(t, disk)
	if left := findings(t, clone(t, disk)); left > 0 {
		t.Errorf("%d problems at the end", left)
	}
	served(t, disk)
	w.complete(t, disk, lost)
	c.found += min(found, 1)
	c.mended += min(done, 1)
	c.lost += min(len(lost), 1)
	return name
}

// complete holds that a crawl to the end has the pages of the undisturbed one, and that what was purged is. Of the
// pages that the repaired directory had lost, it may lack those to which only purged pages link.
func (w *world) complete(t *testing.T, disk vfs.FS, lost []string) {
	t.Helper()
	var got []string
	for url, r := range rowsOf(t, disk) {
		if r.state == store.StateLive {
			got = append(got, url)
		}
		if u := parse(t, url); (url == takenDown || u.Site() == taken) && r.state != store.StatePurged {
			t.Errorf("%s was purged and is %v", url, r.state)
		}
	}
	linked := linked()
	want := slices.DeleteFunc(slices.Clone(w.want), func(url string) bool {
		return slices.Contains(lost, url) && !linked[url] && !slices.Contains(got, url)
	})
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d pages at the end: want %d; missing %v", len(got), len(want), without(want, got))
	}
}

// TestLostWithCaptures loses all tables of the database and all captures. Pages that are lost with both are still in
// the set of seen URLs. The crawl finds them again.
func TestLostWithCaptures(t *testing.T) {
	w := newWorld(t)
	disk := clone(t, w.base)
	of := byKind(t, disk)
	for _, path := range slices.Concat(of["table"], of["WARC"]) {
		if err := disk.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := importer.Repair(t.Context(), "data", store.Options{FS: disk, Partitions: 4}, func(p store.Problem) { t.Log("repair:", p) }); err != nil {
		t.Fatal(err)
	}
	lost := w.missing(t, disk)
	w.goOn(t, disk)
	w.complete(t, disk, lost)
}

// meets lets a crawl meet the damage. The crawl may go on as if nothing had happened, or end with an error that names
// damage.
func (w *world) meets(t *testing.T, disk *vfs.MemFS) {
	e, err := node.Open(options(t, w.server, disk))
	if err == nil {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err = errors.Join(e.Pause(paused, false), e.Unblock(blocked)); errors.Is(err, crawl.ErrUnknown) {
			err = nil // it knows nothing of the site
		}
		if err == nil {
			_, err = e.Run(ctx, ctx)
		}
		if ctx.Err() != nil {
			t.Error("a crawl that met damage did not end")
		}
		err = errors.Join(err, e.Close())
	}
	if err != nil && !store.IsDamage(err) {
		t.Errorf("a crawl that met damage ended with: %v", err)
	}
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

// missing returns the pages of which the repaired directory has less than the directory had before the damage.
func (w *world) missing(t *testing.T, disk *vfs.MemFS) (lost []string) {
	now := rowsOf(t, disk)
	for url, had := range w.had {
		if has, known := now[url]; !known || has.visits < had.visits || has.versions < had.versions {
			lost = append(lost, url)
		}
	}
	return lost
}

// pick returns the path of a file of the directory: first its kind is drawn, then the file.
func pick(t *testing.T, rng *rand.Rand, disk *vfs.MemFS) string {
	all := byKind(t, disk)
	kinds := slices.Sorted(maps.Keys(all))
	paths := all[kinds[rng.IntN(len(kinds))]]
	return paths[rng.IntN(len(paths))]
}

// byKind returns the files of a directory by their kind.
func byKind(t *testing.T, disk *vfs.MemFS) map[string][]string {
	all := map[string][]string{}
	var walk func(dir string)
	walk = func(dir string) {
		names, err := disk.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		for _, name := range names {
			path := dir + "/" + name
			if info, err := disk.Stat(path); err == nil && info.IsDir() {
				walk(path)
			} else if kind := kindOf(path); kind != "" {
				all[kind] = append(all[kind], path)
			}
		}
	}
	walk("data")
	return all
}

func kindOf(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case strings.HasSuffix(name, ".sst"):
		return "table"
	case strings.HasPrefix(path, "data/db/") && strings.HasSuffix(name, ".log"):
		return "database log"
	case strings.HasPrefix(name, "MANIFEST"):
		return "MANIFEST"
	case strings.HasPrefix(name, "marker"):
		return "marker"
	case strings.HasPrefix(name, "OPTIONS"):
		return "OPTIONS"
	case strings.HasPrefix(path, "data/warc/"):
		return "WARC"
	case strings.HasPrefix(path, "data/seen/"):
		return "seen set"
	case name == "LOCK" || name == "ballast":
		return ""
	case strings.HasPrefix(name, "orders"):
		return "orders"
	}
	return name
}

// damage does one thing to a file and returns its name.
func (w *world) damage(t *testing.T, rng *rand.Rand, disk *vfs.MemFS, path string) string {
	raw := read(t, disk, path)
	at := func() int { return rng.IntN(max(1, len(raw))) }
	kind := []string{"bits", "bytes", "zeroes", "cut", "gone", "older"}[rng.IntN(6)]
	if len(raw) == 0 && kind != "older" {
		kind = "gone"
	}
	switch kind {
	case "bits":
		for range 1 + rng.IntN(3) {
			raw[at()] ^= 1 << rng.IntN(8)
		}
	case "bytes":
		for i, n := at(), 1+rng.IntN(64); i < len(raw) && n > 0; i, n = i+1, n-1 {
			raw[i] = byte(rng.Uint32())
		}
	case "zeroes":
		for i, n := at(), 1+rng.IntN(4096); i < len(raw) && n > 0; i, n = i+1, n-1 {
			raw[i] = 0
		}
	case "cut":
		raw = raw[:at()]
	case "older":
		if _, err := w.older.Stat(path); err == nil {
			raw = read(t, w.older, path)
			break
		}
		kind = "gone"
	}
	if kind == "gone" {
		if err := disk.Remove(path); err != nil {
			t.Fatal(err)
		}
		return kind
	}
	write(t, disk, path, raw)
	return kind
}

func read(t *testing.T, disk vfs.FS, path string) []byte {
	t.Helper()
	f, err := disk.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func write(t *testing.T, disk vfs.FS, path string, raw []byte) {
	t.Helper()
	if err := disk.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	f, err := disk.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// findings returns the number of problems that verify finds. An error that names damage counts as one.
func findings(t *testing.T, disk *vfs.MemFS) int {
	n := 0
	s, err := store.Open("data", store.Options{FS: disk, Partitions: 4})
	if err == nil {
		err = repair.Verify(context.Background(), s, func(p store.Problem) { n++; t.Log("verify:", p) })
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		n++
		t.Log("verify:", err)
	}
	return n
}

// served reads every body in the directory and compares it with the page.
func served(t *testing.T, disk *vfs.MemFS) {
	s, err := store.Open("data", store.Options{FS: disk, ReadOnly: true})
	if err != nil {
		return
	}
	defer s.Close()
	for p := range s.Partitions() {
		for page, err := range s.Pages(weburl.Partition(p)) {
			if err != nil {
				return
			}
			versions, err := s.Versions(weburl.Partition(p), page.Fingerprint)
			if err != nil {
				continue
			}
			for _, v := range versions {
				body, err := s.VersionBody(page.URL, &v)
				if err != nil {
					continue
				}
				if text, ok := truth(page.URL); !ok || string(body.Payload) != text {
					t.Errorf("%s: a wrong body of %d bytes is served", page.URL, len(body.Payload))
				}
			}
		}
	}
}

// stands holds that an operator's orders are in force. No capture of a page that was taken down is left.
func stands(t *testing.T, disk *vfs.MemFS) {
	s, err := store.Open("data", store.Options{FS: disk, ReadOnly: true})
	if err != nil {
		t.Errorf("open after the repair: %v", err)
		return
	}
	defer s.Close()
	if row, err := s.Site(paused); err != nil && !errors.Is(err, store.ErrNotFound) || err == nil && row.Paused == 0 {
		t.Errorf("the paused site is not: %v", err)
	}
	if row, err := s.Site(taken); err != nil || !row.Purged {
		t.Errorf("the purged site is not: %v", err)
	}
	gate, err := s.Gate(weburl.Site("http://"+blocked).Partition(s.Partitions()), blocked)
	if err != nil || gate.Blocked == 0 {
		t.Errorf("the blocked host is not: %v", err)
	}
	paths, err := s.Files()
	if err != nil {
		t.Error(err)
	}
	for _, path := range paths {
		r, err := warc.Open(disk, path)
		if err != nil {
			t.Error(err)
			continue
		}
		for record, err := r.Next(); err == nil; record, err = r.Next() {
			u, _ := weburl.Parse(cmp.Or(record.TargetURI, "http://none.test/"))
			if u.String() == takenDown || u.Site() == taken {
				t.Errorf("%s holds a capture of %s", path, u)
			}
		}
		r.Close()
	}
}
