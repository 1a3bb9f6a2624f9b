package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"freshet/internal/sites"
	"freshet/store"
	"freshet/weburl"

	"github.com/google/go-cmp/cmp"
)

func TestWARCReaders(t *testing.T) {
	servers := serve(t, 65, new(sites.Log), sites.Options{}, install(t, "git-doc")...)
	data := filepath.Join(t.TempDir(), "data")
	crawl(t, data, servers, "--delay", "0s", "--warc-size", "1MiB")

	files, all := records(t, data)
	if len(files) < 2 {
		t.Errorf("%d WARC files, want several: the size of one was set to 1 MiB", len(files))
	}
	types := make(map[string]int)
	for _, r := range all {
		types[r.Type]++
	}
	t.Logf("%d files: records %v", len(files), types)
	if types["warcinfo"] != len(files) {
		t.Errorf("%d warcinfo records in %d files", types["warcinfo"], len(files))
	}
	if types["request"] != types["response"]+types["revisit"] {
		t.Errorf("%d requests for %d responses and %d revisits", types["request"], types["response"], types["revisit"])
	}
	judgeDigests(t, files)
	judgeIndex(t, run(t, binary, "export", "--data", data, "--cdxj", "-"), files)
}

// TestRevisits fetches a site three times. The first server serves it as it is. The second knows the validators, and
// some files have changed. The third has forgotten the validators. Other programs read both kinds of revisit records,
// and the test resolves each record to its bytes.
func TestRevisits(t *testing.T) {
	manual := install(t, "libglib2.0-doc")[0]
	site := sites.Site{Name: "gobject", Root: filepath.Join(t.TempDir(), "site"), Home: "/index.html"}
	if err := os.CopyFS(site.Root, os.DirFS(filepath.Join(manual.Root, "gobject"))); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	crawl(t, data, serve(t, 67, new(sites.Log), sites.Options{}, site), "--delay", "0s")
	stored, _ := walk(t, site)

	edit(t, site, "index.html", "pt01.html")
	planAll(t, data)
	crawl(t, data, serve(t, 68, new(sites.Log), sites.Options{}, site), "--delay", "0s")

	edit(t, site, "pt02.html")
	planAll(t, data)
	crawl(t, data, serve(t, 69, new(sites.Log), sites.Options{Forgetful: true}, site), "--delay", "0s")

	run(t, binary, "verify", "--data", data)
	files, all := records(t, data)
	judge(t, []sites.Site{site}, pages(t, data), bodies(t, all))
	judgeDigests(t, files)
	judgeIndex(t, run(t, binary, "export", "--data", data, "--cdxj", "-"), files)

	profiles := make(map[string]int)
	for _, r := range all {
		if r.Type == "revisit" {
			profiles[r.Profile[strings.LastIndexByte(r.Profile, '/')+1:]]++
		}
	}
	// A sixteenth of the second visits are audits. They ask for the whole page, without validators.
	audits := len(stored) - 2 - profiles["server-not-modified"]
	if audits < 0 || audits > len(stored)/5 || profiles["identical-payload-digest"] != len(stored)-1+audits {
		t.Errorf("revisit records of %d pages, 2 and then 1 of them changed: %v", len(stored), profiles)
	}
}

// edit adds a line to files of a site, and forgets the walk over them.
func edit(t testing.TB, site sites.Site, names ...string) {
	t.Helper()
	walks.Lock()
	delete(walks.of, site.Root+site.Home)
	walks.Unlock()
	for _, name := range names {
		name = filepath.Join(site.Root, name)
		text := append(read(t, name), "<p>One more line.</p>\n"...)
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// planAll makes every page that has a version due, as refreshing a page does.
func planAll(t testing.TB, data string) {
	t.Helper()
	s, err := store.Open(data, store.Options{Crawl: "main"})
	if err != nil {
		t.Fatal(err)
	}
	var plan []store.Record
	for p := range s.Partitions() {
		partition := weburl.Partition(p)
		for page, err := range s.Pages(partition) {
			if err != nil {
				t.Fatal(err)
			}
			if page.Versions > 0 {
				plan = append(plan, &store.Planned{Partition: partition, Fingerprint: page.Fingerprint, Due: 1})
			}
		}
	}
	if _, err := s.Apply(plan...); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// judgeDigests lets the separate program check every digest of the files.
func judgeDigests(t testing.TB, files []string) {
	t.Helper()
	checker := filepath.Join(filepath.Dir(binary), "digests")
	t.Logf("%s", run(t, checker, append([]string{"-require"}, files...)...))
}

// judgeIndex holds a CDXJ index against that of warcio: sorted, the same records, and equal in every
// field that both have.
func judgeIndex(t testing.TB, index []byte, files []string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(index), "\n"), "\n")
	if !sort.StringsAreSorted(lines) {
		t.Error("the CDXJ index is not sorted")
	}
	ours, theirs := entries(t, index), entries(t, oracle(t, "cdx.mjs", files...))
	if len(lines) != len(ours) {
		t.Errorf("%d lines name %d records", len(lines), len(ours))
	}
	if lost, extra := missing(theirs, ours), missing(ours, theirs); len(lost)+len(extra) > 0 {
		t.Errorf("the index lacks %d records %q and has %d more %q", len(lost), some(lost), len(extra), some(extra))
	}
	differ := 0
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		other, ok := theirs[key]
		if !ok {
			continue
		}
		both := func(entry, other map[string]any) map[string]any {
			shared := maps.Clone(entry)
			maps.DeleteFunc(shared, func(name string, _ any) bool { _, ok := other[name]; return !ok })
			return shared
		}
		if diff := cmp.Diff(both(other, ours[key]), both(ours[key], other)); diff != "" {
			if differ++; differ <= 3 {
				t.Errorf("%s: warcio's entry (-) and ours (+) differ:\n%s", key, diff)
			}
		}
	}
	t.Logf("%d index entries held against warcio's, %d differ", len(ours), differ)
}

// entries returns the lines of a CDXJ index by file and offset: the fields of each, and its key and
// timestamp as two more.
func entries(t testing.TB, index []byte) map[string]map[string]any {
	t.Helper()
	all := make(map[string]map[string]any)
	lines := bufio.NewScanner(bytes.NewReader(index))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, rest, _ := strings.Cut(lines.Text(), " ")
		timestamp, object, _ := strings.Cut(rest, " ")
		entry := map[string]any{"(key)": key, "(timestamp)": timestamp}
		if err := json.Unmarshal([]byte(object), &entry); err != nil {
			t.Fatalf("index line %q: %v", lines.Text(), err)
		}
		all[fmt.Sprint(entry["filename"], " ", entry["offset"])] = entry
	}
	return all
}
