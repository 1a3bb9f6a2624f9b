package keepfresh_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/frontier"
	"freshet/refresh"
	"freshet/weburl"
)

// world is a frontier, a Keeper and a Pacer in virtual time, with sites that answer as told.
type world struct {
	t       testing.TB
	start   time.Time
	now     time.Time
	f       *frontier.Frontier
	q       *frontier.MemoryQueues
	k       *keepfresh.Keeper
	pacer   *keepfresh.Pacer
	delay   time.Duration
	sites   []*webSite
	pages   []weburl.URL
	ids     map[weburl.Fingerprint]refresh.ID
	arrival uint64
	flights []flight
	picks   time.Time // when to pick again
	orders  []order   // to come, by time
}

// webSite is a site that never changes.
type webSite struct {
	name       weburl.Site
	manners    frontier.Manners
	answer     time.Duration
	fails      bool          // it answers 503
	retryAfter time.Duration // with that
	robotsOut  bool          // robots.txt cannot be fetched
	robotsLast time.Duration // how long robots.txt is valid
	visits     int
	asked      int
}

type flight struct {
	page frontier.Page
	from time.Time
	end  time.Time
}

// order is something that happens to a site at a time.
type order struct {
	at time.Time
	do func()
}

const day = 24 * time.Hour

// retryDelay is the wait before a failed page is asked for again.
const retryDelay = time.Hour

func newWorld(t testing.TB, budget int64, delay time.Duration, policy refresh.Policy) *world {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	w := &world{t: t, start: start, now: start, q: &frontier.MemoryQueues{}, delay: delay,
		ids: map[weburl.Fingerprint]refresh.ID{}}
	f, err := frontier.New(frontier.Options{Delay: delay, Manners: func(site weburl.Site) *frontier.Manners {
		if s := w.find(site); s != nil {
			return &s.manners
		}
		return nil
	}}, w.q)
	if err != nil {
		t.Fatal(err)
	}
	w.f = f
	w.pacer = keepfresh.NewPacer(budget, day, w.now)
	w.k = keepfresh.New(f, w.pace(budget), policy)
	return w
}

func (w *world) pace(budget int64) keepfresh.Pace {
	return keepfresh.NewPace(budget, day, 250*time.Millisecond, w.delay)
}

func (w *world) setBudget(budget int64) {
	w.pacer.SetBudget(budget, w.now)
	w.k.SetPace(w.pace(budget))
	w.picks = w.now
}

func (w *world) find(name weburl.Site) *webSite {
	for _, s := range w.sites {
		if s.name == name {
			return s
		}
	}
	return nil
}

// add makes a site of pages pages. They were visited at different times of the day before.
func (w *world) add(name string, pages int) *webSite {
	s := &webSite{name: weburl.Site("http://" + name + ".test"), answer: time.Second, robotsLast: day}
	w.sites = append(w.sites, s)
	for i := range pages {
		u, err := weburl.Parse(fmt.Sprintf("%s/%d", s.name, i))
		if err != nil {
			w.t.Fatal(err)
		}
		id := refresh.ID(len(w.pages))
		w.pages = append(w.pages, u)
		w.ids[u.Fingerprint()] = id
		fresh := w.start.Add(-day + day*time.Duration(uint64(id)*2654435761%1000)/1000)
		w.k.Enter(id, refresh.Page{Site: string(s.name), Path: u.Path(), Weight: 1, Fresh: keepfresh.Seconds(fresh)})
	}
	w.picks = w.now
	return s
}

func (w *world) due(id refresh.ID, at time.Time) {
	u := w.pages[id]
	w.arrival++
	e := frontier.Entry{Key: frontier.Key{Order: uint64(at.UnixNano()), Arrival: w.arrival}, Fingerprint: u.Fingerprint()}
	w.q.Add(u.Site(), frontier.KindDue, e)
	w.f.Planned(u.Site(), e, w.now)
}

// run lets time pass.
func (w *world) run(d time.Duration) {
	for end := w.now.Add(d); ; {
		w.pick()
		next := keepfresh.Earliest(w.fetchAll(), w.picks)
		for _, fl := range w.flights {
			next = keepfresh.Earliest(next, fl.end)
		}
		if len(w.orders) > 0 {
			next = keepfresh.Earliest(next, w.orders[0].at)
		}
		if next.IsZero() || next.After(end) {
			w.now = end
			return
		}
		w.now = next
		w.finish()
		for len(w.orders) > 0 && !w.orders[0].at.After(w.now) {
			w.orders[0].do()
			w.orders = w.orders[1:]
		}
	}
}

func (w *world) pick() {
	if w.picks.IsZero() || w.picks.After(w.now) {
		return
	}
	for again := w.now; !again.IsZero() && !again.After(w.now); {
		var picks []keepfresh.Pick
		picks, again = w.k.Pick(nil, 64, w.now)
		for _, p := range picks {
			w.due(p.ID, p.Due)
		}
		w.picks = again
	}
}

