package node

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"freshet/clock"
)

// TestConsumer holds how long a consumer rests after a second: as long again while workers starve, until they have
// starved for half of the time, and 24 times as long while they don't.
func TestConsumer(t *testing.T) {
	for _, c := range []struct {
		name    string
		starves time.Duration // after which workers starve; below 0: never
		rests   time.Duration
	}{{"hosts limit the crawl", 0, time.Second}, {"then they do", 3 * time.Second, 6 * time.Second}, {"processors do", -1, 24 * time.Second}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &Node{opt: Options{Clock: clock.Real(), Connections: 8}}
				var err error
				if n.fleet, err = newGate(n.opt, 1); err != nil {
					t.Fatal(err)
				}
				if c.starves != 0 {
					n.fleet.started()
					n.fleet.fetched()
				}
				if c.starves > 0 {
					time.AfterFunc(c.starves, n.fleet.processed)
				}
				began := time.Now()
				n.Consumer("index")(t.Context(), time.Second, 7)
				if rests := time.Since(began); rests != c.rests {
					t.Errorf("a rest of %v, want %v", rests, c.rests)
				}
				if seen := n.fleet.status().Consumers; !slices.Equal(seen, []ConsumerStatus{{"index", 7}}) {
					t.Errorf("the consumers are %v", seen)
				}
			})
		})
	}
}
