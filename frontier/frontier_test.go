package frontier

import (
	"errors"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/weburl"
)

func TestOptionsValidate(t *testing.T) {
	if err := (Options{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
	bad := Options{Delay: -1, AdaptiveDelay: math.NaN(), AddressDelay: -1, PerConnection: -1, DiscoveryShare: 1.1}
	_, err := New(bad, &MemoryQueues{})
	for _, name := range []string{"delay -1ns", "adaptive delay NaN", "address delay", "requests per connection -1", "discovery share 1.1"} {
		if err == nil || !strings.Contains(err.Error(), "frontier: "+name) {
			t.Errorf("no word of %q in: %v", name, err)
		}
	}
}

// TestBackoff holds the bounds of a wait after failures, and that hosts don't come back together.
func TestBackoff(t *testing.T) {
	for _, test := range []struct {
		failures int
		interval time.Duration
		whole    time.Duration
	}{
		{1, 0, 2 * time.Second},
		{2, 0, 4 * time.Second},
		{1, 15 * time.Second, 30 * time.Second},
		{3, 15 * time.Second, 2 * time.Minute},
		{8, 15 * time.Second, MaxBackoff},
		{1 << 20, 15 * time.Second, MaxBackoff},
		{1, MaxCrawlDelay, MaxBackoff},
	} {
		different := map[time.Duration]bool{}
		for _, host := range []string{"a.example", "b.example", "c.example", "d.example"} {
			got := backoff(host, test.failures, test.interval)
			if got < test.whole/2 || got > test.whole {
				t.Errorf("%s, %d failures, %v: %v, want half to all of %v", host, test.failures, test.interval, got, test.whole)
			}
			different[got] = true
		}
		if len(different) < 4 {
			t.Errorf("%d failures: the same wait for two hosts: %v", test.failures, different)
		}
	}
	if got := backoff("a.example", 0, time.Hour); got != 0 {
		t.Errorf("no failure: %v", got)
	}
}

// TestRestoreClamps holds how the frontier reads a stored gate if someone has set the clock since.
func TestRestoreClamps(t *testing.T) {
	base := time.Unix(1_000_000_000, 0)
	sec := func(n int) time.Time { return base.Add(time.Duration(n) * time.Second) }
	for _, test := range []struct {
		name string
		gate Gate
		now  time.Time
		want time.Time // when the host is open
	}{
		{"no gate", Gate{}, sec(0), sec(0)},
		{"still to wait", Gate{End: sec(0), Next: sec(60)}, sec(20), sec(60)},
		{"over", Gate{End: sec(0), Next: sec(60)}, sec(90), sec(90)},
		{"clock set back", Gate{End: sec(0), Next: sec(60)}, sec(-3600), sec(-3540)},
		{"set back a little", Gate{End: sec(0), Next: sec(60)}, sec(-1), sec(59)},
		{"back-off", Gate{End: sec(0), Next: sec(3600), Interval: time.Minute}, sec(0), sec(3600)},
		{"absurd", Gate{End: sec(0), Next: sec(math.MaxInt32)}, sec(0), sec(0).Add(MaxCrawlDelay)},
		{"next before end", Gate{End: sec(60), Next: sec(0)}, sec(0), sec(1)},
		{"blocked", Gate{End: sec(0), Next: sec(1), Blocked: sec(100)}, sec(0), sec(100)},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := &MemoryQueues{}
			q.Add("http://a.example", KindNew, Entry{Key: Key{0, 1}, Fingerprint: 1})
			f, _ := New(Options{Delay: time.Second}, q)
			f.Restore(SiteInfo{Site: "http://a.example", New: 1, RobotsUntil: test.now.AddDate(10, 0, 0), Gate: test.gate}, test.now)
			_, wake, ok := f.Next(test.now)
			if !ok {
				_, _, ok = f.Next(wake.Add(-1))
				if ok {
					t.Errorf("open before %v", wake)
				}
				_, _, ok = f.Next(wake)
			} else {
				wake = test.now
			}
			if !ok || !wake.Equal(test.want) {
				t.Errorf("open at %v, want %v", wake, test.want)
			}
		})
	}
}

