package seen

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/weburl"
)

func TestRecentSettles(t *testing.T) {
	r := newRecent(64, false)
	for i, step := range []struct {
		depth uint16
		want  bool
	}{
		{3, false}, // new
		{3, true},
		{4, true},
		{2, false}, // a shorter way
		{2, true},
		{3, true},
	} {
		if got, _ := r.note(7, &weburl.Link{Depth: step.depth}); got != step.want {
			t.Errorf("step %d: depth %d settles: %v, want %v", i, step.depth, got, step.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { r.note(9, &weburl.Link{Depth: 1}) }); n != 0 {
		t.Errorf("note allocates %v times", n)
	}
}

// TestRecallHoldsCashBack restarts a test, with and without a rebuild. A URL hears of its new cash once that equals
// what it was told before. Recall keeps no more URLs than the cache could hold.
func TestRecallHoldsCashBack(t *testing.T) {
	for _, rebuilt := range []bool{false, true} {
		fs := vfs.NewMem()
		opt := Options{FS: fs, CacheEntries: 64, Cash: true}
		before, err := Open("seen", opt)
		if err != nil {
			t.Fatal(err)
		}
		offer(t, before, Mark{}, pages(1, 2)...)
		drain(t, before)
		if err := errors.Join(before.Keep(), before.Close()); err != nil {
			t.Fatal(err)
		}

		test := open(t, opt)
		test.Recall(1, 3)
		if rebuilt {
			if err := test.Rebuild(slices.Values(pages(1, 2)), nil); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{"2", "2", "1", "2", ""} {
			offer(t, test, Mark{}, pages(1, 2)...)
			if got := drain(t, test); got != want {
				t.Errorf("rebuilt %v, link %d: told %q, want %q", rebuilt, i+1, got, want)
			}
		}
		for n := range 1000 {
			test.Recall(weburl.Fingerprint(n+10), 1)
		}
		if n := len(test.cache.recalled); n > test.cache.policy.Slots() {
			t.Errorf("%d URLs recalled, with a cache of %d", n, test.cache.policy.Slots())
		}
	}
}

// TestCollect holds that a page's held-back cash is collected once. Then it counts as told.
func TestCollect(t *testing.T) {
	test := open(t, Options{CacheEntries: 64, Cash: true})
	page := pages(1)[0]
	page.Cash = 4
	offer(t, test, Mark{}, page) // told
	page.Cash = 3
	offer(t, test, Mark{}, page) // held back
	drain(t, test)
	for i, want := range []float64{3, 0} {
		if got := test.Collect(page); got != want {
			t.Errorf("%d: collected %v, want %v", i, got, want)
		}
	}
	page.Cash = 6 // less than the 7 that were told and collected
	offer(t, test, Mark{}, page)
	if got := drain(t, test); got != "" {
		t.Errorf("told %q of less than it has had", got)
	}
	if got := test.Collect(pages(2)[0]); got != 0 {
		t.Errorf("collected %v of an unknown page", got)
	}
	if got := open(t, Options{}).Collect(page); got != 0 {
		t.Errorf("collected %v where cash is of no account", got)
	}
}
