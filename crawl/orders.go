package crawl

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/frontier"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

// ordered carries out an order when the rows are free. It replies with the error if the order is invalid or its page
// does not allow it. A fault of the rows ends the crawl.
func (s *Shard) ordered(e Ordered) {
	reply := func(r Reply) error { //nolint:unparam // a replier
		r.Number = e.Number
		s.out.Replies = append(s.out.Replies, r)
		return nil
	}
	s.whenFree(func() error {
		err := s.carryOut(e.Order, reply)
		if errors.Is(err, ErrUnknown) || errors.Is(err, ErrOrder) || errors.Is(err, ErrElsewhere) {
			return reply(Reply{Err: err})
		}
		return err
	})
}

// replier replies to an order.
type replier func(Reply) error

// carryOut carries out an order, and replies when it is durable.
func (s *Shard) carryOut(order Order, reply replier) error {
	done := func() error { return reply(Reply{}) }
	switch o := order.(type) {
	case Add:
		return s.add(o.Seeds, reply)
	case PauseAll:
		return s.pauseAll(o.Paused, done)
	case Pause:
		return s.pause(o, done)
	case Pace:
		return s.pace(o, done)
	case Block:
		if !o.Until.IsZero() && !o.Until.After(s.now) {
			return fmt.Errorf("%w: block %s until %s, which is past", ErrOrder, o.Host, o.Until.UTC().Format(time.RFC3339))
		}
		return s.gate(o.Host, func() frontier.Gate { return s.front.Block(o.Host, o.Until, s.now) }, done)
	case Unblock:
		return s.gate(o.Host, func() frontier.Gate { return s.front.Unblock(o.Host, s.now) }, done)
	case Recrawl:
		return s.recrawl(o.URL, done)
	case RecrawlSite:
		return s.recrawlSite(o.Site, reply)
	case Purge:
		return s.purge(o.Target, reply)
	case Ping:
		return s.ping(o.URLs, reply)
	case Reload:
		return s.reload(o.Settings, done)
	case Give:
		return s.giveAway(o.Partition, reply)
	case Take:
		return s.takeOver(o, reply)
	case Strike:
		return s.strike(o.Pages, done)
	case AskRobots:
		return s.askFor(o.URL, reply)
	}
	panic(fmt.Sprintf("crawl: no such order: %T", order))
}

// add adds seeds.
func (s *Shard) add(seeds []weburl.URL, reply replier) error {
	absent := map[weburl.URL]bool{} // not known before the order
	for _, u := range seeds {
		_, _, err := s.rows.PageOf(u)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("crawl: add %s: %w", u, err)
		}
		absent[u] = err != nil
	}
	return s.addSeeds(seeds, func() error {
		told := Reply{Refused: map[string]string{}}
		for u, absent := range absent {
			if !s.serves(s.home(u.Site())) {
				told.Refused[u.String()] = Elsewhere
				continue
			}
			row, _, err := s.rows.PageOf(u)
			switch {
			case errors.Is(err, store.ErrNotFound):
				if told.Refused[u.String()], err = s.whyRefused(u); err != nil {
					return err
				}
			case err != nil:
				return fmt.Errorf("crawl: add %s: %w", u, err)
			case row.State == store.StatePurged:
				told.Refused[u.String()] = store.ReasonPurged
			case absent:
				told.Count++ // pages found in the meantime are not part of the order
			}
		}
		return reply(told)
	})
}

// whyRefused returns why a URL of an order did not become a page.
func (s *Shard) whyRefused(u weburl.URL) (reason string, err error) {
	if reason, is := s.settings.Rules.URLs.Refuse(u); is {
		return reason.String(), nil
	}
	site, err := s.rows.Site(u.Site())
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return "", fmt.Errorf("crawl: site %s: %w", u.Site(), err)
	case site.Purged:
		return store.ReasonPurged, nil
	}
	return "guard", nil
}

// addSeeds offers seeds to the seen test, waits for its verdicts, and makes seeds of the pages that were already known.
// Seeds of other shards widen the scope here too.
func (s *Shard) addSeeds(seeds []weburl.URL, then func() error) error {
	met := make(map[weburl.URL]bool, len(seeds))
	var known []store.Record
	var unknown []weburl.URL
	for _, u := range seeds {
		if met[u] {
			continue
		}
		met[u] = true
		if !s.serves(s.home(u.Site())) {
			s.finder.Bounds().Scope.AddSeed(u)
			continue
		}
		link, record, err := s.finder.Seed(u, s.now)
		if err != nil {
			return err
		}
		if record != nil {
			known = append(known, record)
		} else {
			unknown = append(unknown, u)
			s.seen.Recall(link.Fingerprint, s.finder.SeedCash())
		}
		s.offers.add(offered{links: []weburl.Link{link}})
	}
	s.offers.whenDecided(func() error {
		for _, u := range unknown { // another link may have come first
			_, record, err := s.finder.Seed(u, s.now)
			if err != nil {
				return err
			}
			if record != nil {
				known = append(known, record)
			}
		}
		return s.propose(known, then)
	})
	return nil
}

