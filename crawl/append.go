package crawl

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// groupTurns is the maximum number of turns in a group of records.
const groupTurns = 128

// appends holds the records to be made durable. One group is in progress at a time; later records form the next group.
type appends struct {
	turns   []proposal // records of turns that wait
	others  []proposal
	group   []proposal // in progress
	changes int        // proposals of changes that are not durable yet
}

// A proposal is an Append that is not durable yet.
type proposal struct {
	Append
	bytes int
	then  func(stored) error // called when it is durable; nil: nothing
}

// stored is the result of a proposal.
type stored struct {
	at     seen.Mark // of its first record
	purged int64     // pages that it took down
}

func (a *appends) flies() bool { return len(a.group) > 0 }
func (a *appends) busy() bool  { return len(a.turns)+len(a.others)+len(a.group) > 0 }

// proposeTurn proposes the records of a turn. bytes is their size with captures. It calls then when they are durable.
func (s *Shard) proposeTurn(a Append, bytes int, then func(stored) error) {
	s.appends.turns = append(s.appends.turns, proposal{a, bytes, then})
}

// propose proposes the records of a change, and calls then when they are durable. Without records it calls then at
// once. then may be nil.
func (s *Shard) propose(records []store.Record, then func() error) error {
	if then == nil {
		then = func() error { return nil }
	}
	if len(records) == 0 {
		return then()
	}
	s.proposeChange(Append{Records: records}, func(stored) error { return then() })
	return nil
}

// proposeChange proposes an Append of a change.
func (s *Shard) proposeChange(a Append, then func(stored) error) {
	s.appends.changes++
	s.appends.others = append(s.appends.others, proposal{a, 0, func(done stored) error {
		s.appends.changes--
		return then(done)
	}})
}

// appendGroup sends the next group to the node, unless one is in progress.
func (s *Shard) appendGroup() {
	a := &s.appends
	if a.flies() || len(a.turns)+len(a.others) == 0 {
		return
	}
	n, bytes := 0, 0
	for n < len(a.turns) && n < groupTurns && (n == 0 || bytes < s.settings.GroupBytes) {
		bytes += a.turns[n].bytes
		n++
	}
	a.group = append(slices.Clone(a.turns[:n]), a.others...)
	a.turns = slices.Delete(a.turns, 0, n)
	a.others = nil
	for i := range a.group {
		for _, r := range a.group[i].Records {
			s.setGate(r)
		}
		s.out.Append = append(s.out.Append, a.group[i].Append)
	}
}

// setGate sets the gate in a record to the host's present gate. A host's turns may be processed out of order, and an
// order may have arrived after the answer. The record must undo neither.
func (s *Shard) setGate(r store.Record) {
	switch r := r.(type) {
	case *store.Fetched:
		s.presentGate(r.URL.Host(), r.Gate)
	case *store.Robots:
		s.presentGate(r.Site.Host(), r.Gate)
	case *store.Gated:
		s.presentGate(r.Host, &r.Gate)
	}
}

// presentGate sets a gate to the host's present one, if the frontier has the host.
func (s *Shard) presentGate(host string, g *store.Gate) {
	if now, held := s.front.Gate(host); held && g != nil {
		*g = *storedGate(now)
	}
}

// appended handles a durable group: it reports the changes of the queues to the frontier, then calls what waits for the
// group.
func (s *Shard) appended(e Appended) error {
	group := s.appends.group
	s.appends.group = nil
	s.places.count(e.Turns)
	s.places.count(e.Others)
	taken := map[weburl.Fingerprint]frontier.Kind{} // the queues from which the turns' pages were handed out
	for _, p := range group {
		if p.Turn != 0 {
			page := s.turns[p.Turn].page
			taken[page.Fingerprint] = page.Kind
			if err := s.committed(p); err != nil {
				return err
			}
		}
	}
	for _, m := range e.Turns {
		if m.From != store.NoQueue && kindOf(m.From) != taken[m.Fingerprint] { // an order moved it in the meantime
			s.front.Removed(m.Site, kindOf(m.From), fromEntry(m), s.now)
		}
		if m.To == store.DueQueue {
			s.front.Planned(m.Site, entryOf(m), s.now)
		}
	}
	if err := s.tellMoves(e.Others); err != nil {
		return err
	}
	for i, p := range group {
		s.fresh.withdrawn(p.Records, s.now)
		if p.then == nil {
			continue
		}
		if err := p.then(stored{e.At[i], e.Purged}); err != nil {
			return err
		}
	}
	return nil
}

