package frontier

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/weburl"
)

// model is the contract of a Frontier. It works out each answer again from its whole state.
type model struct {
	o     Options
	now   instant
	sites []*modelSite
	hosts map[string]*modelHost
	owed  int
	open  []*modelHost               // in the order in which their connections became free
	out   []Page                     // in flight
	done  []Page                     // given back, not committed
	moved map[weburl.Fingerprint]Key // stored keys of pages that moved while they were handed out
}

type modelSite struct {
	name   weburl.Site
	host   *modelHost
	queues [2][]Entry // sorted; Next may hand these out
	robots instant
	retry  instant
	failed int // how many fetches of robots.txt failed in a row
}

type modelHost struct {
	busy    bool
	opens   instant
	blocked instant
	gate    Gate
	open    *modelSite
	end     instant
	run     int
}

func (m *model) openFor(s *modelSite) bool {
	return !s.host.busy && max(s.host.opens, s.host.blocked, s.retry) <= m.now
}

func (m *model) has(s *modelSite, k Kind) bool {
	q := s.queues[k]
	return len(q) > 0 && (k == KindNew || dueAt(q[0].Key) <= m.now)
}

// want returns the site and kind that Next must choose.
func (m *model) want() (site *modelSite, kind Kind, continues, contended bool) {
	for _, h := range m.open {
		s := h.open
		if s == nil || h.busy || m.now > h.end.after(idleConnection) || h.blocked > m.now || s.retry > m.now {
			continue
		}
		if fresh, due := m.has(s, KindNew), m.has(s, KindDue); fresh || due {
			return s, m.prefer(fresh, due), true, fresh && due
		}
	}
	var fresh, due *modelSite
	for _, s := range m.sites { // by name, so that the first of equals stays
		if !m.openFor(s) {
			continue
		}
		if m.has(s, KindDue) && (due == nil || s.queues[KindDue][0].Key.Less(due.queues[KindDue][0].Key)) {
			due = s
		}
		if m.has(s, KindNew) && (fresh == nil || m.priority(s) > m.priority(fresh)) {
			fresh = s
		}
	}
	switch k := m.prefer(fresh != nil, due != nil); {
	case fresh == nil && due == nil:
		return nil, 0, false, false
	case k == KindDue:
		return due, k, false, fresh != nil
	default:
		return fresh, k, false, due != nil
	}
}

func (m *model) prefer(fresh, due bool) Kind {
	if due && !(fresh && m.owed+int(m.o.DiscoveryShare*whole+0.5) >= whole) {
		return KindDue
	}
	return KindNew
}

func (m *model) priority(s *modelSite) float64 {
	q := s.queues[KindNew]
	return m.o.Ordering.SitePriority(SiteState{Queued: len(q), Top: q[0].Key})
}

// wake returns when something may go that may not go now.
func (m *model) wake() instant {
	wake := never
	for _, s := range m.sites {
		if s.host.busy {
			continue
		}
		opens := max(s.host.opens, s.host.blocked, s.retry)
		if len(s.queues[KindNew]) > 0 {
			wake = min(wake, opens)
		}
		if q := s.queues[KindDue]; len(q) > 0 {
			wake = min(wake, max(opens, dueAt(q[0].Key)))
		}
	}
	return wake
}

func (m *model) insert(s *modelSite, k Kind, e Entry) {
	i, found := find(s.queues[k], e.Key)
	if !found {
		s.queues[k] = slices.Insert(s.queues[k], i, e)
	}
}

// TestNextKeepsItsContract makes the same random calls to a frontier and a model, restarts among them. Both must agree
// on every page handed out and on every wake.
func TestNextKeepsItsContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machine := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"discover": machine.discover,
			"plan":     machine.plan,
			"move":     machine.move,
			"move out": machine.moveOut,
			"rewrite":  machine.rewrite,
			"remove":   machine.remove,
			"next":     machine.next,
			"next 2":   machine.next,
			"next 3":   machine.next,
			"pass":     machine.pass,
			"end":      machine.end,
			"end 2":    machine.end,
			"drop":     machine.drop,
			"return":   machine.giveBack,
			"commit":   machine.commit,
			"block":    machine.block,
			"share":    machine.share,
			"restart":  machine.restart,
			"":         machine.check,
		})
	})
}

type machine struct {
	m       *model
	f       *Frontier
	q       *MemoryQueues
	arrival uint64
}