// pauseAll stops or resumes all requests.
func (s *Shard) pauseAll(paused bool, then func() error) error {
	var records []store.Record
	for p := range s.owned() {
		records = append(records, &store.Paused{Partition: p, Since: s.pausedSince(paused)})
	}
	return s.propose(records, func() error {
		s.setPaused(paused)
		return then()
	})
}

func (s *Shard) setPaused(paused bool) {
	s.paused = paused
	s.front.PauseAll(paused)
}

func (s *Shard) pausedSince(paused bool) int64 {
	if !paused {
		return 0
	}
	return s.now.UnixNano()
}

func (s *Shard) pause(o Pause, then func() error) error {
	if err := s.known(o.Site); err != nil {
		return err
	}
	paused := &store.Paused{Partition: s.home(o.Site), Site: o.Site, Since: s.pausedSince(o.Paused)}
	return s.propose([]store.Record{paused}, func() error {
		s.front.Pause(o.Site, o.Paused, s.now)
		s.noteRest(o.Site, o.Paused)
		return then()
	})
}

// noteRest notes whether an operator has paused a site.
func (s *Shard) noteRest(site weburl.Site, paused bool) {
	if paused {
		s.rests[site] = true
	} else {
		delete(s.rests, site)
	}
}

// pace sets how fast an operator allows requests to a site. It holds at once. If its host is held without the site, the
// site is needed there to slow it.
func (s *Shard) pace(o Pace, then func() error) error {
	if err := s.known(o.Site); err != nil {
		return err
	}
	pace := s.rules.paces[o.Site]
	if o.Delay != nil {
		pace.Delay = int64(*o.Delay)
	}
	if o.Budget != nil {
		pace.Budget = int64(*o.Budget)
	}
	switch {
	case pace.Delay < 0 || pace.Delay > int64(frontier.MaxCrawlDelay):
		return fmt.Errorf("%w: delay of %s: want 0s to %v, not %v", ErrOrder, o.Site, frontier.MaxCrawlDelay, time.Duration(pace.Delay))
	case pace.Budget < 0 || pace.Budget > math.MaxInt32:
		return fmt.Errorf("%w: budget of %s: want 0 to %d fetches a day, not %d", ErrOrder, o.Site, math.MaxInt32, pace.Budget)
	}
	if s.front.KnownHost(o.Site) {
		if err := s.meet(o.Site); err != nil {
			return err
		}
	}
	s.rules.pace(o.Site, pace)
	s.front.Steer(o.Site, s.now)
	return s.propose([]store.Record{&store.Paced{Partition: s.home(o.Site), Site: o.Site, Pace: pace}}, then)
}

// gate changes a host's gate.
func (s *Shard) gate(host string, set func() frontier.Gate, then func() error) error {
	root, err := weburl.Parse("http://" + host + "/")
	if err != nil || root.Host() != host {
		return fmt.Errorf("%w: host %q: want a name in lower case or an address, without a port, such as example.org", ErrOrder, host)
	}
	site := root.Site()
	if err := s.here(site); err != nil {
		return err
	}
	if err := s.reopen(site); err != nil {
		return err
	}
	return s.propose([]store.Record{s.gated(site, set())}, then)
}

// reopen applies the stored gate of a site's host, if the frontier does not hold the host.
func (s *Shard) reopen(site weburl.Site) error {
	stored, err := s.rows.Gate(s.home(site), site.Host())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("crawl: gate of %s: %w", site.Host(), err)
	}
	s.front.Reopen(site.Host(), loadedGate(stored), s.now)
	return nil
}

func (s *Shard) recrawl(u weburl.URL, then func() error) error {
	if err := s.here(u.Site()); err != nil {
		return err
	}
	row, fp, err := s.rows.PageOf(u)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%w: page %s", ErrUnknown, u)
	case err != nil:
		return fmt.Errorf("crawl: recrawl %s: %w", u, err)
	case row.State == store.StatePurged:
		return fmt.Errorf("%w: page %s was purged", ErrUnknown, u)
	}
	due := &store.Planned{Partition: s.home(u.Site()), Fingerprint: fp, Due: s.now.UnixNano(), Lift: true}
	return s.propose([]store.Record{due}, then)
}

