package crawl

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/crawl/discovery"
	"freshet/crawl/keepfresh"
	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// unstored is what applies to a site while its rows have older rules or none: until the record of an answer is durable,
// or while a purge deletes the rows.
type unstored struct {
	robots.Standing
	holds int // records and purges in progress
}

// standing returns the rules of a site. If they are not in memory, it reads them from the rows.
func (s *Shard) standing(site weburl.Site) (robots.Standing, error) {
	if standing, ok := s.book.Standing(site); ok {
		return standing, nil
	}
	if u, ok := s.unstored[site]; ok {
		return u.Standing, nil
	}
	standing, err := ReadRobots(s.rows, s.book, site)
	if err == nil {
		s.book.Keep(site, standing)
	}
	return standing, err
}

// ReadRobots reads the stored rules of a site. If its robots.txt was never fetched, there are none.
func ReadRobots(rows Rows, book *robots.Book, site weburl.Site) (standing robots.Standing, err error) {
	fail := func(err error) (robots.Standing, error) {
		return standing, fmt.Errorf("crawl: rules of %s: %w", site, err)
	}
	body, err := rows.RobotsBody(site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fail(err)
	}
	tdmrep, err := rows.TDMRepBody(site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fail(err)
	}
	row, err := rows.Site(site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fail(err)
	}
	return book.Read(body, tdmrep, row.Robots.Fetched != 0, row.Robots.Kept != 0), nil
}

// askRobots requests a site's robots.txt or tdmrep.json, or takes the next step of a redirect to it.
func (s *Shard) askRobots(t *turn) error {
	site := t.page.Site
	var at weburl.URL
	t.url, at = s.book.Where(site, s.now)
	if reason, refused := s.settings.Rules.URLs.Refuse(site.Root()); refused && reason == frontier.OptedOut {
		s.book.Skip(site, true) // no request at all: each of its pages is refused when its turn comes
		s.front.RobotsDone(site, s.now.Add(robots.Life), 0, s.now)
		s.front.Drop(t.page, s.now)
		s.done(t)
		return nil
	}
	if at.Site() != site {
		if ok, err := s.elsewhere(t, at); !ok {
			return err
		}
	}
	s.ask(s.robotsRequest(t, at))
	return nil
}

// robotsRequest returns the request for a robots.txt or a tdmrep.json that is at a URL.
func (s *Shard) robotsRequest(t *turn, at weburl.URL) Fetch {
	request := s.request(t)
	request.URL = at
	request.Once, request.MaxBody, request.Robots = true, robots.MaxBytes, true
	return request
}

// elsewhere directs an errand to a URL of another site. If the site may not be requested now, or by this shard, ok is
// false: the errand is over and is tried again later.
func (s *Shard) elsewhere(t *turn, at weburl.URL) (ok bool, err error) {
	other := at.Site()
	if !s.serves(s.home(other)) {
		return false, s.askAway(t, at)
	}
	if err := s.meet(other); err != nil {
		return false, err
	}
	free, ok := s.lead(t, other)
	if ok {
		return true, nil
	}
	if deadline, ok := s.book.Deadline(t.page.Site); ok {
		if !s.now.Before(deadline) {
			return false, s.robotsAway(t)
		}
		free = keepfresh.Earliest(free, deadline)
	}
	s.front.AskRobots(t.page.Site, free, s.now)
	s.front.Drop(t.page, s.now)
	s.done(t)
	return false, nil
}

// lead directs an errand to another site, which has the robots.txt. If the site may not be requested now, ok is false
// and free is when to try again.
func (s *Shard) lead(t *turn, other weburl.Site) (free time.Time, ok bool) {
	if other.Name() == t.page.Site.Name() {
		return s.front.Meet(other, s.now)
	}
	s.front.Unbind(t.page, s.now)
	reserved, free, ok := s.front.Reserve(other, s.now)
	if ok {
		t.asked = reserved
	}
	return free, ok
}

// meet restores a site from the rows, with its pause and its host's gate, if the frontier does not hold it. Sites with
// queued pages are held already.
func (s *Shard) meet(site weburl.Site) error {
	if s.front.Known(site) {
		return nil
	}
	info, err := s.siteInfo(site)
	if errors.Is(err, store.ErrNotFound) {
		if err := s.reopen(site); err != nil {
			return err
		}
		return s.takeInSlow(site)
	}
	if err != nil {
		return err
	}
	info.New, info.Due, info.Cash = 0, 0, 0
	return s.takeIn(info)
}

// robotsAway ends an errand to a host that may not be requested, as if the host did not answer: the pages of the site
// have waited long enough for it.
func (s *Shard) robotsAway(t *turn) error {
	if _, err := s.judge(t, robots.Answer{}); err != nil {
		return err
	}
	s.front.Drop(t.page, s.now)
	s.done(t)
	return nil
}

// dropErrand gives back the host of a site whose robots.txt is on another host.
func (s *Shard) dropErrand(t *turn) {
	if t.asked != t.page {
		s.front.Drop(t.page, s.now)
	}
}

