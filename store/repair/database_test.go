package repair

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// filled returns a database with tables, range deletions and a log, and the last value of each key.
func filled(t *testing.T, seed uint64) (*vfs.MemFS, map[string]string) {
	t.Helper()
	disk, rng := vfs.NewCrashableMem(), rand.New(rand.NewPCG(seed, 2))
	o := &pebble.Options{FS: disk, FormatMajorVersion: pebble.FormatNewest, MemTableSize: 1 << 20, DisableAutomaticCompactions: true, Logger: quiet{}}
	db, err := pebble.Open("db", o)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for round := range 8 {
		for range 400 {
			key := fmt.Sprintf("\x02key%05d\x00%c", rng.IntN(3000), rng.IntN(3))
			value := strings.Repeat(fmt.Sprintf("round %d %d ", round, rng.IntN(1000)), 1+rng.IntN(20))
			if rng.IntN(8) == 0 {
				delete(want, key)
				err = db.Delete([]byte(key), pebble.Sync)
			} else {
				want[key] = value
				err = db.Set([]byte(key), []byte(value), pebble.Sync)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		from, to := fmt.Sprintf("\x02key%05d", rng.IntN(3000)), fmt.Sprintf("\x02key%05d", rng.IntN(3000))
		if from < to {
			if err := db.DeleteRange([]byte(from), []byte(to), pebble.Sync); err != nil {
				t.Fatal(err)
			}
			for key := range want {
				if from <= key && key < to {
					delete(want, key)
				}
			}
		}
		if round%3 == 1 {
			if err := db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if round == 4 {
			if err := db.Compact(t.Context(), []byte{0}, []byte{0xff}, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	crashed := disk.CrashClone(vfs.CrashCloneCfg{}) // the log is not flushed
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return crashed, want
}

// held returns the content of a database.
func held(t *testing.T, fs vfs.FS, dir string) map[string]string {
	t.Helper()
	db, err := pebble.Open(dir, &pebble.Options{FS: fs, ReadOnly: true, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	it, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	all := map[string]string{}
	for ok := it.First(); ok; ok = it.Next() {
		all[string(it.Key())] = string(it.Value())
	}
	return all
}

// TestDatabaseWhole gathers an undamaged database without its manifest: nothing may be missing, or too much.
func TestDatabaseWhole(t *testing.T) {
	for seed := range uint64(5) {
		disk, want := filled(t, seed)
		removeManifest(t, disk)
		err := gather(context.Background(), disk, "db", "new", func(file, what string) { t.Errorf("seed %d: %s: %s", seed, file, what) })
		if err != nil {
			t.Fatal(err)
		}
		got := held(t, disk, "new")
		for key, value := range want {
			if got[key] != value {
				t.Fatalf("seed %d: %q: got %.20q, want %.20q", seed, key, got[key], value)
			}
		}
		if len(got) != len(want) {
			t.Errorf("seed %d: %d keys: want %d", seed, len(got), len(want))
		}
	}
}

func removeManifest(t *testing.T, disk *vfs.MemFS) {
	t.Helper()
	names, err := disk.List("db")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.Contains(strings.ToLower(name), "manifest") || strings.HasPrefix(name, "OPTIONS") {
			if err := disk.Remove("db/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDatabaseDamaged damages a table in one place: all but the rows of one block are there, with the index and
// without it.
func TestDatabaseDamaged(t *testing.T) {
	for seed := range uint64(8) {
		disk, want := filled(t, seed)
		rng := rand.New(rand.NewPCG(seed, 3))
		removeManifest(t, disk)
		names, _ := disk.List("db")
		var tables []string
		for _, name := range names {
			if strings.HasSuffix(name, ".sst") {
				tables = append(tables, "db/"+name)
			}
		}
		path := tables[rng.IntN(len(tables))]
		raw, err := readAll(disk, path)
		if err != nil {
			t.Fatal(err)
		}
		raw[rng.IntN(len(raw)/2)] ^= 0xff
		if seed%2 == 1 {
			raw = raw[:len(raw)-40] // and the footer
		}
		f, err := disk.Create(path, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(raw); err != nil {
			t.Fatal(err)
		}
		f.Close()
		said := 0
		if err := gather(context.Background(), disk, "db", "new", func(file, what string) { said++; t.Log(path, len(raw), file, what) }); err != nil {
			t.Fatal(err)
		}
		got, missing := held(t, disk, "new"), 0
		for key := range want {
			if _, there := got[key]; !there {
				missing++
			}
		}
		t.Logf("seed %d: %d of %d keys missing, %d files named", seed, missing, len(want), said)
		if said == 0 || missing > len(want)/4 {
			t.Errorf("seed %d: %d of %d keys missing, %d files named", seed, missing, len(want), said)
		}
	}
}
