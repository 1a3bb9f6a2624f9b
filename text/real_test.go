package text_test

import (
	"bufio"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"freshet/internal/sites"
	"freshet/text"
)

// listed is a site of testdata/real-sites.txt.
type listed struct {
	name   string
	refuse []string // what no page has
	pages  []listedPage
}

type listedPage struct {
	path string
	want []string
}

func readList(t *testing.T) (all []listed) {
	t.Helper()
	file, err := os.Open("testdata/real-sites.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "site":
			all = append(all, listed{name: rest})
		case "page":
			site := &all[len(all)-1]
			site.pages = append(site.pages, listedPage{path: rest})
		case "-":
			site := &all[len(all)-1]
			site.refuse = append(site.refuse, rest)
		case "+":
			pages := all[len(all)-1].pages
			page := &pages[len(pages)-1]
			page.want = append(page.want, rest)
		}
	}
	return all
}

// TestRealSites learns real sites, each from a sample of its pages. It reads fifty pages of which people have written
// down what they say, and a sample of the others: what navigation, heads and feet say is on at most one page of a
// hundred.
func TestRealSites(t *testing.T) {
	dir, err := sites.Directory()
	if err != nil {
		t.Fatal(err)
	}
	const learned, sampled = 48, 60
	read, wrong, listedPages := 0, 0, 0
	for _, site := range readList(t) {
		installed, err := sites.Install(t.Context(), dir, site.name)
		if errors.Is(err, sites.ErrUnavailable) && os.Getenv("CI") == "" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		root := os.DirFS(installed[0].Root)
		others := pagesOf(t, root, site)
		model := &text.Site{}
		for _, path := range others[:learned] {
			model.Learn(parse(t, load(t, root, path)))
		}
		said := func(path string) string {
			return strings.Join(strings.Fields(parse(t, load(t, root, path)).Main(model)), " ")
		}
		refused := func(path, said string) bool {
			for _, phrase := range site.refuse {
				if strings.Contains(said, phrase) {
					t.Logf("%s: %s has %q", site.name, path, phrase)
					return true
				}
			}
			return false
		}
		for _, page := range site.pages {
			listedPages++
			got := said(page.path)
			if refused(page.path, got) {
				t.Errorf("%s: %s has what is not its text", site.name, page.path)
			}
			for _, phrase := range page.want {
				if !strings.Contains(got, phrase) {
					t.Errorf("%s: %s lacks %q", site.name, page.path, phrase)
				}
			}
		}
		for _, path := range others[learned:min(len(others), learned+sampled)] {
			if read++; refused(path, said(path)) {
				wrong++
			}
		}
	}
	t.Logf("%d pages listed; of %d others, %d have what is not their text", listedPages, read, wrong)
	if listedPages != 50 || wrong*100 > read {
		t.Errorf("%d pages listed; of %d others, %d have what is not their text", listedPages, read, wrong)
	}
}

// pagesOf returns the pages of a site that are not listed, in a random order that is always the same.
func pagesOf(t *testing.T, root fs.FS, site listed) (paths []string) {
	t.Helper()
	err := fs.WalkDir(root, ".", func(path string, _ fs.DirEntry, err error) error {
		mine := slices.ContainsFunc(site.pages, func(p listedPage) bool { return p.path == path })
		if err == nil && filepath.Ext(path) == ".html" && !mine {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	order := rand.New(rand.NewPCG(28, 2))
	order.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	return paths
}

func load(t *testing.T, root fs.FS, path string) string {
	t.Helper()
	document, err := fs.ReadFile(root, path)
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}
