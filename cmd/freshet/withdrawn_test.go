package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/internal/remains"
)

// TestWithdrawnServed has a page forbid copies while a daemon serves it to readers and to a mirror. Then nobody gets
// its body, and no export has it unless the caller asks for it. The daemon serves the page again when the page allows
// it.
func TestWithdrawnServed(t *testing.T) {
	var noArchive atomic.Bool
	mux := http.NewServeMux()
	mux.Handle("/", smallWeb())
	mux.HandleFunc("GET /a.html", func(w http.ResponseWriter, _ *http.Request) {
		if noArchive.Load() {
			w.Header().Set("X-Robots-Tag", "noarchive")
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>A</title><p>%s", takenDown)
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	address := freeAddress(t, "127.0.0.1")
	put(t, file("seeds.txt"), "http://site.test/\n")
	put(t, file("freshet.yaml"), fmt.Sprintf("data: %s\nseeds: %s\nresolve: site.test=%s\nallow-private: true\ndelay: 0s\nretries: 0\n"+
		"listen: %s\ncontact: mailto:a@b.test\n", file("data"), file("seeds.txt"), strings.TrimPrefix(web.URL, "http://"), address))
	config, page := "--config="+file("freshet.yaml"), "http://site.test/a.html"
	served := func() (where []string) {
		for _, path := range takeDownPaths {
			if strings.Contains(getText(t, "http://"+address+path), takenDown) {
				where = append(where, path)
			}
		}
		return where
	}
	in := func(name string) bool {
		found, err := remains.Find(vfs.Default, file(name), takenDown)
		return err != nil || len(found) > 0 // an error: a file that goes while it is looked at
	}
	state := func(want string) func() bool {
		return func() bool {
			out, _ := freshet(t, 0, "pages", config, "--state", want)
			return strings.Contains(out, page)
		}
	}
	begin := func() (daemon, follower *process) {
		daemon = start(t, "serve", config)
		daemon.awaitLine("serving")
		return daemon, start(t, "subscribe", address, "--mirror", file("mirror"), "--quiet")
	}
	end := func(daemon, follower *process) {
		if err := follower.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		follower.end()
		daemon.signal(syscall.SIGTERM, "finishing")
		daemon.end()
	}

	daemon, follower := begin()
	awaitPages(t, file("freshet.yaml"), 3)
	await(t, "the mirror has the page", func() bool { _, err := os.Stat(file("mirror")); return err == nil && in("mirror") })
	before := served()
	if len(before) < 3 {
		t.Errorf("the page is served at %q alone: the paths are not those that serve it", before)
	}
	noArchive.Store(true)
	freshet(t, 0, "recrawl", config, page)
	await(t, "the page is withdrawn", state("withdrawn"))
	if where := served(); len(where) > 0 {
		t.Errorf("it is still served at %q", where)
	}
	if list := getText(t, "http://"+address+"/resourcesync/resources.xml"); strings.Contains(list, page) || !strings.Contains(list, "b.html") {
		t.Errorf("the resource list is %s", list)
	}
	freshet(t, 1, "cat", config, page)
	await(t, "the mirror is rid of it", func() bool { return !in("mirror") })
	end(daemon, follower)

	freshet(t, 1, "cat", config, page)
	exportsLeaveOut(t, file, in, page)

	daemon, follower = begin()
	noArchive.Store(false)
	freshet(t, 0, "recrawl", config, page)
	await(t, "the page is live again", state("live"))
	if where := served(); len(where) != len(before) {
		t.Errorf("it is served at %q again, and was at %q", where, before)
	}
	if out, _ := freshet(t, 0, "cat", config, page); !strings.Contains(out, takenDown) {
		t.Errorf("cat gives %q", out)
	}
	await(t, "the mirror has it again", func() bool { return in("mirror") })
	end(daemon, follower)
	freshet(t, 0, "export", "--data", file("data"), "--warc", file("out"), "--cdxj", file("out/index"))
	if index := read(t, file("out/index")); !in("out") || !strings.Contains(index, page) {
		t.Errorf("no export has it again: %s", index)
	}
}

// exportsLeaveOut exports the directory, in which a page is withdrawn.
func exportsLeaveOut(t *testing.T, file func(string) string, in func(string) bool, page string) {
	t.Helper()
	data := "--data=" + file("data")
	freshet(t, 0, "export", data, "--warc", file("out"), "--cdxj", file("out/index"), "--parquet", file("out/parquet"), "--sitemap", file("out/map.xml"))
	if index := read(t, file("out/index")); in("out") || strings.Contains(index, page) || !strings.Contains(index, "http://site.test/b.html") {
		t.Errorf("an export has the withdrawn page: %s", index)
	}
	if sitemap := read(t, file("out/map.xml")); strings.Contains(sitemap, page) {
		t.Errorf("the sitemap has the withdrawn page: %s", sitemap)
	}
	if index, _ := freshet(t, 0, "export", data, "--cdxj", "-"); strings.Contains(index, page) {
		t.Errorf("the index of the directory itself has the withdrawn page: %s", index)
	}
	freshet(t, 0, "export", data, "--withdrawn", "--warc", file("all"), "--cdxj", file("all/index"))
	if index := read(t, file("all/index")); !in("all") || !strings.Contains(index, page) {
		t.Errorf("--withdrawn leaves the page out: %s", index)
	}
	freshet(t, 0, "export", data, "--partition", "0", "--out", file("part"))
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