// fetchAll starts the requests that may start now. It returns when the next one may start.
func (w *world) fetchAll() time.Time {
	for {
		if wake, paid := w.pacer.Take(w.now); !paid {
			return wake
		}
		p, wake, ok := w.f.Next(w.now)
		if !ok || p.Robots {
			w.pacer.GiveBack()
		}
		if !ok {
			return wake
		}
		s := w.find(p.Site)
		if !p.Robots {
			s.asked++
		}
		w.flights = append(w.flights, flight{p, w.now, w.now.Add(s.answer)})
	}
}

// finish takes the answers that have come.
func (w *world) finish() {
	w.flights = slices.DeleteFunc(w.flights, func(fl flight) bool {
		if fl.end.After(w.now) {
			return false
		}
		w.answer(fl)
		w.picks = w.now
		return true
	})
}

func (w *world) answer(fl flight) {
	s, p := w.find(fl.page.Site), fl.page
	a := frontier.Answer{End: fl.end, Took: fl.end.Sub(fl.from), Failed: s.fails}
	switch {
	case p.Robots && s.robotsOut:
		w.f.RobotsUnreachable(p.Site, w.now.Add(time.Hour), true, w.now)
	case p.Robots:
		w.f.RobotsDone(p.Site, w.now.Add(s.robotsLast), 0, w.now)
	}
	if s.fails {
		a.RetryAfter = s.retryAfter
	}
	w.f.Done(p, a, w.now)
	if p.Robots {
		return
	}
	w.q.Remove(p.Site, p.Kind, p.Key)
	w.f.Committed(p)
	id, kept := w.ids[p.Fingerprint]
	if !kept {
		return
	}
	if s.fails {
		w.k.Retrying(id, w.now)
		w.due(id, w.now.Add(retryDelay))
		return
	}
	s.visits++
	w.k.Visited(id, refresh.Visit{At: keepfresh.Seconds(w.now), Outcome: refresh.Unchanged})
}

// set changes a site, in the words of the transcripts.
func (w *world) set(s *webSite, words []string) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "answer":
			s.answer, err = time.ParseDuration(value)
		case "fail":
			s.fails = true
			if value != "" {
				s.retryAfter, err = time.ParseDuration(value)
			}
		case "robots-out":
			s.robotsOut = true
		case "hours":
			s.manners.Hours, err = frontier.ParseHours(value)
		case "pages": // read before
		case "well":
			s.fails, s.retryAfter, s.robotsOut = false, 0, false
		default:
			w.t.Fatalf("no word %q", word)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// command carries out a line of a transcript and returns its output.
func (w *world) command(line string) string {
	words := strings.Fields(line)
	switch words[0] {
	case "site":
		pages, err := strconv.Atoi(strings.TrimPrefix(words[2], "pages="))
		if err != nil {
			w.t.Fatal(err)
		}
		w.set(w.add(words[1], pages), words[2:])
	case "set":
		w.set(w.named(words[1]), words[2:])
	case "pause", "resume":
		w.f.Pause(w.named(words[1]).name, words[0] == "pause", w.now)
	case "block":
		w.f.Block(words[1]+".test", time.Time{}, w.now)
	case "unblock":
		w.f.Unblock(words[1]+".test", w.now)
	case "forget":
		site := w.named(words[1]).name
		for id, u := range w.pages {
			if u.Site() == site {
				w.k.Forget(refresh.ID(id), w.now)
				delete(w.ids, u.Fingerprint())
			}
		}
	case "budget":
		budget, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			w.t.Fatal(err)
		}
		w.setBudget(budget)
	case "run":
		return w.ran(words[1])
	default:
		w.t.Fatalf("no command %q", line)
	}
	return ""
}

func (w *world) named(name string) *webSite { return w.find(weburl.Site("http://" + name + ".test")) }

// ran lets time pass. It returns each site's visits in that time, and the state of the picks at its end.
func (w *world) ran(span string) string {
	d, err := time.ParseDuration(span)
	if days, ok := strings.CutSuffix(span, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(n) * day
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range w.sites {
		s.visits, s.asked = 0, 0
	}
	w.run(d)
	var out []string
	for _, s := range w.sites {
		text := fmt.Sprintf("%s %d", strings.TrimSuffix(strings.TrimPrefix(string(s.name), "http://"), ".test"), s.visits)
		if s.asked != s.visits {
			text += fmt.Sprintf(" of %d requests", s.asked)
		}
		out = append(out, text)
	}
	ahead, waiting := w.k.Counts()
	queued := 0
	for _, s := range w.sites {
		queued += w.q.Len(s.name, frontier.KindDue)
	}
	return fmt.Sprintf("%s: visits %s; %d ahead, %d wait, %d in queues",
		span, strings.Join(out, ", "), ahead, waiting, queued)
}

// least returns 95 of a hundred of want, rounded down, less one.
func least(want float64) int { return int(math.Floor(0.95*want)) - 1 }
