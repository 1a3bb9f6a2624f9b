package frontier

import (
	"testing"
	"time"

	"freshet/weburl"
)

// requests is a budget of that many requests. If none is left, Take says to try again in a minute.
type requests int

func (r *requests) Take(now time.Time) (time.Time, bool) {
	if *r == 0 {
		return now.Add(time.Minute), false
	}
	*r--
	return time.Time{}, true
}

func (r *requests) GiveBack() { *r++ }

// TestNextWithin holds that a budget pays for pages, and for nothing else.
func TestNextWithin(t *testing.T) {
	const site = weburl.Site("http://a.test")
	now := time.Unix(1_000_000_000, 0)
	var queues MemoryQueues
	f, err := New(Options{Ordering: Length{}, Delay: time.Second}, &queues)
	if err != nil {
		t.Fatal(err)
	}
	var entries []Entry
	for n := range 2 {
		entries = append(entries, Entry{Key: Key{Arrival: uint64(n)}, Fingerprint: weburl.Fingerprint(n + 1)})
		queues.Add(site, KindNew, entries[n])
	}
	f.Discovered(site, entries, now)
	budget := requests(1)
	next := func(ok bool, wake time.Duration, left requests) Page {
		t.Helper()
		p, at, got := f.NextWithin(&budget, now)
		want := time.Time{}
		if wake > 0 {
			want = now.Add(wake)
		}
		if got != ok || !at.Equal(want) || budget != left {
			t.Fatalf("ok %v, wake %v and %d requests left; want %v, %v and %d", got, at, budget, ok, want, left)
		}
		return p
	}
	robots := next(true, 0, 1)
	f.RobotsDone(site, now.Add(time.Hour), 0, now)
	f.Done(robots, Answer{End: now}, now)
	next(false, time.Second, 1)
	now = now.Add(time.Second)
	page := next(true, 0, 0)
	f.Done(page, Answer{End: now}, now)
	now = now.Add(time.Second)
	next(false, time.Minute, 0)
	if p, _, ok := f.NextWithin(nil, now); !ok || p.Kind != KindNew {
		t.Errorf("without a budget: %v, %v", p, ok)
	}
}
