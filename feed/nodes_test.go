package feed_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/feed"
	"freshet/internal/crawled"
	"freshet/store"
)

// TestPartialNode holds that a node without some partitions refuses the change feed: its changes are not the crawl's.
func TestPartialNode(t *testing.T) {
	s, err := store.Open("some", store.Options{FS: vfs.NewMem(), Crawl: "main", Partitions: 2, Log: new(crawled.Groups), Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	changes := &feed.Changes{Store: s, Bell: new(feed.Bell), Clock: clock.Real(), Done: make(chan struct{})}
	answer := httptest.NewRecorder()
	changes.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	if answer.Code != http.StatusMisdirectedRequest {
		t.Errorf("%d: %s", answer.Code, answer.Body)
	}
}

// TestCursorOfAnotherNode holds that a cursor of one node of a cluster is good on another. The other node waits until
// it has followed as far. After a while it says that it has not.
func TestCursorOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner, other, l := crawled.TwoNodes(t, 2)
		reader, err := feed.NewReader(owner, "", "")
		if err != nil {
			t.Fatal(err)
		}
		since := reader.Cursor().String()
		if _, err := feed.NewReader(other, since, ""); !errors.Is(err, feed.ErrNotYet) {
			t.Fatalf("a node that has not followed: %v", err)
		}
		changes := &feed.Changes{Store: other, Bell: new(feed.Bell), Clock: clock.Real(), Done: make(chan struct{})}
		ask := func() int {
			w := httptest.NewRecorder()
			changes.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?follow=false&since="+since, nil))
			return w.Code
		}
		begun := time.Now()
		if code := ask(); code != http.StatusServiceUnavailable || time.Since(begun) > time.Minute {
			t.Errorf("status %d after %s", code, time.Since(begun))
		}
		go func() {
			time.Sleep(3 * time.Second)
			for _, g := range *l {
				if _, err := other.Follow(g.Partition, g); err != nil {
					t.Error(err)
				}
			}
		}()
		if code := ask(); code != http.StatusOK {
			t.Errorf("status %d when the node has followed", code)
		}
	})
}
