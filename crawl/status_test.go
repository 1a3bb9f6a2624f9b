package crawl

import (
	"testing"
	"time"
)

// TestNextOfShards holds that a crawl's next request is the earliest of its shards' next requests.
func TestNextOfShards(t *testing.T) {
	soon, later := time.Unix(10, 0), time.Unix(20, 0)
	for _, test := range []struct{ one, other, want time.Time }{
		{time.Time{}, later, later}, {later, time.Time{}, later}, {soon, later, soon}, {later, soon, soon},
	} {
		if got := (Status{Next: test.one}).And(Status{Next: test.other}).Next; !got.Equal(test.want) {
			t.Errorf("%v and %v: %v: want %v", test.one, test.other, got, test.want)
		}
	}
}
