package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCrawlHandsOn crawls with a folder as a sink. After the crawl the folder has the texts of the pages that allow
// the uses. A second crawl adds nothing.
func TestCrawlHandsOn(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<title>First</title><p>The first page. <a href="/noai">x</a> <a href="/rivers.pdf">y</a>`)
	})
	mux.HandleFunc("GET /rivers.pdf", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "../../text/pdf/testdata/rivers.pdf")
	})
	mux.HandleFunc("GET /noai", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<meta name=robots content=noai><p>Nobody may train with this.`)
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	dir := t.TempDir()
	folder := filepath.Join(dir, "handed")
	crawl := func() {
		freshet(t, 0, "crawl", "--quiet", "--data", filepath.Join(dir, "data"), "--allow-private", "--delay", "0s", "--listen=",
			"--sink", "file://"+folder, web.URL)
	}
	crawl()
	crawl()
	files, err := filepath.Glob(filepath.Join(folder, "changes-*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	all, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(all)) {
		var change struct {
			Kind, URL, Text string
			Position        uint64
			Deleted         bool
		}
		if err := json.Unmarshal([]byte(line), &change); err != nil {
			t.Fatal(err)
		}
		if change.Kind != "new" || change.Position == 0 {
			t.Errorf("a line is %s", line)
		}
		said[strings.TrimPrefix(change.URL, web.URL)] = fmt.Sprint(change.Deleted, change.Text)
	}
	if len(said) != 3 || said["/"] != "falseThe first page. x y" || !strings.HasPrefix(said["/rivers.pdf"], "falseHow rivers freeze\n") || said["/noai"] != "true" {
		t.Errorf("handed on is %q", said)
	}
}

func TestIsSink(t *testing.T) {
	for text, right := range map[string]bool{
		"opensearch+https://host:9200/pages": true, "elasticsearch+http://user:word@host/pages": true, "nats://host:4222/corpus.pages": true,
		"nats://host/corpus?credentials=/etc/nats.creds": true, "file:///var/lib/handed": true,
		"https://host/pages": false, "opensearch+https://host/": false, "opensearch+ftp://host/x": false, "nats://host": false, "file://host/x": false,
		"file:///": false, "opensearch+https://host/a/b": false, "": false,
	} {
		u, err := url.Parse(text)
		if err == nil {
			err = isSink(u)
		}
		if (err == nil) != right {
			t.Errorf("%q: %v", text, err)
		}
	}
}
