package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/fetch"
	"freshet/fleet"
	"freshet/sim"
	"freshet/weburl"
)

// slowed is a crawl with slowed processing: one speed after another, each for a time. Its sites answer after about a
// fifth of a second. There are as many sites as fetches.
type slowed struct {
	speeds []float64 // pages a second
	each   time.Duration
	rule   fleet.Rule
	gamma  float64
}

const slowedSites = 64

// web returns the web of the crawl.
func (s slowed) web(t testing.TB, c *clock.Clock) *sim.Web {
	var pages float64
	for _, speed := range s.speeds {
		pages += 1.3 * speed * s.each.Seconds()
	}
	web, err := sim.NewWeb(sim.Config{Seed: 7, Sites: slowedSites, Pages: int(pages) + 20*slowedSites, Latency: 200 * time.Millisecond, Bandwidth: -1, Clock: c, Bytes: 2000})
	if err != nil {
		t.Fatal(err)
	}
	return web
}

// withoutRobots hides robots.txt, whose Crawl-delay would set the pace.
func withoutRobots(web *sim.Web) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		web.ServeHTTP(w, r)
	})
}

// run crawls, and tells see of each second.
func (s slowed) run(t testing.TB, o Options, see func(now time.Duration, f FleetStatus)) {
	o.Fleet, o.Gamma, o.Connections = s.rule, s.gamma, slowedSites
	o.For = time.Duration(len(s.speeds)) * s.each
	began := o.Clock.Now()
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(5, 6))
	o.BeforeProcess = func(weburl.URL) {
		phase := min(int(o.Clock.Now().Sub(began)/s.each), len(s.speeds)-1)
		mu.Lock()
		seconds := random.ExpFloat64() * float64(runtime.GOMAXPROCS(0)) / s.speeds[phase]
		mu.Unlock()
		_ = o.Clock.Sleep(context.Background(), time.Duration(seconds*float64(time.Second)))
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := e.Run(t.Context(), t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for now := time.Second; now <= o.For; now += time.Second {
		_ = o.Clock.Sleep(t.Context(), began.Add(now).Sub(o.Clock.Now()))
		see(now, e.Status().Fleet)
	}
	<-done
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// figures are the results of a slowed crawl.
type figures struct {
	cost, starvation, loss float64
	changes                float64 // a second, in the second half of each speed
	slowest                time.Duration
	pages                  int64
}

// measure runs a slowed crawl and returns its costs, as means over the whole time. slowest is the longest time that
// the fleet takes to settle after a change of speed: to come within a quarter, or two fetches, of the right number.
// The right number brings as many pages as the crawl processes.
func (s slowed) measure(t testing.TB, o Options) (f figures) {
	var last, half FleetStatus
	var settled time.Duration
	s.run(t, o, func(now time.Duration, status FleetStatus) {
		into := (now-1)%s.each + 1
		speed := s.speeds[int((now-1)/s.each)]
		if into == time.Second {
			settled = 0
		}
		right := speed / (float64(status.Fetched) / status.BusyS)
		if settled == 0 && float64(status.Allowed) <= right*1.25+2 && float64(status.Allowed) >= right/1.25-2 {
			settled = into
		}
		if into == s.each/2 {
			half = status
		}
		if into < s.each {
			return
		}
		if settled == 0 {
			settled = s.each
		}
		f.slowest = max(f.slowest, settled)
		f.changes += float64(status.Changes-half.Changes) / (s.each / 2).Seconds() / float64(len(s.speeds))
		span := s.each.Seconds() * float64(len(s.speeds))
		f.starvation += (status.StarvedS - last.StarvedS) / span
		f.loss += (status.WaitedS - last.WaitedS) * float64(status.Fetched-last.Fetched) / (status.BusyS - last.BusyS) / span
		f.pages = status.Fetched
		last = status
	})
	f.cost = s.gamma*f.starvation + f.loss
	return f
}

func (f figures) String() string {
	return fmt.Sprintf("cost %.2f, starvation %.4f, loss %.2f/s, %d pages, %.2f changes/s, follows within %v",
		f.cost, f.starvation, f.loss, f.pages, f.changes, f.slowest)
}

// pipes is a network in memory: a listener and its dialer.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// simulated returns the figures of a slowed crawl in simulated time, whatever the machine is busy with.
func (s slowed) simulated(t *testing.T) (f figures) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 1)
		web := s.web(t, c)
		network := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: withoutRobots(web)}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(network) }) // ends with http.ErrServerClosed
		o := Options{
			Dir: "data", FS: vfs.NewMem(), Clock: c, AllowPrivate: true, Resolve: map[string]netip.AddrPort{}, Seeds: web.Homes(),
			UserAgent: "freshet-test", Retries: new(0), Fetch: fetch.Options{Dial: network.dial},
		}
		for i, host := range web.Hosts() {
			o.Resolve[host] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 1, byte(i)}), 80)
		}
		f = s.measure(t, o)
		server.Close()
		serving.Wait()
	})
	return f
}

