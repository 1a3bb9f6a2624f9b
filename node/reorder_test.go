package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	gocmp "github.com/google/go-cmp/cmp"

	"freshet/crawl"
	"freshet/crawl/explain"
	"freshet/importance"
	"freshet/store"
	"freshet/weburl"
)

// linkRanks returns the PageRank of pages over the links that the web has from those fetched.
func (w *testWeb) linkRanks(t *testing.T, pages []store.PageAt) []float64 {
	t.Helper()
	numbers := map[string]uint32{}
	for i, page := range pages {
		numbers[page.URL.String()] = uint32(i)
	}
	var b importance.Builder
	for _, page := range pages {
		var targets []uint32
		var host, n int
		if _, err := fmt.Sscanf(page.URL.Host(), "h%d.test", &host); err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Sscanf(page.URL.Path(), "/p/%d", &n) // the home is page 0
		if page.State == store.StateLive {
			for _, target := range []string{
				fmt.Sprintf("http://h%d.test/p/%d", host, 2*n+1), fmt.Sprintf("http://h%d.test/p/%d", host, 2*n+2),
				fmt.Sprintf("http://h%d.test/p/%d", (host+1)%w.hosts, n), fmt.Sprintf("http://h%d.test/missing/%d", host, n%3),
				fmt.Sprintf("http://h%d.test/private/x", host), fmt.Sprintf("http://h%d.test/old", host),
			} {
				if number, ok := numbers[target]; ok {
					targets = append(targets, number)
				}
			}
		}
		if err := b.Add(targets); err != nil {
			t.Fatal(err)
		}
	}
	return ranksOf(t, &b)
}

// knownPages returns all pages of a crawl.
func knownPages(t *testing.T, s *store.Store) (pages []store.PageAt) {
	t.Helper()
	for p := range s.Partitions() {
		for row, err := range s.Pages(weburl.Partition(p)) {
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, row)
		}
	}
	return pages
}

// paused runs a crawl that asks for nothing, until stop.
func paused(t *testing.T, o Options) (n *Node, stop func()) {
	t.Helper()
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.PauseAll(true); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := n.Run(ctx, t.Context())
		ended <- err
	}()
	return n, func() {
		cancel()
		if err := errors.Join(<-ended, n.PauseAll(false), n.Close()); err != nil {
			t.Error(err)
		}
	}
}

// sorted runs a crawl that makes no requests, until stop. It returns when the crawl has ranked its pages and put them
// in their places.
func sorted(t *testing.T, o Options) (n *Node, stop func()) {
	t.Helper()
	n, stop = paused(t, o)
	await(t, n, "the ranking", func() (done bool) {
		n.each(func(s *crawl.Shard, _ time.Time) { _, done = s.Remaining() })
		return done
	})
	return n, stop
}

