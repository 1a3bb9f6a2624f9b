package node

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/fleet"
	"freshet/store"
	"freshet/weburl"
)

// TestRestartRecallsCash crawls a site where each page links to the forty after it, stops, and goes on for five pages.
// The crawl must recall the cash that it has told. Then it tells only waiting pages with few links, when the links
// have doubled. A crawl that forgets tells all forty waiting pages of their first link again.
func TestRestartRecallsCash(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var page int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &page); err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := range 40 {
			fmt.Fprintf(w, `<a href="/%d">%d</a> `, page+i+1, page+i+1)
		}
	}))
	defer server.Close()
	o := Options{Dir: "data", FS: vfs.NewMem(), AllowPrivate: true, UserAgent: "freshet-test", Connections: 1,
		Resolve: map[string]netip.AddrPort{"site.test": addressOfServer(server)},
		Seeds:   []weburl.URL{mustParse(t, "http://site.test/0")}, MaxPages: 60}
	run(t, o)
	from, _ := cashTold(t, o, 0)
	o.MaxPages = 5
	run(t, o)
	_, told := cashTold(t, o, from)
	times := 0
	for page := 60; page < 100; page++ {
		times += told[mustParse(t, fmt.Sprintf("http://site.test/%d", page)).Fingerprint()]
	}
	if times > 20 {
		t.Errorf("waiting pages heard of cash %d times, want 20 at most", times)
	}
}

// cashTold returns how often the records after a number tell each known page of cash, and the last number.
func cashTold(t *testing.T, o Options, after uint64) (last uint64, times map[weburl.Fingerprint]int) {
	t.Helper()
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	last, times = after, map[weburl.Fingerprint]int{}
	err = s.Records(o.Seeds[0].Partition(s.Partitions()), after, func(n uint64, r store.Record) error {
		last = n
		if d, ok := r.(*store.Discovered); ok {
			for _, repeat := range d.Repeats {
				times[repeat.Fingerprint]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return last, times
}

// TestRestartSparesAddresses holds that a crawl asks nobody for one address delay after a restart. It does not know
// which addresses the run before asked last.
func TestRestartSparesAddresses(t *testing.T) {
	web := newTestWeb(t, 2, 3)
	o := web.options(t, vfs.NewMem(), "data")
	o.Clock = clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 10_000)
	o.AddressDelay, o.MaxPages = 10*time.Minute, 1
	run(t, o)
	stopped, asked := o.Clock.Now(), time.Time{}
	web.mu.Lock()
	web.onRequest = func(int) {
		if asked.IsZero() {
			asked = o.Clock.Now()
		}
	}
	web.mu.Unlock()
	run(t, o)
	if wait := asked.Sub(stopped); wait < o.AddressDelay {
		t.Errorf("asked %v after the restart, want %v at least", wait, o.AddressDelay)
	}
}

// BenchmarkPoliteRestarts kills the crawler fifty times while it crawls many hosts at w = 1 s, each time after some
// seconds, and starts it again at once. It reports how often the crawler asked a host too soon: this must be never. It
// reports the share of the allowed pages a second outside the waits: after a restart every host rests for its
// interval. It reports how long opening takes, from the start of the process to its first word. And it reports the
// crawler's processor time a request, openings included, which other load on the machine changes little.
//
// A thousand hosts ask half as much of the machine as two thousand do. If their pace falls short, the crawler is the
// cause. The benchmark takes six minutes a line.
func BenchmarkPoliteRestarts(b *testing.B) {
	for _, tt := range []struct {
		hosts int
		fleet fleet.Rule
	}{{1000, 256}, {2000, 256}, {2000, fleet.Auto}} {
		b.Run(fmt.Sprintf("hosts=%d/fleet=%s", tt.hosts, tt.fleet), func(b *testing.B) {
			for b.Loop() {
				politeRestarts(b, tt.hosts, tt.fleet)
			}
		})
	}
}

func politeRestarts(b *testing.B, hosts int, rule fleet.Rule) {
	const w, restarts = time.Second, 50
	web := newPoliteWeb(b, hosts, 0, w, 0, 1)
	job := crawlJob{Dir: b.TempDir(), Resolve: web.resolve, Delay: w, Fleet: rule, Report: time.Hour}
	for _, u := range web.seeds {
		job.Seeds = append(job.Seeds, u.String())
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var counted, opening, processor time.Duration
	for range restarts {
		started := web.clock.Now()
		child, lines := job.start(b)
		if _, more := report(b, lines); !more {
			b.Fatal("the crawler ended before it began")
		}
		opening += web.clock.Now().Sub(started)
		job.Seeds = nil
		from := web.clock.Now().Add(2 * w) // the wait, and a round of robots.txt at first
		web.count(from)
		if err := clock.Real().Sleep(b.Context(), 4*time.Second+time.Duration(rng.Int64N(4e9))); err != nil {
			b.Fatal(err)
		}
		counted += web.clock.Now().Sub(from)
		web.count(time.Unix(0, math.MaxInt64))
		if err := child.Process.Kill(); err != nil {
			b.Fatal(err)
		}
		_ = child.Wait() // killed
		processor += child.ProcessState.UserTime() + child.ProcessState.SystemTime()
	}
	b.ReportMetric(web.share(counted), "%-of-allowed")
	b.ReportMetric(float64(web.tooSoon()), "violations")
	b.ReportMetric(opening.Seconds()/restarts, "s/opening")
	b.ReportMetric(float64(processor.Microseconds())/float64(web.requests()), "cpu-µs/request")
}
