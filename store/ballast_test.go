//go:build linux

package store

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/internal/format"
)

// TestCopiedBallast opens a directory with a copied ballast, which has a length but no blocks. Afterwards it has
// blocks.
func TestCopiedBallast(t *testing.T) {
	path := t.TempDir()
	name := filepath.Join(path, format.BallastFile)
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, ballastBytes); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, Options{FS: vfs.Default, Crawl: "main"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if blocks := info.Sys().(*syscall.Stat_t).Blocks * 512; blocks < ballastBytes {
		t.Errorf("the ballast holds back %d bytes: want %d", blocks, ballastBytes)
	}
}
