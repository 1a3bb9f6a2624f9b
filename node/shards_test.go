package node

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/crawl"
	"freshet/internal/broker"
	"freshet/store"
	"freshet/store/warc"
	"freshet/weburl"
)

// TestShards crawls a web by several shards. It comes to the pages of one shard alone, and asks for each once.
func TestShards(t *testing.T) {
	for _, shards := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(shards), func(t *testing.T) {
			web := newTestWeb(t, 9, 40)
			o := web.fromOneSeed(t)
			o.Shards = shards
			if summary := run(t, o); summary.StoppedBy != crawl.FrontierEmpty {
				t.Errorf("stopped by %s", summary.StoppedBy)
			}
			web.check(t, o)
		})
	}
}

// TestRobotsOfAnotherShard has each host's robots.txt lie on another host, which another shard may own.
func TestRobotsOfAnotherShard(t *testing.T) {
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprint(shards), func(t *testing.T) {
			web := newTestWeb(t, 9, 10)
			web.led = true
			o := web.fromOneSeed(t)
			o.Shards = shards
			run(t, o)
			web.check(t, o)
			left := captures(t, o)
			for h := range web.hosts {
				for _, file := range []string{"robots.txt", "rules.txt"} {
					if url := fmt.Sprintf("http://h%d.test/%s", h, file); !strings.Contains(left, url) {
						t.Errorf("%d shards: no capture of %s", shards, url)
					}
				}
			}
		})
	}
}

// captures returns an index of a directory's WARC files.
func captures(t *testing.T, o Options) string {
	t.Helper()
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.Files()
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	var index bytes.Buffer
	if err := warc.Index(&index, warc.IndexOptions{FS: o.FS, Temp: "index"}, files...); err != nil {
		t.Fatal(err)
	}
	return index.String()
}

// TestRobotsOfAnotherNode is TestRobotsOfAnotherShard with two nodes.
func TestRobotsOfAnotherNode(t *testing.T) {
	web := newTestWeb(t, 9, 1)
	web.led = true
	s := broker.JetStream(t)
	o := web.options(t, vfs.NewMem(), "one")
	seeds := o.Seeds
	o.Seeds, o.Delay = nil, 5*time.Millisecond
	first := join(t, s, o, "one")
	o.FS, o.Dir = vfs.NewMem(), "two"
	second := join(t, s, o, "two")
	within(t, "both have partitions", func() bool { return first.owned() > 0 && second.owned() > 0 && first.owned()+second.owned() == 8 })
	if added, refused, err := first.Add(seeds); err != nil || added != int64(len(seeds)) {
		t.Fatal(added, refused, err)
	}
	within(t, "all pages are crawled", func() bool {
		web.mu.Lock()
		defer web.mu.Unlock()
		for h := range web.hosts {
			if web.requests[fmt.Sprintf("h%d.test/", h)] == 0 {
				return false
			}
		}
		return true
	})
	if len(web.overlap) > 0 {
		t.Errorf("asked twice at once: %s", web.overlap)
	}
	first.leave()
	second.leave()
}

// byShards runs a test with one shard and with several.
func byShards(t *testing.T, test func(t *testing.T, shards int)) {
	for _, shards := range []int{1, 3} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) { test(t, shards) })
	}
}

// TestOtherNumberOfShards stops a crawl again and again, and goes on with another number of shards.
func TestOtherNumberOfShards(t *testing.T) {
	web := newTestWeb(t, 9, 40)
	o := web.fromOneSeed(t)
	o.MaxPages = 37
	var sets []string
	for i, stop := 0, crawl.MaxPages; stop == crawl.MaxPages; i++ {
		o.Shards = []int{1, 4, 2, 3, 1}[i%5]
		summary := run(t, o)
		if stop = summary.StoppedBy; stop == crawl.MaxPages && summary.Pages != o.MaxPages {
			t.Errorf("%d shards stored %d pages, want %d", o.Shards, summary.Pages, o.MaxPages)
		}
		sets, _ = o.FS.List(o.FS.PathJoin(o.Dir, "seen"))
		if len(sets) != o.Shards {
			t.Errorf("%d shards have the sets %s", o.Shards, sets)
		}
		verify(t, o)
		if i > 50 {
			t.Fatal("no end after 50 runs")
		}
	}
	web.check(t, o)
}

