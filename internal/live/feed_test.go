package live

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/crawl"
	"freshet/feed"
	"freshet/feed/broadcast"
	"freshet/feed/broadcast/scheduler"
	"freshet/fetch"
	"freshet/node"
	"freshet/sim"
	"freshet/store"
	"freshet/weburl"
)

// An audience is a crawl of a changing web, with the subscribers and downloaders of its feed. From the crawl's servers
// to the files of the mirrors everything is what a user runs, over HTTP.
type audience struct {
	sites, pages             int
	subscribers, downloaders int
	days                     int     // alone, and as many again with the downloaders
	perDay                   float64 // bytes that may leave in a day
	scheduler                string
	queue                    int  // bytes that may wait for a client; 0 is the feed's default
	loopback                 bool // sockets, and the machine's time; else connections in memory, and a bubble's
}

// A result has the figures of a run. Freshness compares with the web, for the pages that the crawl has: on average
// over the subscribers and over time.
type result struct {
	alone, crowded    float64 // the mirrors', before and after the downloaders come
	repository        float64 // the crawl's own copy: no mirror can be fresher
	believed          float64 // what the feed says of its subscribers, held against the repository
	delay             time.Duration
	unserved          int
	sent, once, taken int64 // bytes that left; with each chunk counted once; of the pages that mirrors took
	pages             int   // in all mirrors
}

func (r result) String() string {
	return fmt.Sprintf("fresh %.4f, with the downloaders %.4f; the repository %.4f; believed %.4f of that; downloads took %.1f h, %d unserved; "+
		"sent %.2f MB, each chunk counted once %.2f MB, taken %.2f MB; %d pages are as in the repository",
		r.alone, r.crowded, r.repository, r.believed, r.delay.Hours(), r.unserved, float64(r.sent)/1e6, float64(r.once)/1e6, float64(r.taken)/1e6, r.pages)
}

// live is a running audience.
type live struct {
	audience
	t      testing.TB
	clock  *clock.Clock
	web    *sim.Web
	engine *node.Node
	bell   feed.Bell
	front  atomic.Pointer[http.Handler] // of the feed that runs now
	serve  *http.Server
	dial   func(context.Context, string, string) (net.Conn, error)
	reach  func() *http.Client
	at     string // the feed's address

	mu     sync.Mutex
	copies map[weburl.URL]int // the crawl's, by the version of the web that they show

	mirrors []*listener
}

// run lets the crawl find its pages and brings all mirrors up to it. Then it measures with a limit on the bytes that
// leave.
func (a audience) run(t testing.TB) (r result) {
	l := open(t, a)
	endCrawl := l.crawl()
	l.pass(3 * day)

	_, endFeed := l.feed(0)
	chance := rand.New(rand.NewPCG(7, 7))
	for range a.subscribers {
		l.mirrors = append(l.mirrors, l.listen(l.interest(chance), false))
	}
	known := l.repository()
	l.await("all mirrors hold what the crawl had when they came", func() bool { return l.awaited(known) == 0 })
	endFeed()
	feed, endFeed := l.feed(l.perDay)
	taken := l.taken()
	l.score(&r.alone, &r.repository)

	var once []*listener
	arrived := l.clock.Now()
	for range a.downloaders {
		once = append(once, l.listen(l.interest(chance), true))
	}
	var ignored float64
	l.score(&r.crowded, &ignored)
	r.delay, r.unserved = delays(once, arrived, l.clock.Now())
	totals, err := feed.Totals(context.Background())
	if err != nil {
		t.Error(err)
	}
	r.sent, r.once, r.believed = totals.SentBytes, totals.ChunkBytes, totals.Freshness
	r.taken = l.taken() - taken
	for _, d := range once {
		r.taken += d.bytes
	}

	endCrawl()
	l.await("all mirrors equal the repository", func() bool { return l.lacking() == 0 })
	for _, m := range append(l.mirrors, once...) {
		m.stop()
		r.pages += len(m.held)
	}
	l.verify()
	endFeed()
	l.close()
	return r
}

// open makes the web.
func open(t testing.TB, a audience) *live {
	c := clock.New(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 17280) // a day in five seconds
	web, err := sim.NewWeb(sim.Config{Seed: 5, Sites: a.sites, Pages: a.pages, Bytes: 1500, Clock: c, Latency: -1, Bandwidth: -1})
	if err != nil {
		t.Fatal(err)
	}
	return &live{audience: a, t: t, clock: c, web: web, copies: map[weburl.URL]int{}}
}

// close ends what serves the feed, and the crawl's store.
func (l *live) close() {
	if l.serve != nil {
		_ = l.serve.Close()
	}
	if err := l.engine.Close(); err != nil {
		l.t.Error(err)
	}
}