// TestTaken holds how long a host waits if another node's clock stored its gate. The frontier may meet the host some
// time after this node took it over.
func TestTaken(t *testing.T) {
	taken := time.Unix(1_000_000_000, 0)
	at := func(d time.Duration) time.Time { return taken.Add(d) }
	for _, test := range []struct {
		name string
		gate Gate
		met  time.Duration
		want time.Duration // when the host is open
	}{
		{"no gate", Gate{}, 0, time.Minute},
		{"met later", Gate{}, 20 * time.Second, time.Minute},
		{"clock behind", Gate{End: at(-400 * time.Second), Next: at(-340 * time.Second)}, 20 * time.Second, time.Minute},
		{"clock ahead", Gate{End: at(400 * time.Second), Next: at(460 * time.Second)}, 0, time.Minute},
		{"clock behind, back-off", Gate{End: at(-400 * time.Second), Next: at(-100 * time.Second)}, 0, 300 * time.Second},
		{"clock ahead, back-off", Gate{End: at(400 * time.Second), Next: at(700 * time.Second)}, 0, 300 * time.Second},
		{"over by any clock", Gate{End: at(-2 * time.Hour), Next: at(-2*time.Hour + 5*time.Minute)}, 0, time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := &MemoryQueues{}
			q.Add("http://a.example", KindNew, Entry{Key: Key{0, 1}, Fingerprint: 1})
			f, _ := New(Options{Delay: time.Minute, Taken: func(string) time.Time { return taken }}, q)
			f.Restore(SiteInfo{Site: "http://a.example", New: 1, RobotsUntil: taken.AddDate(10, 0, 0), Gate: test.gate}, at(test.met))
			_, _, before := f.Next(at(test.want - 1))
			_, _, then := f.Next(at(test.want))
			if before || !then {
				t.Errorf("open before %v: %v, then: %v", test.want, before, then)
			}
		})
	}
}

func TestMayStopClean(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	f, _ := New(Options{Delay: time.Minute}, &MemoryQueues{})
	f.Restore(SiteInfo{Site: "http://a.example"}, now)
	if !f.MayStopClean(now) {
		t.Error("not after a clean stop")
	}
	f.AfterUncleanStop(now)
	if f.MayStopClean(now.Add(59*time.Second)) || !f.MayStopClean(now.Add(time.Minute)) {
		t.Error("after an unclean stop: want true from the end of the longest interval on")
	}
}

// TestReadsThatRunAhead has the frontier read entries from the store before it is told of them. It still hands out each
// page once, and its counts end at zero.
func TestReadsThatRunAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const site = weburl.Site("http://a.example")
		q := &MemoryQueues{}
		f, _ := New(Options{}, q)
		now := time.Unix(1_000_000_000, 0)
		f.RobotsDone(site, now.AddDate(1, 0, 0), 0, now)
		var untold []Entry
		got := map[weburl.Fingerprint]int{}
		total := 0
		fetch := func(t *rapid.T) bool {
			p, _, ok := f.Next(now)
			if !ok {
				return false
			}
			got[p.Fingerprint]++
			f.Done(p, Answer{}, now)
			if slices.ContainsFunc(untold, func(e Entry) bool { return e.Fingerprint == p.Fingerprint }) {
				return true // not Committed: the store cannot take a fetch before its discovery
			}
			q.Remove(site, KindNew, p.Key)
			f.Committed(p)
			return true
		}
		tell := func(*rapid.T) {
			f.Discovered(site, untold, now)
			for _, e := range untold {
				if got[e.Fingerprint] > 0 {
					q.Remove(site, KindNew, e.Key)
					f.Committed(Page{Site: site, Kind: KindNew, Key: e.Key, Fingerprint: e.Fingerprint})
				}
			}
			untold = nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"store": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "entries") {
					total++
					e := Entry{Key: Key{rapid.Uint64Range(0, 3).Draw(t, "order"), uint64(total)}, Fingerprint: weburl.Fingerprint(total)}
					q.Add(site, KindNew, e)
					untold = append(untold, e)
				}
			},
			"tell":   tell,
			"fetch":  func(t *rapid.T) { fetch(t) },
			"fetch2": func(t *rapid.T) { fetch(t) },
			"restart": func(t *rapid.T) {
				if len(untold) > 0 && rapid.Bool().Draw(t, "lost") {
					t.Skip()
				}
				f, _ = New(Options{}, q)
				f.Restore(SiteInfo{Site: site, New: q.Len(site, KindNew), RobotsUntil: now.AddDate(1, 0, 0)}, now)
				for _, e := range untold {
					delete(got, e.Fingerprint) // fetched, not stored: it is fetched again
				}
			},
		})
		tell(t)
		for fetch(t) {
		}
		for fp := range weburl.Fingerprint(total) {
			if got[fp+1] != 1 {
				t.Fatalf("page %d handed out %d times", fp+1, got[fp+1])
			}
		}
		if s := f.Stats(); s.QueuedNew != 0 || s.InFlight != 0 || s.Ready != 0 || s.Waiting != 0 {
			t.Fatalf("%+v", s)
		}
	})
}