func newMachine(t *rapid.T) *machine {
	o := Options{
		Delay:          time.Duration(rapid.IntRange(0, 20).Draw(t, "delay")) * time.Second,
		PerConnection:  rapid.IntRange(1, 4).Draw(t, "k"),
		DiscoveryShare: float64(rapid.IntRange(0, 10).Draw(t, "share")) / 10,
		Ordering:       rapid.SampledFrom([]Ordering{Length{}, Depth{}}).Draw(t, "ordering"),
	}
	q := &MemoryQueues{}
	f, err := New(o, q)
	if err != nil {
		t.Fatal(err)
	}
	m := &model{o: o, hosts: map[string]*modelHost{}, now: instant(1e18), moved: map[weburl.Fingerprint]Key{}}
	for _, name := range []weburl.Site{"http://a.example", "http://b.example", "http://c.example", "https://a.example"} {
		h := m.hosts[name.Host()]
		if h == nil {
			h = &modelHost{}
			m.hosts[name.Host()] = h
		}
		m.sites = append(m.sites, &modelSite{name: name, host: h})
	}
	if rapid.Bool().Draw(t, "robots") {
		for _, s := range m.sites {
			s.robots = m.now + 1000e9
			f.RobotsDone(s.name, s.robots.time(), 0, m.now.time())
		}
	}
	return &machine{m, f, q, 0}
}

func (c *machine) site(t *rapid.T) *modelSite { return rapid.SampledFrom(c.m.sites).Draw(t, "site") }

func (c *machine) entry(t *rapid.T, k Kind) Entry {
	c.arrival++
	e := Entry{Key: Key{rapid.Uint64Range(0, 3).Draw(t, "order"), c.arrival}, Fingerprint: weburl.Fingerprint(c.arrival)}
	if k == KindDue {
		e.Key.Order = uint64(c.m.now) - 30e9 + 1e9*rapid.Uint64Range(0, 60).Draw(t, "due")
	}
	return e
}

func (c *machine) discover(t *rapid.T) {
	s := c.site(t)
	var entries []Entry
	for range rapid.IntRange(1, 2*windowSize+2).Draw(t, "entries") {
		e := c.entry(t, KindNew)
		c.q.Add(s.name, KindNew, e)
		c.m.insert(s, KindNew, e)
		entries = append(entries, e)
	}
	c.f.Discovered(s.name, entries, c.m.now.time())
	c.reopen(s)
}

// reopen puts a site's idle open connection back in the line, because there may be a page for it again.
func (c *machine) reopen(s *modelSite) {
	if h := s.host; h.open == s && !h.busy && !slices.Contains(c.m.open, h) {
		c.m.open = append(c.m.open, h)
	}
}

func (c *machine) plan(t *rapid.T) {
	s := c.site(t)
	e := c.entry(t, KindDue)
	c.q.Add(s.name, KindDue, e)
	c.m.insert(s, KindDue, e)
	c.f.Planned(s.name, e, c.m.now.time())
	c.reopen(s)
}

// queued draws a page that waits.
func (c *machine) queued(t *rapid.T) (*modelSite, Kind, int) {
	s, k := c.site(t), Kind(rapid.IntRange(0, 1).Draw(t, "kind"))
	if len(s.queues[k]) == 0 {
		t.Skip("none")
	}
	return s, k, rapid.IntRange(0, len(s.queues[k])-1).Draw(t, "which")
}

func (c *machine) move(t *rapid.T) {
	s, k, i := c.queued(t)
	old := s.queues[k][i]
	e := c.entry(t, k)
	e.Fingerprint = old.Fingerprint
	c.q.Remove(s.name, k, old.Key)
	c.q.Add(s.name, k, e)
	s.queues[k] = slices.Delete(s.queues[k], i, i+1)
	c.m.insert(s, k, e)
	c.f.Moved(s.name, k, old, e, c.m.now.time())
	c.reopen(s)
}

// moveOut moves a page in flight, or one that is done and not committed.
func (c *machine) moveOut(t *rapid.T) {
	pages := slices.DeleteFunc(append(slices.Clone(c.m.out), c.m.done...), func(p Page) bool { return p.Robots })
	if len(pages) == 0 {
		t.Skip("none")
	}
	p := rapid.SampledFrom(pages).Draw(t, "which")
	old := Entry{Key: c.m.placeOf(p), Fingerprint: p.Fingerprint}
	e := c.entry(t, p.Kind)
	e.Fingerprint = p.Fingerprint
	c.q.Remove(p.Site, p.Kind, old.Key)
	c.q.Add(p.Site, p.Kind, e)
	c.m.moved[p.Fingerprint] = e.Key
	c.f.Moved(p.Site, p.Kind, old, e, c.m.now.time())
}

// placeOf returns the stored key of a page in flight, or of one that is done and not committed.
func (m *model) placeOf(p Page) Key {
	if k, ok := m.moved[p.Fingerprint]; ok {
		return k
	}
	return p.Key
}

