package mirror

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"freshet/feed/broadcast"
	"freshet/weburl"
)

func TestPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"http://a.test/":                              "http/a.test/index.html",
		"https://a.test:8443/b/c.html?x=1/2":          "https/a.test_8443/b/c.html?x=1%2F2",
		"http://a.test//b//":                          "http/a.test/%/b/%/index.html",
		"http://a.test/%2e%2e/b":                      "http/a.test/b",
		"http://a.test/..%2f..%2fb":                   "http/a.test/..%2f..%2fb",
		"http://a.test/" + strings.Repeat("x", 300):   "http/a.test/~",
		"http://a.test/" + strings.Repeat("x/", 1500): "http/a.test/~",
	} {
		u, err := weburl.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := placeOf(u)
		if err != nil || got != want && !(strings.HasSuffix(want, "~") && strings.HasPrefix(got, want)) {
			t.Errorf("%.60s: %.80q, %v: want %q", text, got, err, want)
		}
	}
}

// FuzzPlace holds that no URL makes a file outside of the mirror or among its notes.
func FuzzPlace(f *testing.F) {
	f.Add("http://a.test/../../etc/passwd")
	f.Add("http://a.test/%2e%2e/.freshet/pages.jsonl")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := weburl.Parse(text)
		if err != nil {
			return
		}
		name, err := placeOf(u)
		if err == nil && (!filepath.IsLocal(name) || !strings.HasPrefix(name, "http") || filepath.Clean(name) != name) {
			t.Errorf("%q: %q", text, name)
		}
	})
}

// TestHostileServer holds that no server makes a client touch a file outside of its mirror. The client keeps no body
// that does not match its digest.
func TestHostileServer(t *testing.T) {
	outside := t.TempDir()
	good := broadcast.Page{URL: "http://a.test/x/y", Body: []byte("evil")}
	copy(good.Digest[:], "\x4c\x14\x0a\xa2\x32") // not its digest
	for name, page := range map[string]broadcast.Page{
		"up":             {URL: "http://a.test/../../x", Kind: "gone"},
		"no scheme":      {URL: "../../x", Kind: "gone"},
		"a file":         {URL: "file:///etc/passwd", Kind: "gone"},
		"an odd host":    {URL: "http://../x", Kind: "gone"},
		"a wrong digest": good,
	} {
		t.Run(name, func(t *testing.T) {
			err := take(t, t.TempDir(), page)
			if err == nil || !strings.Contains(err.Error(), "damaged frame") {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("a link outwards", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, notes), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(dir, "http")); err != nil {
			t.Fatal(err)
		}
		page := broadcast.Page{URL: "http://a.test/x", Body: nil}
		copy(page.Digest[:], "\xda\x39\xa3\xee\x5e\x6b\x4b\x0d\x32\x55\xbf\xef\x95\x60\x18\x90\xaf\xd8\x07\x09")
		if err := take(t, dir, page); err == nil {
			t.Error("the mirror followed it")
		}
	})
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
}

// take sends a client a chunk of one page through a server, and returns the result.
func take(t *testing.T, dir string, page broadcast.Page) error {
	frame, err := broadcast.AppendFrame(nil, &broadcast.Message{Chunk: &broadcast.Chunk{Pages: []broadcast.Page{page}}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", broadcast.StreamType)
		_, _ = bytes.NewReader(frame).WriteTo(w)
	}))
	defer server.Close()
	c, err := New(Options{Addresses: []string{server.URL}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.connect(t.Context(), server.URL)
	return err
}
