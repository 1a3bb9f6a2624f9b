package node

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/crawl"
	"freshet/store"
	"freshet/weburl"
)

// killedAt runs a crawl until it processes a page. It returns the disk as a kill at that moment leaves it. If the
// crawl never processes the page it runs to its end, and ok is false.
func killedAt(t *testing.T, o Options, page weburl.URL) (left *vfs.MemFS, ok bool) {
	t.Helper()
	disk := o.FS.(*vfs.MemFS)
	var once sync.Once
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.BeforeProcess = func(u weburl.URL) {
		if u == page {
			once.Do(func() {
				left, ok = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))}), true
				cancel()
			})
		}
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(ctx, ctx); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	return left, ok
}

// TestPageThatKills plants a page that kills the process in processing. The crawl sets it aside after three restarts.
// It stores every other page, also those in process at the same time. A recrawl lifts the page again.
func TestPageThatKills(t *testing.T) {
	web := newTestWeb(t, 3, 40)
	o := web.options(t, vfs.NewCrashableMem(), "data")
	killer := mustParse(t, "http://h1.test/p/5")
	kills := 0
	for ; ; kills++ {
		left, killed := killedAt(t, o, killer)
		if !killed {
			break
		}
		if kills > crawl.MaxStrikes {
			t.Fatal("the page goes on killing")
		}
		o.FS = left
		verify(t, o)
	}
	if kills != crawl.MaxStrikes {
		t.Errorf("%d kills, want %d", kills, crawl.MaxStrikes)
	}
	// others link to its children too
	want := slices.DeleteFunc(web.want(), func(url string) bool { return url == killer.String() })
	if diff := cmp.Diff(want, stored(t, o)); diff != "" {
		t.Errorf("stored pages (-want +got):\n%s", diff)
	}
	eachPage(t, o, func(row store.PageAt) {
		if row.Strikes > 0 && row.URL != killer {
			t.Errorf("%s has %d strikes left", row.URL, row.Strikes)
		}
	})

	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	x, err := e.Explain(killer.String())
	if err != nil || x.StoppedBy != "crash" || x.Reason != store.ReasonCrashes {
		t.Errorf("explain: %+v, error %v: want it stopped by crash", x, err)
	}
	if err := e.Recrawl(killer); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	row, _, err := e.store.PageOf(killer)
	if err != nil || row.State != store.StateLive || row.Strikes != 0 {
		t.Errorf("after a recrawl: %v with %d strikes, error %v: want it live", row.State, row.Strikes, err)
	}
}

// TestInnocentPagesAreNotSetAside kills a crawl at instants that have nothing to do with its pages. Nothing is set
// aside, and no strike is left in the end.
func TestInnocentPagesAreNotSetAside(t *testing.T) {
	web := newTestWeb(t, 3, 40)
	o := web.options(t, vfs.NewCrashableMem(), "data")
	for i := range 12 {
		left, killed := killedAt(t, o, mustParse(t, fmt.Sprintf("http://h%d.test/p/%d", i%3, 3*i)))
		if killed {
			o.FS = left
		}
	}
	run(t, o)
	verify(t, o)
	if diff := cmp.Diff(web.want(), stored(t, o)); diff != "" {
		t.Errorf("stored pages (-want +got):\n%s", diff)
	}
	eachPage(t, o, func(row store.PageAt) {
		if row.Strikes > 0 {
			t.Errorf("%s has %d strikes left", row.URL, row.Strikes)
		}
	})
	if names, _ := o.FS.List(o.Dir); slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, store.InFlightPrefix) }) {
		t.Errorf("a list of pages in flight is left: %v", names)
	}
}

func struck(p weburl.Partition, fp weburl.Fingerprint, visits uint32) crawl.Struck {
	return crawl.Struck{PageKey: crawl.PageKey{Partition: p, Fingerprint: fp}, Visits: visits}
}

