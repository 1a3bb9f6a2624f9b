//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestPrivate holds that only its owner gets into a data directory, a new one or one with wider rights. Open leaves a
// directory as it is if everybody may write to it, and if it only reads it.
func TestPrivate(t *testing.T) {
	parent := t.TempDir()
	for _, test := range []struct {
		name     string
		have     os.FileMode // 0: none is there
		readOnly bool
		want     os.FileMode
	}{
		{"new", 0, false, 0o700},
		{"wide", 0o755, false, 0o700},
		{"shared", 0o777 | os.ModeSticky, false, 0o777 | os.ModeSticky},
		{"read", 0o755, true, 0o755},
	} {
		path := filepath.Join(parent, test.name)
		open := func(readOnly bool) {
			s, err := Open(path, Options{FS: vfs.Default, ReadOnly: readOnly})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if test.readOnly {
			open(false)
		}
		if test.have != 0 {
			if err := errors.Join(os.MkdirAll(path, 0o700), os.Chmod(path, test.have)); err != nil {
				t.Fatal(err)
			}
		}
		open(test.readOnly)
		if info, err := os.Stat(path); err != nil || info.Mode()&(os.ModePerm|os.ModeSticky) != test.want {
			t.Errorf("%s: %v, %v: want %v", test.name, info.Mode(), err, test.want)
		}
	}
}
