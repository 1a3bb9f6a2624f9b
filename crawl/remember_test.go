package crawl

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

// TestPastIsToldFirst holds that a shard reads the past visits in its first steps. It tells the policy about them
// before it tells anything that happens meanwhile.
func TestPastIsToldFirst(t *testing.T) {
	w := newWorld(t)
	w.set("budget", "1000", true)
	names := []string{"http://a.test/gone", "http://a.test/withdrawn", "http://a.test/claimed", "http://a.test/purged"}
	w.web["http://a.test/"] = &page{status: 200, links: names}
	for _, name := range names {
		w.web[name] = &page{status: 200}
	}
	w.settings.Seeds = []weburl.URL{parse(t, "http://a.test/")}
	w.open()
	w.run(time.Hour)
	s, err := New(w.store, w.seen, w.settings, w.now)
	check(t, err)
	defer s.Close()
	if !s.Remembers() || s.fresh.table.len() > 0 {
		t.Fatalf("remembers: %v, of %d pages something is believed before the first step", s.Remembers(), s.fresh.table.len())
	}
	key := func(name string) PageKey {
		u := parse(t, name)
		return PageKey{s.home(u.Site()), u.Fingerprint()}
	}
	s.fresh.visited(visit{page: key(names[0]), url: parse(t, names[0]), at: w.now, gone: true}, w.now)
	withdrawn := key(names[1])
	s.fresh.withdrawn([]store.Record{&store.Withdrawn{Partition: withdrawn.Partition, Fingerprint: withdrawn.Fingerprint}}, w.now)
	s.fresh.claimed(key(names[2]), refresh.Ping, keepfresh.Seconds(w.now))
	s.fresh.drop(key(names[3]), w.now)
	young := visit{page: key("http://a.test/young"), url: parse(t, "http://a.test/young"), at: w.now, fresh: true}
	s.fresh.visited(young, w.now)
	for steps := 0; s.Remembers(); steps++ {
		if steps > 100 {
			t.Fatal("the past is not told after a hundred steps")
		}
		_, err := s.Step(w.now)
		check(t, err)
	}
	for name, want := range map[string]bool{
		"http://a.test/": true, names[0]: false, names[1]: false, names[2]: true, names[3]: false, "http://a.test/young": true,
	} {
		if _, known := s.fresh.table.find(key(name)); known != want {
			t.Errorf("something is believed of %s: %v, want %v", name, known, want)
		}
	}
	if got := s.fresh.claimant(key(names[2])); got != refresh.Ping {
		t.Errorf("%s is claimed by %d, want the ping", names[2], got)
	}
}

// TestPicksEarly holds that the shard picks pages of a partition as soon as it has told the policy that partition's
// past. It does not wait for the other partitions.
func TestPicksEarly(t *testing.T) {
	w := newWorld(t)
	w.set("budget", "100000", true)
	for n := range 12 {
		name := fmt.Sprintf("http://site%d.test/", n)
		w.web[name] = &page{status: 200}
		w.settings.Seeds = append(w.settings.Seeds, parse(t, name))
	}
	w.open()
	w.run(time.Hour)
	s, err := New(w.store, w.seen, w.settings, w.now.AddDate(0, 1, 0))
	check(t, err)
	defer s.Close()
	early := 0
	for events := []Event{Begin{}}; s.Remembers(); events = nil {
		_, err := s.Step(w.now.AddDate(0, 1, 0), events...)
		check(t, err)
		if !s.Remembers() {
			break
		}
		for _, p := range s.fresh.table.pages {
			switch {
			case p.visits.planned() == 0:
			case slices.Contains(s.fresh.past.partitions, p.partition):
				t.Fatalf("a page of partition %d is picked, of which %v are not told", p.partition, s.fresh.past.partitions)
			case len(s.fresh.past.partitions) > 0:
				early++
			}
		}
	}
	if early == 0 {
		t.Error("no page is picked before all of the past is told")
	}
	if got := s.fresh.table.len(); got != 12 {
		t.Errorf("something is believed of %d pages, want 12", got)
	}
}

