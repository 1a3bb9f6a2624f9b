package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestView looks at a directory through the window: at rest, and beside a crawl that runs in it. A page of another site
// that makes its own name resolve to the window reads nothing, and no request makes it read a file.
func TestView(t *testing.T) {
	dir := t.TempDir()
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "freshet.yaml")
	put(t, config, fmt.Sprintf("resolve: site.test=%s\nallow-private: true\ndelay: 0s\nlisten: \"\"\n", strings.TrimPrefix(web.URL, "http://")))
	freshet(t, 0, "crawl", "--config", config, "--data", data, "--quiet", "http://site.test/")
	look := func() {
		t.Helper()
		p := start(t, "view", data, "--listen", "127.0.0.1:0")
		address, _, _ := strings.Cut(strings.TrimPrefix(p.awaitLine("shows"), "http://"), "/")
		for path, want := range map[string]string{
			"/": "Known pages", "/sites": "http://site.test", "/find?q=A.HTML": "/page?url=http%3a%2f%2fsite.test%2fa.html",
			"/page?url=http://site.test/a.html": "Versions", "/web/http://site.test/a.html": "<title>A</title>",
		} {
			response, err := http.Get("http://" + address + path)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			response.Body.Close()
			text = bytes.ReplaceAll(text, []byte("<wbr>"), nil)
			if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
				t.Errorf("%s: %s, %v: no %q in\n%s", path, response.Status, err, want, text)
			}
			if strings.Contains(string(text), "data-order") {
				t.Errorf("%s shows orders, which are not taken", path)
			}
		}
		response, err := http.Post("http://"+address+"/api/v1/purge", "application/json", strings.NewReader(`{"url":"http://site.test/a.html"}`))
		if err != nil {
			t.Fatal(err)
		}
		var fault struct{ Error string }
		err = json.NewDecoder(response.Body).Decode(&fault)
		if response.Body.Close(); response.StatusCode != http.StatusMethodNotAllowed && response.StatusCode != http.StatusNotFound || err != nil || fault.Error == "" {
			t.Errorf("an order is answered %s, %v, %q", response.Status, err, fault.Error)
		}
		request, err := http.NewRequest(http.MethodGet, "http://"+address+"/api/v1/pages", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = "rebound.test"
		if response, err = http.DefaultClient.Do(request); err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != http.StatusForbidden {
			t.Errorf("a page of another site is answered %s", response.Status)
		}
		response, err = http.Get("http://" + address + "/api/v1/explain?" + url.Values{"url": {"http://site.test/"}, "scope": {config}}.Encode())
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if response.Body.Close(); err != nil || bytes.Contains(text, []byte("resolve")) {
			t.Errorf("lines of a file: %s, %v", text, err)
		}
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if code := p.end(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	look()
	viewer := start(t, "view", data, "--listen", "127.0.0.1:0")
	viewer.awaitLine("shows")
	freshet(t, 0, "status", "--data", data)
	freshet(t, 0, "explain", "--data", data, "http://site.test/nowhere", "--scope", "any")
	freshet(t, 0, "text", "--data", data, "http://site.test/a.html")
	freshet(t, 1, "pages", "--data", data, "--crawl", "other")
	freshet(t, 1, "pause", "--data", data)
	if err := viewer.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	viewer.end()
	freshet(t, 0, "status", "--data", data)
	daemon := start(t, "serve", "--config", config, "--data", data)
	daemon.awaitLine("serving")
	look()
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	daemon.end()
}
