package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/gzip"

	"freshet/dashboard"
	"freshet/internal/remains"
	"freshet/store"
	"freshet/store/warc"
	"freshet/weburl"
)

// putPages makes a data directory with pages of http://site.test, each with its name as its text.
func putPages(t *testing.T, data string, names ...string) {
	t.Helper()
	put(t, data+".warc", captures(names...))
	freshet(t, 0, "import", "--data", data, data+".warc")
}

// captures returns a WARC file of such pages.
func captures(names ...string) string {
	var text bytes.Buffer
	for i, name := range names {
		block := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>%s", name)
		fmt.Fprintf(&text, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-%012d>\r\n"+
			"WARC-Date: 2026-01-01T00:00:%02dZ\r\nWARC-Target-URI: http://site.test/%s\r\nContent-Type: application/http;msgtype=response\r\n"+
			"Content-Length: %d\r\n\r\n%s\r\n\r\n", i+1, i, name, len(block), block)
	}
	return text.String()
}

// TestExportAfterKill exports a directory whose last WARC file a crash left open, with a torn record at its end. The
// copies and the archive can be read to their end, under the names that their indexes have.
func TestExportAfterKill(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	putPages(t, file("data"), "a", "b")
	files, err := filepath.Glob(file("data/warc/*.warc.gz"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole := read(t, files[0])
	put(t, files[0]+".open", whole+whole[:40])
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(files[0])
	freshet(t, 0, "export", "--data", file("data"), "--warc", file("copies"), "--cdxj", file("index"), "--wacz", file("site.wacz"))
	if copied := read(t, file("copies/"+name)); copied != whole {
		t.Errorf("the copy has %d bytes: want the %d of whole records", len(copied), len(whole))
	}
	if index := read(t, file("index")); strings.Count(index, name) != 2 {
		t.Errorf("the index is %s", index)
	}
	archive, err := zip.OpenReader(file("site.wacz"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	in, err := archive.Open("archive/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for r := warc.NewReader(in, name); ; {
		if _, err := r.Next(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestExportOfUnfinishedPurge exports a directory in which a crash interrupted a purge. No export has what was taken
// down, whatever it is asked for.
func TestExportOfUnfinishedPurge(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	putPages(t, file("data"), takenDown, "b")
	s, err := store.Open(file("data"), store.Options{Crawl: "main"})
	if err != nil {
		t.Fatal(err)
	}
	u, err := weburl.Parse("http://site.test/" + takenDown)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.BeginPurge(time.Unix(1, 0), store.Target{URL: u}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i, more := range [][]string{nil, {"--withdrawn"}} {
		out := fmt.Sprintf("out%d/", i)
		freshet(t, 0, slices.Concat([]string{"export", "--data", file("data"), "--warc", file(out), "--cdxj", file(out + "index"), "--wacz", file(out + "wacz")}, more)...)
		if found, err := remains.Find(vfs.Default, file(out), takenDown); err != nil || len(found) > 0 {
			t.Errorf("%q: what was taken down is in %q, %v", more, found, err)
		}
		if index := read(t, file(out+"index")); !strings.Contains(index, "http://site.test/b") {
			t.Errorf("%q: the index is %q", more, index)
		}
	}
}

// TestReadAfterNotedPurge reads a directory in which a crash interrupted a purge between its note and its first record.
// No export and no other command shows what was to be taken down.
func TestReadAfterNotedPurge(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	putPages(t, file("data"), takenDown, "b")
	if err := os.CopyFS(file("noted"), os.DirFS(file("data"))); err != nil {
		t.Fatal(err)
	}
	freshet(t, 0, "purge", "--data", file("data"), "http://site.test/"+takenDown)
	for i, args := range [][]string{
		{"export", "--warc", file("out"), "--cdxj", file("out/cdxj"), "--wacz", file("out/wacz")},
		{"export", "--text", file("out/text"), "--cc-index", file("out/cc"), "--sitemap", file("out/sitemap.xml")},
		{"pages", "--state", "live"},
		{"cat", "http://site.test/b"},
	} {
		data := file(fmt.Sprint("data", i))
		if err := errors.Join(os.CopyFS(data, os.DirFS(file("noted"))), os.MkdirAll(file("out"), 0o700)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"orders", "orders.copy"} {
			put(t, filepath.Join(data, name), read(t, filepath.Join(file("data"), name)))
		}
		said, _ := freshet(t, 0, slices.Concat(args, []string{"--data", data})...)
		found, err := remains.Find(vfs.Default, file("out"), takenDown)
		if err != nil || len(found) > 0 || strings.Contains(said, takenDown) {
			t.Errorf("%q: what was taken down is in %q, %v, %s", args, found, err, said)
		}
		if err := os.RemoveAll(file("out")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSignalsOfNow imports a page and a revisit whose header forbids a use. There is one version, and the history and
// the text say what holds now.
func TestSignalsOfNow(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	block := "HTTP/1.1 304 Not Modified\r\nX-Robots-Tag: noai\r\n\r\n"
	put(t, data+".warc", captures("a")+fmt.Sprintf("WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Date: 2026-01-02T00:00:00Z\r\n"+
		"WARC-Target-URI: http://site.test/a\r\nWARC-Profile: %s\r\nContent-Type: application/http;msgtype=response\r\n"+
		"Content-Length: %d\r\n\r\n%s\r\n\r\n", warc.ProfileNotModified, len(block), block))
	freshet(t, 0, "import", "--data", data, data+".warc")
	var history dashboard.History
	var text dashboard.Text
	for name, into := range map[string]any{"history": &history, "text": &text} {
		said, _ := freshet(t, 0, name, "--data", data, "--json", "http://site.test/a")
		if err := json.Unmarshal([]byte(said), into); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"header robots: noai"}
	if len(history.Versions) != 1 || !slices.Equal(history.Versions[0].Signals, want) || !slices.Equal(text.Signals, want) {
		t.Errorf("the versions are %+v, the signals of the text %q", history.Versions, text.Signals)
	}
}

// TestImportDamaged imports a WARC file that ends in the middle of a record, as a killed program leaves it, and others.
// Everything before the damage and in the other files is imported.
func TestImportDamaged(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	torn := captures("a", "b")
	put(t, file("torn.warc"), torn[:len(torn)-10])
	put(t, file("whole.warc"), captures("c", "d"))
	put(t, file("other.warc"), strings.Replace(captures("e"), "WARC-Type: response", "WARC-Type: resource", 1))
	_, said := freshet(t, 1, "import", "--data", file("data"), file("torn.warc"), file("whole.warc"), file("other.warc"))
	for _, want := range []string{"torn.warc is damaged: what comes before the damage is imported", "torn.warc: 1 visit imported",
		"whole.warc: 2 visits imported", "other.warc: 1 skipped: record of type resource"} {
		if !strings.Contains(said, want) {
			t.Errorf("the import says %q: want %q", said, want)
		}
	}
	pages, _ := freshet(t, 0, "pages", "--data", file("data"), "--state", "live")
	if n := strings.Count(pages, "http://site.test/"); n != 3 {
		t.Errorf("%d pages: %s", n, pages)
	}
}

// TestImportCutOff imports a compressed list that was cut off. Its last line is incomplete and is not imported.
func TestImportCutOff(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for i := range 20_000 {
		fmt.Fprintf(w, "http://site.test/%x/%08d\n", i*i, i)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "urls.gz"), string(packed.Bytes()[:packed.Len()/2]))
	data := filepath.Join(dir, "data")
	_, said := freshet(t, 1, "import", "--data", data, filepath.Join(dir, "urls.gz"))
	if !strings.Contains(said, "unexpected EOF") {
		t.Errorf("the import says %q", said)
	}
	pages, _ := freshet(t, 0, "pages", "--data", data, "--state", "pending")
	found := 0
	for url := range strings.FieldsSeq(pages) {
		if !strings.HasPrefix(url, "http://site.test/") {
			continue
		}
		found++
		if _, number, _ := strings.Cut(strings.TrimPrefix(url, "http://site.test/"), "/"); len(number) != 8 {
			t.Errorf("%s was in no line", url)
		}
	}
	if found < 1000 {
		t.Errorf("%d pages: want those of the whole lines", found)
	}
}