// TestFleet holds that a crawl sizes its fleet to a processing that changes its speed: cheaper than
// fixed fleets of a sweep and than the best fixed number for each speed, soon, and calmly.
func TestFleet(t *testing.T) {
	crawl := slowed{speeds: []float64{40, 10, 60}, each: 20 * time.Second, gamma: 100}
	auto := crawl.simulated(t)
	t.Logf("auto: %v", auto)
	if auto.changes > 3 || auto.slowest >= crawl.each {
		t.Errorf("auto: %v: want at most 3 changes a second, and to follow within %v", auto, crawl.each)
	}
	for _, rule := range []fleet.Rule{fleet.Stable, 8, slowedSites} {
		crawl.rule = rule
		fixed := crawl.simulated(t)
		t.Logf("%v: %v", rule, fixed)
		if auto.cost >= fixed.cost {
			t.Errorf("auto costs %v, %v %v", auto.cost, rule, fixed.cost)
		}
	}
}

// BenchmarkFleet crawls a web of sockets while the processing is slowed to three speeds, with each rule
// for the fleet, and reports what the rule costs.
func BenchmarkFleet(b *testing.B) {
	for _, rule := range []fleet.Rule{fleet.Auto, fleet.Stable, 2, 4, 8, 12, 16, 24, slowedSites} {
		b.Run("fleet="+rule.String(), func(b *testing.B) {
			for b.Loop() {
				crawl := slowed{speeds: []float64{40, 10, 60}, each: 20 * time.Second, gamma: 100, rule: rule}
				web := crawl.web(b, clock.Real())
				server := &http.Server{Handler: withoutRobots(web)}
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					b.Fatal(err)
				}
				var serving sync.WaitGroup
				serving.Go(func() { _ = server.Serve(listener) })
				o := Options{Dir: b.TempDir(), Clock: clock.Real(), AllowPrivate: true, Resolve: map[string]netip.AddrPort{}, Seeds: web.Homes(), UserAgent: "freshet-bench", Retries: new(0)}
				for _, host := range web.Hosts() {
					o.Resolve[host] = netip.MustParseAddrPort(listener.Addr().String())
				}
				f := crawl.measure(b, o)
				server.Close()
				serving.Wait()
				b.ReportMetric(f.cost, "cost")
				b.ReportMetric(f.starvation, "starvation")
				b.ReportMetric(f.loss, "lost/s")
				b.ReportMetric(f.changes, "changes/s")
				b.ReportMetric(f.slowest.Seconds(), "s-to-follow")
				b.ReportMetric(float64(f.pages), "pages")
			}
		})
	}
}

// TestRoom holds that a fetch takes up room while it waits with its page for a place in the queue. It gets the next
// free place.
func TestRoom(t *testing.T) {
	gate, err := newGate(Options{Connections: 50, Clock: clock.Real(), Fleet: fleet.Rule(50)}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name                              string
		do                                func()
		times                             int
		room, active, waitWithPage, queue int
	}{
		{"begun", gate.started, 50, 50, 50, 0, 0},
		{"a queue of pages", gate.fetched, gate.control.Queue, 50, 50 - gate.control.Queue, 0, gate.control.Queue},
		{"some more", gate.fetched, 3, 47, 50 - gate.control.Queue, 3, gate.control.Queue},
		{"without a page", gate.ended, 2, 47, 48 - gate.control.Queue, 3, gate.control.Queue},
		{"a place", gate.processed, 1, 48, 47 - gate.control.Queue, 2, gate.control.Queue},
		{"the other places", gate.processed, 2, 50, 45 - gate.control.Queue, 0, gate.control.Queue},
		{"an empty queue", gate.processed, gate.control.Queue, 50, 45 - gate.control.Queue, 0, 0},
	} {
		for range step.times {
			step.do()
		}
		r := gate.read()
		if gate.room() != step.room || r.Active != step.active || r.Waiting != step.waitWithPage || min(r.Queue, gate.control.Queue) != step.queue {
			t.Errorf("%s: room %d, %d active, %d wait, %d queued: want %d, %d, %d, %d", step.name, gate.room(), r.Active, r.Waiting,
				r.Queue, step.room, step.active, step.waitWithPage, step.queue)
		}
	}
}
