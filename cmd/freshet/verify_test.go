package main

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/repair"
)

// TestVerifySharesDone holds that freshet verify knows how much it has checked: of the WARC files in bytes, then of the
// captures. It reads the files in an object store, too. With --repair it shows the same of its repair.
func TestVerifySharesDone(t *testing.T) {
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	for _, args := range [][]string{nil, {"--warc-size", "2KiB", "--segments", filepath.Join(t.TempDir(), "moved")}} {
		dir := filepath.Join(t.TempDir(), "d")
		freshet(t, 0, append([]string{"crawl", "--data", dir, "--allow-private", "--delay", "0s", "--listen", "", "--quiet",
			"--resolve", "site.test=" + strings.TrimPrefix(web.URL, "http://"), "http://site.test/"}, args...)...)
		progress := &working{}
		shown := func(doing string) {
			t.Helper()
			if all, read := progress.toRead.Load(), progress.read.Load(); all == 0 || read != all {
				t.Errorf("%v: %d of %d bytes of the files are read", args, read, all)
			}
			if got, want := *progress.doing.Load(), fmt.Sprintf("%s the files of %s", doing, dir); got != want {
				t.Errorf("%v: %q, want %q", args, got, want)
			}
		}
		if err := repairCrawl(t.Context(), dir, "main", progress, func(p store.Problem) { t.Error(p) }); err != nil {
			t.Fatal(err)
		}
		shown("repairing")
		options, err := withSegments(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		files := progress.files("checking", dir, options.Segments)
		options.FS = files
		s, err := openToRepair(t.Context(), dir, options)
		if err != nil {
			t.Fatal(err)
		}
		if err := files.expect(s); err != nil {
			t.Fatal(err)
		}
		names, err := s.Files()
		if err != nil {
			t.Fatal(err)
		}
		if moved := options.Segments != nil; moved != (args != nil) || moved && options.Segments.Status().Moved == 0 {
			t.Fatalf("%v: no file is moved", args)
		}
		for _, name := range names {
			file, err := s.FS().Open(name, vfs.SequentialReadsOption)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, file); err != nil {
				t.Fatal(err)
			}
			file.Close()
		}
		shown("checking")
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
}

// TestVerifyReadsMovedFiles holds that freshet verify reads the files in an object store to their end: it finds a byte
// that has changed there.
func TestVerifyReadsMovedFiles(t *testing.T) {
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	dir, moved := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "moved")
	freshet(t, 0, "crawl", "--data", dir, "--allow-private", "--delay", "0s", "--listen", "", "--quiet", "--warc-size", "2KiB", "--segments", moved,
		"--resolve", "site.test="+strings.TrimPrefix(web.URL, "http://"), "http://site.test/")
	freshet(t, 0, "verify", "--data", dir)
	names, err := filepath.Glob(filepath.Join(moved, "warc", "*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	content, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	content[4] ^= 1 // of the time in the gzip header, which no capture's digest covers
	if err := os.Chmod(names[0], 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, names[0], string(content))
	if out, _ := freshet(t, 1, "verify", "--data", dir); !strings.Contains(out, "has other bytes than were uploaded") {
		t.Error(out)
	}
}
