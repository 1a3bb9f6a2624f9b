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
	if _, err := (Source{}).Open(t.Context(), "real-split", 0); !errors.Is(err, lab.ErrNoData) {
		t.Errorf("without recordings: %v", err)
	}
	var wrong *lab.ParameterError
	if _, err := source.Open(t.Context(), "nosuch", 0); !errors.As(err, &wrong) {
		t.Errorf("unknown name: %v", err)
	}
}