// TestAddresses crawls hosts that share addresses and sometimes change them. Every page has its turn. No address has
// two requests at once or within its delay.
func TestAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delay := time.Duration(rapid.IntRange(1, 4000).Draw(t, "delay")) * time.Millisecond
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		q := &MemoryQueues{}
		f, _ := New(Options{AddressDelay: delay, Delay: time.Second, PerConnection: rapid.IntRange(1, 3).Draw(t, "k")}, q)
		now := time.Unix(1_000_000_000, 0)
		sites := []weburl.Site{"http://a.example", "http://b.example", "http://c.example", "http://d.example"}
		for _, site := range sites {
			f.RobotsDone(site, now.AddDate(1, 0, 0), 0, now)
		}
		const pages = 60
		discovered := 0
		discover := func(n int) {
			for n = min(n, pages-discovered); n > 0; n-- {
				discovered++
				e := Entry{Key: Key{0, uint64(discovered)}, Fingerprint: weburl.Fingerprint(discovered)}
				site := sites[rng.IntN(len(sites))]
				q.Add(site, KindNew, e)
				f.Discovered(site, []Entry{e}, now)
			}
		}
		type request struct {
			page Page
			addr netip.Addr
		}
		var flights []request
		at := map[weburl.Site]netip.Addr{}
		ended := map[netip.Addr]time.Time{}
		endedBy := map[netip.Addr]weburl.Site{}
		fetched := map[weburl.Fingerprint]bool{}
		for steps := 0; len(fetched) < pages; steps++ {
			if steps > 100*pages {
				t.Fatalf("%d of %d pages after %d steps", len(fetched), pages, steps)
			}
			if rng.IntN(3) == 0 {
				discover(3)
			}
			p, wake, ok := f.Next(now)
			switch {
			case ok:
				addr := netip.AddrFrom4([4]byte{192, 0, 2, byte(rng.IntN(2))})
				if at[p.Site].IsValid() && (p.Continues || rng.IntN(4) > 0) {
					addr = at[p.Site]
				}
				if ok, _ := f.Bind(p, addr, now); !ok {
					continue
				}
				at[p.Site] = addr
				if slices.ContainsFunc(flights, func(r request) bool { return r.addr == addr }) {
					t.Fatalf("two requests to %v", addr)
				}
				if end, met := ended[addr]; met && now.Before(end.Add(delay)) && !(p.Continues && endedBy[addr] == p.Site) {
					t.Fatalf("%v is asked %v after its last answer", addr, now.Sub(end))
				}
				flights = append(flights, request{p, addr})
			case len(flights) > 0:
				now = now.Add(time.Duration(rng.IntN(2000)) * time.Millisecond)
				r := flights[0]
				flights = flights[1:]
				f.Done(r.page, Answer{Kept: rng.IntN(2) == 0}, now)
				ended[r.addr], endedBy[r.addr] = now, r.page.Site
				q.Remove(r.page.Site, KindNew, r.page.Key)
				f.Committed(r.page)
				fetched[r.page.Fingerprint] = true
			case wake.IsZero() && discovered < pages:
				now = now.Add(time.Second)
				discover(1)
			case wake.IsZero():
				t.Fatalf("nothing in flight and no wake, %d of %d pages: %+v", len(fetched), pages, f.Stats())
			default:
				now = wake
			}
		}
		if err := checkHeaps(f); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAddressesAreForgotten holds that a host which has another address at each request takes no more and more memory.