// TestRuns holds that the shard tells visits in order of time, and visits of the same time in order of their pages,
// even if it read them in pieces.
func TestRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var k past
		var want []remembered
		for piece := range rng.IntN(8) {
			var visits []remembered
			for range rng.IntN(20) {
				visits = append(visits, remembered{at: float64(rng.IntN(30)), page: int32(piece)})
			}
			want = append(want, visits...)
			k.gather(visits)
		}
		slices.SortFunc(want, func(a, b remembered) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.page, b.page))
		})
		var got []remembered
		for len(k.runs) > 0 {
			got = append(got, k.runs.next())
		}
		if !slices.Equal(got, want) {
			t.Fatalf("told as %v, want %v", got, want)
		}
	}
}

// TestRemembersKin holds that a page with the name of a small folder, and the pages there, are kin in a crawl: after
// one has changed, the others are believed stale. A restart believes it too.
func TestRemembersKin(t *testing.T) {
	w := newWorld(t)
	w.set("budget", "30", true)
	w.set("interval", "1h", true)
	names := []string{"http://a.test/d", "http://a.test/x", "http://a.test/d/1", "http://a.test/d/2"}
	w.web["http://a.test/"] = &page{status: 200, links: names}
	for _, name := range names {
		w.web[name] = &page{status: 200, body: "first"}
	}
	w.settings.Seeds = []weburl.URL{parse(t, "http://a.test/")}
	w.open()
	w.run(time.Hour)
	stale := func(name string) float64 {
		u, f := parse(t, name), w.shard.fresh
		id, known := f.table.find(PageKey{w.shard.home(u.Site()), u.Fingerprint()})
		if !known {
			t.Fatalf("%s is not kept fresh", name)
		}
		return f.belief.Copy(id, keepfresh.Seconds(w.now)).Stale
	}
	w.web["http://a.test/d/1"].body = "second"
	for minutes := 0; stale("http://a.test/d") < 0.4; minutes++ {
		if minutes > 60 {
			t.Fatal("nothing follows from a change")
		}
		w.run(10 * time.Second)
	}
	var before []float64
	for _, name := range names {
		before = append(before, stale(name))
	}
	w.stop(true)
	w.open()
	for steps := 0; w.shard.Remembers() && steps < 100; steps++ {
		w.step()
	}
	for i, name := range names {
		if now := stale(name); (now > 0.4) != (before[i] > 0.4) {
			t.Errorf("%s is stale with %.3f after a restart, before it with %.3f", name, now, before[i])
		}
	}
	if before[1] > 0.4 {
		t.Errorf("%s is stale with %.3f", names[1], before[1])
	}
}

// TestRemembersGone has half of a site's pages change at every visit and go. After a restart, the shard believes the
// same of the others as before it.
func TestRemembersGone(t *testing.T) {
	w := newWorld(t)
	w.set("budget", "96", true)
	w.set("interval", "24h", true)
	var names []string
	for n := range 24 {
		names = append(names, fmt.Sprintf("http://a.test/%d", n))
	}
	w.web["http://a.test/"] = &page{status: 200, links: names}
	for _, name := range names {
		w.web[name] = &page{status: 200, body: "first"}
	}
	w.settings.Seeds = []weburl.URL{parse(t, "http://a.test/")}
	w.open()
	for hour := range 72 {
		for n, name := range names {
			if n%2 == 0 || hour%12 == 0 {
				w.web[name].body = fmt.Sprint(hour)
			}
		}
		w.run(time.Hour)
	}
	for n := 0; n < len(names); n += 2 {
		w.web[names[n]].status = 404
	}
	w.run(48 * time.Hour)
	stale := func(name string) float64 {
		u, f := parse(t, name), w.shard.fresh
		id, known := f.table.find(PageKey{w.shard.home(u.Site()), u.Fingerprint()})
		if !known {
			return -1
		}
		return f.belief.Copy(id, keepfresh.Seconds(w.now)).Stale
	}
	before := map[string]float64{}
	for _, name := range names {
		before[name] = stale(name)
	}
	w.stop(true)
	w.open()
	for steps := 0; w.shard.Remembers() && steps < 100; steps++ {
		w.step()
	}
	gone := 0
	for _, name := range names {
		if before[name] < 0 {
			gone++
		}
		if now := stale(name); math.Abs(now-before[name]) > 1e-6 {
			t.Errorf("%s is stale with %.3f after a restart, before it with %.3f", name, now, before[name])
		}
	}
	if gone < 6 {
		t.Errorf("%d pages are gone", gone)
	}
}