// robotsEnded interprets the answer to a request for a robots.txt or a tdmrep.json, and has it captured.
func (s *Shard) robotsEnded(t *turn, e Ended, answer frontier.Answer) error {
	v, err := s.judge(t, e.Robots.Answer)
	if err != nil {
		return err
	}
	if t.unasked = e.Robots.Barred; t.unasked {
		s.front.Drop(t.asked, s.now)
	} else {
		t.gate = s.front.Done(t.asked, answer, s.now)
		e.Robots.Record.End = unix(t.gate.End) // by which a new run knows that no later answer has set the gate
	}
	s.dropErrand(t)
	switch {
	case !e.Robots.Nobody:
		s.met = true
	case t.page.Failures == 0:
		s.nobody++
	}
	s.recordRobots(t, v, e.Robots.Body, e.Robots.Record)
	s.out.Process = append(s.out.Process, Process{Turn: t.number, URL: t.url, Robots: t.record})
	return nil
}

// recordRobots completes the record of an answer for an errand.
func (s *Shard) recordRobots(t *turn, v robots.Verdict, body []byte, record *store.Robots) {
	if v.Fresh || !v.Until.IsZero() {
		s.hold(t.page.Site, v.Standing)
		t.unstored = true
	}
	t.record = record
	if t.record.TDMRep = t.isTDMRep(); !v.Until.IsZero() {
		t.record.Expires = unix(s.front.RobotsUntil(t.page.Site))
	}
	switch {
	case v.Fresh && t.record.TDMRep:
		t.record.KeepTDMRep, t.record.Body = true, slices.Clone(body[:min(len(body), robots.MaxTDMRep)])
	case v.Fresh:
		t.record.Keep, t.record.Body, t.record.Rules = true, slices.Clone(body), v.Standing.Rules.Digest()
	}
}

// isTDMRep reports whether an errand is for the site's tdmrep.json.
func (t *turn) isTDMRep() bool { return t.url != robots.At(t.page.Site) }

// judge interprets an answer for the site of an errand, and reports the result to the frontier.
func (s *Shard) judge(t *turn, answer robots.Answer) (robots.Verdict, error) {
	site := t.page.Site
	answer.TDMRep = t.isTDMRep()
	older, err := s.older(site, answer.TDMRep)
	if err != nil {
		return robots.Verdict{}, err
	}
	patience := robots.Patience{First: s.settings.RetryDelay, Tries: max(0, s.settings.Retries)}
	v := s.book.Judge(site, answer, older, t.page.Failures, patience, s.now)
	until := v.Until
	if v.Fresh && !v.Next.IsZero() {
		until = s.now // the other file comes next, after the delay that this one sets
	}
	switch {
	case !v.Retry.IsZero():
		s.front.RobotsUnreachable(site, v.Retry, v.Shelved, s.now)
	case !until.IsZero():
		delay, _ := v.Standing.Rules.CrawlDelay()
		s.front.RobotsDone(site, until, delay, s.now)
	}
	return v, nil
}

// older returns the rules of a site's robots.txt and tdmrep.json before an answer, or nil if no robots.txt was ever
// fetched. The answer for a tdmrep.json belongs to the robots.txt that was just judged.
func (s *Shard) older(site weburl.Site, tdmrep bool) (*robots.Standing, error) {
	if !tdmrep {
		row, err := s.rows.Site(site)
		if errors.Is(err, store.ErrNotFound) || err == nil && row.Robots.Kept == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("crawl: rules of %s: %w", site, err)
		}
	}
	standing, err := s.standing(site)
	return &standing, err
}

// robotsProcessed makes the record of a robots.txt durable, with the gate of the requested host.
func (s *Shard) robotsProcessed(t *turn, e Processed) {
	records := []store.Record{t.record}
	switch asked := t.asked.Site; {
	case t.unasked:
	case asked.Name() == t.page.Site.Name():
		t.record.Gate = storedGate(t.gate)
	default:
		records = append(records, s.gated(asked, t.gate))
	}
	var links []weburl.Link
	if t.record.Keep {
		links = discovery.SitemapLinks(t.page.Site, t.record.Body)
	}
	a := Append{Turn: t.number, Records: records, Owes: discovery.Owes(s.settings.Ordering, links)}
	s.proposeTurn(a, e.Bytes, func(done stored) error {
		if t.unstored {
			s.release(t.page.Site)
		}
		s.offers.add(offered{mark: done.at, links: links, then: func() error {
			s.done(t)
			return nil
		}})
		return nil
	})
}

// hold keeps the rules of a site until release.
func (s *Shard) hold(site weburl.Site, rules robots.Standing) {
	s.unstored[site] = unstored{rules, s.unstored[site].holds + 1}
}

func (s *Shard) release(site weburl.Site) {
	if u := s.unstored[site]; u.holds > 1 {
		s.unstored[site] = unstored{u.Standing, u.holds - 1}
	} else {
		delete(s.unstored, site)
	}
}
