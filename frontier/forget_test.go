package frontier

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/weburl"
)

// TestForget has one frontier forget some sites and another take them over. The first goes on as if it never held them.
// The second asks their hosts no earlier than the first would.
func TestForget(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var queues MemoryQueues
		o := Options{Delay: time.Second, PerConnection: 1 + rng.IntN(2), DiscoveryShare: 0.2}
		held, err := New(o, &queues)
		if err != nil {
			t.Fatal(err)
		}
		leaves := func(site weburl.Site) bool { return site.Host()[0] == 'b' }
		var sites []weburl.Site
		now := start
		for i := range 8 {
			site := weburl.Site(fmt.Sprintf("http://%c%d.test", "ab"[i%2], i/4))
			if i%4 >= 2 {
				site = weburl.Site("https" + string(site)[4:])
			}
			sites = append(sites, site)
			held.RobotsDone(site, start.Add(1000*time.Hour), 0, now)
			for n := range 6 {
				e := Entry{Key: Key{uint64(n), uint64(i*100 + n)}, Fingerprint: weburl.Fingerprint(i*100 + n + 1)}
				queues.Add(site, KindNew, e)
				held.Discovered(site, []Entry{e}, now)
			}
		}
		gates := map[string]Gate{}
		ask := func(f *Frontier) bool {
			p, _, ok := f.Next(now)
			if !ok {
				return false
			}
			queues.Remove(p.Site, p.Kind, p.Key)
			gates[p.Site.Host()] = f.Done(p, Answer{Took: time.Second, Kept: true, Failed: rng.IntN(4) == 0}, now)
			f.Committed(p)
			return true
		}
		for range rng.IntN(20) {
			ask(held)
			now = now.Add(time.Duration(rng.IntN(700)) * time.Millisecond)
		}
		held.Withhold(leaves, now)
		for range 30 {
			if p, _, ok := held.Next(now); ok {
				if leaves(p.Site) {
					t.Fatalf("seed %d: %s is handed out though it is withheld", seed, p.Site)
				}
				held.Return(p, now)
			}
			now = now.Add(100 * time.Millisecond)
		}
		for _, g := range held.Forget(leaves, now) {
			if want, asked := gates[g.Host.Host()]; asked && !cmp.Equal(want, g.Gate) {
				t.Errorf("seed %d: gate of %s is %+v: want %+v", seed, g.Host, g.Gate, want)
			}
		}
		taken, err := New(o, &queues)
		if err != nil {
			t.Fatal(err)
		}
		left := map[bool]int{}
		for _, site := range sites {
			if held.Known(site) == leaves(site) {
				t.Errorf("seed %d: %s is held: %v", seed, site, held.Known(site))
			}
			left[leaves(site)] += queues.Len(site, KindNew)
			if leaves(site) {
				taken.Restore(SiteInfo{Site: site, New: queues.Len(site, KindNew), RobotsUntil: start.Add(1000 * time.Hour), Gate: gates[site.Host()]}, now)
			}
		}
		for host, gate := range gates {
			if f := taken; host[0] == 'b' && now.Before(gate.Next) {
				if p, _, ok := f.Next(now); ok && p.Site.Host() == host {
					t.Errorf("seed %d: %s is asked before its gate opens", seed, host)
				}
			}
		}
		for away, f := range map[bool]*Frontier{false: held, true: taken} {
			if got := f.Stats().QueuedNew; got != left[away] {
				t.Errorf("seed %d: %d pages queued: want %d", seed, got, left[away])
			}
			for range 1000 {
				if !ask(f) {
					now = now.Add(time.Minute)
				}
			}
			if got := f.Stats(); got.QueuedNew != 0 {
				t.Errorf("seed %d: at the end %+v", seed, got)
			}
		}
	}
}

// TestRemovedMeanwhile removes a page's entry from the stored queue while the page is handed out. If the page is
// returned, the frontier neither hands it out again nor counts it.
func TestRemovedMeanwhile(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const site = weburl.Site("http://a.test")
	var queues MemoryQueues
	f, err := New(Options{}, &queues)
	if err != nil {
		t.Fatal(err)
	}
	f.RobotsDone(site, now.Add(time.Hour), 0, now)
	var entries []Entry
	for i := range uint64(3) {
		e := Entry{Key: Key{i, i}, Fingerprint: weburl.Fingerprint(i + 1)}
		queues.Add(site, KindNew, e)
		entries = append(entries, e)
	}
	f.Discovered(site, entries, now)
	p, _, ok := f.Next(now)
	if !ok || p.Fingerprint != entries[0].Fingerprint {
		t.Fatalf("handed out: %+v, %t", p, ok)
	}
	queues.Remove(site, KindNew, p.Key)
	f.Removed(site, KindNew, entries[0], now)
	f.Return(p, now)
	if n := f.Stats().QueuedNew; n != 2 {
		t.Errorf("two pages wait, %d are counted", n)
	}
	if p, _, ok = f.Next(now); !ok || p.Fingerprint != entries[1].Fingerprint {
		t.Errorf("handed out next: %+v, %t", p, ok)
	}
}
