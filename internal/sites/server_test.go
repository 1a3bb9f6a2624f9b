package sites

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"freshet/clock"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// files lays out a small site.
func files(t *testing.T) Site {
	t.Helper()
	root := filepath.Join(t.TempDir(), "site")
	for name, text := range map[string]string{
		"index.html":      "home",
		"a/index.html":    "a",
		"a/b c.htm":       "b",
		"a/100%.txt":      "percent",
		"data":            "bytes",
		"robots.txt":      "never served",
		"../secret.html":  "outside",
		"empty/readme.md": "readme",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"in.html": "a/index.html", "out.html": "../secret.html", "dir": "a"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return Site{Name: "small", Root: root, Home: "/index.html"}
}

func serve(t *testing.T, opt Options) *Server {
	t.Helper()
	s, err := Serve(files(t), "127.3.0.1", opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask sends a request line by hand, since a client would tidy the target up, and returns the answer.
func ask(t *testing.T, s *Server, target, fields string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: small.test\r\n%sConnection: close\r\n\r\n", target, fields)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestAnswers(t *testing.T) {
	s := serve(t, Options{Clock: clock.Real(), Log: new(Log)})
	for target, want := range map[string]struct {
		status          int
		kind, body, loc string
	}{
		"/":                     {200, "text/html", "home", ""},
		"/index.html":           {200, "text/html", "home", ""},
		"/index.html?q=1":       {200, "text/html", "home", ""},
		"/a":                    {301, "text/plain", "Moved Permanently\n", "/a/"},
		"/a/":                   {200, "text/html", "a", ""},
		"//a//":                 {200, "text/html", "a", ""},
		"/a/b%20c.htm":          {200, "text/html", "b", ""},
		"/%61/b%20c.htm":        {200, "text/html", "b", ""},
		"/a%2Findex.html":       {200, "text/html", "a", ""},
		"/a/100%25.txt":         {200, "text/plain", "percent", ""},
		"/data":                 {200, "application/octet-stream", "bytes", ""},
		"/data/":                {404, "text/plain", "Not Found\n", ""},
		"/empty/":               {404, "text/plain", "Not Found\n", ""},
		"/operator%.html":       {400, "text/plain; charset=utf-8", "400 Bad Request", ""},
		"/robots.txt":           {404, "text/plain", "Not Found\n", ""},
		"/none":                 {404, "text/plain", "Not Found\n", ""},
		"/a/b%00":               {404, "text/plain", "Not Found\n", ""},
		"/../secret.html":       {404, "text/plain", "Not Found\n", ""},
		"/%2e%2e/secret.html":   {404, "text/plain", "Not Found\n", ""},
		"/a/..%2F..%2Fdata":     {200, "application/octet-stream", "bytes", ""},
		"/in.html":              {200, "text/html", "a", ""},
		"/dir/":                 {200, "text/html", "a", ""},
		"/dir":                  {301, "text/plain", "Moved Permanently\n", "/dir/"},
		"/out.html":             {404, "text/plain", "Not Found\n", ""},
		"/a/../../secret.html/": {404, "text/plain", "Not Found\n", ""},
	} {
		resp, body := ask(t, s, target, "")
		if resp.StatusCode != want.status || resp.Header.Get("Content-Type") != want.kind ||
			body != want.body || resp.Header.Get("Location") != want.loc {
			t.Errorf("%s: %d %q %q to %q, want %+v", target, resp.StatusCode,
				resp.Header.Get("Content-Type"), body, resp.Header.Get("Location"), want)
		}
	}
}

func TestConditional(t *testing.T) {
	s := serve(t, Options{Clock: clock.Real(), Log: new(Log)})
	first, _ := ask(t, s, "/data", "")
	etag, modified := first.Header.Get("ETag"), first.Header.Get("Last-Modified")
	for name, test := range map[string]struct {
		fields string
		status int
	}{
		"same tag":           {"If-None-Match: " + etag + "\r\n", 304},
		"other tag":          {"If-None-Match: \"x\"\r\n", 200},
		"tag before date":    {"If-None-Match: \"x\"\r\nIf-Modified-Since: " + modified + "\r\n", 200},
		"same date":          {"If-Modified-Since: " + modified + "\r\n", 304},
		"earlier date":       {"If-Modified-Since: Mon, 02 Jan 2006 15:04:05 GMT\r\n", 200},
		"date without sense": {"If-Modified-Since: yesterday\r\n", 200},
	} {
		if resp, _ := ask(t, s, "/data", test.fields); resp.StatusCode != test.status {
			t.Errorf("%s: status %d, want %d", name, resp.StatusCode, test.status)
		}
	}
}

func TestForgetful(t *testing.T) {
	s := serve(t, Options{Clock: clock.Real(), Log: new(Log), Forgetful: true})
	resp, _ := ask(t, s, "/data", "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("ETag") != "" || resp.Header.Get("Last-Modified") != "" {
		t.Errorf("a forgetful server answers %d %v", resp.StatusCode, resp.Header)
	}
}

func TestLogKeepsOrderOnOneConnection(t *testing.T) {
	log := new(Log)
	s := serve(t, Options{Clock: clock.Real(), Log: log})
	transport := &http.Transport{}
	client := &http.Client{Transport: transport}
	for _, target := range []string{"/", "/none", "/data"} {
		resp, err := client.Get("http://" + s.Address() + target)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	transport.CloseIdleConnections()
	var got []string
	for _, e := range settled(t, log, 3) {
		got = append(got, fmt.Sprint(e.Host, " ", e.Target, " ", e.Status, " ", e.Cut, " ", e.End.Before(e.Start)))
	}
	want := []string{"small.test / 200 false false", "small.test /none 404 false false", "small.test /data 200 false false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v := log.Violations(0); len(v) != 0 {
		t.Errorf("requests one after another are called a violation: %v", v)
	}
}

func TestLogEndsWhenClientLeaves(t *testing.T) {
	log := new(Log)
	s := serve(t, Options{Clock: clock.Real(), Log: log, Latency: time.Hour})
	c, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: small.test\r\n\r\n")
	wait(t, func() bool { return len(log.Exchanges()) == 1 })
	if e := log.Exchanges()[0]; !e.End.IsZero() {
		t.Errorf("an exchange under way has an end: %+v", e)
	}
	c.Close()
	if e := settled(t, log, 1)[0]; !e.Cut || e.Status != 0 {
		t.Errorf("a client that left: %+v, want one that is cut and has no status", e)
	}
}

// settled waits until the log holds n exchanges, all of them ended.
func settled(t *testing.T, log *Log, n int) []Exchange {
	t.Helper()
	var all []Exchange
	wait(t, func() bool {
		all = log.Exchanges()
		ended := 0
		for _, e := range all {
			if !e.End.IsZero() {
				ended++
			}
		}
		return ended == n
	})
	return all
}

// wait returns when the condition holds; the test's own time-out ends it otherwise.
func wait(t *testing.T, condition func() bool) {
	t.Helper()
	for !condition() {
		if err := clock.Real().Sleep(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

func TestServeRefusesTheOpenNetwork(t *testing.T) {
	for _, ip := range []string{"192.0.2.1", "0.0.0.0", "", "localhost"} {
		if _, err := Serve(files(t), ip, Options{Clock: clock.Real(), Log: new(Log)}); err == nil {
			t.Errorf("a site was served on %q", ip)
		}
	}
}
