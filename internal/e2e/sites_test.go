package e2e

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"freshet/internal/sites"
)

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// realSites installs three real sites, or all with FRESHET_ALL_SITES.
func realSites(t *testing.T) []sites.Site {
	t.Helper()
	if os.Getenv("FRESHET_ALL_SITES") != "" {
		return install(t, sites.Names()...)
	}
	return install(t, "git-doc", "libglib2.0-doc", "sqlite3-doc")
}

func TestRealSites(t *testing.T) {
	installed := realSites(t)
	servers := serve(t, 64, new(sites.Log), sites.Options{}, installed...)
	data := filepath.Join(t.TempDir(), "data")

	args := []string{"--delay", "0s"}
	if file := os.Getenv("FRESHET_RECORD_TRACE"); file != "" { // for freshet lab run broder --trace
		args = append(args, "--record-trace", file)
	}
	s := crawl(t, data, servers, args...)
	t.Logf("%d pages of %d sites, %d URLs, %.1f MB in %.1f s: %.0f pages/s", s.Pages, s.Sites, s.URLsDiscovered, float64(s.Bytes)/1e6, s.DurationS, s.PagesPerS)
	run(t, binary, "verify", "--data", data)

	table := pages(t, data)
	_, all := records(t, data)
	want := judge(t, installed, table, bodies(t, all))
	compareCat(t, data, want)
}

// judge compares the pages and bodies of a crawl with the independent walk over the files of its sites. It returns the
// pages of the walk.
func judge(t testing.TB, installed []sites.Site, table map[string]page, bodies map[string]string) map[string]string {
	t.Helper()
	stored := make(map[string]page)
	for url, p := range table {
		if p.Version > 0 {
			stored[url] = p
		}
	}
	want, others := make(map[string]string), make(map[string]string)
	for _, site := range installed {
		pages, rest := walk(t, site)
		maps.Copy(want, pages)
		maps.Copy(others, rest)
	}
	if lost := missing(want, stored); len(lost) > 0 {
		t.Errorf("%d of %d pages are not stored: %q", len(lost), len(want), some(lost))
		for _, url := range some(lost) {
			t.Logf("%s: %+v", url, table[url])
		}
	}
	if extra := missing(stored, want); len(extra) > 0 {
		t.Errorf("%d pages are stored that no walk finds: %q", len(extra), some(extra))
	}
	if unread := missing(want, bodies); len(unread) > 0 {
		t.Errorf("%d pages have no body in the WARC files: %q", len(unread), some(unread))
	}
	differ := 0
	for _, url := range slices.Sorted(maps.Keys(want)) {
		if got, ok := bodies[url]; ok && got != want[url] {
			if differ++; differ < 8 {
				t.Errorf("%s: the body's SHA-256 is %s, the file's %s", url, got, want[url])
			}
		}
	}
	for _, url := range slices.Sorted(maps.Keys(others)) {
		p, known := table[url]
		if want, _ := strconv.Atoi(others[url]); !known || p.Status != want {
			t.Errorf("%s: known %t with status %d, want a visit answered %s", url, known, p.Status, others[url])
		}
	}
	t.Logf("%d pages and %d other answers held against the walk; %d bodies differ", len(want), len(others), differ)
	return want
}

// compareCat compares the output of cat for some pages, spread over the list, with the files.
func compareCat(t testing.TB, data string, want map[string]string) {
	t.Helper()
	urls := slices.Sorted(maps.Keys(want))
	const samples = 12
	for i := range samples {
		url := urls[i*(len(urls)-1)/(samples-1)]
		body := run(t, binary, "cat", "--data", data, url)
		if got := fmt.Sprintf("%x", sha256.Sum256(body)); got != want[url] {
			t.Errorf("cat %s: SHA-256 of %d bytes is %s, the file's %s", url, len(body), got, want[url])
		}
	}
}