// crawl begins the crawl; end stops it, and with it all change of the repository.
func (l *live) crawl() (end func()) {
	o := node.Options{
		Dir: "data", FS: vfs.NewMem(), Partitions: 2, Clock: l.clock, UserAgent: "freshet-test", Connections: 16, Seeds: l.web.Homes(),
		RetryDelay: time.Hour, WARCLevel: new(0), DiscoveryShare: new(0.5),
		Refresh:  &crawl.Refresh{Budget: int64(2 * l.pages), OnVisit: l.visited},
		OnRecord: func(weburl.Partition, uint64, []byte) { l.bell.Ring() },
	}
	ctx, cancel := context.WithCancel(context.Background())
	var stopWeb func()
	if l.loopback {
		server, err := l.web.Serve(context.Background())
		if err != nil {
			l.t.Fatal(err)
		}
		o.Resolve, o.AllowPrivate, stopWeb = server.Resolve(), true, server.Close
	} else {
		n := newNetwork(l.web)
		o.Fetch, stopWeb = fetch.Options{Resolver: n, Dial: n.dial}, n.stop
	}
	var err error
	if l.engine, err = node.Open(o); err != nil {
		l.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := l.engine.Run(ctx, ctx)
		ended <- err
	}()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			l.t.Error(err)
		}
		stopWeb()
	}
}

// visited hears of the crawl's visits.
func (l *live) visited(u weburl.URL, at time.Time, copied, kept bool) {
	version, exists := l.web.Truth(u, at)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !kept:
		delete(l.copies, u)
	case copied && exists:
		l.copies[u] = version
	}
}

// feed replaces the running feed by one that sends at most that many bytes a day; 0 is no limit.
func (l *live) feed(perDay float64) (feed *broadcast.Server, end func()) {
	feed, err := broadcast.NewServer(broadcast.Options{
		Store: l.engine.Store(), Bell: &l.bell, Clock: l.clock, Scheduler: l.scheduler, ChunkBytes: 16 << 10, QueueBytes: l.queue,
		Rate: perDay / day.Seconds(),
	})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- feed.Run(ctx) }()
	handler := feed.Handler()
	l.front.Store(&handler)
	if l.serve == nil {
		l.listenOn()
	}
	return feed, func() {
		cancel()
		if err := <-ended; err != nil {
			l.t.Error(err)
		}
	}
}

// listenOn lets clients reach the feed.
func (l *live) listenOn() {
	var in net.Listener
	l.dial = new(net.Dialer).DialContext
	if l.loopback {
		var err error
		if in, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
			l.t.Fatal(err)
		}
	} else {
		p := newPipes()
		in, l.dial = p, p.dial
	}
	l.at = in.Addr().String()
	l.reach = func() *http.Client { return &http.Client{Transport: &http.Transport{DialContext: l.dial}} }
	l.serve = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*l.front.Load()).ServeHTTP(w, r) })}
	go func() { _ = l.serve.Serve(in) }()
}

// interest draws the sites that somebody wants: few, and some sites much more often than others.
func (l *live) interest(chance *rand.Rand) broadcast.Interest {
	homes := l.web.Homes()
	zipf := rand.NewZipf(chance, 1.3, 3, uint64(len(homes)-1))
	n := min(1+int(3*chance.ExpFloat64()), len(homes)/2)
	var i broadcast.Interest
	for has := map[uint64]bool{}; len(has) < n; {
		at := zipf.Uint64()
		if site := len(homes) - 1 - int(at*7%uint64(len(homes))); !has[at] {
			i.Sites = append(i.Sites, string(homes[site].Site()))
		}
		has[at] = true
	}
	return i
}

// pass lets time pass.
func (l *live) pass(d time.Duration) { _ = l.clock.Sleep(context.Background(), d) }

// await lets time pass, at most 60 days, until a condition holds. The condition must then stay true: a crawl that
// still runs may undo it. A failure lets the run go on to its end, where it stops everything in its bubble.
func (l *live) await(what string, holds func() bool) {
	l.t.Helper()
	for range 60 * 4 {
		if holds() {
			return
		}
		l.pass(day / 4)
	}
	l.t.Errorf("in 60 days not: %s", what)
}

// score averages freshness, four times a day: that of the mirrors, and that of mirrors as fresh as the repository.
func (l *live) score(mirrors, repository *float64) {
	samples := 4 * l.days
	for range samples {
		l.pass(day / 4)
		now := map[weburl.URL]int{}
		l.mu.Lock()
		for u := range l.copies {
			now[u], _ = l.web.Truth(u, l.clock.Now())
		}
		for _, m := range l.mirrors {
			var wanted, fresh, known float64
			m.mu.Lock()
			for u, version := range l.copies {
				if !m.wants[u.Site()] || now[u] == 0 {
					continue
				}
				wanted++
				if version == now[u] {
					known++
				}
				if m.held[u].truth == now[u] {
					fresh++
				}
			}
			m.mu.Unlock()
			part := 1 / max(wanted, 1) / float64(len(l.mirrors)*samples)
			*mirrors, *repository = *mirrors+fresh*part, *repository+known*part
		}
		l.mu.Unlock()
	}
}