func TestAddressesAreForgotten(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	q := &MemoryQueues{}
	f, _ := New(Options{AddressDelay: time.Second}, q)
	f.RobotsDone("http://a.example", now.AddDate(1, 0, 0), 0, now)
	for i := range 20 * minSweep {
		e := Entry{Key: Key{0, uint64(i + 1)}, Fingerprint: weburl.Fingerprint(i + 1)}
		q.Add("http://a.example", KindNew, e)
		f.Discovered("http://a.example", []Entry{e}, now)
		p, _, ok := f.Next(now)
		if !ok {
			t.Fatal("nothing")
		}
		f.Bind(p, netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now)
		f.Done(p, Answer{}, now)
		q.Remove(p.Site, KindNew, e.Key)
		f.Committed(p)
		now = now.Add(time.Second)
	}
	if got := len(f.addresses); got > minSweep {
		t.Errorf("%d addresses are remembered", got)
	}
}

// TestReadsPastWhatIsHandedOut hands out a page and then adds pages ahead of it, before it is committed. The window
// moves back, and the frontier reads that page's stored entry again.
func TestReadsPastWhatIsHandedOut(t *testing.T) {
	const site = weburl.Site("http://a.example")
	now := time.Unix(1_000_000_000, 0)
	q := &MemoryQueues{}
	f, _ := New(Options{}, q)
	f.RobotsDone(site, now.AddDate(1, 0, 0), 0, now)
	discover := func(order uint64, n int) {
		for range n {
			a := uint64(q.Len(site, KindNew) + 1)
			e := Entry{Key: Key{order, a}, Fingerprint: weburl.Fingerprint(a)}
			q.Add(site, KindNew, e)
			f.Discovered(site, []Entry{e}, now)
		}
	}
	got := map[weburl.Fingerprint]bool{}
	next := func() bool {
		p, _, ok := f.Next(now)
		if ok && got[p.Fingerprint] {
			t.Fatalf("page %d handed out twice", p.Fingerprint)
		}
		if ok {
			got[p.Fingerprint] = true
			f.Done(p, Answer{}, now)
		}
		return ok
	}
	discover(5, 3)
	next()
	discover(1, windowSize+3)
	for next() {
	}
	if len(got) != windowSize+6 {
		t.Errorf("%d pages handed out, want %d", len(got), windowSize+6)
	}
}

// TestAddressesAfterRestart holds that the frontier does not ask an address at once after a restart, because nothing
// stores the address's last answer.
func TestAddressesAfterRestart(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	q := &MemoryQueues{}
	q.Add("http://a.example", KindNew, Entry{Key: Key{0, 1}, Fingerprint: 1})
	f, _ := New(Options{AddressDelay: time.Minute}, q)
	f.Restore(SiteInfo{Site: "http://a.example", New: 1, RobotsUntil: now.AddDate(1, 0, 0)}, now)
	f.AfterStop(now)
	p, _, _ := f.Next(now)
	ok, until := f.Bind(p, netip.MustParseAddr("192.0.2.1"), now)
	if ok || !until.Equal(now.Add(time.Minute)) {
		t.Errorf("got %v, %v", ok, until)
	}
}

// TestTimeDoesNotGoBack holds that an earlier now than the last one shortens no wait.
func TestTimeDoesNotGoBack(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	q := &MemoryQueues{}
	q.Add("http://a.example", KindNew, Entry{Key: Key{0, 1}, Fingerprint: 1})
	f, _ := New(Options{Delay: time.Minute}, q)
	f.Restore(SiteInfo{Site: "http://a.example", New: 1, RobotsUntil: now.AddDate(1, 0, 0)}, now)
	p, _, _ := f.Next(now)
	if gate := f.Done(p, Answer{}, now.Add(-time.Hour)); !gate.End.Equal(now) || !gate.Next.Equal(now.Add(time.Minute)) {
		t.Errorf("got %+v", gate)
	}
}

// TestDueTies holds that pages due at the same time go in the order of their sites' names.
func TestDueTies(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	f, _ := New(Options{}, &MemoryQueues{})
	for _, site := range []weburl.Site{"https://b.example", "https://a.example", "http://a.example", "http://c.example"} {
		f.RobotsDone(site, now.AddDate(1, 0, 0), 0, now)
		f.Planned(site, Entry{Key: Key{5, 1}, Fingerprint: 1}, now)
	}
	for _, want := range []weburl.Site{"http://a.example", "http://c.example", "https://b.example"} {
		if p, _, ok := f.Next(now); !ok || p.Site != want {
			t.Errorf("got %s, %v, want %s", p.Site, ok, want)
		}
	}
}

