package store

import (
	"bufio"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/internal/database"
	"freshet/store/internal/format"
)

// TestLarge holds that the store learns that its database has become large at a write after a table was written, and at
// the next opening.
func TestLarge(t *testing.T) {
	fs := vfs.NewMem()
	s := openFor(t, fs)
	value, rng := make([]byte, 1<<20), rand.NewChaCha8([32]byte{1})
	for i := range byte(database.SmallBytes>>20 + 1) {
		if s.large.Load() {
			t.Fatalf("large with %d MiB stored", i)
		}
		_, _ = rng.Read(value)
		if err := s.db.Set([]byte{format.KeyFormat, 0, i}, value, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(&Paused{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(&Paused{}); err != nil {
		t.Fatal(err)
	}
	if !s.large.Load() {
		t.Errorf("not large with %d bytes stored", s.db.Metrics().Total().TablesSize)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s = openFor(t, fs); !s.large.Load() {
		t.Error("not large at the next opening")
	}
}

func openFor(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open("data", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestFilters holds that the first level and the last have filters and those between have none, by the options that the
// database says it has.
func TestFilters(t *testing.T) {
	fs := vfs.NewMem()
	s := openFor(t, fs)
	dir := s.dir.join(format.DatabaseDir)
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := names[slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "OPTIONS-") })]
	file, err := fs.Open(fs.PathJoin(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var policies []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if policy, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "filter_policy="); ok {
			policies = append(policies, policy)
		}
	}
	bloom, none := "rocksdb.BuiltinBloomFilter", "none"
	if want := []string{bloom, none, none, none, none, none, bloom}; !slices.Equal(policies, want) {
		t.Errorf("filters of the levels: %v, want %v", policies, want)
	}
}