func (s *Shard) recrawlSite(site weburl.Site, reply replier) error {
	if err := s.known(site); err != nil {
		return err
	}
	p, due, pages := s.home(site), s.now.UnixNano(), int64(0)
	look := func(row store.PageAt) ([]store.Record, error) {
		refreshes := row.Versions == 0 || s.rules.of(site).Refresh.Has(row.ContentType)
		if row.URL.Site() != site || !row.Visited && row.Strikes == 0 || row.State == store.StatePurged || !refreshes {
			return nil, nil
		}
		pages++
		return []store.Record{&store.Planned{Partition: p, Fingerprint: row.Fingerprint, Due: due, Lift: true}}, nil
	}
	return s.walk(walk{partition: p, look: look, end: func() error { return reply(Reply{Count: pages}) }})
}

// purge takes down a page or a site in the rows. Until then, pages of the site may be on their way: its rules apply to
// them though their rows may be gone.
func (s *Shard) purge(target store.Target, reply replier) error {
	var page PageKey
	if target.URL.IsZero() {
		if err := s.known(target.Site); err != nil {
			return err
		}
		rules, err := s.standing(target.Site)
		if err != nil {
			return err
		}
		s.hold(target.Site, rules)
	} else if err := s.here(target.URL.Site()); err != nil {
		return err
	} else if _, fingerprint, err := s.rows.PageOf(target.URL); errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: page %s", ErrUnknown, target.URL)
	} else if err != nil {
		return fmt.Errorf("crawl: purge %s: %w", target.URL, err)
	} else {
		page = PageKey{s.home(target.URL.Site()), fingerprint}
	}
	s.proposeChange(Append{Purge: &target}, func(done stored) error {
		if target.URL.IsZero() {
			s.release(target.Site)
			s.fresh.dropAll(func(_ refresh.ID, site weburl.Site) bool { return site == target.Site }, s.now)
		} else {
			s.fresh.drop(page, s.now)
		}
		return reply(Reply{Count: done.purged})
	})
	return nil
}

// reload applies other settings.
func (s *Shard) reload(next Settings, then func() error) error {
	scope, err := frontier.ParseScope(next.Scope)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOrder, err)
	}
	if err := s.addSites(scope); err != nil {
		return err
	}
	now := s.settings
	rules := newRulebook(next.Rules)
	rules.paces = s.rules.paces
	if err := s.front.Reload(next.FrontierOptions(rules.manners), s.now); err != nil {
		return fmt.Errorf("%w: %w", ErrOrder, err)
	}
	fresh := slices.DeleteFunc(slices.Clone(next.Seeds), func(u weburl.URL) bool { return slices.Contains(now.Seeds, u) })
	now.Seeds, now.Scope, now.Rules = next.Seeds, next.Scope, next.Rules
	now.Delay, now.AdaptiveDelay, now.AddressDelay = next.Delay, next.AdaptiveDelay, next.AddressDelay
	now.Retries, now.RetryDelay = next.Retries, next.RetryDelay
	now.MaxPages, now.MaxDepth, now.PagesPerSite = next.MaxPages, next.MaxDepth, next.PagesPerSite
	now.Requisites = next.Requisites
	s.settings, s.rules = now, rules
	if s.fresh != nil && next.Refresh != nil {
		s.fresh.setBudget(next.Refresh.Budget, next.Delay, s.now)
	}
	before := s.finder.Bounds().Digest()
	s.finder.SetBounds(now.Bounds(scope, rules.limits))
	s.sendAll() // a target may accept now what it refused before
	var records []store.Record
	if s.finder.Bounds().Digest() != before {
		records = s.unscoped()
	}
	return s.propose(records, func() error { return s.addSeeds(fresh, then) })
}

// strike adds a strike to each page that was being processed when the last run was cut off, and sets aside those with
// too many.
func (s *Shard) strike(pages []Struck, then func() error) error {
	var records []store.Record
	for _, page := range pages {
		if int(page.Partition) >= s.settings.Partitions || !s.owns(page.Partition) {
			continue
		}
		row, err := s.rows.Page(page.Partition, page.Fingerprint)
		if errors.Is(err, store.ErrNotFound) || err == nil && row.Visits != page.Visits {
			continue
		}
		if err != nil {
			return fmt.Errorf("crawl: strike page %s: %w", page.Fingerprint, err)
		}
		strikes := min(row.Strikes+1, MaxStrikes)
		records = append(records, &store.Struck{Partition: page.Partition, Fingerprint: page.Fingerprint, Strikes: strikes})
		if strikes == MaxStrikes {
			records = append(records, &store.Refused{URL: row.URL, At: s.now.UnixNano(), Reason: store.ReasonCrashes})
			s.counts.refuse(store.ReasonCrashes, 1)
		}
	}
	return s.propose(records, then)
}

