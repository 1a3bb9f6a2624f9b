package node

import (
	"errors"
	"strings"
	"testing"
	"time"

	"freshet/clock"
)

// TestReady holds that a crawl is ready from its first heartbeat on, until it hangs, fails or runs short of disk. A
// crawl that is not ready says why.
func TestReady(t *testing.T) {
	now := clock.Real().Now()
	for _, test := range []struct {
		name string
		set  func(*Node)
		want string // part of the reason; empty: ready
	}{
		{"before", func(*Node) {}, "not begun"},
		{"alive", func(e *Node) { e.alive.Store(now.UnixNano()) }, ""},
		{"hangs", func(e *Node) { e.alive.Store(now.Add(-time.Hour).UnixNano()) }, "heartbeat"},
		{"short", func(e *Node) { e.alive.Store(now.UnixNano()); e.short.Store(true) }, "disk is nearly full"},
		{"broken", func(e *Node) {
			e.alive.Store(now.UnixNano())
			e.err = errors.New("a table is damaged")
			close(e.failed)
		}, "a table is damaged"},
	} {
		e := &Node{opt: Options{Clock: clock.Real()}, failed: make(chan struct{})}
		test.set(e)
		switch err := e.Ready(); {
		case test.want == "" && err != nil, test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v: want %q", test.name, err, test.want)
		}
	}
}
