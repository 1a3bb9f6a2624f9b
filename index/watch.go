package index

import (
	"errors"
	"fmt"
	"sync"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
)

// Bleve writes and merges in goroutines of its own. If one of them panics, Bleve ends it and calls a callback. After
// that a batch waits forever.

// watched is the configuration with which an index is opened for writing: it names the callback.
var watched = func() map[string]any {
	const name = "freshet"
	scorch.RegistryAsyncErrorCallbacks[name] = func(err error, path string) {
		if to, ok := watches.Load(path); ok && errors.Is(err, scorch.ErrAsyncPanic) {
			to.(*watch).end(err)
		}
	}
	return map[string]any{"asyncErrorCallbackName": name}
}()

// watches has the watch of each index that is open for writing, by the folder of Bleve's files.
var watches sync.Map

// A watch reports whether a goroutine of Bleve has ended.
type watch struct {
	once  sync.Once
	ended chan struct{}
	err   error // once ended is closed
}

func (w *watch) end(err error) {
	w.once.Do(func() {
		w.err = err
		close(w.ended)
	})
}

// watchOf begins to watch the index in a folder.
func watchOf(dir string) *watch {
	w := &watch{ended: make(chan struct{})}
	watches.Store(filesOf(dir), w)
	return w
}

// filesOf returns the folder of Bleve's files of the index in a folder.
func filesOf(dir string) string { return dir + "/store" }

// crashed returns why Bleve can write no more, or nil.
func (x *Index) crashed() error {
	select {
	case <-x.watch.ended:
		return fmt.Errorf("index: Bleve crashed: %w: start again; if it crashes again, delete %s, and the next start rebuilds it", x.watch.err, x.o.Dir)
	default:
		return nil
	}
}

// write writes a batch. If Bleve crashes, the goroutine that waits for it stays.
func (x *Index) write(batch *bleve.Batch) error {
	if err := x.crashed(); err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				written <- crash(cause)
			}
		}()
		written <- x.bleve.Batch(batch)
	}()
	select {
	case err := <-written:
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		return nil
	case <-x.watch.ended:
		return x.crashed()
	}
}

// shut closes Bleve. After a crash a batch holds the lock that Bleve's Close needs, so it closes what lies below.
func (x *Index) shut() error {
	if x.watch == nil {
		return x.bleve.Close()
	}
	defer watches.Delete(filesOf(x.o.Dir))
	if x.crashed() == nil {
		return x.bleve.Close()
	}
	below, err := x.bleve.Advanced()
	if err != nil {
		return err
	}
	return below.Close()
}
