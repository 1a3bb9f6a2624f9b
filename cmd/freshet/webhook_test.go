package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"freshet/feed/webhook"
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

// TestHookNamesThatTurnInwards holds that the daemon does not connect to a name with private addresses, of any kind.
func TestHookNamesThatTurnInwards(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	transport := hookTransport(false)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	if _, err := (&http.Client{Transport: transport}).Get("http://localhost:" + port); !errors.Is(err, fetch.ErrAddress) || asked.Load() > 0 {
		t.Errorf("localhost: %v, asked %d times: want ErrAddress and not at all", err, asked.Load())
	}
	for _, address := range []string{
		"127.0.0.1:80", "10.0.0.1:80", "172.16.0.1:443", "192.168.1.1:443", "169.254.169.254:80", "100.64.0.1:80", "0.0.0.0:80",
		"[::1]:80", "[::ffff:10.0.0.1]:80", "[fe80::1%eth0]:80", "[fc00::1]:80", "[64:ff9b::a00:1]:80", "[2002:a00:1::]:80",
	} {
		if err := hookDialer(false).Control("tcp", address, nil); !errors.Is(err, fetch.ErrAddress) {
			t.Errorf("%s: %v: want ErrAddress", address, err)
		}
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
		s := feedSettings{hooks: urlList{fits: isHook}}
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
		hooks := urlList{fits: isHook}
		if err := hooks.Set("https://b.test/"); err != nil {
			t.Fatal(err)
		}
		if hooks.Set(text) == nil {
			t.Errorf("%q: want an error", text)
		}
	}
}

// TestCrawlTellsWebhooks holds that a crawl that ends by itself tells its webhooks of every page before.
func TestCrawlTellsWebhooks(t *testing.T) {
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	dir := t.TempDir()
	var mu sync.Mutex
	told := map[string]bool{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for lines := json.NewDecoder(r.Body); ; {
			var line struct{ URL string }
			if lines.Decode(&line) != nil {
				return
			}
			told[line.URL] = true
		}
	}))
	t.Cleanup(receiver.Close)
	put(t, filepath.Join(dir, "secret"), "a secret of some length\n")
	freshet(t, 0, "crawl", "--data", filepath.Join(dir, "data"), "--resolve", "site.test="+strings.TrimPrefix(web.URL, "http://"), "--allow-private",
		"--delay", "0s", "--retries", "0", "--listen", "", "--contact", "mailto:a@b.test", "--quiet",
		"--webhook", receiver.URL, "--webhook-secret-file", filepath.Join(dir, "secret"), "http://site.test/")
	mu.Lock()
	defer mu.Unlock()
	if len(told) < 3 || !told["http://site.test/"] {
		t.Errorf("the webhook is told of %v", told)
	}
}

// TestServeTellsWebhooks runs a daemon with two webhooks. One accepts nothing; the other gets every page. After a
// restart the first gets them too.
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
		if want := webhook.Sign([]byte(secrets[r.URL.Path]), r.Header.Get(webhook.TimestampHeader), body); r.Header.Get(webhook.SignatureHeader) != want {
			t.Errorf("%s: signature %q: want %q", r.URL, r.Header.Get(webhook.SignatureHeader), want)
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
