package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/internal/remains"
)

// takenDown is a text that only the page of these tests has.
const takenDown = "quagmire-7713"

// takeDownWeb is smallWeb with a page that says takenDown wherever an answer can.
func takeDownWeb() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", smallWeb())
	mux.HandleFunc("GET /a.html", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"`+takenDown+`"`)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><p>%s<a href='http://elsewhere.test/%s'>x</a>", takenDown, strings.Repeat("words ", 500), takenDown)
	})
	return mux
}

// TestTakeDownServed takes a page down in a daemon that serves it to readers and to a mirror that follows. Then nobody
// gets any of it. No file of the directory or the mirror has any of it, also after the daemon has ended. No export has
// it.
func TestTakeDownServed(t *testing.T) {
	web := httptest.NewServer(takeDownWeb())
	t.Cleanup(web.Close)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	address := freeAddress(t, "127.0.0.1")
	put(t, file("seeds.txt"), "http://site.test/\n")
	put(t, file("freshet.yaml"), fmt.Sprintf("data: %s\nseeds: %s\nresolve: site.test=%s\nallow-private: true\ndelay: 0s\nretries: 0\n"+
		"listen: %s\ncontact: mailto:a@b.test\nindex: true\nquery-log: true\n", file("data"), file("seeds.txt"), strings.TrimPrefix(web.URL, "http://"), address))
	daemon := start(t, "serve", "--config", file("freshet.yaml"))
	daemon.awaitLine("serving")
	awaitPages(t, file("freshet.yaml"), 3)
	follower := start(t, "subscribe", address, "--mirror", file("mirror"), "--quiet")
	served := func() (where []string) {
		for _, path := range takeDownPaths {
			if body := getText(t, "http://"+address+path); strings.Contains(body, takenDown) {
				where = append(where, path)
			}
		}
		return where
	}
	in := func(folder string) []string {
		found, err := remains.Find(vfs.Default, file(folder), takenDown)
		if err != nil {
			return []string{err.Error()} // a file that goes while it is looked at
		}
		return found
	}
	await(t, "the mirror has the page", func() bool { return len(in("mirror")) > 0 })
	found := func(words string) bool {
		return strings.Contains(getText(t, "http://"+address+"/api/v1/search?q="+words), "http://site.test/")
	}
	await(t, "the page is found", func() bool { return found(takenDown) })
	if len(in("data/queries")) == 0 {
		t.Error("the log of queries does not have what was searched")
	}
	if where := served(); len(where) < 3 {
		t.Errorf("the page is served at %q alone: the paths are not those that serve it", where)
	}

	freshet(t, 0, "purge", "--config", file("freshet.yaml"), "http://site.test/a.html")
	if where := served(); len(where) > 0 {
		t.Errorf("it is still served at %q", where)
	}
	await(t, "the directory is rid of it", func() bool { return len(in("data")) == 0 })
	await(t, "the mirror is rid of it", func() bool { return len(in("mirror")) == 0 })
	await(t, "the index is whole again", func() bool { return found("home") })
	if found(takenDown) {
		t.Error("it is still found")
	}
	freshet(t, 1, "cat", "--config", file("freshet.yaml"), "http://site.test/a.html")
	if err := follower.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	follower.end()
	daemon.signal(syscall.SIGTERM, "finishing")
	daemon.end()
	freshet(t, 0, "export", "--data", file("data"), "--warc", file("out"), "--cdxj", file("out.cdxj"), "--parquet", file("out.parquet"), "--sitemap", file("out.xml"))
	if found := in("."); len(found) > 0 {
		t.Errorf("it is still in %q", found)
	}
	if out, _ := freshet(t, 0, "verify", "--data", file("data")); out != "" {
		t.Errorf("verify: %s", out)
	}
}

// takeDownPaths are all paths that could serve the page of TestTakeDownServed, or any part of it.
var takeDownPaths = []string{
	"/web/20260131120000/http://site.test/a.html", "/web/20260131120000id_/http://site.test/a.html",
	"/timegate/http://site.test/a.html", "/timemap/link/http://site.test/a.html",
	"/api/v1/content?url=" + url.QueryEscape("http://site.test/a.html"), "/api/v1/history?url=" + url.QueryEscape("http://site.test/a.html"),
	"/api/v1/explain?url=" + url.QueryEscape("http://site.test/a.html"), "/api/v1/pages", "/api/v1/skipped",
	"/api/v1/changes?since=start", "/api/v1/websub?topic=" + url.QueryEscape("http://site.test/a.html"),
	"/resourcesync/capabilities.xml", "/resourcesync/resources.xml", "/resourcesync/changes.xml", "/", "/metrics",
}

// getText returns the part of an answer that arrives within a second. An endless answer has sent everything of the
// past by then.
func getText(t *testing.T, address string) string {
	t.Helper()
	client := &http.Client{Timeout: time.Second}
	response, err := client.Get(address)
	if err != nil {
		t.Logf("%s: %v", address, err)
		return ""
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body) // until the second is over
	return string(text)
}

// await waits for something that has to come.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 600 {
		if is() {
			return
		}
		if err := clock.Real().Sleep(t.Context(), 50*time.Millisecond); err != nil {
			break
		}
	}
	t.Fatalf("it never came that %s", what)
}

// TestSnapshotReaderKilled kills the reader of a snapshot in the middle. Nothing of the snapshot stays.
func TestSnapshotReaderKilled(t *testing.T) {
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	data := filepath.Join(t.TempDir(), "data")
	freshet(t, 0, "crawl", "--data", data, "--allow-private", "--listen", "", "--quiet", "--delay", "0s", web.URL)
	p := start(t, "snapshot", "--data", data, "-")
	if err := p.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // killed
	freshet(t, 0, "verify", "--data", data)
	if _, err := os.Stat(filepath.Join(data, "tmp")); !os.IsNotExist(err) {
		t.Errorf("what the reader left: %v", err)
	}
}
