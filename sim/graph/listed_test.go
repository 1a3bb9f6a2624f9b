package graph

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadListed reads one web in both forms of a list. The reader brings a site's pages together. The site's home is
// its root, or else its first page.
func TestReadListed(t *testing.T) {
	for name, text := range map[string]string{
		"lettered": "n 0 http://a.test/deep\nn 1 http://b.test/one\nn 2 HTTP://A.test\nn 3 http://b.test/two\n" +
			"e 0 1\ne 0 0\ne 0 1\ne 2 3\ne 3 2\n",
		"counted": "4 5\n1 http://a.test/deep\n2 http://b.test/one\n3 HTTP://A.test\n4 http://b.test/two\n" +
			"1 2\n1 1\n1 2\n3 4\n4 3\n",
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Open(strings.NewReader(text), "f", 1)
			if err != nil {
				t.Fatal(err)
			}
			type page struct {
				site           uint32
				links, carried []uint32
			}
			var got []page
			for p := range uint32(w.Pages()) {
				carried, _ := w.Carried(p)
				got = append(got, page{w.SiteOf(p), w.AppendLinks(nil, p), append([]uint32(nil), carried...)})
			}
			want := []page{ // a.test, a.test/deep, b.test/one, b.test/two
				{0, []uint32{3}, []uint32{3}},
				{0, []uint32{2}, []uint32{2, 1, 2}},
				{1, nil, nil},
				{1, []uint32{0}, []uint32{0}},
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(page{})); diff != "" {
				t.Errorf("pages (-want +got):\n%s", diff)
			}
			for site, want := range []uint32{0, 2} {
				if home, ok := w.Home(uint32(site)); !ok || home != want {
					t.Errorf("home of site %d is %d, %t; want %d", site, home, ok, want)
				}
			}
			same, err := Open(strings.NewReader(text), "f", 1)
			if err != nil {
				t.Fatal(err)
			}
			other, err := Open(strings.NewReader(text), "f", 2)
			if err != nil {
				t.Fatal(err)
			}
			if w.Bytes(0) < 300 || w.Bytes(0) != same.Bytes(0) || w.Server(1) != same.Server(1) ||
				w.Bytes(0) == other.Bytes(0) || w.Server(1) == other.Server(1) {
				t.Error("sizes and speeds are not those of the seed")
			}
		})
	}
}

func TestReadListedFaults(t *testing.T) {
	for text, want := range map[string]string{
		"n 0 http://a.test/\n\nn 1 nowhere\n": `graph: f:3: page "nowhere": `,
		"1 0\n1 mailto:a@b.test\n":            `graph: f:2: page "mailto:a@b.test": `,
		"n 0 http://a.test/\ne 0 1\n":         `graph: f:2: "1": want a number from 0 to 0`,
		"2 1\n1 http://a.test/\n":             "graph: f:2: cut short: 1 pages of 2",
		"e 0 1\n":                             `graph: f:1: "e 0 1": want "freshet-graph 1"`,
		"":                                    `graph: f:1: the file is empty: want "freshet-graph 1"`,
		"\x1f\x8b\x08\x00":                    "graph: f: unexpected EOF",
	} {
		if w, err := Open(strings.NewReader(text), "f", 1); err == nil || !strings.HasPrefix(err.Error(), want) || w != nil {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

// TestOpen opens a recorded web as Read does, whatever the seed.
func TestOpen(t *testing.T) {
	w, err := Open(strings.NewReader(small), "web", 7)
	if err != nil {
		t.Fatal(err)
	}
	if w.Pages() != 3 || w.Bytes(1) != 2100 || w.Server(1).Latency != 1 {
		t.Errorf("%d pages, %v bytes, %+v", w.Pages(), w.Bytes(1), w.Server(1))
	}
}

// TestPublishedWebs compares the published graphs with the known facts about their sites. The reader takes California's
// URLs as a browser does; some are "http:x.html" and "host:80".
func TestPublishedWebs(t *testing.T) {
	for name, want := range map[string]struct{ sites, pages, largest int }{
		"gr0.California.gz": {5868, 9664, 104},
		"hollins.dat.gz":    {4, 6012, 5086},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(filepath.Join("../../../shared/data", name))
			if err != nil {
				t.Skipf("no %s beside the module: %v", name, err)
			}
			defer f.Close()
			w, err := Open(f, name, 1)
			if err != nil {
				t.Fatal(err)
			}
			largest := 0
			for site := range uint32(w.Sites()) {
				first, end := w.Range(site)
				largest = max(largest, int(end-first))
			}
			if w.Sites() != want.sites || w.Pages() != want.pages || largest != want.largest {
				t.Errorf("%d sites, %d pages, %d of them on the largest site; want %+v", w.Sites(), w.Pages(), largest, want)
			}
		})
	}
}

// FuzzReadListed holds that if a list can be read, a crawl can walk its web.
func FuzzReadListed(f *testing.F) {
	f.Add("n 0 http://a.test/x\nn 1 http://a.test/\ne 0 1\ne 1 1\n")
	f.Add("2 1\n1 http://a.test/\n2 http://b.test/\n1 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := ReadListed(strings.NewReader(text), "f", 1)
		if err != nil {
			return
		}
		for site := range uint32(w.Sites()) {
			home, ok := w.Home(site)
			first, end := w.Range(site)
			if !ok || home != first || first >= end {
				t.Errorf("site %d has pages %d to %d and home %d", site, first, end, home)
			}
			for page := first; page < end; page++ {
				for _, to := range w.AppendLinks(nil, page) {
					if w.SiteOf(page) != site || int(to) >= w.Pages() || to == page {
						t.Errorf("page %d of site %d links to %d", page, w.SiteOf(page), to)
					}
				}
			}
		}
	})
}