// TestClaim holds that Reserve, for a request that comes from no queue, obeys the same gates as Next.
func TestClaim(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	f, _ := New(Options{Delay: time.Minute}, &MemoryQueues{})
	p, _, ok := f.Reserve("http://a.example", now)
	if want := (Page{Site: "http://a.example", Robots: true, Reserved: true}); !ok || p != want {
		t.Fatalf("got %+v, %v", p, ok)
	}
	if _, free, ok := f.Reserve("https://a.example", now); ok || !free.After(now) {
		t.Errorf("a busy host: got %v, %v", free, ok)
	}
	now = now.Add(time.Second)
	f.Done(p, Answer{}, now)
	if _, free, ok := f.Reserve("https://a.example", now); ok || !free.Equal(now.Add(time.Minute)) {
		t.Errorf("a waiting host: got %v, %v", free, ok)
	}
	f.Block("b.example", time.Time{}, now)
	if _, free, ok := f.Reserve("http://b.example", now); ok || !free.After(now) {
		t.Errorf("a blocked host: got %v, %v", free, ok)
	}
	if _, _, ok = f.Reserve("https://a.example", now.Add(time.Minute)); !ok {
		t.Error("an open host refused")
	}
}

// TestUnheardOwes sends a request on an open connection that the host has closed. That does not shorten the wait after
// the answer before it.
func TestUnheardOwes(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	q := &MemoryQueues{}
	f, _ := New(Options{AdaptiveDelay: 3, PerConnection: 2}, q)
	const site = "http://a.example"
	f.RobotsDone(site, now.AddDate(1, 0, 0), 0, now)
	for n := range uint64(3) {
		q.Add(site, KindNew, Entry{Key: Key{n, n}, Fingerprint: weburl.Fingerprint(n + 1)})
		f.Discovered(site, []Entry{{Key: Key{n, n}, Fingerprint: weburl.Fingerprint(n + 1)}}, now)
	}
	first, _, ok := f.Next(now)
	if !ok {
		t.Fatal("nothing to ask for")
	}
	now = now.Add(10 * time.Second)
	f.Done(first, Answer{Took: 10 * time.Second, Kept: true}, now)
	second, _, ok := f.Next(now)
	if !ok || !second.Continues {
		t.Fatalf("the connection does not go on: %+v, %v", second, ok)
	}
	f.Done(second, Answer{Took: time.Millisecond, Unheard: true}, now)
	if _, wake, ok := f.Next(now); ok || wake.Before(now.Add(30*time.Second)) {
		t.Errorf("asked again at %v, %v: want half a minute after the answer at %v", wake, ok, now)
	}
}

// TestUnheardBeforeSteer makes a host slower after a request that it did not hear. The longer wait counts from that
// request, so until its end no stop is clean.
func TestUnheardBeforeSteer(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	delay := time.Second
	f, _ := New(Options{Delay: delay, Manners: func(weburl.Site) *Manners { return &Manners{Delay: &delay} }}, &MemoryQueues{})
	const site = "http://a.example"
	f.RobotsDone(site, now.AddDate(1, 0, 0), 0, now)
	f.Discovered(site, []Entry{{Key: Key{1, 1}, Fingerprint: 1}}, now)
	page, _, ok := f.Next(now)
	if !ok {
		t.Fatal("nothing to ask for")
	}
	f.Done(page, Answer{Unheard: true}, now)
	delay = time.Minute
	f.Steer(site, now)
	if f.MayStopClean(now.Add(59*time.Second)) || !f.MayStopClean(now.Add(time.Minute)) {
		t.Error("a stop is not clean from the end of the wait on")
	}
}

// TestClaimOfNeighbour has two hosts at one address. The second may be asked after the first has given the address up
// with Unbind, and not before.
func TestClaimOfNeighbour(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	there := netip.MustParseAddr("192.0.2.1")
	f, _ := New(Options{AddressDelay: time.Minute}, &MemoryQueues{})
	for _, unbind := range []bool{false, true} {
		f.Discovered("http://a.example", []Entry{{Key: Key{1, 1}, Fingerprint: 1}}, now)
		page, _, ok := f.Next(now)
		if !ok {
			t.Fatal("no robots.txt is asked for")
		}
		if ok, _ := f.Bind(page, there, now); !ok {
			t.Fatal("its address is taken")
		}
		if unbind {
			f.Unbind(page, now)
		}
		errand, _, ok := f.Reserve("http://b.example", now)
		if !ok {
			t.Fatal("the other host is refused")
		}
		if ok, _ := f.Bind(errand, there, now); ok != unbind {
			t.Errorf("unbound %v: the other host may be asked: %v", unbind, ok)
		}
		if unbind {
			f.Done(errand, Answer{}, now)
		}
		f.Drop(page, now)
	}
}

