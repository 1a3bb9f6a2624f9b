package recorded

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"freshet/internal/sites"
)

// layOut makes a small site.
func layOut(t *testing.T) sites.Site {
	t.Helper()
	root := t.TempDir()
	for path, text := range map[string]string{
		"start.html":      `<a href="core/">core</a> <a href="core/index.html#a">again</a> <a href="#top">top</a>`,
		"core/index.html": `<a href="a%20b.html">a</a> <a href="../std/far/deep.html?q">q</a> <img src="logo.png">`,
		"core/a b.html":   `<a href="https://elsewhere.test/">out</a>`,
		"std/near.htm":    `<a href="/start.html">home</a> <a href="/start.html">home</a>`,
		"std/far/deep.html": `<a href="x.html">1</a> <a href="y.html">2</a> <a href="z.html">3</a>` +
			`<!-- <a href="w.html"> -->`,
		"std/notes.txt": `<a href="/start.html">`,
	} {
		file := filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("start.html", filepath.Join(root, "link.html")); err != nil {
		t.Fatal(err)
	}
	return sites.Site{Name: "git-doc", Root: root, Home: "/start.html"}
}

// lines returns what a web's file says, sizes left out.
func lines(t *testing.T, file string) (lines []string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if _, err := plain.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(text.String(), "http://git-doc.test", "")) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if fields[0] == "page" {
			fields = slices.Delete(fields, 2, 3)
		}
		lines = append(lines, strings.Join(fields, " "))
	}
	return lines
}

func TestWrite(t *testing.T) {
	site, other, dir := layOut(t), sites.Site{Name: "cmake-doc", Root: t.TempDir(), Home: "/index.html"}, t.TempDir()
	if err := os.WriteFile(filepath.Join(other.Root, "index.html"), []byte("no link"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), dir, []sites.Site{site, other}); err != nil {
		t.Fatal(err)
	}
	const (
		start = "page /start.html /core/index.html /core/index.html /start.html"
		index = "page /core/index.html /core/a%20b.html /std/far/deep.html?q /core/logo.png"
		ab    = "page /core/a%20b.html https://elsewhere.test/"
		near  = "page /std/near.htm /start.html /start.html"
		deep  = "page /std/far/deep.html /std/far/x.html /std/far/y.html /std/far/z.html"
		cmake = "page http://cmake-doc.test/index.html "
	)
	for name, want := range map[string][]string{
		Real14: {"freshet-graph 1", "site  0 0", start, ab, index, deep, near, "site http://cmake-doc.test 0 0", cmake},
		RealSplit: {"freshet-graph 1", "site / 0 0", start, "site /core 0 0", index, ab, "site /std 0 0", near, deep,
			"site http://cmake-doc.test/ 0 0", cmake},
	} {
		if diff := cmp.Diff(want, lines(t, filepath.Join(dir, name+".graph.gz"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v, %v: want the two webs alone", left, err)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FRESHET_REAL_SITES", dir)
	if _, err := File(t.Context(), "real-15"); err == nil || errors.Is(err, ErrAbsent) {
		t.Errorf("another name: %v", err)
	}
	if _, err := File(t.Context(), Real14); !errors.Is(err, ErrAbsent) {
		t.Errorf("no sites: %v", err)
	}
	want := filepath.Join(dir, "real-14.graph.gz")
	if err := os.WriteFile(want, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if file, err := File(t.Context(), Real14); err != nil || file != want {
		t.Errorf("made before: %s, %v", file, err)
	}
}
