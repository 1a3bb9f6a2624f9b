package feed

import "sync"

// A Bell wakes all goroutines that wait for new entries of the log. The zero value is ready; all methods may be
// called concurrently. Ring costs some nanoseconds if nobody waits: it may be called for every record.
type Bell struct {
	mu   sync.Mutex
	rung chan struct{} // closed by the next Ring; nil: nobody waits
}

// Ring wakes all that hold a channel of Wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}

// Wait returns a channel that the next Ring closes. Take it before you check for new entries: then none is missed in
// between.
func (b *Bell) Wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}