// lacking returns the number of pages in which the mirrors differ from the repository.
func (l *live) lacking() (pages int) {
	want := l.repository()
	for _, m := range l.mirrors {
		m.mu.Lock()
		for u, has := range m.held {
			if _, current := want[u][has.digest]; !current {
				pages++
			}
		}
		for u := range want {
			if _, has := m.held[u]; !has && m.wants[u.Site()] {
				pages++
			}
		}
		m.mu.Unlock()
	}
	return pages
}

// awaited returns how many of the known pages the mirrors lack in every version. Pages that have ended do not count.
func (l *live) awaited(known map[weburl.URL]map[string]store.Version) (pages int) {
	current := l.repository()
	for _, m := range l.mirrors {
		m.mu.Lock()
		for u := range known {
			_, there := current[u]
			if _, has := m.held[u]; there && !has && m.wants[u.Site()] {
				pages++
			}
		}
		m.mu.Unlock()
	}
	return pages
}

// repository returns, for each readable page, the versions that a mirror may hold, by digest: the last version, and
// the ones before it as far as the last differs from them in noise alone.
func (l *live) repository() map[weburl.URL]map[string]store.Version {
	all := map[weburl.URL]map[string]store.Version{}
	s := l.engine.Store()
	for p := range s.Partitions() {
		p := weburl.Partition(p)
		for page, err := range s.Pages(p) {
			if err != nil {
				l.t.Fatal(err)
			}
			if page.State != store.StateLive {
				continue
			}
			current := map[string]store.Version{}
			for n := page.Versions; n > 0; n-- {
				version, err := s.Version(p, page.URL.Fingerprint(), n)
				if err != nil {
					l.t.Fatal(err)
				}
				if version.Capture.IsZero() {
					break // the body is not kept: there is nothing to read
				}
				current[fmt.Sprintf("%x", version.BodyDigest[:])] = version
				if !version.Noise {
					break
				}
			}
			if len(current) > 0 {
				all[page.URL] = current
			}
		}
	}
	return all
}

// verify holds the files of the mirrors against the bodies in the store.
func (l *live) verify() {
	all := l.repository()
	for _, m := range l.mirrors {
		for u, has := range m.held {
			body, err := l.engine.Store().Body(all[u][has.digest].Capture)
			if err != nil {
				l.t.Fatal(err)
			}
			content, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(has.file)))
			if err != nil || !bytes.Equal(content, body.Payload) {
				l.t.Errorf("%s: %v: the mirror holds %d bytes, the repository %d, or others", u, err, len(content), len(body.Payload))
			}
		}
	}
}

func (l *live) taken() (bytes int64) {
	for _, m := range l.mirrors {
		m.mu.Lock()
		bytes += m.bytes
		m.mu.Unlock()
	}
	return bytes
}

var full = flag.Bool("full", false, "let TestFeed measure 200 subscribers and 20 downloaders, under each scheduler")

// TestFeed runs a small audience under our scheduler, in simulated time. With -full it runs those of BenchmarkFeed.
func TestFeed(t *testing.T) {
	all := []audience{{sites: 8, pages: 120, subscribers: 12, downloaders: 3, days: 4, perDay: 500_000, scheduler: "lifetime"}}
	if *full {
		all = audiences()
	}
	for _, a := range all {
		t.Run(a.scheduler, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := a.run(t)
				t.Log(r)
				if r.alone > r.repository+0.01 || r.alone < 0.3 {
					t.Errorf("the mirrors' freshness is %.4f, that of the repository %.4f", r.alone, r.repository)
				}
				if r.pages == 0 || r.once >= r.sent {
					t.Errorf("%d pages, %d bytes sent, %d with each chunk counted once", r.pages, r.sent, r.once)
				}
			})
		})
	}
}

// audiences are 200 subscribers and, later, 20 downloaders who all come at the same time, under each scheduler.
func audiences() (all []audience) {
	for _, kind := range scheduler.Kinds() {
		all = append(all, audience{sites: 40, pages: 1000, subscribers: 200, downloaders: 20, days: 10, perDay: 4e6, scheduler: kind.Name})
	}
	return all
}

// BenchmarkFeed lets them come over sockets, on a clock that makes a day of five seconds.
func BenchmarkFeed(b *testing.B) {
	for _, a := range audiences() {
		b.Run("scheduler="+a.scheduler, func(b *testing.B) {
			a.loopback = true
			r := a.run(b)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(r.alone, "fresh")
			b.ReportMetric(r.crowded, "fresh-crowded")
			b.ReportMetric(r.repository, "fresh-repository")
			b.ReportMetric(r.delay.Hours()/24, "delay-days")
			b.ReportMetric(float64(r.unserved), "unserved")
			b.ReportMetric(float64(r.sent)/1e6, "sent-MB")
			b.ReportMetric(float64(r.once)/1e6, "once-MB")
			b.ReportMetric(float64(r.taken)/1e6, "taken-MB")
			b.ReportMetric(float64(r.pages), "pages")
		})
	}
}
