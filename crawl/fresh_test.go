package crawl

import (
	"fmt"
	"testing"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/seen"
	"freshet/weburl"
)

// TestClaims holds which links are claims. The crawl believes a claim about a page that it keeps fresh until a visit
// has shown the truth.
func TestClaims(t *testing.T) {
	w := newWorld(t)
	w.set("budget", "100", true)
	w.set("wait", "", true)
	w.open()
	s, now := w.shard, w.now
	hour := now.Add(-time.Hour)
	link := func(url string, rel weburl.Rel, at time.Time) weburl.Link {
		u := parse(t, url)
		return weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Rel: rel, LastMod: at.UnixNano()}
	}
	links := []weburl.Link{
		link("http://h0.test/a", weburl.RelSitemap, hour),
		link("http://h0.test/b", weburl.RelFeed, now),
		link("http://h0.test/ahead", weburl.RelFeed, now.Add(1)),
		link("http://h0.test/undated", weburl.RelSitemap, time.Unix(0, 0)),
		link("http://h0.test/anchor", weburl.RelAnchor, hour),
		link("http://h1.test/other", weburl.RelSitemap, hour),
	}
	for i := range links {
		site := links[i].URL.Site()
		s.fresh.enter(PageKey{s.home(site), links[i].Fingerprint}, links[i].URL, false, keepfresh.Seconds(hour.Add(-time.Hour)))
	}
	a := PageKey{s.home("http://h0.test"), links[0].Fingerprint}
	id, _ := s.fresh.table.find(a)
	before := s.fresh.belief.Copy(id, keepfresh.Seconds(now)).Stale
	s.takeClaims("http://h0.test", links)
	for i, want := range []refresh.Source{refresh.Sitemap, refresh.Feed, 0, 0, 0, 0} {
		if got := s.fresh.claimant(PageKey{s.home(links[i].URL.Site()), links[i].Fingerprint}); got != want {
			t.Errorf("%s is claimed by %d, want %d", links[i].URL, got, want)
		}
	}
	if after := s.fresh.belief.Copy(id, keepfresh.Seconds(now)).Stale; after < 0.5 || after <= before {
		t.Errorf("stale with probability %.3f, before the claim %.3f", after, before)
	}
	s.fresh.visited(visit{page: a, url: links[0].URL, at: now, outcome: refresh.Unchanged, fresh: true}, now)
	if got := s.fresh.claimant(a); got != 0 {
		t.Errorf("a visit leaves the claim of %d open", got)
	}
}

// TestLearningStopsNothing has a policy learn from 20,000 visits to 5,000 pages. That takes many steps. Meanwhile the
// shard carries out orders and picks pages. No time passes.
func TestLearningStopsNothing(t *testing.T) {
	w := newWorld(t)
	w.set("budget", "1000000", true)
	w.set("wait", "", true)
	w.open()
	w.run(time.Second)
	s, month := w.shard, 30*24*time.Hour
	const pages, visits = 5000, 4
	for i := range pages {
		u := parse(t, fmt.Sprintf("http://s%d.test/%d/%d", i%3, i%50, i))
		s.fresh.enter(PageKey{s.home(u.Site()), u.Fingerprint()}, u, false, keepfresh.Seconds(w.now.Add(-month)))
	}
	for i := range pages * visits {
		at := w.now.Add(-month + time.Duration(i+1)*month/time.Duration(pages*visits))
		s.fresh.belief.Visited(refresh.ID(i%pages), refresh.Visit{At: keepfresh.Seconds(at), Outcome: refresh.Outcome(1 + i%2)})
	}
	s.fresh.wake = w.now
	s.fresh.stuck = true // picks would wait for their group
	steps, replies := 0, 0
	for ; steps == 0 || s.fresh.study != nil; steps++ {
		replies += len(w.tryOrder(PauseAll{false}).Replies)
	}
	if steps < 50 || replies < steps-10 {
		t.Errorf("learning took %d steps, in which %d orders were answered: want 50 or more, and nearly as many", steps, replies)
	}
}

// tryOrder gives an order, then takes one step for it and one for its record. No time passes.
func (w *world) tryOrder(o Order) Work {
	w.orders++
	work, err := w.shard.Step(w.now, Ordered{w.orders, o})
	check(w.t, err)
	if len(work.Append) == 0 {
		return work
	}
	done := Appended{At: make([]seen.Mark, len(work.Append))}
	work, err = w.shard.Step(w.now, done)
	check(w.t, err)
	return work
}

// TestLittleRoom holds that the crawl loses no page if its seen test has hardly any room, so links of page after page
// wait for it.
func TestLittleRoom(t *testing.T) {
	const pages, hosts = 240, 12
	w := newWorld(t)
	w.settings.Delay, w.seenLinks = 0, 16
	name := func(page int) string { return fmt.Sprintf("http://site%d.test/%d", page%pages%hosts, page%pages) }
	for i := range pages {
		w.web[name(i)] = &page{status: 200, body: name(i)}
		for k := range 12 {
			w.web[name(i)].links = append(w.web[name(i)].links, name(2*i+1+k))
		}
		if i < hosts {
			w.settings.Seeds = append(w.settings.Seeds, parse(t, name(i)))
		}
	}
	w.open()
	w.run(time.Hour)
	if got := w.shard.Counts().Pages; w.over != FrontierEmpty || got != pages {
		t.Errorf("%d pages stored of %d, over for %q", got, pages, w.over)
	}
}
