package graph

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"freshet/importance"
	"freshet/sim/discovery"
)

const small = "freshet-graph 1\n# a comment\n\n" +
	"site\thttps://a.test\t0.31\t30000\n" +
	"page\thttps://a.test/\t12034\thttps://a.test/about https://b.test/ https://nowhere.test/ https://b.test/ https://a.test/style.css\n" +
	"page\thttps://a.test/about\t2100\thttps://a.test/ https://a.test/about\n" +
	"site\thttps://empty.test\t1\t1\n" +
	"site\thttps://b.test\t0.2\t0\n" +
	"page\thttps://b.test/\t899\t\n"

func TestRead(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(small))
	z.Close()
	for name, text := range map[string]string{"plain": small, "gzip": packed.String()} {
		t.Run(name, func(t *testing.T) {
			w, err := Read(strings.NewReader(text), "web")
			if err != nil {
				t.Fatal(err)
			}
			links := [][]uint32{}
			for page := range uint32(w.Pages()) {
				links = append(links, w.AppendLinks([]uint32{}, page))
			}
			if diff := cmp.Diff([][]uint32{{1, 2}, {0}, {}}, links); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
			if _, ok := w.Home(1); ok {
				t.Error("the empty site has a home")
			}
			home, ok := w.Home(2)
			if !ok || home != 2 || w.SiteOf(2) != 2 || w.Bytes(1) != 2100 || w.Server(0) != (discovery.Server{Latency: 0.31, Rate: 30000}) {
				t.Errorf("home %d of site %d, %v bytes, %+v", home, w.SiteOf(2), w.Bytes(1), w.Server(0))
			}
		})
	}
}

// TestCarried holds that Carried returns the links as recorded. A target that is not a page has its own number.
// Outside counts such a target if it is on the host of a page.
func TestCarried(t *testing.T) {
	w, err := Read(strings.NewReader(small), "web")
	if err != nil {
		t.Fatal(err)
	}
	for page, want := range [][]uint32{{1, 2, 3, 2, 4}, {0, 1}, {}} {
		if names, ok := w.Carried(uint32(page)); !ok || !slices.Equal(names, want) {
			t.Errorf("page %d carries %v, want %v", page, names, want)
		}
	}
	if w.Outside(0) != 1 || w.Outside(1) != 0 {
		t.Errorf("%d and %d links lead to what is beside the pages", w.Outside(0), w.Outside(1))
	}
	other := w.WithServers(1)
	if other.Server(0) == w.Server(0) || other.Server(0) != w.WithServers(1).Server(0) || other.Bytes(0) != w.Bytes(0) {
		t.Errorf("servers %+v and %+v", w.Server(0), other.Server(0))
	}
}

func TestReadFaults(t *testing.T) {
	const head = "freshet-graph 1\nsite\ta\t0\t0\n"
	for name, test := range map[string]struct{ text, want string }{
		"empty file":    {"", `graph: web:1: the file is empty: want "freshet-graph 1"`},
		"no header":     {"site\ta\t0\t0\n", `graph: web:1: "site\ta\t0\t0": want "freshet-graph 1"`},
		"newer":         {"freshet-graph 2\n", `graph: web:1: "freshet-graph 2": want "freshet-graph 1"`},
		"no page":       {head, "graph: web: the web is empty: want a page"},
		"no site":       {"freshet-graph 1\npage\tp\t1\t\n", "graph: web:2: a page before the first site"},
		"negative rate": {"freshet-graph 1\nsite\ta\t0\t-5\n", `graph: web:2: rate "-5": want a number from 0 to 1e+15`},
		"latency":       {"freshet-graph 1\nsite\ta\tNaN\t5\n", `graph: web:2: latency "NaN": want a number from 0 to 1e+06`},
		"bytes":         {head + "page\tp\tmany\t\n", `graph: web:3: bytes "many": want a number from 0 to 1e+12`},
		"site fields":   {"freshet-graph 1\nsite\ta\t0\n", "graph: web:2: a site of 2 fields: want name, latency and rate"},
		"page fields":   {head + "page\tp\t1\n", "graph: web:3: a page of 2 fields: want name, bytes and links"},
		"no name":       {head + "page\t\t1\t\n", "graph: web:3: a page without a name"},
		"twice":         {head + "page\tp\t1\t\npage\tp\t1\t\n", `graph: web:4: page "p" is there twice`},
		"else":          {head + "pages\n", `graph: web:3: "pages": want site, page, miss or a comment`},
		"torn gzip":     {"\x1f\x8b\x08", "graph: web: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Read(strings.NewReader(test.text), "web")
			if err == nil || err.Error() != test.want || w != nil {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
	t.Run("long line", func(t *testing.T) {
		_, err := Read(strings.NewReader(head+"#"+strings.Repeat("x", maxRecordLine)), "web")
		if err == nil || err.Error() != "graph: web:3: longer than 16777216 bytes" {
			t.Errorf("error %v", err)
		}
	})
}

// FuzzRead holds that a web that was read can be written and read again, and is the same.
func FuzzRead(f *testing.F) {
	f.Add(small)
	f.Add("freshet-graph 1\nsite\ta\t0\t0\npage\tp\t1\tp q p\n")
	f.Add("freshet-graph 1\nsite\ta\t0\t0\nmiss\tp\t1\tq\npage\tq\t1\tp\n")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := Read(strings.NewReader(text), "web")
		if err != nil {
			return
		}
		var once, twice bytes.Buffer
		if err := w.Write(&once); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(once.Bytes()), "again")
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Write(&twice); err != nil {
			t.Fatal(err)
		}
		for page := range uint32(w.Pages()) {
			if w.Outside(page) != again.Outside(page) {
				t.Errorf("%d links of page %d lead to what is beside the pages, and %d when read again", w.Outside(page), page, again.Outside(page))
			}
		}
		if !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("written %q, and again %q", once.String(), twice.String())
		}
	})
}

// TestMiss holds what URLs without a page mean to a crawl and to importance. Both follow a redirect, and treat an error
// as absent.
func TestMiss(t *testing.T) {
	const with = "freshet-graph 1\nsite\ta\t0\t0\n" +
		"miss\ta/\t10\ta/old\n" + // two redirects to a/1
		"miss\ta/old\t0\ta/1\n" +
		"page\ta/1\t100\ta/2 a/gone a/old\n" +
		"page\ta/2\t100\ta/ a/1 a/3\n" +
		"page\ta/3\t100\ta/ring\n" +
		"miss\ta/gone\t0\t\n" +
		"miss\ta/ring\t0\ta/ring2\n" +
		"miss\ta/ring2\t0\ta/ring\n"
	const without = "freshet-graph 1\nsite\ta\t0\t0\n" +
		"page\ta/1\t100\ta/2\n" +
		"page\ta/2\t100\ta/1 a/3\n" +
		"page\ta/3\t100\t\n"
	worth := func(text string) (*Stored, []float64) {
		w, err := Read(strings.NewReader(text), "web")
		if err != nil {
			t.Fatal(err)
		}
		worth, err := w.Worth(importance.RankOptions{Tolerance: 1e-14, Iterations: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return w, worth
	}
	w, got := worth(with)
	_, pages := worth(without)
	want := []float64{0, 0, pages[0], pages[1], pages[2], 0, 0, 0}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("worth (-want +got):\n%s", diff)
	}
	home, ok := w.Home(0)
	if out := w.AppendLinks(nil, home); home != 0 || !ok || !w.Miss(home) || w.Miss(2) || !slices.Equal(out, []uint32{1}) {
		t.Errorf("home %d, %t, links to %v", home, ok, out)
	}
}
