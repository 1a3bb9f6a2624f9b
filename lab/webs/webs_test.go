package webs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"freshet/lab"
	"freshet/sim/discovery"
)

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.graph")
	if err := os.WriteFile(file, []byte("freshet-graph 1\nsite\ta\t1\t0\npage\tp\t1\tp q\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source := Source{Recorded: func(context.Context, string) (string, error) { return file, nil }}
	recorded, err := source.Open(t.Context(), file, 7)
	if err != nil {
		t.Fatal(err)
	}
	if got := recorded.Server(0); got != (discovery.Server{Latency: 1}) {
		t.Errorf("a file's server became %+v", got)
	}
	one, err := source.Open(t.Context(), "real-14", 0)
	if err != nil {
		t.Fatal(err)
	}
	two, err := source.Open(t.Context(), "real-14", 1)
	if err != nil {
		t.Fatal(err)
	}
	if one.Pages() != 1 || one.Server(0) == two.Server(0) || one.Server(0).Rate == 0 {
		t.Errorf("%d pages, servers %+v and %+v: want two draws", one.Pages(), one.Server(0), two.Server(0))
	}
	for _, name := range []string{"real-split", "california"} {
		if _, err := (Source{}).Open(t.Context(), name, 0); !errors.Is(err, lab.ErrNoData) {
			t.Errorf("%s without data: %v", name, err)
		}
	}
	var wrong *lab.ParameterError
	if _, err := source.Open(t.Context(), "nosuch", 0); !errors.As(err, &wrong) {
		t.Errorf("unknown name: %v", err)
	}
}

// TestOpenPublished opens a list of pages and links, by the name of a published graph and as a file: sizes and
// speeds are another draw with each seed.
func TestOpenPublished(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "gr0.California.gz"), []byte("n 0 http://a.test/\nn 1 http://b.test/\ne 0 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source := Source{Published: func(file string) (string, error) { return filepath.Join(dir, file), nil }}
	one, err := source.Open(t.Context(), "california", 0)
	if err != nil {
		t.Fatal(err)
	}
	two, err := source.Open(t.Context(), filepath.Join(dir, "gr0.California.gz"), 1)
	if err != nil {
		t.Fatal(err)
	}
	if one.Sites() != 2 || one.Bytes(0) == two.Bytes(0) || one.Server(0) == two.Server(0) {
		t.Errorf("%d sites, %v and %v bytes, servers %+v and %+v", one.Sites(), one.Bytes(0), two.Bytes(0), one.Server(0), two.Server(0))
	}
}