// rewrite gives all new pages of a site new keys. It tells the frontier after the store has all of them.
func (c *machine) rewrite(t *rapid.T) {
	s := c.site(t)
	before := s.queues[KindNew]
	s.queues[KindNew] = nil
	var after []Entry
	for _, old := range before {
		e := Entry{Key: Key{rapid.Uint64Range(0, 3).Draw(t, "order"), old.Key.Arrival}, Fingerprint: old.Fingerprint}
		c.q.Remove(s.name, KindNew, old.Key)
		c.q.Add(s.name, KindNew, e)
		c.m.insert(s, KindNew, e)
		after = append(after, e)
	}
	for i, e := range after {
		c.f.Moved(s.name, KindNew, before[i], e, c.m.now.time())
	}
	if len(before) > 0 {
		c.reopen(s)
	}
}

func (c *machine) remove(t *rapid.T) {
	s, k, i := c.queued(t)
	e := s.queues[k][i]
	c.q.Remove(s.name, k, e.Key)
	s.queues[k] = slices.Delete(s.queues[k], i, i+1)
	c.f.Removed(s.name, k, e, c.m.now.time())
	c.reopen(s)
}

func (c *machine) pass(t *rapid.T) {
	c.m.now += instant(rapid.Int64Range(0, 10).Draw(t, "seconds")) * 1e9
}

func (c *machine) next(t *rapid.T) {
	s, kind, continues, contended := c.m.want()
	p, wake, ok := c.f.Next(c.m.now.time())
	// There was no page for the connections in line before the chosen one.
	c.m.open = slices.DeleteFunc(c.m.open, func(h *modelHost) bool {
		return !continues || slices.Index(c.m.open, h) <= slices.Index(c.m.open, s.host)
	})
	if !ok {
		if s != nil {
			t.Fatalf("nothing handed out, want one of %s, %s", s.name, kind)
		}
		if want := c.m.wake(); want == never && !wake.IsZero() || want != never && at(wake) != want {
			t.Fatalf("wake at %v, want %v", wake, want.time())
		}
		return
	}
	if s == nil {
		t.Fatalf("got %+v, want nothing before %v", p, c.m.wake().time())
	}
	robots := s.robots <= c.m.now
	want := Page{Site: s.name, Kind: kind, Continues: continues, Robots: robots}
	if robots {
		want.Failures = s.failed
	} else {
		e := s.queues[kind][0]
		s.queues[kind] = s.queues[kind][1:]
		want.Key, want.Fingerprint = e.Key, e.Fingerprint
		delete(c.m.moved, e.Fingerprint)
		if contended {
			if c.m.owed += int(c.m.o.DiscoveryShare*whole + 0.5); kind == KindNew {
				c.m.owed -= whole
			}
		}
	}
	if p != want {
		t.Fatalf("got  %+v\nwant %+v", p, want)
	}
	if s.host.run++; !continues {
		s.host.run = 1
	}
	s.host.busy, s.host.open = true, nil
	c.m.out = append(c.m.out, p)
}

// pick draws a page in flight and ends its flight.
func (c *machine) pick(t *rapid.T) (Page, *modelSite) {
	if len(c.m.out) == 0 {
		t.Skip("none in flight")
	}
	i := rapid.IntRange(0, len(c.m.out)-1).Draw(t, "which")
	p := c.m.out[i]
	c.m.out = slices.Delete(c.m.out, i, i+1)
	s := c.m.siteOf(p)
	s.host.busy = false
	return p, s
}

func (m *model) siteOf(p Page) *modelSite {
	return m.sites[slices.IndexFunc(m.sites, func(s *modelSite) bool { return s.name == p.Site })]
}

func (c *machine) end(t *rapid.T) {
	p, s := c.pick(t)
	h, now := s.host, c.m.now
	a := Answer{End: now.time(), Took: time.Second, Kept: rapid.Bool().Draw(t, "kept"),
		Failed: rapid.IntRange(0, 4).Draw(t, "failed") == 0}
	if p.Robots {
		if a.Failed {
			s.retry, s.failed = now+20e9, s.failed+1
			c.f.RobotsUnreachable(s.name, s.retry.time(), false, now.time())
		} else {
			s.robots, s.retry, s.failed = now+300e9, 0, 0
			c.f.RobotsDone(s.name, s.robots.time(), 0, now.time())
		}
	} else {
		c.m.done = append(c.m.done, p)
	}
	h.gate = c.f.Done(p, a, now.time())
	wait := h.gate.Next.Sub(h.gate.End)
	switch {
	case h.gate.End != now.time() || h.gate.Interval != c.m.o.Delay:
		t.Fatalf("gate %+v", h.gate)
	case !a.Failed && wait != c.m.o.Delay:
		t.Fatalf("waits %v, want %v", wait, c.m.o.Delay)
	case a.Failed && (wait < c.m.o.Delay || wait < time.Second || wait > MaxBackoff):
		t.Fatalf("backs off %v", wait)
	}
	h.opens, h.end = at(h.gate.Next), now
	if a.Kept && !a.Failed && h.run < c.m.o.PerConnection {
		h.open = s
		c.reopen(s)
	}
}

