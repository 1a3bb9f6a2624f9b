package main

import (
	"fmt"
	"io"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/repair"
)

// TestVerifySharesDone holds that freshet verify knows how much it has checked: of the WARC files in bytes, then of the
// captures.
func TestVerifySharesDone(t *testing.T) {
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	dir := filepath.Join(t.TempDir(), "d")
	freshet(t, 0, "crawl", "--data", dir, "--allow-private", "--delay", "0s", "--listen", "", "--quiet",
		"--resolve", "site.test="+strings.TrimPrefix(web.URL, "http://"), "http://site.test/")
	progress := &working{}
	files := &checkedFiles{FS: vfs.Default, progress: progress, data: dir}
	s, err := openToRepair(t.Context(), dir, store.Options{FS: files})
	if err != nil {
		t.Fatal(err)
	}
	if err := files.begin(s); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "warc", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := files.Open(name, vfs.SequentialReadsOption)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, file); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	if all, read := progress.toRead.Load(), progress.read.Load(); all == 0 || read != all {
		t.Errorf("%d of %d bytes of the files are read", read, all)
	}
	if err := repair.Verify(t.Context(), s, func(p store.Problem) { t.Error(p) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := *progress.doing.Load(), fmt.Sprintf("checking the captures of %s: 8 of about 8", dir); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