// known returns ErrUnknown if the site has no row.
func (s *Shard) known(site weburl.Site) error {
	if err := s.here(site); err != nil {
		return err
	}
	_, err := s.rows.Site(site)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: site %s", ErrUnknown, site)
	}
	return err
}

// pingsPerSecond is the allowance of pings without a budget. With a budget it is half of the budget.
const pingsPerSecond = 1

// newPings returns the allowance of pings, full at first. Anyone may send a ping: a site, or a hub of its feeds. So a
// ping must cost little: it spends from the allowance, never widens the scope and makes no seed.
func newPings(refresh *Refresh, now time.Time) *keepfresh.Pacer {
	const day = 24 * time.Hour
	budget, interval := int64(pingsPerSecond*day/time.Second), day
	if refresh != nil {
		budget, interval = max(1, refresh.Budget/2), refresh.Interval
	}
	p := keepfresh.NewPacer(budget, interval, now)
	p.Fill()
	return p
}

// ping handles a report that pages have changed.
func (s *Shard) ping(urls []weburl.URL, reply replier) error {
	urls = slices.SortedFunc(slices.Values(urls), func(a, b weburl.URL) int { return cmp.Compare(a.String(), b.String()) })
	return s.pingSome(pinged{rest: slices.Compact(urls), refused: map[string]string{}}, reply)
}

// pinged is the progress of a ping.
type pinged struct {
	rest    []weburl.URL
	taken   int64
	refused map[string]string
}

// changesAtOnce is the maximum number of pages in one change.
const changesAtOnce = 256

// pingSome handles some URLs of a ping, and then the others.
func (s *Shard) pingSome(p pinged, reply replier) error {
	if len(p.rest) == 0 {
		return reply(Reply{Count: p.taken - int64(len(p.refused)), Refused: p.refused})
	}
	some := p.rest[:min(len(p.rest), changesAtOnce)]
	p.rest = p.rest[len(some):]
	p.taken += int64(len(some))
	var due []store.Record
	var unknown []weburl.Link
	for _, u := range some {
		if !s.serves(s.home(u.Site())) {
			p.refused[u.String()] = Elsewhere
			continue
		}
		row, fp, err := s.rows.PageOf(u)
		isUnknown := errors.Is(err, store.ErrNotFound)
		if err != nil && !isUnknown {
			return fmt.Errorf("crawl: ping %s: %w", u, err)
		}
		reason, wants := s.pingable(u, row, isUnknown)
		switch {
		case reason != "":
			p.refused[u.String()] = reason
		case !wants:
		case isUnknown: // depth 1: the ping does not say how far it is from a seed
			unknown = append(unknown, weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Depth: 1})
		default:
			key := PageKey{s.home(u.Site()), fp}
			due = append(due, &store.Planned{Partition: key.Partition, Fingerprint: fp, Due: s.now.UnixNano()})
			s.fresh.claimed(key, refresh.Ping, keepfresh.Seconds(s.now))
		}
	}
	next := func() error {
		return s.propose(due, func() error { s.whenFree(func() error { return s.pingSome(p, reply) }); return nil })
	}
	if len(unknown) == 0 {
		return next()
	}
	s.offers.add(offered{links: unknown})
	s.offers.whenDecided(func() error {
		for _, link := range unknown {
			_, _, err := s.rows.PageOf(link.URL)
			if errors.Is(err, store.ErrNotFound) {
				p.refused[link.URL.String()], err = s.whyRefused(link.URL)
			}
			if err != nil {
				return err
			}
		}
		return next()
	})
	return nil
}

// pingable reports whether a ping's URL is requested, or why it is refused.
func (s *Shard) pingable(u weburl.URL, row store.Page, unknown bool) (refused string, wants bool) {
	if unknown {
		if reason, ok := s.finder.Bounds().AdmitURL(u, weburl.RelNone); !ok {
			return reason.String(), false
		}
	} else {
		switch {
		case row.State == store.StatePurged:
			return store.ReasonPurged, false
		case !row.Visited:
			return "", false
		case row.Versions > 0 && !s.rules.of(u.Site()).Refresh.Has(row.ContentType):
			return "type", false
		}
	}
	if _, ok := s.pings.Take(s.now); !ok {
		return "rate", false
	}
	return "", true
}