func (c *machine) drop(t *rapid.T) {
	p, s := c.pick(t)
	s.host.run--
	if p.Continues {
		s.host.open = s
		c.reopen(s)
	}
	c.f.Drop(p, c.m.now.time())
	if !p.Robots {
		c.m.done = append(c.m.done, p)
	}
}

func (c *machine) giveBack(t *rapid.T) {
	p, s := c.pick(t)
	if !p.Robots {
		c.m.insert(s, p.Kind, Entry{Key: c.m.placeOf(p), Fingerprint: p.Fingerprint})
	}
	c.f.Return(p, c.m.now.time())
}

func (c *machine) commit(t *rapid.T) {
	if len(c.m.done) == 0 {
		t.Skip("none done")
	}
	i := rapid.IntRange(0, len(c.m.done)-1).Draw(t, "which")
	p := c.m.done[i]
	c.m.done = slices.Delete(c.m.done, i, i+1)
	c.q.Remove(p.Site, p.Kind, c.m.placeOf(p))
	c.f.Committed(p)
}

func (c *machine) block(t *rapid.T) {
	h := c.m.hosts["a.example"]
	h.blocked = c.m.now + instant(rapid.Int64Range(0, 30).Draw(t, "seconds"))*1e9
	h.open = nil
	h.gate = c.f.Block("a.example", h.blocked.time(), c.m.now.time())
}

func (c *machine) share(t *rapid.T) {
	c.m.o.DiscoveryShare = float64(rapid.IntRange(0, 10).Draw(t, "share")) / 10
	c.f.SetDiscoveryShare(c.m.o.DiscoveryShare)
}

// restart makes a new frontier from the queues. They hold the pages in flight and the pages not committed.
func (c *machine) restart(t *rapid.T) {
	for _, p := range append(c.m.out, c.m.done...) {
		if !p.Robots {
			c.m.insert(c.m.siteOf(p), p.Kind, Entry{Key: c.m.placeOf(p), Fingerprint: p.Fingerprint})
		}
	}
	c.m.out, c.m.done, c.m.open, c.m.owed = nil, nil, nil, 0
	f, err := New(c.m.o, c.q)
	if err != nil {
		t.Fatal(err)
	}
	c.f = f
	hints := rapid.Bool().Draw(t, "hints")
	for _, s := range c.m.sites {
		s.retry, s.failed = 0, 0
		s.host.busy, s.host.open, s.host.opens = false, nil, at(s.host.gate.Next)
		info := SiteInfo{Site: s.name, New: len(s.queues[KindNew]), Due: len(s.queues[KindDue]),
			RobotsUntil: s.robots.time(), Gate: s.host.gate}
		if hints && info.New > 0 {
			info.FirstNew = s.queues[KindNew][0].Key
		}
		if hints && info.Due > 0 {
			info.FirstDue = s.queues[KindDue][0].Key
		}
		f.Restore(info, c.m.now.time())
	}
	f.AfterStop(c.m.now.time())
	if rapid.Bool().Draw(t, "unclean") {
		f.AfterUncleanStop(c.m.now.time())
		for _, s := range c.m.sites {
			s.host.opens = max(s.host.opens, c.m.now.after(c.m.o.Delay))
		}
	}
}

// check fails if the frontier's counts differ from the model's, or if its windows or heaps are broken.
func (c *machine) check(t *rapid.T) {
	stats := c.f.Stats()
	fresh, due := 0, 0
	for _, s := range c.m.sites {
		fresh += len(s.queues[KindNew])
		due += len(s.queues[KindDue])
	}
	if stats.QueuedNew != fresh || stats.QueuedDue != due || stats.InFlight != len(c.m.out) {
		t.Fatalf("stats %+v, want %d new, %d due, %d in flight", stats, fresh, due, len(c.m.out))
	}
	for _, s := range c.f.sites {
		for _, w := range []*window{&s.fresh, s.due} {
			if w != nil && (len(w.entries) > windowSize || !w.more && w.count != len(w.entries)) {
				t.Fatalf("window %+v", w)
			}
		}
	}
	if err := checkHeaps(c.f); err != nil {
		t.Fatal(err)
	}
}

// checkHeaps returns the first fault that it finds in a frontier's heaps.
func checkHeaps(f *Frontier) error {
	for slot := range f.heaps {
		q := &f.heaps[slot]
		for i, h := range q.hosts {
			if int(h.place[slot]) != i+1 {
				return fmt.Errorf("heap %d: %s is at %d, thinks %d", slot, h.name, i, h.place[slot]-1)
			}
			if i > 0 && q.less(h, q.hosts[(i-1)/2]) {
				return fmt.Errorf("heap %d: %s is below its parent", slot, h.name)
			}
		}
	}
	return nil
}
