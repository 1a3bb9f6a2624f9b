package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCutWhileOpen asks about half a million known URLs and as many strangers. If a file is cut while it is open, that
// is damage like any other.
func TestCutWhileOpen(t *testing.T) {
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