// committed reports to the frontier that the page of a turn has left its queue, and records a site whose rules have
// changed.
func (s *Shard) committed(p proposal) error {
	page := s.turns[p.Turn].page
	if !page.Robots {
		s.front.Committed(page)
	}
	switch r := p.Records[0].(type) {
	case *store.Robots:
		if r.Keep {
			return s.obeyStored(r.Site)
		}
	case *store.Refused:
		if r.Reason == robots.ReasonRobots || r.Reason == robots.ReasonUnreachable {
			s.front.WatchRobots(page.Site, s.now)
		}
	}
	return nil
}

// tellMoves reports to the frontier the moves of pages that were not handed out: discovered pages, and pages that moved
// within or between queues. It reports all moves of a site together, because the rows include all of them already.
func (s *Shard) tellMoves(moves []store.Move) error {
	of := map[weburl.Site][]store.Move{}
	var sites []weburl.Site
	for _, m := range moves {
		if of[m.Site] == nil {
			sites = append(sites, m.Site)
		}
		of[m.Site] = append(of[m.Site], m)
	}
	for _, site := range sites {
		if err := s.tellSite(site, of[site]); err != nil {
			return err
		}
	}
	return nil
}

// tellSite reports one site's moves to the frontier. Pages in no queue are left out. A site that the frontier does not
// hold is restored from the rows, which include the moves. New pages come first: other moves make the frontier read the
// queue, where it would find pages that it has not counted.
func (s *Shard) tellSite(site weburl.Site, moves []store.Move) error {
	if !slices.ContainsFunc(moves, func(m store.Move) bool { return m.From != store.NoQueue || m.To != store.NoQueue }) {
		return nil
	}
	switch p := s.home(site); {
	case !s.owns(p) || s.tenures[p] == coming: // the frontier will read the rows
		return nil
	case s.tenures[p] == going && !s.front.Known(site):
		return nil
	}
	if !s.front.Known(site) {
		info, err := s.siteInfo(site)
		if err != nil {
			return err
		}
		return s.takeIn(info)
	}
	var entries []frontier.Entry
	for _, m := range moves {
		if m.From == store.NoQueue && m.To == store.NewQueue {
			entries = append(entries, entryOf(m))
		}
	}
	if len(entries) > 0 {
		s.front.Discovered(site, entries, s.now)
	}
	for _, m := range moves {
		switch {
		case m.From == store.NoQueue && m.To == store.DueQueue:
			s.front.Planned(site, entryOf(m), s.now)
		case m.From == store.NoQueue:
		case m.To == m.From:
			s.front.Moved(site, kindOf(m.From), fromEntry(m), entryOf(m), s.now)
		default:
			s.front.Removed(site, kindOf(m.From), fromEntry(m), s.now)
			if m.To == store.DueQueue {
				s.front.Planned(site, entryOf(m), s.now)
			}
		}
	}
	return nil
}

// ReadSite returns a stored site in the frontier's form. standing returns the site's robots rules. If there is no row,
// the error is store.ErrNotFound.
func ReadSite(rows Rows, standing func(weburl.Site) (robots.Standing, error), site weburl.Site) (info frontier.SiteInfo, err error) {
	fail := func(err error) (frontier.SiteInfo, error) {
		return info, fmt.Errorf("crawl: restore %s: %w", site, err)
	}
	row, err := rows.Site(site)
	if err != nil {
		return fail(err)
	}
	gate, err := rows.Gate(rows.Home(site), site.Host())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fail(err)
	}
	info = frontier.SiteInfo{
		Site: site, New: int(row.New), Due: int(row.Due), Cash: row.Cash.Cash(), Paused: row.Paused != 0,
		RobotsUntil: fromUnix(row.Robots.Expires), RobotsWatched: watched(row), Gate: loadedGate(gate),
	}
	if row.Robots.Kept == 0 {
		// none was fetched, whatever the last answer meant, so it is requested again
		info.RobotsUntil = time.Time{}
	}
	for _, queue := range []struct {
		name  store.Queue
		count int
		first *frontier.Key
	}{{store.NewQueue, info.New, &info.FirstNew}, {store.DueQueue, info.Due, &info.FirstDue}} {
		if queue.count == 0 {
			continue
		}
		entries, err := rows.ReadQueue(nil, site, queue.name, store.Key{}, 1)
		if err != nil {
			return fail(err)
		}
		if len(entries) > 0 {
			*queue.first = frontier.Key(entries[0].Key)
		}
	}
	if row.Robots.Kept != 0 {
		rules, err := standing(site)
		if err != nil {
			return fail(err)
		}
		info.CrawlDelay, _ = rules.Rules.CrawlDelay()
	}
	return info, nil
}