// TestForgets holds that a crawl of ever more sites forgets the finished ones. It remembers a valid robots.txt, a host
// that waits, and a block.
func TestForgets(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	q := &MemoryQueues{}
	f, _ := New(Options{Delay: time.Second}, q)
	f.RobotsDone("http://valid.example", now.AddDate(1, 0, 0), 0, now)
	f.Block("blocked.example", time.Time{}, now)
	const sites = 20 * minSweep
	for i := range sites {
		site := weburl.Site("http://s" + time.Duration(i).String() + ".example")
		e := Entry{Key: Key{0, uint64(i + 1)}, Fingerprint: weburl.Fingerprint(i + 1)}
		q.Add(site, KindNew, e)
		f.Discovered(site, []Entry{e}, now)
		f.RobotsDone(site, now.Add(time.Minute), 0, now)
		p, _, ok := f.Next(now)
		if !ok {
			t.Fatal("nothing")
		}
		f.Done(p, Answer{}, now)
		q.Remove(site, KindNew, e.Key)
		f.Committed(p)
		now = now.Add(time.Second)
	}
	if s := f.Stats(); s.Hosts > 3*minSweep || s.Sites > 3*minSweep || s.QueuedNew != 0 {
		t.Errorf("after %d sites: %+v", sites, s)
	}
	if !f.Known("http://valid.example") || f.hosts["blocked.example"] == nil {
		t.Error("forgot what it had to remember")
	}
}

// TestReservedDoesNotCover holds that requests for other sites, whose robots.txt lies on a host, do not put off the
// host's own robots.txt. A failing host is asked so seldom that each of them finds a gate that is shut until after it.
func TestReservedDoesNotCover(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	q := &MemoryQueues{}
	f, _ := New(Options{Delay: time.Minute}, q)
	const site = "http://a.example"
	entry := Entry{Key: Key{Arrival: 1}, Fingerprint: 1}
	q.Add(site, KindNew, entry)
	f.RobotsDone(site, now.Add(time.Hour), 0, now)
	f.Discovered(site, []Entry{entry}, now)
	until := now.Add(time.Hour)
	for now.Before(until) {
		p, free, ok := f.Reserve(site, now)
		if !ok {
			now = free
			continue
		}
		f.Done(p, Answer{Failed: true}, now)
	}
	for {
		p, wake, ok := f.Next(now)
		if !ok {
			now = wake
			continue
		}
		if !p.Robots || p.Reserved {
			t.Errorf("%v after robots.txt has expired, %+v is asked for", now.Sub(until), p)
		}
		break
	}
}

// TestReservedHasItsTurn has other sites wait for a host that has pages all the time, and answers at once. One of them
// has its turn soon; where many wait all the time, half of the requests are for the host's own pages.
func TestReservedHasItsTurn(t *testing.T) {
	const site = "http://a.example"
	for _, delay := range []time.Duration{0, time.Second, time.Minute} {
		for _, others := range []int{1, 5} {
			start := time.Unix(1_000_000_000, 0)
			now := start
			q := &MemoryQueues{}
			f, _ := New(Options{Delay: delay}, q)
			f.RobotsDone(site, now.AddDate(1, 0, 0), 0, now)
			for n := range 1000 {
				e := Entry{Key: Key{Arrival: uint64(n + 1)}, Fingerprint: weburl.Fingerprint(n + 1)}
				q.Add(site, KindNew, e)
				f.Discovered(site, []Entry{e}, now)
			}
			free := make([]time.Time, others) // when each tries again
			own, reserved, first := 0, 0, 0
			for own+reserved < 200 {
				p, wake, ok := f.Next(now) // a page goes first, where it may
				if ok {
					own++
				}
				for i := range free {
					if ok || free[i].After(now) {
						continue
					}
					if p, free[i], ok = f.Reserve(site, now); ok {
						reserved++
						if first == 0 {
							first = own + reserved
						}
					}
				}
				if !ok {
					for _, at := range free {
						if wake.IsZero() || at.Before(wake) {
							wake = at
						}
					}
					now = wake
					continue
				}
				for i := range free { // some try while the request is under way
					if !free[i].After(now) {
						_, free[i], _ = f.Reserve(site, now)
					}
				}
				now = now.Add(100 * time.Millisecond)
				f.Done(p, Answer{Took: 100 * time.Millisecond}, now)
				if !p.Reserved {
					q.Remove(site, KindNew, p.Key)
					f.Committed(p)
				}
			}
			if first == 0 || first > 30 || own < 90 {
				t.Errorf("delay %v, %d others: %d own pages and %d of others, the first after %d requests", delay, others, own, reserved, first)
			}
			if least := time.Duration(own+reserved) * (100*time.Millisecond + delay); now.Sub(start) > 2*least+100*time.Second {
				t.Errorf("delay %v, %d others: it takes %v, %v would do", delay, others, now.Sub(start), least)
			}
		}
	}
}

