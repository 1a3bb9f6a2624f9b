package frontier

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"freshet/internal/transcript"
	"freshet/weburl"
)

func TestTranscripts(t *testing.T) {
	transcript.Run(t, func(t *testing.T) func([]string) string {
		var w *world
		return func(commands []string) string {
			for _, line := range commands {
				words := strings.Fields(line)
				args := parseArgs(words[1:])
				if words[0] == "frontier" {
					w = newWorld(t, args)
					continue
				}
				w.command(words[0], args)
			}
			printed := w.out
			w.out = ""
			return printed
		}
	})
}

// args are the words after a command: plain ones, and settings name=value.
type args struct {
	words    []string
	settings map[string]string
}

func parseArgs(words []string) args {
	a := args{settings: map[string]string{}}
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok && !strings.HasPrefix(w, "/") && !strings.HasPrefix(w, "http") {
			a.settings[name] = value
		} else {
			a.words = append(a.words, w)
		}
	}
	return a
}

func (a args) duration(t *testing.T, name string) time.Duration {
	if a.settings[name] == "" {
		return 0
	}
	d, err := time.ParseDuration(a.settings[name])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (a args) number(t *testing.T, name string) float64 {
	if a.settings[name] == "" {
		return 0
	}
	n, err := strconv.ParseFloat(a.settings[name], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// world is a web and a store around a frontier. The sites answer as the test tells them, and the queues are in memory.
type world struct {
	t        *testing.T
	out      string
	options  Options
	fetchers int
	f        *Frontier
	q        *MemoryQueues
	now      time.Time // of the clock, which a restart may set back
	start    time.Time
	sites    []*webSite // in the order of their commands
	arrival  uint64
	paths    map[weburl.Fingerprint]string
	flights  []flight
}

type webSite struct {
	name                           weburl.Site
	address                        netip.Addr
	answer, crawlDelay, retryAfter time.Duration
	robots                         time.Duration // for how long robots.txt is valid; 0: there is none to fetch
	fail                           int           // how many of the next requests fail
	robotsFail                     int           // how many of the next requests for robots.txt fail
	unheard                        int           // how many of the next requests find their connection closed
	kept                           bool
	robotsUntil                    time.Time // stored
	gate                           Gate      // stored, of the host
}

type flight struct {
	page Page
	from time.Time
	end  time.Time
}

func newWorld(t *testing.T, a args) *world {
	w := &world{t: t, start: time.Unix(1_000_000_000, 0).UTC(), q: &MemoryQueues{}, fetchers: 100,
		paths: map[weburl.Fingerprint]string{}}
	w.now = w.start
	w.options = Options{Delay: a.duration(t, "delay"), AddressDelay: a.duration(t, "address-delay"),
		AdaptiveDelay: a.number(t, "adaptive-delay"), PerConnection: int(a.number(t, "per-connection")),
		DiscoveryShare: a.number(t, "share")}
	if order := a.settings["order"]; order != "" {
		o, err := ParseOrdering(order)
		if err != nil {
			t.Fatal(err)
		}
		w.options.Ordering = o
	}
	if n := a.number(t, "fetchers"); n > 0 {
		w.fetchers = int(n)
	}
	f, err := New(w.options, w.q)
	if err != nil {
		t.Fatal(err)
	}
	w.f = f
	return w
}

func (w *world) printf(format string, args ...any) { w.out += fmt.Sprintf(format, args...) + "\n" }

// at prints a time as the seconds since the start.
func (w *world) at(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Sub(w.start).Round(time.Millisecond).String()
}

func (w *world) site(name string) *webSite {
	for _, s := range w.sites {
		if string(s.name) == name {
			return s
		}
	}
	w.t.Fatalf("no site %s", name)
	return nil
}

func (w *world) entry(site weburl.Site, path string, order uint64) Entry {
	u, err := weburl.Parse(string(site) + path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.paths[u.Fingerprint()] = path
	w.arrival++
	return Entry{Key: Key{Order: order, Arrival: w.arrival}, Fingerprint: u.Fingerprint()}
}

func (w *world) command(name string, a args) {
	switch name {
	case "site":
		w.addSite(a)
	case "page":
		w.addPages(a)
	case "due":
		s := w.site(a.words[0])
		e := w.entry(s.name, a.words[1], uint64(w.start.Add(a.duration(w.t, "at")).UnixNano()))
		w.q.Add(s.name, KindDue, e)
		w.f.Planned(s.name, e, w.now)
	case "run":
		w.run(a)
	case "restart":
		w.restart(a)
	case "block":
		until := time.Time{}
		if a.settings["until"] != "" {
			until = w.start.Add(a.duration(w.t, "until"))
		}
		g := w.f.Block(a.words[0], until, w.now)
		w.printf("blocked until %d", g.Blocked.Year())
	case "unblock":
		w.f.Unblock(a.words[0], w.now)
	case "watch":
		w.f.WatchRobots(weburl.Site(a.words[0]), w.now)
	case "shelved":
		stats := w.f.Stats()
		w.printf("%d of %d pages", stats.Shelved, stats.QueuedNew+stats.QueuedDue)
	case "stats":
		w.printf("%+v", w.f.Stats())
	case "bound":
		w.printf("at least %v", w.f.LowerBound(w.now))
	case "pause", "resume":
		w.f.Pause(weburl.Site(a.words[0]), name == "pause", w.now)
	case "opens":
		at, busy := w.f.Opens(weburl.Site(a.words[0]), w.now)
		w.printf("opens at %s, busy since %s", w.at(at), w.at(busy))
	case "rate":
		w.printf("%.4g a second", w.f.Rate(weburl.Site(a.words[0])))
	case "explain":
		for _, o := range w.f.Explain(weburl.Site(a.words[0]), w.now) {
			w.printf("%s until %s", o.Gate, w.at(o.Until))
		}
	default:
		w.t.Fatalf("no command %s", name)
	}
}

func (w *world) addSite(a args) {
	s := &webSite{name: weburl.Site(a.words[0]), answer: a.duration(w.t, "answer"), crawlDelay: a.duration(w.t, "crawl-delay"),
		retryAfter: a.duration(w.t, "retry-after"), robots: a.duration(w.t, "robots"), fail: int(a.number(w.t, "fail")),
		robotsFail: int(a.number(w.t, "robots-fail")), unheard: int(a.number(w.t, "unheard")), kept: slices.Contains(a.words, "kept")}
	if a.settings["address"] != "" {
		s.address = netip.MustParseAddr(a.settings["address"])
	}
	w.sites = append(w.sites, s)
	if s.robots == 0 {
		s.robotsUntil = w.now.AddDate(1, 0, 0)
		w.f.RobotsDone(s.name, s.robotsUntil, s.crawlDelay, w.now)
	}
}

func (w *world) addPages(a args) {
	s := w.site(a.words[0])
	depth := uint16(a.number(w.t, "depth"))
	ordering := w.options.Ordering
	if ordering == nil {
		ordering = Length{}
	}
	var entries []Entry
	for _, path := range a.words[1:] {
		e := w.entry(s.name, path, ordering.PageOrder(weburl.Link{Depth: depth}))
		w.q.Add(s.name, KindNew, e)
		entries = append(entries, e)
	}
	w.f.Discovered(s.name, entries, w.now)
}

// run lets time pass, printing each request when it starts.
func (w *world) run(a args) {
	d, err := time.ParseDuration(a.words[0])
	if err != nil {
		w.t.Fatal(err)
	}
	end := w.now.Add(d)
	for {
		wake := w.fetchAll()
		for _, fl := range w.flights {
			if wake.IsZero() || fl.end.Before(wake) {
				wake = fl.end
			}
		}
		if wake.IsZero() {
			w.printf("t=%s idle", w.at(w.now))
			w.now = end
			return
		}
		if wake.After(end) {
			w.now = end
			return
		}
		w.now = wake
		w.finish()
	}
}

// fetchAll starts all requests that may start now.
func (w *world) fetchAll() (wake time.Time) {
	for len(w.flights) < w.fetchers {
		p, later, ok := w.f.Next(w.now)
		if !ok {
			return later
		}
		s := w.site(string(p.Site))
		path := w.paths[p.Fingerprint]
		if p.Robots {
			path = "/robots.txt"
		}
		if s.address.IsValid() {
			if ok, until := w.f.Bind(p, s.address, w.now); !ok {
				w.printf("t=%s hold %s %s until %s", w.at(w.now), p.Site, path, w.at(until))
				continue
			}
		}
		how := p.Kind.String()
		if p.Continues {
			how += ", same connection"
		}
		w.printf("t=%s fetch %s %s (%s)", w.at(w.now), p.Site, path, how)
		w.flights = append(w.flights, flight{p, w.now, w.now.Add(s.answer)})
	}
	return time.Time{}
}

// finish returns the requests that are answered by now.
func (w *world) finish() {
	w.flights = slices.DeleteFunc(w.flights, func(fl flight) bool {
		if fl.end.After(w.now) {
			return false
		}
		s := w.site(string(fl.page.Site))
		answer := Answer{End: fl.end, Took: fl.end.Sub(fl.from), Kept: s.kept, RetryAfter: s.retryAfter}
		switch {
		case fl.page.Robots && s.robotsFail > 0:
			s.robotsFail--
			w.f.RobotsUnreachable(s.name, w.now.Add(time.Minute), fl.page.Failures > 0, w.now)
			w.printf("t=%s robots.txt of %s unreachable, %d times before", w.at(w.now), s.name, fl.page.Failures)
		case fl.page.Robots:
			s.robotsUntil = w.now.Add(s.robots)
			w.f.RobotsDone(s.name, s.robotsUntil, s.crawlDelay, w.now)
		case s.unheard > 0:
			s.unheard--
			answer.Unheard = true
			w.f.Done(fl.page, answer, w.now)
			w.printf("t=%s unheard %s; may stop clean: %v", w.at(w.now), fl.page.Site, w.f.MayStopClean(w.now))
			return true
		case s.fail > 0:
			s.fail--
			answer.Failed = true
			w.printf("t=%s failed %s", w.at(w.now), fl.page.Site)
		}
		gate := w.f.Done(fl.page, answer, w.now)
		for _, other := range w.sites {
			if other.name.Host() == s.name.Host() {
				other.gate = gate
			}
		}
		if !fl.page.Robots {
			w.q.Remove(s.name, fl.page.Kind, fl.page.Key)
			w.f.Committed(fl.page)
		}
		return true
	})
}

// restart makes a new frontier from the stored state. Requests in flight are lost.
func (w *world) restart(a args) {
	w.flights = nil
	w.now = w.now.Add(a.duration(w.t, "after"))
	f, err := New(w.options, w.q)
	if err != nil {
		w.t.Fatal(err)
	}
	w.f = f
	for _, s := range w.sites {
		info := SiteInfo{Site: s.name, New: w.q.Len(s.name, KindNew), Due: w.q.Len(s.name, KindDue), Gate: s.gate}
		if !s.robotsUntil.IsZero() {
			info.RobotsUntil, info.CrawlDelay = s.robotsUntil, s.crawlDelay
		}
		w.f.Restore(info, w.now)
	}
	w.f.AfterStop(w.now)
	if slices.Contains(a.words, "unclean") {
		w.f.AfterUncleanStop(w.now)
	}
}
