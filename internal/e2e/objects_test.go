package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/internal/remains"
	"freshet/internal/s3server"
)

// secretWords are on one page of the web of TestObjectStore.
const secretWords = "quagmire-7713"

// smallWeb serves a front page and pages that it links to, each with some kilobytes that do not compress.
func smallWeb(t *testing.T, pages int) (seed string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "<title>", r.URL.Path, "</title>")
		for i := range pages {
			if r.URL.Path == "/" {
				fmt.Fprintf(w, `<a href="/%d">%d</a> `, i, i)
			}
		}
		if r.URL.Path == "/7" {
			fmt.Fprint(w, secretWords)
		}
		random := rand.New(rand.NewPCG(1, uint64(len(r.URL.Path))))
		for range 1000 {
			fmt.Fprintf(w, "%x ", random.Uint64())
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// closedFiles returns the closed WARC files of a folder.
func closedFiles(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestObjectStore crawls into a real S3 server. The crawl is killed, the server is down for a while, credentials are
// wrong, another directory comes along, a page is taken down, and the directory is lost.
func TestObjectStore(t *testing.T) {
	server := s3server.Start(t, "crawls", "backups")
	bucket := filepath.Join(server.Folder, "crawls", "one")
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	seed := smallWeb(t, 120)
	args := func(data string, more ...string) []string {
		return append([]string{"crawl", seed, "--data", data, "--json", "--quiet", "--listen", "", "--allow-private", "--delay", "10ms",
			"--segments", "s3://crawls/one", "--segments-cache", "1MiB", "--warc-size", "100KiB"}, more...)
	}
	fails := func(what, with string, args ...string) {
		t.Helper()
		out, err := try(t, binary, args...)
		if err == nil || !strings.Contains(err.Error(), with) {
			t.Errorf("%s: %v: want %q", what, err, with)
		}
		if said := fmt.Sprint(err, string(out)); strings.Contains(said, s3server.Secret) || strings.Contains(said, "mistaken-8861") {
			t.Errorf("%s: a secret is told: %s", what, said)
		}
	}

	for range 3 { // killed while it uploads, or soon before
		moved := len(closedFiles(t, bucket)) + len(closedFiles(t, data))
		command := exec.Command(binary, args(data)...)
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the next WARC file", func() bool { return len(closedFiles(t, bucket))+len(closedFiles(t, data)) > moved })
		_ = command.Process.Kill() // it may have ended
		_ = command.Wait()         // it was killed
	}
	run(t, binary, "verify", "--data", data)

	server.Down(t)
	_, err := try(t, binary, args(data, "--max-pages", "20")...)
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != stoppedByLimit {
		t.Errorf("while the server is down: %v", err)
	}
	waiting := len(closedFiles(t, data))
	server.Up(t)
	if waiting == 0 {
		t.Error("no file waits for the server")
	}

	t.Setenv("AWS_SECRET_ACCESS_KEY", "mistaken-8861")
	fails("wrong credentials", "AWS_SECRET_ACCESS_KEY", args(filepath.Join(dir, "third"))...)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3server.Secret)
	fails("another directory", "prefix of its own", args(filepath.Join(dir, "other"))...)
	fails("no bucket", "there is no bucket", "crawl", seed, "--data", filepath.Join(dir, "fourth"), "--segments", "s3://none", "--listen", "")

	run(t, binary, args(data)...)
	if left := closedFiles(t, data); len(left) > 0 {
		t.Errorf("after the crawl %q are in the directory", left)
	}
	if moved := closedFiles(t, bucket); len(moved) < 5 {
		t.Errorf("%d files in the bucket", len(moved))
	}
	table := pages(t, data)
	if len(table) != 121 {
		t.Errorf("%d pages: want 121", len(table))
	}
	n := 0
	for url := range table {
		if !strings.Contains(string(run(t, binary, "cat", "--data", data, url)), "<title>") {
			t.Errorf("%s: no title in its body", url)
		}
		if n++; n == 3 {
			break
		}
	}
	run(t, binary, "verify", "--data", data)
	if bytes := folderSize(t, filepath.Join(data, "cache")); bytes == 0 || bytes > 1<<20 {
		t.Errorf("%d bytes in the cache: want some, at most 1 MiB", bytes)
	}

	if found, err := remains.Find(vfs.Default, bucket, secretWords); err != nil || len(found) == 0 {
		t.Errorf("the secret is in %q, %v: want it in the bucket", found, err)
	}
	run(t, binary, "purge", "--data", data, "--yes", seed+"7")
	for _, dir := range []string{data, server.Folder, server.Folder + ".versions"} {
		if found, err := remains.Find(vfs.Default, dir, secretWords); err != nil || len(found) > 0 {
			t.Errorf("what was taken down is in %q, %v", found, err)
		}
	}
	run(t, binary, args(data)...) // moves what the purge has rewritten
	run(t, binary, "verify", "--data", data)
	exported := filepath.Join(server.Folder, "backups", "copies")
	run(t, binary, "export", "--data", data, "--warc", "s3://backups/copies", "--parquet", "s3://backups/copies/pages.parquet",
		"--wacz", "s3://backups/copies/site.wacz", "--text", "s3://backups/copies/texts.jsonl")
	for _, name := range []string{"pages.parquet", "site.wacz", "texts.jsonl"} {
		if info, err := os.Stat(filepath.Join(exported, name)); err != nil || info.Size() == 0 {
			t.Errorf("export: %v", err)
		}
	}

	run(t, binary, "snapshot", "--data", data, "s3://backups/monday")
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	run(t, binary, "restore", "--data", data, "s3://backups/monday")
	run(t, binary, "verify", "--data", data)
	if again := pages(t, data); len(again) != len(table) {
		t.Errorf("%d pages are restored: want %d", len(again), len(table))
	}
	fails("a copy", "segments take", args(data)...)
	run(t, binary, "segments", "take", "--data", data)
	run(t, binary, args(data)...)
	run(t, binary, "verify", "--data", data)
	if shown := string(run(t, binary, "config", "show")); strings.Contains(shown, s3server.Secret) {
		t.Error("config show tells the secret")
	}
}

// folderSize returns how many bytes the files of a folder have.
func folderSize(t *testing.T, dir string) (sum int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
