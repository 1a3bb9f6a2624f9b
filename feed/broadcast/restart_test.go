package broadcast_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"freshet/feed/broadcast"
	"freshet/feed/mirror"
	"freshet/internal/crawled"
)

// TestServerKilled ends a server while it has subscribers. They continue with the next server, which has other chunks
// and only their cursors.
func TestServerKilled(t *testing.T) {
	w := crawled.New(t, 2, 6)
	var now atomic.Pointer[http.Handler]
	front := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(out, r) }))
	defer front.Close()
	begin := func(chunk int) (end func()) {
		feed, stop := startFeed(t, w, broadcast.Options{ChunkBytes: chunk})
		handler := feed.Handler()
		now.Store(&handler)
		return stop
	}
	end := begin(300)
	var all []*subscriber
	for range 3 {
		all = append(all, subscribe(t, mirror.Options{Addresses: []string{front.URL}, Dir: t.TempDir()}))
	}
	for round := range 3 {
		for _, s := range all {
			s.awaitEqual(w)
		}
		end()
		w.Set(crawled.URL(1, 3), fmt.Sprintf("text %d", round))
		w.Visit(crawled.URL(1, 3))
		end = begin(1000 * (round + 1))
	}
	for _, s := range all {
		s.awaitEqual(w)
		s.stop()
	}
	end()
}
