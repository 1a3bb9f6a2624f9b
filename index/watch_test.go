package index

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"freshet/clock"
)

func openEmpty(t *testing.T) *Index {
	t.Helper()
	x, err := Open(Options{Dir: filepath.Join(t.TempDir(), "index"), Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// put writes pages that all have a text.
func put(t *testing.T, x *Index, text string, pages int) error {
	t.Helper()
	batch := x.bleve.NewBatch()
	for n := range pages {
		page, err := x.document(fmt.Sprintf("http://h.test/%d", n), entry{text, "title", "http://h.test", "en", time.Unix(1, 0).UTC()})
		if err == nil {
			err = batch.IndexAdvanced(page)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return x.write(batch)
}

// TestCrashOfBleve holds that a batch does not wait forever when one of Bleve's goroutines has panicked, that the error
// names a remedy, and that the index can be closed and searched then.
func TestCrashOfBleve(t *testing.T) {
	const name = "crash"
	for kind, where := range map[scorch.EventKind]string{scorch.EventKindPersisterProgress: "persister", scorch.EventKindMergerProgress: "merger"} {
		var armed atomic.Bool
		scorch.RegistryEventCallbacks[name] = func(e scorch.Event) bool {
			if armed.Load() && e.Kind == kind {
				panic("on purpose")
			}
			return true
		}
		watched["eventCallbackName"] = name
		x := openEmpty(t)
		armed.Store(true)
		var err error
		for n := 0; n < 1000 && err == nil; n++ {
			err = put(t, x, "some text", 1)
		}
		delete(watched, "eventCallbackName")
		if err == nil || !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), "on purpose") || !strings.Contains(err.Error(), "delete "+x.o.Dir) {
			t.Errorf("%s: %v", where, err)
		}
		if again := put(t, x, "some text", 1); again == nil {
			t.Errorf("%s: it writes again", where)
		}
		if err := x.Close(); err != nil {
			t.Errorf("%s: %v", where, err)
		}
		reopened, err := OpenToSearch(x.o)
		if err != nil {
			t.Fatal(where, err)
		}
		if err := reopened.Close(); err != nil {
			t.Error(where, err)
		}
	}
}