type brokenQueues struct{}

var errBroken = errors.New("broken")

func (brokenQueues) Read([]Entry, weburl.Site, Kind, Key, int) ([]Entry, error) {
	return nil, errBroken
}

// TestLineOfConnections holds that a site's open connection keeps one place in the line, whatever the frontier hears
// about the site.
func TestLineOfConnections(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	q := &MemoryQueues{}
	f, _ := New(Options{Delay: time.Minute, PerConnection: 4}, q)
	for i, site := range []weburl.Site{"http://a.example", "http://b.example"} {
		f.RobotsDone(site, now.Add(time.Hour), 0, now)
		var entries []Entry
		for n := range 4 {
			e := Entry{Key: Key{Arrival: uint64(n + 1)}, Fingerprint: weburl.Fingerprint(4*i + n + 1)}
			q.Add(site, KindNew, e)
			entries = append(entries, e)
		}
		f.Discovered(site, entries, now)
	}
	next := func() Page {
		t.Helper()
		p, wake, ok := f.Next(now)
		if !ok {
			t.Fatalf("nothing to fetch before %v", wake)
		}
		return p
	}
	first, second := next(), next()
	f.Done(first, Answer{Kept: true}, now)
	for n := range 3 {
		e := Entry{Key: Key{Arrival: uint64(10 + n)}, Fingerprint: weburl.Fingerprint(10 + n)}
		q.Add(first.Site, KindNew, e)
		f.Discovered(first.Site, []Entry{e}, now)
	}
	f.Done(second, Answer{Kept: true}, now)
	refused := next()
	if refused.Site != first.Site || !refused.Continues {
		t.Fatalf("got %+v, want a page of %s, whose connection was free first", refused, first.Site)
	}
	f.Drop(refused, now)
	if p := next(); p.Site != second.Site || !p.Continues {
		t.Errorf("got %+v, want a page of %s, whose connection has been free for longer", p, second.Site)
	}
}

func TestReadError(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	f, _ := New(Options{}, brokenQueues{})
	f.Restore(SiteInfo{Site: "http://a.example", New: 1, FirstNew: Key{0, 1}, RobotsUntil: now.AddDate(1, 0, 0)}, now)
	if p, _, ok := f.Next(now); ok || !errors.Is(f.Err(), errBroken) {
		t.Errorf("got %+v, %v, error %v", p, ok, f.Err())
	}
}

func TestMisusePanics(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	f, _ := New(Options{}, &MemoryQueues{})
	f.Restore(SiteInfo{Site: "http://a.example"}, now)
	for name, misuse := range map[string]func(){
		"Done":    func() { f.Done(Page{Site: "http://a.example"}, Answer{}, now) },
		"Drop":    func() { f.Drop(Page{Site: "http://b.example"}, now) },
		"Restore": func() { f.Restore(SiteInfo{Site: "http://a.example"}, now) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			misuse()
		})
	}
}

func TestInstants(t *testing.T) {
	for _, test := range []struct {
		in   time.Time
		want instant
	}{
		{time.Time{}, 0},
		{time.Unix(-5, 0), 0},
		{time.Unix(5, 7), 5_000_000_007},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), never},
	} {
		if got := at(test.in); got != test.want {
			t.Errorf("%v: %d, want %d", test.in, got, test.want)
		}
	}
	if never.after(time.Hour) != never || !instant(0).time().IsZero() || dueAt(Key{Order: math.MaxUint64}) != never {
		t.Error("the ends are not kept")
	}
}