// ranksOf returns the ranks of a graph's pages, 1 in all.
func ranksOf(t *testing.T, b *importance.Builder) []float64 {
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	ranks, err := importance.NewRanker(g).Rank(importance.RankOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ranks.Of
}

// TestReorder stops a crawl in the middle and ranks its pages. Each waiting page is where its PageRank puts it. A
// batch has the best of them. The queues are whole.
func TestReorder(t *testing.T) {
	for _, test := range []struct {
		order string
		batch int
	}{{"partial:1000", 0}, {"partial:50%", 0}, {"batch:12", 12}, {"batch:1000", 1000}} {
		t.Run("order="+test.order, func(t *testing.T) {
			web := newTestWeb(t, 4, 60)
			o := web.options(t, vfs.NewMem(), "data")
			o.Order, o.MaxPages = "opic", 70
			run(t, o)
			o.Order, o.MaxPages = test.order, 0
			e, stop := sorted(t, o)
			pages := knownPages(t, e.store)
			ranks := web.linkRanks(t, pages)
			var waiting []int
			for i, page := range pages {
				if page.Queue == store.NewQueue {
					waiting = append(waiting, i)
				}
			}
			slices.SortFunc(waiting, func(a, b int) int { return cmp.Compare(ranks[b], ranks[a]) })
			chosen := 0
			for place, i := range waiting {
				page := pages[i]
				in := page.Key.Order <= math.MaxInt64
				if in {
					chosen++
				}
				if rank := ranks[i]; in && math.Abs(weburl.OrderCash(page.Key.Order)-rank) > 1e-3*rank {
					t.Errorf("%s stands at %v, its rank is %v", page.URL, weburl.OrderCash(page.Key.Order), rank)
				}
				last := ranks[waiting[min(test.batch, len(waiting))-min(1, test.batch)]]
				if want := test.batch == 0 || place < test.batch; in != want && math.Abs(ranks[i]-last) > 1e-3*last {
					t.Errorf("%s of place %d: in the batch: %v", page.URL, place, in)
				}
			}
			if want := min(cmp.Or(test.batch, len(waiting)), len(waiting)); len(waiting) < 20 || chosen != want {
				t.Errorf("%d of %d pages have places, want %d", chosen, len(waiting), want)
			}
			stop()
			verify(t, o)
			run(t, o)
			verify(t, o)
			if diff := gocmp.Diff(web.want(), stored(t, o)); diff != "" {
				t.Errorf("crawled to the end (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCrashWhileReordering cuts the power at many writes of a crawl that gives pages new places, a few at a time, and
// does little else. The rest must verify, go on, and come to the same pages.
func TestCrashWhileReordering(t *testing.T) {
	for order, stride := range map[string]int64{"batch:7": 40, "partial:7": 30} {
		t.Run(order, func(t *testing.T) {
			web := newTestWeb(t, 3, 20)
			disk := vfs.NewCrashableMem()
			var op atomic.Int64
			var lock sync.Mutex
			var cuts []*vfs.MemFS
			o := web.options(t, errorfs.Wrap(disk, errorfs.InjectorFunc(func(o errorfs.Op) error {
				if changesDisk(o.Kind) && op.Add(1)%stride == 0 {
					cut := disk.CrashClone(vfs.CrashCloneCfg{})
					lock.Lock()
					defer lock.Unlock()
					cuts = append(cuts, cut)
				}
				return nil
			})), "data")
			o.Order = order
			e, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Run(t.Context(), t.Context())
			if err := errors.Join(err, e.Close()); err != nil {
				t.Fatal(err)
			}
			lock.Lock()
			defer lock.Unlock()
			for _, cut := range cuts {
				checkCut(t, web, cut, func(o *Options) { o.Order = order })
			}
			t.Logf("%d operations, %d cuts", op.Load(), len(cuts))
			if diff := gocmp.Diff(web.want(), stored(t, o)); diff != "" {
				t.Errorf("undisturbed crawl (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLateSeed holds that by batch a seed that comes when nothing waits gets its turn.
func TestLateSeed(t *testing.T) {
	web := newTestWeb(t, 2, 5)
	o := web.options(t, vfs.NewMem(), "data")
	o.Order = "batch:3"
	late := o.Seeds[1]
	o.Seeds = o.Seeds[:1]
	e := waiting(t, o)
	await(t, e, "the first site is crawled", func() bool { return e.Status().Pages >= 5 })
	if _, _, err := e.Add([]weburl.URL{late}); err != nil {
		t.Fatal(err)
	}
	await(t, e, "the second site is crawled", func() bool { return e.Status().Pages >= 12 })
}

// TestRefusedBatch holds that the next batch follows a batch of pages that robots.txt refuses. No links are decided
// after such pages.
func TestRefusedBatch(t *testing.T) {
	web := newTestWeb(t, 1, 1)
	o := web.options(t, vfs.NewMem(), "data")
	o.Order, o.Seeds = "batch:1", nil
	for _, path := range []string{"private/1", "private/2", "private/3", "p/0"} {
		o.Seeds = append(o.Seeds, mustParse(t, "http://h0.test/"+path))
	}
	if s := run(t, o); s.Pages != 1 || s.StoppedBy != crawl.FrontierEmpty {
		t.Errorf("%+v", s)
	}
}

// TestExplainBatch holds that explain names the batch that a page waits for, and says when the crawl chooses the next
// one.
func TestExplainBatch(t *testing.T) {
	for _, test := range []struct{ order, held, placed string }{
		{"batch:12", "by ranking all pages, when 12 more pages have been fetched", "ranked again, when 12 more pages have been fetched"},
		{"partial:9", "", "ranked again, when 9 more pages have been fetched"},
	} {
		t.Run(test.order, func(t *testing.T) {
			web := newTestWeb(t, 4, 60)
			o := web.options(t, vfs.NewMem(), "data")
			o.Order, o.MaxPages = "opic", 70
			run(t, o)
			o.Order = test.order
			e, stop := sorted(t, o)
			held, placed := false, false
			for _, page := range knownPages(t, e.store) {
				x, err := e.Explain(page.URL.String())
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(x.Gates, func(g explain.Checked) bool { return g.Gate == "batch" })
				switch {
				case page.Queue != store.NewQueue && i >= 0:
					t.Errorf("%s waits in no queue: %+v", page.URL, x.Gates[i])
				case page.Queue != store.NewQueue:
				case page.Key.Order > math.MaxInt64:
					held = true
					if x.StoppedBy != "batch" || x.Reason != "next-batch" || x.Why != "It waits for the next batch." || !strings.HasSuffix(x.Gates[i].Detail, test.held) {
						t.Errorf("%s is held: %+v", page.URL, x)
					}
				default:
					placed = true
					if i < 0 || x.Gates[i].Verdict != explain.Passed || !strings.HasSuffix(x.Gates[i].Detail, test.placed) {
						t.Errorf("%s has a place: %+v", page.URL, x)
					}
				}
			}
			if held != (test.held != "") || !placed {
				t.Errorf("pages held: %v, pages with places: %v", held, placed)
			}
			stop()
		})
	}
}
