package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"freshet/internal/sites"
)

// summary is the last line that crawl --json prints.
type summary struct {
	Pages          int64   `json:"pages"`
	Sites          int64   `json:"sites"`
	URLsDiscovered int64   `json:"urls_discovered"`
	URLsFailed     int64   `json:"urls_failed"`
	Bytes          int64   `json:"bytes"`
	DurationS      float64 `json:"duration_s"`
	PagesPerS      float64 `json:"pages_per_s"`
	StoppedBy      string  `json:"stopped_by"`
}

// crawlArgs returns the command line of a crawl of all that servers serve.
func crawlArgs(data string, servers []*sites.Server, more ...string) []string {
	args := []string{"crawl", "--data", data, "--json", "--quiet", "--listen", "", "--allow-private", "--pages-per-site", "100000"}
	for _, s := range servers {
		args = append(args, "--resolve", s.Resolve())
	}
	args = append(args, more...)
	for _, s := range servers {
		args = append(args, s.Site().Seed())
	}
	return args
}

// crawl crawls all that servers serve, to the end of the frontier.
func crawl(t testing.TB, data string, servers []*sites.Server, more ...string) summary {
	t.Helper()
	s := crawlUntilStopped(t, data, servers, more...)
	if s.StoppedBy != "frontier_empty" {
		t.Fatalf("the crawl was stopped by %q: %+v", s.StoppedBy, s)
	}
	return s
}

// stoppedByLimit is the exit code of a crawl that a limit stopped.
const stoppedByLimit = 4

// crawlUntilStopped crawls the sites of the servers, to the end or a limit.
func crawlUntilStopped(t testing.TB, data string, servers []*sites.Server, more ...string) summary {
	t.Helper()
	out, err := try(t, binary, crawlArgs(data, servers, more...)...)
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !(ok && exit.ExitCode() == stoppedByLimit) {
		t.Fatal(err)
	}
	out = bytes.TrimSpace(out)
	line := out[bytes.LastIndexByte(out, '\n')+1:]
	var s summary
	if err := json.Unmarshal(line, &s); err != nil {
		t.Fatalf("the summary %q: %v", line, err)
	}
	return s
}

// page is a line of pages --json.
type page struct {
	URL     string `json:"url"`
	Site    string `json:"site"`
	State   string `json:"state"`
	Status  int    `json:"status"`
	Digest  string `json:"digest"`
	Version int    `json:"version"`
	Depth   int    `json:"depth"`
	Reason  string `json:"reason"`
}

// pages returns the page table by URL. Each URL must be there once.
func pages(t testing.TB, data string) map[string]page {
	t.Helper()
	table := make(map[string]page)
	for p := range objects[page](t, run(t, binary, "pages", "--data", data, "--json")) {
		if _, twice := table[p.URL]; twice {
			t.Errorf("pages: %s is listed twice", p.URL)
		}
		table[p.URL] = p
	}
	return table
}

// objects yields the JSON objects of an output, one after another.
func objects[T any](t testing.TB, out []byte) iter.Seq[T] {
	return func(yield func(T) bool) {
		t.Helper()
		decoder := json.NewDecoder(bytes.NewReader(out))
		for {
			var v T
			if err := decoder.Decode(&v); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatalf("JSON after %d bytes: %v", decoder.InputOffset(), err)
			}
			if !yield(v) {
				return
			}
		}
	}
}

// walk returns what the independent walk over a site's files says. stored are the pages that a crawl must store: URL to
// SHA-256 of the bytes. others are the pages that it must find but not store: URL to status.
func walk(t testing.TB, site sites.Site) (stored map[string]string, others map[string]string) {
	t.Helper()
	walks.Lock()
	defer walks.Unlock()
	found, ok := walks.of[site.Root+site.Home]
	if !ok {
		file := filepath.Join(t.TempDir(), "others")
		found.stored = oracle(t, "walk.mjs", "--root", site.Root, "--origin", walkedOrigin, "--start", site.Home, "--others", file)
		found.others = read(t, file)
		walks.of[site.Root+site.Home] = found
	}
	stored, others = map[string]string{}, map[string]string{}
	at := func(url string) string { return "http://" + site.Host() + strings.TrimPrefix(url, walkedOrigin) }
	for url, digest := range columns(found.stored) {
		stored[at(url)] = digest
	}
	for status, url := range columns(found.others) {
		others[at(url)] = status
	}
	return stored, others
}

// walks has the walks so far, by the home file of the site. They do not depend on the host.
var walks = struct {
	sync.Mutex
	of map[string]walked
}{of: map[string]walked{}}

// walked is what walk.mjs prints.
type walked struct{ stored, others []byte }

const walkedOrigin = "http://walked.test"

// columns yields the two columns of lines separated by a tab.
func columns(out []byte) iter.Seq2[string, string] {
	return func(yield func(a, b string) bool) {
		lines := bufio.NewScanner(bytes.NewReader(out))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if a, b, _ := strings.Cut(lines.Text(), "\t"); !yield(a, b) {
				return
			}
		}
	}
}

// record is a line of warcread.mjs.
type record struct {
	File       string `json:"file"`
	Type       string `json:"type"`
	ID         string `json:"id"`
	Date       string `json:"date"`
	Target     string `json:"target"`
	Status     int    `json:"status"`
	RefersTo   string `json:"refers_to"`
	Profile    string `json:"profile"`
	Truncated  string `json:"truncated"`
	BodySHA256 string `json:"body_sha256"`
}

// records exports the WARC files of a data directory. It returns their names and the records that warcio reads in
// them.
func records(t testing.TB, data string) (files []string, all []record) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "warc")
	run(t, binary, "export", "--data", data, "--warc", dir)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("export --warc wrote %d files (%v)", len(files), err)
	}
	for r := range objects[record](t, oracle(t, "warcread.mjs", files...)) {
		all = append(all, r)
	}
	return files, all
}

// bodies returns, for each URL, the SHA-256 of the last whole body in the records. It resolves revisits to the records
// that they refer to.
func bodies(t testing.TB, all []record) map[string]string {
	t.Helper()
	byID, last := make(map[string]record), make(map[string]record)
	for _, r := range all {
		if r.Type != "response" && r.Type != "revisit" {
			continue
		}
		byID[r.ID] = r
		if r.Status == 200 || r.Status == 304 {
			if before, ok := last[r.Target]; !ok || before.Date <= r.Date {
				last[r.Target] = r
			}
		}
	}
	digests := make(map[string]string)
	for url, r := range last {
		if r.Type == "revisit" {
			original, ok := byID[r.RefersTo]
			if !ok || original.Type != "response" {
				t.Errorf("%s: the revisit %s refers to %q, which is no response", url, r.ID, r.RefersTo)
			}
			r = original
		}
		digests[url] = r.BodySHA256
	}
	return digests
}

// missing returns the keys of a that b lacks, sorted.
func missing[V, W any](a map[string]V, b map[string]W) []string {
	var keys []string
	for key := range a {
		if _, ok := b[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// some returns the first few of a list, for a message.
func some(list []string) []string { return list[:min(len(list), 8)] }