// TestStruckPagesGoAlone holds that no page is processed beside one with a strike. So a second strike meets one page at
// most, and no page gets it because of another.
func TestStruckPagesGoAlone(t *testing.T) {
	f, err := openInFlight(vfs.NewMem(), "", "main", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	first := f.begin(t.Context(), struck(1, 11, 7), false)
	beside := f.begin(t.Context(), struck(2, 12, 0), false)
	second := make(chan mark)
	go func() { second <- f.begin(t.Context(), struck(3, 13, 9), true) }()
	if diff := cmp.Diff([]crawl.Struck{struck(1, 11, 7), struck(2, 12, 0)}, f.left()); diff != "" {
		t.Errorf("in flight (-want +got):\n%s", diff)
	}
	f.end([]mark{first, beside})
	<-second
	for _, alone := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if got := f.begin(ctx, struck(4, 14, 0), alone); got != (mark{}) {
			t.Errorf("a page is marked beside a struck one: %v", got)
		}
		cancel()
	}
	if err := f.close(false); err != nil {
		t.Fatal(err)
	}
	again, err := openInFlight(f.fs, "", "main", f.log)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]crawl.Struck{struck(3, 13, 9)}, again.left()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	again.clear()
	if err := again.close(false); err != nil || len(again.left()) != 0 {
		t.Errorf("%v left after clear, error %v", again.left(), err)
	}
}

// TestCrashCostsOnePage plants pages that make processing panic. Each costs only itself, and says why.
func TestCrashCostsOnePage(t *testing.T) {
	web := newTestWeb(t, 2, 20)
	o := web.options(t, vfs.NewMem(), "data")
	leaves := []string{"http://h0.test/p/19", "http://h1.test/p/15", "http://h1.test/p/16"}
	o.BeforeProcess = func(u weburl.URL) {
		if slices.Contains(leaves, u.String()) {
			panic("planted in " + u.String() + strings.Repeat("!", 1000))
		}
	}
	var said strings.Builder
	o.Logger = slog.New(slog.NewTextHandler(&said, nil))
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, leaf := range leaves {
		x, err := e.Explain(leaf)
		if err != nil || x.StoppedBy != "fetch" || x.Reason != "crash" {
			t.Errorf("explain %s: %+v, error %v: want crash", leaf, x, err)
		}
		row, _, err := e.store.PageOf(mustParse(t, leaf))
		if err != nil || row.Outcome != store.OutcomeCrash || !strings.Contains(row.Reason, "planted in "+leaf) || len(row.Reason) > 300 {
			t.Errorf("%s: %v %q, error %v: want a crash and its cause", leaf, row.Outcome, row.Reason, err)
		}
	}
	if n := e.Status().Errors["crash"]; n != int64(len(leaves)) {
		t.Errorf("%d crashes counted, want %d", n, len(leaves))
	}
	if !strings.Contains(said.String(), "inflight_test.go") {
		t.Error("the log has no stack")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	verify(t, o)
	want := slices.DeleteFunc(web.want(), func(url string) bool { return slices.Contains(leaves, url) })
	if diff := cmp.Diff(want, stored(t, o)); diff != "" {
		t.Errorf("stored pages (-want +got):\n%s", diff)
	}
}

// TestCrashInFetch has the fetch itself panic for one host. The host's turn is given back, and the others' pages are
// stored.
func TestCrashInFetch(t *testing.T) {
	web := newTestWeb(t, 3, 10)
	o := web.options(t, vfs.NewMem(), "data")
	address := addressOfServer(web.server)
	o.Resolve["h1.test"] = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), address.Port())
	o.Fetch.Dial = func(ctx context.Context, network, to string) (net.Conn, error) {
		if strings.HasPrefix(to, "127.0.0.2:") {
			panic("planted in the dialer")
		}
		return new(net.Dialer).DialContext(ctx, network, to)
	}
	o.Retries = new(0)
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	summary, err := e.Run(ctx, ctx)
	if err != nil || e.Status().Processing != 0 {
		t.Errorf("%+v, %d pages in hand, error %v", summary, e.Status().Processing, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(web.want(), func(url string) bool {
		return strings.HasPrefix(url, "http://h1.test/") || url == "http://h2.test/p/0" // to which only h1 links
	})
	if diff := cmp.Diff(want, stored(t, o)); diff != "" {
		t.Errorf("stored pages (-want +got):\n%s", diff)
	}
}
