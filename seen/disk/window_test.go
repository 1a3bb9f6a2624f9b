package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// What lies together is looked at in place, in files of the system's that take more than one large page, and a file that
// is cut while it is looked at is damage like any other.
func TestMapped(t *testing.T) {
	const n = 500_000
	for _, place := range []struct {
		name string
		fs   vfs.FS
		dir  string
	}{
		{"files of the system", vfs.Default, filepath.Join(t.TempDir(), "set")},
		{"other files", vfs.NewMem(), "set"},
	} {
		t.Run(place.name, func(t *testing.T) {
			s, _, err := Open(place.dir, Options{FS: place.fs})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Reset(); err != nil {
				t.Fatal(err)
			}
			for i := range uint64(n) {
				e := nth(i)
				e.Partition = 3
				if err := s.Fill(e, true); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(s.Filled(nil), s.Settle()); err != nil {
				t.Fatal(err)
			}
			ask := func() ([]Answer, error) {
				questions, answers := make([]Entry, 2*n), make([]Answer, 2*n)
				for i := range questions {
					questions[i] = nth(uint64(i))
					questions[i].Partition, questions[i].Value = 3, uint32(i)
				}
				return answers, s.Lookup(questions, answers)
			}
			answers, err := ask()
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range answers {
				if a.Known != (i < n) {
					t.Fatalf("%d: known %v", i, a.Known)
				}
			}
			if place.fs == vfs.Default {
				run := s.runs[len(s.runs)-1].segments[0] // the largest
				if blocks := run.sections[0].tailLen(); blocks <= largePage {
					t.Errorf("blocks of %d bytes: want more than a large page", blocks)
				}
				if err := os.Truncate(run.path, int64(os.Getpagesize())); err != nil {
					t.Fatal(err)
				}
				if _, err := ask(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), run.path) || !strings.Contains(err.Error(), "file is cut") {
					t.Errorf("a run that is cut: %v, want ErrDamaged, which names it", err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// What is read ahead of a file that has it not, or that is none of the system's, is no fault.
func TestReadAhead(t *testing.T) {
	for name, fs := range map[string]vfs.FS{filepath.Join(t.TempDir(), "short"): vfs.Default, "other": vfs.NewMem()} {
		file, err := fs.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte("short")); err != nil {
			t.Fatal(err)
		}
		readAhead(file, 3, 3*largePage)
		readAhead(file, 5*largePage+17, largePage)
		readAhead(file, largePage/2, -largePage/4)
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