// TestShardsKeepFresh has several shards keep a copy fresh. The node reports on the copy as a whole, and foretells no
// end.
func TestShardsKeepFresh(t *testing.T) {
	web := newTestWeb(t, 9, 10)
	o := web.fromOneSeed(t)
	o.Shards, o.Refresh = 3, &crawl.Refresh{Budget: 1000, Interval: time.Second}
	n := waiting(t, o)
	pages := int64(9*10 + 1)
	await(t, n, "all is kept fresh", func() bool {
		told := n.Status().Refresh
		return told != nil && told.Pages == pages && told.Budget == 1000 && len(told.Sites) == 9
	})
	if f := n.Freshness(); f.Pages != pages || f.Sites["http://h3.test"].Pages != 10 {
		t.Errorf("kept fresh: %+v", f)
	}
	if f := n.Status().Forecast; f.RemainingS != unknownSeconds || f.EarliestS != unknownSeconds {
		t.Errorf("a crawl that does not end has the forecast %+v", f)
	}
	o.Refresh = &crawl.Refresh{Budget: 2000}
	if err := n.Reload(o); err != nil {
		t.Fatal(err)
	}
	await(t, n, "twice the budget", func() bool { return n.Status().Refresh.Budget == 2000 })
	await(t, n, "pages are visited again", func() bool {
		web.mu.Lock()
		defer web.mu.Unlock()
		return web.requests["h3.test/p/3"] > 2
	})
	o.AddressDelay = time.Second
	if err := n.Reload(o); err == nil || !strings.Contains(err.Error(), "asks for one shard") {
		t.Errorf("an address is spared by several shards: %v", err)
	}
}

// TestHandOver has partitions handed from shard to shard all the time that these crawl. Pages are those of one shard
// alone, and no host is asked too soon.
func TestHandOver(t *testing.T) {
	web := newTestWeb(t, 9, 60)
	o := web.fromOneSeed(t)
	o.Shards, o.Partitions, o.Delay = 3, 8, 20*time.Millisecond
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	over, moved := make(chan struct{}), make(chan error, 1)
	go func() { moved <- moveAround(n, over) }()
	if _, err := n.Run(t.Context(), t.Context()); err != nil {
		t.Error(err)
	}
	close(over)
	if err := <-moved; err != nil {
		t.Error(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	web.check(t, o)
	if web.soonest < o.Delay {
		t.Errorf("a host was asked %s after its last answer, want %s at least", web.soonest, o.Delay)
	}
	o.Shards = 1
	run(t, o)
	web.check(t, o)
}

// moveAround hands partitions over until a crawl is over, and a hundred times at least.
func moveAround(n *Node, over <-chan struct{}) error {
	for i := 0; ; i++ {
		select {
		case <-over:
			if i >= 100 {
				return nil
			}
		default:
		}
		p := weburl.Partition(i * 5 % len(n.owners))
		if err := n.handOver(p, n.loops[(int(n.owners[p].Load())+1+i%2)%len(n.loops)]); err != nil {
			return err
		}
	}
}

// fromOneSeed returns the options of a crawl that finds all hosts from the first one on.
func (w *testWeb) fromOneSeed(t *testing.T) Options {
	o := w.options(t, vfs.NewMem(), "data")
	o.Seeds, o.Scope, o.Retries = o.Seeds[:1], "any", new(0)
	o.Resolve["elsewhere.test"] = netip.MustParseAddrPort("127.0.0.1:1") // nobody is there
	return o
}

// check fails if not all pages of the web are stored, if one was asked for twice, or a host while it answered.
func (w *testWeb) check(t *testing.T, o Options) {
	t.Helper()
	verify(t, o)
	want := slices.DeleteFunc(w.want(), func(u string) bool { // to which no link leads
		return strings.HasSuffix(u, ".test/") && u != o.Seeds[0].String()
	})
	if diff := cmp.Diff(want, stored(t, o)); diff != "" {
		t.Errorf("stored pages (-want +got):\n%s", diff)
	}
	for url, n := range w.requests {
		if n != 1 && !strings.HasSuffix(url, "/robots.txt") {
			t.Errorf("%s was asked for %d times", url, n)
		}
	}
	if len(w.overlap) > 0 {
		t.Errorf("asked twice at once: %s", w.overlap)
	}
}
