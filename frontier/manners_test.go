package frontier

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/weburl"
)

func mustHours(t testing.TB, text string) Hours {
	t.Helper()
	h, err := ParseHours(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHours(t *testing.T) {
	tests := []struct {
		name, hours, now, next string
		open                   time.Duration
	}{
		{"inside", "9:00-17:00", "2026-01-05T12:00:00Z", "2026-01-05T12:00:00Z", 8 * time.Hour},
		{"before", "9:00-17:00", "2026-01-05T08:59:59Z", "2026-01-05T09:00:00Z", 8 * time.Hour},
		{"the end is outside", "9:00-17:00", "2026-01-05T17:00:00Z", "2026-01-06T09:00:00Z", 8 * time.Hour},
		{"over midnight, evening", "22:00-06:00", "2026-01-05T23:00:00Z", "2026-01-05T23:00:00Z", 8 * time.Hour},
		{"over midnight, morning", "22:00-06:00", "2026-01-05T05:59:00Z", "2026-01-05T05:59:00Z", 8 * time.Hour},
		{"over midnight, day", "22:00-06:00", "2026-01-05T06:00:00Z", "2026-01-05T22:00:00Z", 8 * time.Hour},
		{"two spans", "0:00-6:00,12:00-13:00", "2026-01-05T11:00:00Z", "2026-01-05T12:00:00Z", 7 * time.Hour},
		{"spans that overlap", "0:00-6:00,5:00-7:00", "2026-01-05T08:00:00Z", "2026-01-06T00:00:00Z", 7 * time.Hour},
		{"to the day's end", "20:00-24:00", "2026-01-05T23:59:00Z", "2026-01-05T23:59:00Z", 4 * time.Hour},
		{"a zone east", "9:00-10:00 Asia/Kolkata", "2026-01-05T03:29:00Z", "2026-01-05T03:30:00Z", time.Hour},
		{"a zone whose day is another", "1:00-2:00 Pacific/Auckland", "2026-01-05T11:00:00Z", "2026-01-05T12:00:00Z", time.Hour},
		{"clocks put forward over the beginning", "2:30-4:00 Europe/Berlin", "2026-03-29T00:59:00Z", "2026-03-29T01:30:00Z", 90 * time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			now, err1 := time.Parse(time.RFC3339, test.now)
			want, err2 := time.Parse(time.RFC3339, test.next)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			h := mustHours(t, test.hours)
			if got := h.Next(now); !got.Equal(want) {
				t.Errorf("next of %v is %v: want %v", now, got.UTC(), want)
			}
			if got := h.Open(); got != test.open {
				t.Errorf("open for %v: want %v", got, test.open)
			}
		})
	}
}

func TestHoursFaults(t *testing.T) {
	for _, text := range []string{"", "9-17", "9:00", "9:00-9:00", "24:00-3:00", "9:60-10:00", "9:00-25:00", "9:00-17:00 Mars/Olympus", "9:00-17:00 Local", "9:00-17:00,", "-1:00-2:00", "9:00-9:30:00"} {
		if h, err := ParseHours(text); err == nil {
			t.Errorf("%q is read as %q", text, h)
		}
	}
}

// TestHoursLaws holds that the next opening is never before now and lies inside the hours. Printed hours parse as hours
// with the same meaning.
func TestHoursLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([01]?[0-9]:[0-5][0-9]-2[0-3]:[0-5][05])(,[01]?[0-9]:[0-5][0-9]-2[0-3]:00){0,2} (UTC|Europe/Berlin|America/St_Johns)`).Draw(t, "hours")
		h, err := ParseHours(text)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(rapid.Int64Range(1.6e9, 1.9e9).Draw(t, "now"), 0)
		next := h.Next(now)
		again, err := ParseHours(h.String())
		switch {
		case next.Before(now) || next.Sub(now) > 25*time.Hour:
			t.Fatalf("%q: next of %v is %v", text, now, next)
		case !h.Next(next).Equal(next):
			t.Fatalf("%q: %v is not inside", text, next)
		case err != nil || !again.Next(now).Equal(next):
			t.Fatalf("%q prints as %q: %v", text, h, err)
		}
	})
}

// steered returns a frontier with three new pages on each of two sites, which have a host each.
func steered(t *testing.T, manners map[weburl.Site]*Manners) (*Frontier, *memoryQueues, time.Time) {
	t.Helper()
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	queues := &memoryQueues{}
	f, err := New(Options{Delay: time.Second, Manners: func(s weburl.Site) *Manners { return manners[s] }}, queues)
	if err != nil {
		t.Fatal(err)
	}
	for i, site := range []weburl.Site{"http://a.test", "http://b.test"} {
		for n := range 3 {
			e := Entry{Key: Key{Arrival: uint64(10*i + n + 1)}, Fingerprint: weburl.Fingerprint(10*i + n + 1)}
			queues.add(site, e)
			f.Discovered(site, []Entry{e}, now)
		}
		f.RobotsDone(site, now.Add(1000*time.Hour), 0, now)
	}
	return f, queues, now
}

// TestMeet holds that a request to a second site of a host makes the host as slow as that site's manners say.
func TestMeet(t *testing.T) {
	slow := time.Minute
	f, _, now := steered(t, map[weburl.Site]*Manners{"http://a.test:8080": {Delay: &slow}})
	p, _, ok := f.Next(now)
	if !ok || p.Site != "http://a.test" {
		t.Fatalf("the first page is of %q, want http://a.test", p.Site)
	}
	if free, ok := f.Meet("http://a.test:8080", now); !ok {
		t.Errorf("the other site may not be asked before %v", free)
	}
	if gate := f.Done(p, Answer{}, now); gate.Interval != slow {
		t.Errorf("the host waits %v, want %v", gate.Interval, slow)
	}
}

// TestNeighbourSlows holds that a site which comes to a host has it wait as long as that site requires, from the host's
// last answer on: by its manners, or by the Crawl-delay of its stored robots.txt.
func TestNeighbourSlows(t *testing.T) {
	slow := time.Minute
	for name, info := range map[string]SiteInfo{
		"manners":     {Site: "http://a.test:8080", New: 1},
		"Crawl-delay": {Site: "https://a.test", New: 1, CrawlDelay: slow},
	} {
		f, queues, now := steered(t, map[weburl.Site]*Manners{"http://a.test:8080": {Delay: &slow}})
		f.Pause("http://b.test", true, now)
		if site, _ := turn(f, now); site != "http://a.test" {
			t.Fatalf("%s: the first page is of %q, want http://a.test", name, site)
		}
		queues.add(info.Site, Entry{Key: Key{Arrival: 100}, Fingerprint: 100})
		info.RobotsUntil = now.Add(1000 * time.Hour)
		f.Restore(info, now)
		if site, wake := turn(f, now.Add(time.Second)); site != "" || !wake.Equal(now.Add(slow)) {
			t.Errorf("%s: %q is asked, or next at %v: want nothing before %v", name, site, wake, now.Add(slow))
		}
	}
}

// TestSlowInItsHours holds that a site gets to its pages whose wait takes longer than its hours and a robots.txt last.
func TestSlowInItsHours(t *testing.T) {
	wait := 30 * time.Hour
	f, _, now := steered(t, map[weburl.Site]*Manners{"http://a.test": {Delay: &wait, Hours: mustHours(t, "11:00-12:00")}})
	f.Pause("http://b.test", true, now)
	f.AskRobots("http://a.test", now, now)
	for range 10 {
		p, wake, ok := f.Next(now)
		switch {
		case !ok:
			now = wake
			continue
		case !p.Robots:
			return
		}
		f.RobotsDone(p.Site, now.Add(24*time.Hour), 0, now)
		f.Done(p, Answer{}, now)
	}
	t.Errorf("until %v robots.txt is asked for again and again, and no page", now)
}

// TestPausedIsNotClaimed holds that Reserve and Meet refuse a paused site.
func TestPausedIsNotClaimed(t *testing.T) {
	f, _, now := steered(t, nil)
	f.Pause("http://b.test", true, now)
	if _, free, ok := f.Reserve("http://b.test", now); ok || !free.After(now) {
		t.Errorf("a paused site is claimed: %v, or again at %v", ok, free)
	}
	if free, ok := f.Meet("http://b.test", now); ok || !free.After(now) {
		t.Errorf("a paused site may be asked: %v, or again at %v", ok, free)
	}
}

// memoryQueues keeps queues of new pages.
type memoryQueues struct{ entries map[weburl.Site][]Entry }

func (q *memoryQueues) add(site weburl.Site, e Entry) {
	if q.entries == nil {
		q.entries = map[weburl.Site][]Entry{}
	}
	q.entries[site] = append(q.entries[site], e)
}

func (q *memoryQueues) Read(dst []Entry, site weburl.Site, kind Kind, after Key, n int) ([]Entry, error) {
	for _, e := range q.entries[site] {
		if kind == KindNew && after.Less(e.Key) && len(dst) < n {
			dst = append(dst, e)
		}
	}
	return dst, nil
}

// turn takes the next page and returns it as done at once. Its result is the page's site, or the wake time if there is
// no page.
func turn(f *Frontier, now time.Time) (weburl.Site, time.Time) {
	p, wake, ok := f.Next(now)
	if !ok {
		return "", wake
	}
	f.Done(p, Answer{}, now)
	return p.Site, time.Time{}
}

func TestMannersOfASite(t *testing.T) {
	slow := 10 * time.Second
	f, _, now := steered(t, map[weburl.Site]*Manners{
		"http://a.test": {Delay: &slow},
		"http://b.test": {Hours: mustHours(t, "11:00-12:00"), Budget: 60},
	})
	if a, b := f.Rate("http://a.test"), f.Rate("http://b.test")*86400; a != 0.1 || math.Abs(b-60) > 1e-9 {
		t.Errorf("a.test may be asked %v times a second, b.test %v times a day: want 0.1 and 60", a, b)
	}
	if site, _ := turn(f, now); site != "http://a.test" {
		t.Fatalf("first %q: b.test's hours are over", site)
	}
	if site, wake := turn(f, now); site != "" || !wake.Equal(now.Add(slow)) {
		t.Errorf("second %q, wake %v: want a.test's own delay", site, wake)
	}
	if got := f.Explain("http://b.test", now); len(got) != 1 || got[0].Gate != "hours" || !got[0].Until.Equal(now.Add(23*time.Hour)) {
		t.Errorf("explanation %+v: want the hours, until 11:00", got)
	}
	opening := now.Add(23 * time.Hour)
	served := map[weburl.Site]int{}
	for range 4 {
		if site, _ := turn(f, opening); site != "" {
			served[site]++
		}
	}
	if served["http://b.test"] != 1 {
		t.Errorf("served at the opening: %v", served)
	}
	// The hours allow 60 fetches in an hour: one a minute.
	if got := f.Explain("http://b.test", opening); len(got) != 1 || got[0].Gate != "interval" || !got[0].Until.Equal(opening.Add(time.Minute)) {
		t.Errorf("explanation %+v: want an interval of a minute", got)
	}
	// A page that was ready when the hours ended does not go.
	if site, wake := turn(f, opening.Add(time.Hour)); site == "http://b.test" {
		t.Errorf("b.test is asked after its hours; wake %v", wake)
	}
}

func TestPauseAndReload(t *testing.T) {
	f, _, now := steered(t, nil)
	f.PauseAll(true)
	if site, wake := turn(f, now); site != "" || !wake.IsZero() {
		t.Fatalf("%q, %v while all is paused", site, wake)
	}
	f.PauseAll(false)
	f.Pause("http://a.test", true, now)
	for range 2 {
		if site, _ := turn(f, now); site == "http://a.test" {
			t.Fatal("a paused site is asked")
		}
	}
	if got := f.Explain("http://a.test", now); len(got) != 1 || got[0].Gate != "paused" {
		t.Errorf("explanation %+v", got)
	}
	f.Pause("http://a.test", false, now)
	if site, _ := turn(f, now); site != "http://a.test" {
		t.Fatal("a site that goes on is not asked")
	}
	if err := f.Reload(Options{Delay: time.Hour}, now); err != nil {
		t.Fatal(err)
	}
	if site, wake := turn(f, now.Add(time.Minute)); site != "" || !wake.Equal(now.Add(time.Hour)) {
		t.Errorf("%q, wake %v: want the longer delay, from the last answer on", site, wake)
	}
	if err := f.Reload(Options{Delay: -1}, now); err == nil {
		t.Error("a negative delay is taken")
	}
}
