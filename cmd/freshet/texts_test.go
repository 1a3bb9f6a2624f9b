package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/zstd"

	"freshet/feed/sink"
	"freshet/store/warc"
)

// TestTextExport exports the texts of a site on which some pages disallow some uses. Then pages change, end and
// disallow uses. The first export with the export of changes must equal a new whole export.
func TestTextExport(t *testing.T) {
	var later atomic.Bool
	page := func(w http.ResponseWriter, r *http.Request, head, words string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<html lang=en><head><title>Page %s</title>%s</head><body><p>%s</p><nav>", r.URL.Path, head, strings.Repeat(words+" ", 12))
		for _, name := range []string{"plain", "noai", "usage", "mined", "filed/a", "signal/a", "twin", "ends"} {
			fmt.Fprintf(w, "<a href=/%s>x</a> ", name)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		page(w, r, "<link rel=license href=/terms>", "The first page tells what the others are about.")
	})
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "User-agent: *\nAllow: /\nDisallow: /terms\nContent-Signal: /signal/ search=yes, ai-train=no\n")
	})
	asked := map[string]int{}
	mux.HandleFunc("GET /.well-known/tdmrep.json", func(w http.ResponseWriter, _ *http.Request) {
		asked["tdmrep.json"]++
		fmt.Fprint(w, `[{"location": "/filed/", "tdm-reservation": 1, "tdm-policy": "https://site.test/terms"}]`)
	})
	mux.HandleFunc("GET /filed/a", func(w http.ResponseWriter, r *http.Request) {
		page(w, r, "", "The site's tdmrep.json reserves the mining of this.")
	})
	mux.HandleFunc("GET /plain", func(w http.ResponseWriter, r *http.Request) {
		words := "A plain page says the same for long, and then something else."
		if later.Load() {
			words = "Now it says something else, as was to be expected of it."
		}
		page(w, r, "", words)
	})
	mux.HandleFunc("GET /twin", func(w http.ResponseWriter, r *http.Request) {
		head := ""
		if later.Load() {
			head = `<meta name=robots content=noai>`
		}
		page(w, r, head, "The first page tells what the others are about.")
	})
	mux.HandleFunc("GET /noai", func(w http.ResponseWriter, r *http.Request) {
		page(w, r, `<meta name=robots content=noai>`, "Nobody may train with this.")
	})
	mux.HandleFunc("GET /usage", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Usage", "train-ai=n")
		page(w, r, "", "A header says that nobody may train with this.")
	})
	mux.HandleFunc("GET /mined", func(w http.ResponseWriter, r *http.Request) {
		page(w, r, `<meta name="tdm-reservation" content="1">`, "Mining is reserved here.")
	})
	mux.HandleFunc("GET /signal/a", func(w http.ResponseWriter, r *http.Request) {
		page(w, r, "", "The site's robots.txt says that nobody may train with this.")
	})
	mux.HandleFunc("GET /ends", func(w http.ResponseWriter, r *http.Request) {
		if later.Load() {
			http.Error(w, "gone", http.StatusGone)
			return
		}
		page(w, r, "", "This page is going to be gone before long, and has one text.")
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	put(t, file("freshet.yaml"), fmt.Sprintf("data: %s\nseeds: %s\nresolve: site.test=%s\nallow-private: true\ndelay: 0s\nretries: 0\n"+
		"listen: \"\"\ncontact: mailto:a@b.test\n", file("data"), file("seeds.txt"), strings.TrimPrefix(web.URL, "http://")))
	put(t, file("seeds.txt"), "http://site.test/\n")
	config, data := "--config="+file("freshet.yaml"), "--data="+file("data")
	freshet(t, 0, "crawl", config, "--quiet")
	export := func(name string, args ...string) (lines map[string]sink.Document, cursor string) {
		printed, _ := freshet(t, 0, append([]string{"export", data, "--text", file(name)}, args...)...)
		return textLines(t, file(name)), strings.TrimSpace(printed)
	}
	paths := func(lines map[string]sink.Document) (paths []string) {
		for _, url := range slices.Sorted(maps.Keys(lines)) {
			paths = append(paths, strings.TrimPrefix(url, "http://site.test"))
		}
		return paths
	}

	first, cursor := export("first.jsonl.zst")
	if got, want := paths(first), []string{"/", "/ends", "/plain", "/twin"}; !slices.Equal(got, want) {
		t.Errorf("by default there are %q, want %q", got, want)
	}
	home := first["http://site.test/"]
	if home.Title != "Page /" || !strings.Contains(home.Text, "what the others are about") || home.Language != "en" || home.Digest == "" ||
		!slices.Equal(home.Licenses, []string{"http://site.test/terms"}) || home.Time.IsZero() {
		t.Errorf("the first page is %+v", home)
	}
	if twin := first["http://site.test/twin"]; twin.Cluster == "" || twin.Cluster != home.Cluster || first["http://site.test/plain"].Cluster != "" {
		t.Errorf("pages that say the same are in the clusters %q and %q", home.Cluster, twin.Cluster)
	}
	if twin := first["http://site.test/twin"]; home.Rank <= 0 || twin.Rank <= 0 || twin.Rank == 1 && home.Rank == 1 {
		t.Errorf("the ranks of two pages are %v and %v", home.Rank, twin.Rank)
	}
	if lines, _ := export("search.jsonl", "--uses", "search"); len(lines) != 9 || lines["http://site.test/signal/a"].Signals[0] != "robots.txt content-signal: /signal/ search=yes, ai-train=no" ||
		!slices.Equal(lines["http://site.test/filed/a"].Signals, []string{"tdmrep.json tdm-reservation: 1", "tdmrep.json tdm-policy: https://site.test/terms"}) {
		t.Errorf("for a search there are %q", paths(lines))
	}
	if lines, _ := export("input.jsonl", "--uses", "ai-input"); !slices.Equal(paths(lines), []string{"/", "/ends", "/plain", "/signal/a", "/twin", "/usage"}) {
		t.Errorf("for the input of models there are %q", paths(lines))
	}
	if lines, _ := export("all.jsonl", "--uses", ""); len(lines) != 9 {
		t.Errorf("for no use there are %q", paths(lines))
	}
	freshet(t, 2, "export", data, "--text", file("x"), "--uses", "translate")
	freshet(t, 2, "export", data, "--text", file("x"), "--since", "yesterday")

	later.Store(true)
	daemon := start(t, "serve", config)
	daemon.awaitLine("serving")
	for _, name := range []string{"plain", "twin", "ends"} {
		freshet(t, 0, "recrawl", config, "http://site.test/"+name)
	}
	await(t, "a page is gone, and another disallows", func() bool {
		gone, _ := freshet(t, 0, "pages", config, "--state", "gone")
		said, _ := freshet(t, 0, "history", config, "--json", "http://site.test/twin")
		plain, _ := freshet(t, 0, "text", config, "http://site.test/plain")
		if strings.Contains(gone, "/ends") {
			return strings.Contains(said, `"meta robots: noai"`) && strings.Contains(plain, "Now it says")
		}
		freshet(t, 0, "recrawl", config, "http://site.test/ends") // gone is what is missing twice
		return false
	})
	daemon.signal(syscall.SIGTERM, "finishing")
	daemon.end()

	changes, _ := export("changes.jsonl", "--since", cursor)
	if got, want := paths(changes), []string{"/ends", "/plain", "/twin"}; !slices.Equal(got, want) {
		t.Errorf("since then %q have changed, want %q", got, want)
	}
	_, told := freshet(t, 0, "export", data, "--text", file("again.jsonl"), "--since", cursor)
	if want := "again.jsonl: 1 page, 1 deleted; left out: 1 page with a disallowed use"; !strings.Contains(told, want) {
		t.Errorf("it says %q, want %q", told, want)
	}
	for url, line := range changes {
		if line.Deleted {
			delete(first, url)
		} else {
			first[url] = line
		}
	}
	whole, _ := export("whole.jsonl")
	if !slices.Equal(paths(first), paths(whole)) {
		t.Errorf("brought up to date it has %q, a whole export %q", paths(first), paths(whole))
	}
	for url, line := range whole {
		if first[url].Text != line.Text || first[url].Version != line.Version {
			t.Errorf("%s: brought up to date %+v, whole %+v", url, first[url], line)
		}
	}
	if asked["tdmrep.json"] != 1 {
		t.Errorf("tdmrep.json was asked for %d times in two runs", asked["tdmrep.json"])
	}
	freshet(t, 0, "export", data, "--markdown", file("marked.jsonl"))
	if line := textLines(t, file("marked.jsonl"))["http://site.test/plain"]; line.Text != "" || !strings.Contains(line.Markdown, "Now it says") {
		t.Errorf("as Markdown: %+v", line)
	}
}

// TestExportsInDuckDB holds that DuckDB reads the Parquet files and texts of an export, with the names and types that
// the docs give, and that an index row leads to the bytes that it names.
func TestExportsInDuckDB(t *testing.T) {
	if _, err := os.Stat("../../internal/oracle/duckdb/node_modules"); err != nil {
		t.Skip("no DuckDB: make setup installs it")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<html lang=en><title>The first</title><p>The first page, of some words. <a href="/two?a=1">Two</a>`)
	})
	mux.HandleFunc("GET /two", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, "The second page, of as many words.")
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	dir := t.TempDir()
	data := "--data=" + filepath.Join(dir, "data")
	freshet(t, 0, "crawl", "--quiet", data, "--allow-private", "--delay", "0s", "--listen=", "--contact", "mailto:a@b.test",
		"--resolve", "www.site.test="+strings.TrimPrefix(web.URL, "http://"), "http://www.site.test/")
	file := func(name string) string { return filepath.Join(dir, name) }
	freshet(t, 0, "export", data, "--parquet", file("pages.parquet"), "--cc-index", file("index.parquet"))
	freshet(t, 0, "export", data, "--text", file("texts.parquet"))
	freshet(t, 0, "export", data, "--text", file("texts.jsonl.zst"))

	query := func(sql string) (rows []map[string]any) {
		t.Helper()
		answer := exec.Command("node", "query.mjs", sql)
		answer.Dir, answer.Stderr = "../../internal/oracle/duckdb", os.Stderr
		printed, err := answer.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(printed)) {
			row := map[string]any{}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		return rows
	}
	index := query("select * from '" + file("index.parquet") + "' order by url_surtkey")
	if len(index) != 2 {
		t.Fatalf("the index has %d rows", len(index))
	}
	two := index[1]
	for column, want := range map[string]any{
		"url_surtkey": "test,site)/two?a=1", "url": "http://www.site.test/two?a=1", "url_host_name": "www.site.test", "url_host_tld": "test",
		"url_host_registered_domain": "site.test", "url_protocol": "http", "url_port": nil, "url_path": "/two", "url_query": "a=1",
		"fetch_status": 200.0, "content_mime_type": "text/plain",
	} {
		if two[column] != want {
			t.Errorf("%s is %v, want %v", column, two[column], want)
		}
	}
	number := func(column string) int64 {
		n, err := strconv.ParseInt(fmt.Sprint(two[column]), 10, 64)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	capture, err := warc.ReadAt(vfs.Default, file("data/warc"),
		warc.Pointer{File: fmt.Sprint(two["warc_filename"]), Offset: number("warc_record_offset"), Length: number("warc_record_length")})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(capture.Block), "The second page, of as many words.") || "sha1:"+fmt.Sprint(two["content_digest"]) != capture.PayloadDigest.String() {
		t.Errorf("the index leads to %q", capture.Block)
	}
	const texts = "select url, title, text, language, digest, version, deleted from '%s' order by url"
	packed, lines := query(fmt.Sprintf(texts, file("texts.parquet"))), query(strings.ReplaceAll(fmt.Sprintf(texts, file("texts.jsonl.zst")), ", deleted", ""))
	if len(packed) != 2 || len(lines) != 2 || packed[0]["text"] != "The first page, of some words. Two" || packed[0]["deleted"] != false {
		t.Errorf("texts are %v and %v", packed, lines)
	}
	for i := range lines {
		for _, column := range []string{"url", "text", "digest"} {
			if packed[i][column] != lines[i][column] {
				t.Errorf("%s is %v in Parquet, %v in JSON", column, packed[i][column], lines[i][column])
			}
		}
	}
	if rows := query("select count(*) n from '" + file("pages.parquet") + "' where state = 'live' and last_fetched > timestamp '2020-01-01'"); fmt.Sprint(rows[0]["n"]) != "2" {
		t.Errorf("the page table has %v live pages", rows)
	}
}

// textLines reads an export of texts.
func textLines(t *testing.T, name string) map[string]sink.Document {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(name, ".zst") {
		packed, err := zstd.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		in = packed
	}
	lines := map[string]sink.Document{}
	for scanner := bufio.NewScanner(in); scanner.Scan(); {
		var line sink.Document
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if _, twice := lines[line.URL]; twice {
			t.Errorf("%s is there twice", line.URL)
		}
		lines[line.URL] = line
	}
	return lines
}

// crawledPage crawls a page of that content type and body. It returns the page's address and the data directory.
func crawledPage(t *testing.T, contentType, body string) (page, dir string) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(web.Close)
	page, dir = web.URL+"/page", filepath.Join(t.TempDir(), "data")
	freshet(t, 0, "crawl", page, "--data", dir, "--allow-private", "--delay", "0s", "--listen", "", "--quiet")
	return page, dir
}

// TestDamagedPDF holds that a page that claims to be a PDF has no text, which is no fault of the server.
func TestDamagedPDF(t *testing.T) {
	page, dir := crawledPage(t, "application/pdf", "%PDF-1.7 and garbage")
	_, said := freshet(t, 1, "text", "--data", dir, page)
	want := "freshet: not found: no text: " + page + ": unreadable: it is no PDF, or damaged (freshet cat writes its bytes)\n"
	if said != want {
		t.Errorf("%q: want %q", said, want)
	}
}

// TestHistoryIsHarmless holds that a server cannot steer the terminal of whoever reads a page's history.
func TestHistoryIsHarmless(t *testing.T) {
	page, dir := crawledPage(t, "text/html; a=\x1b]0;b\x07", "<p>words")
	said, _ := freshet(t, 0, "history", "--data", dir, page)
	if strings.ContainsAny(said, "\x1b\x07") || !strings.Contains(said, "text/html; a=\uFFFD]0;b\uFFFD") {
		t.Errorf("%q", said)
	}
}