// takeIn passes a stored site to the frontier.
func (s *Shard) takeIn(info frontier.SiteInfo) error {
	if err := s.takeInSlow(info.Site); err != nil {
		return err
	}
	s.front.Restore(info, s.now)
	return nil
}

// takeInSlow passes those other sites of a site's host to the frontier that make the host slower and that no page
// brings there. The intervals of a host thus do not depend on which of its sites have pages queued. While the frontier
// holds the host, it holds these sites.
func (s *Shard) takeInSlow(site weburl.Site) error {
	if s.front.KnownHost(site) {
		return nil
	}
	for row, err := range s.rows.SitesOf(site) {
		if err != nil {
			return fmt.Errorf("crawl: sites of the host of %s: %w", site, err)
		}
		if row.Site == site || held(row) {
			continue
		}
		s.rules.pace(row.Site, row.Pace)
		info, err := s.siteInfo(row.Site)
		if err != nil {
			return err
		}
		if slows(info, s.rules) {
			s.front.Restore(info, s.now)
		}
	}
	return nil
}

// held reports whether a new run holds a stored site: a page waits in its queues, or it is watched.
func held(row store.SiteRow) bool { return row.New+row.Due > 0 || watched(row) }

// slows reports whether a site may make its host slower than the settings require.
func slows(info frontier.SiteInfo, rules *rulebook) bool {
	own := rules.of(info.Site).Manners
	return info.CrawlDelay > 0 || own.Delay != nil || own.Budget > 0 || own.Least > 0
}

// ReadHost returns a stored site in the form in which a new run gives it to the frontier, and the other sites of its
// host that the run would hold, with the manners of these sites. standing returns a site's robots rules. If the site
// has no row, the error is store.ErrNotFound.
func ReadHost(rows Rows, standing func(weburl.Site) (robots.Standing, error), settings Settings, site weburl.Site) (all []frontier.SiteInfo, manners func(weburl.Site) *frontier.Manners, err error) {
	if _, err := rows.Site(site); err != nil {
		return nil, nil, fmt.Errorf("crawl: restore %s: %w", site, err)
	}
	rulebook := newRulebook(settings.Rules)
	for row, err := range rows.SitesOf(site) {
		if err != nil {
			return nil, nil, fmt.Errorf("crawl: sites of the host of %s: %w", site, err)
		}
		info, err := ReadSite(rows, standing, row.Site)
		if err != nil {
			return nil, nil, err
		}
		rulebook.pace(row.Site, row.Pace)
		if held(row) {
			begunAnew(&info, row)
		}
		if held(row) || row.Site == site || slows(info, rulebook) {
			all = append(all, info)
		}
	}
	return all, rulebook.manners, nil
}

func entryOf(m store.Move) frontier.Entry {
	return frontier.Entry{Key: frontier.Key(m.ToKey), Fingerprint: m.Fingerprint, Cash: m.Cash}
}

// fromEntry returns the entry that a move replaced.
func fromEntry(m store.Move) frontier.Entry {
	return frontier.Entry{Key: frontier.Key(m.FromKey), Fingerprint: m.Fingerprint, Cash: m.FromCash}
}

func kindOf(q store.Queue) frontier.Kind {
	if q == store.DueQueue {
		return frontier.KindDue
	}
	return frontier.KindNew
}

// storedGate returns a host's gate in the form of records.
func storedGate(g frontier.Gate) *store.Gate {
	return &store.Gate{End: unix(g.End), Next: unix(g.Next), IntervalNs: int64(g.Interval), Failures: g.Failures, Blocked: unix(g.Blocked)}
}

// gated returns the record of the gate of a site's host.
func (s *Shard) gated(site weburl.Site, g frontier.Gate) *store.Gated {
	return &store.Gated{Partition: s.home(site), Host: site.Name(), Gate: *storedGate(g)}
}

// loadedGate is the inverse of storedGate.
func loadedGate(g store.Gate) frontier.Gate {
	return frontier.Gate{
		End: fromUnix(g.End), Next: fromUnix(g.Next), Interval: time.Duration(g.IntervalNs), Failures: g.Failures,
		Blocked: fromUnix(g.Blocked),
	}
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromUnix(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}
