package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"freshet/feed/broadcast"
	"freshet/fetch"
)

// TestHookTransport holds that a webhook in a private network is reached with permission alone.
func TestHookTransport(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, allowed := range []bool{false, true} {
		transport := hookTransport(allowed)
		response, err := (&http.Client{Transport: transport}).Get(server.URL)
		if allowed && err == nil {
			response.Body.Close()
		}
		if allowed != (err == nil) || !allowed && !errors.Is(err, fetch.ErrAddress) {
			t.Errorf("permitted %v: %v", allowed, err)
		}
		transport.CloseIdleConnections()
	}
}

func TestWebhookSettings(t *testing.T) {
	for name, test := range map[string]struct {
		urls    []string
		secrets string
		right   bool
	}{
		"none":            {nil, "", true},
		"one":             {[]string{"https://a.test/hook"}, "a secret of some length\n", true},
		"two":             {[]string{"https://a.test/hook", "http://b.test:8080/?x=1,2"}, "a secret of some length\nanother of some length", true},
		"too few secrets": {[]string{"https://a.test/hook", "https://b.test/"}, "a secret of some length\n", false},
		"too many":        {[]string{"https://a.test/hook"}, "a secret of some length\nanother of some length\n", false},
		"a short one":     {[]string{"https://a.test/hook"}, "short\n", false},
		"no file":         {[]string{"https://a.test/hook"}, "", false},
	} {
		s := feedSettings{}
		for _, u := range test.urls {
			if err := s.hooks.Set(u); err != nil {
				t.Fatal(err)
			}
		}
		if test.secrets != "" {
			s.secretFile = filepath.Join(t.TempDir(), "secrets")
			put(t, s.secretFile, test.secrets)
		}
		hooks, err := s.webhooks()
		if (err == nil) != test.right || err == nil && len(hooks) != len(test.urls) {
			t.Errorf("%s: %d webhooks, %v", name, len(hooks), err)
		}
	}
	for _, text := range []string{"", "a.test", "ftp://a.test/", "https:///hook", "https://a.test/#part", "https://b.test/"} {
		hooks := hookURLs{}
		if err := hooks.Set("https://b.test/"); err != nil {
			t.Fatal(err)
		}
		if hooks.Set(text) == nil {
			t.Errorf("%q: want an error", text)
		}
	}
}

// TestServeTellsWebhooks runs a daemon with two webhooks, one of which takes nothing. The other is told of
// every page; the first is after a restart.
func TestServeTellsWebhooks(t *testing.T) {
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	secrets := map[string]string{"/first": "a secret of some length", "/second": "another of some length"}
	told := map[string]chan string{"/first": make(chan string, 100), "/second": make(chan string, 100)}
	refused := make(chan bool, 100)
	var healed atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if want := broadcast.Sign([]byte(secrets[r.URL.Path]), r.Header.Get(broadcast.TimestampHeader), body); r.Header.Get(broadcast.SignatureHeader) != want {
			t.Errorf("%s: signature %q: want %q", r.URL, r.Header.Get(broadcast.SignatureHeader), want)
		}
		if r.URL.Path == "/first" && !healed.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			refused <- true
			return
		}
		for line := range bytes.Lines(body) {
			told[r.URL.Path] <- string(line)
		}
	}))
	t.Cleanup(receiver.Close)
	put(t, file("secrets"), secrets["/first"]+"\n"+secrets["/second"]+"\n")
	put(t, file("seeds.txt"), "http://site.test/\n")
	put(t, file("freshet.yaml"), fmt.Sprintf("data: %s\nseeds: %s\nscope: page\nresolve: site.test=%s\nallow-private: true\ndelay: 0s\nlisten: \"\"\ncontact: mailto:a@b.test\n"+
		"webhook: [%[4]s/first, %[4]s/second]\nwebhook-secret-file: %[5]s\n",
		file("data"), file("seeds.txt"), strings.TrimPrefix(web.URL, "http://"), receiver.URL, file("secrets")))
	serve := func(wait func()) {
		p := start(t, "serve", "--config", file("freshet.yaml"))
		p.awaitLine("serving")
		wait()
		p.signal(syscall.SIGTERM, "finishing")
		p.end()
	}
	page := func(path string) {
		if line := <-told[path]; !strings.Contains(line, `"kind":"new","url":"http://site.test/"`) {
			t.Errorf("%s is told %s", path, line)
		}
	}
	serve(func() {
		<-refused
		page("/second")
	})
	healed.Store(true)
	serve(func() { page("/first") })
}
