package crawl

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/frontier"
	"freshet/weburl"
)

// A site's robots.txt may redirect to a host of another shard's partition. Only that shard may request anything of the
// host: it keeps its intervals. So the site's shard has the node pass it an AskRobots (Work.AskRobots), and goes on
// with the answer (RobotsTold) as if it had made the request. If the host is not free, the answer says how long to
// wait, because the clocks of two nodes differ. The shard that makes the request has the capture.

// away holds the sites whose robots.txt another shard was asked for.
type away map[weburl.URL]*awaited

// awaited is a request that another shard was asked for.
type awaited struct {
	since time.Time
	sites map[weburl.Site]int // that wait for the answer, with the failures in a row to get their robots.txt
}

// How long the wait is until another shard is asked again.
const (
	noOwner  = time.Minute     // after it did not own the host, or did not crawl
	noAnswer = 5 * time.Minute // after no answer has come
)

// askAway has the owner of a host request a URL for an errand. The errand is over. It begins again when the owner has
// answered.
func (s *Shard) askAway(t *turn, u weburl.URL) error {
	again := s.now.Add(s.of(noAnswer))
	if deadline, ok := s.book.Deadline(t.page.Site); ok {
		if !s.now.Before(deadline) {
			return s.robotsAway(t)
		}
		again = keepfresh.Earliest(again, deadline)
	}
	waits := s.away[u]
	if waits == nil || s.now.Sub(waits.since) >= s.of(noAnswer) {
		waits = &awaited{since: s.now, sites: map[weburl.Site]int{}}
		s.away[u] = waits
		s.out.AskRobots = append(s.out.AskRobots, u)
	}
	waits.sites[t.page.Site] = t.page.Failures
	s.front.AskRobots(t.page.Site, again, s.now)
	s.front.Drop(t.page, s.now)
	s.done(t)
	return nil
}

// robotsTold continues the errands that wait for another shard's answer.
func (s *Shard) robotsTold(e RobotsTold) error {
	waits := s.away[e.URL]
	delete(s.away, e.URL)
	if waits == nil || s.ending != "" {
		return nil
	}
	for _, site := range slices.Sorted(maps.Keys(waits.sites)) {
		if !s.serves(s.home(site)) || !s.front.Known(site) {
			continue
		}
		file, at := s.book.Where(site, s.now)
		if at != e.URL {
			continue // its robots.txt was asked for from the start since
		}
		if e.Robots == nil {
			s.front.AskRobots(site, s.now.Add(cmp.Or(e.Wait, s.of(noOwner))), s.now)
			continue
		}
		s.front.AskRobots(site, s.now, s.now)
		t := s.newTurn(frontier.Page{Site: site, Robots: true, Failures: waits.sites[site]})
		t.url, t.unasked = file, true
		v, err := s.judge(t, e.Robots.Answer)
		if err != nil {
			return err
		}
		record := *e.Robots.Record
		record.Site = site
		s.recordRobots(t, v, e.Robots.Body, &record)
		s.robotsProcessed(t, Processed{Turn: t.number})
	}
	return nil
}

// askFor requests a robots.txt, or what it redirects to, for a site of another shard.
func (s *Shard) askFor(u weburl.URL, reply replier) error {
	if err := s.here(u.Site()); err != nil {
		return err
	}
	if !s.begun || s.ending != "" || s.paused {
		return reply(Reply{})
	}
	if s.asking >= s.room {
		return reply(Reply{Wait: s.of(time.Second)})
	}
	if err := s.meet(u.Site()); err != nil {
		return err
	}
	page, free, ok := s.front.Reserve(u.Site(), s.now)
	if !ok {
		return reply(Reply{Wait: free.Sub(s.now)})
	}
	t := s.newTurn(page)
	t.url, t.reply = u, reply
	s.ask(s.robotsRequest(t, u))
	return nil
}

// askedFor answers a request for another shard, and has the exchange captured. The reply does not wait for the record:
// after a crash every host waits its interval.
func (s *Shard) askedFor(t *turn, e Ended, answer frontier.Answer) error {
	told := *e.Robots
	told.Body = slices.Clone(told.Body) // it outlives the turn
	if e.Robots.Barred {
		s.front.Drop(t.asked, s.now)
		s.done(t)
		return t.reply(Reply{Robots: &told})
	}
	t.gate = s.front.Done(t.asked, answer, s.now)
	record := *e.Robots.Record
	record.Site, record.Aside = t.asked.Site, true
	t.record = &record
	s.out.Process = append(s.out.Process, Process{Turn: t.number, URL: t.url, Robots: t.record})
	return t.reply(Reply{Robots: &told})
}
