package crawl

import (
	"fmt"
	"time"

	"freshet/crawl/discovery"
	"freshet/crawl/keepfresh"
	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// MaxStrikes is the number of strikes at which a page is set aside. A page gets a strike for each unclean stop in a row
// that happens while it is being processed.
const MaxStrikes = 3

// A turn is a page, or a site's robots.txt or tdmrep.json, on its way from the frontier to the disk.
type turn struct {
	number   Turn
	page     frontier.Page
	url      weburl.URL
	row      store.Page    // when the page was handed out
	asked    frontier.Page // page whose host is requested; differs from page if the robots.txt is on another host
	gate     frontier.Gate // of that host, after the answer
	audit    bool          // requested without the validators of the copy
	record   *store.Robots // record of a robots.txt
	unstored bool          // Shard.unstored has the answer for a robots.txt
	said     string        // terms of use for the page in the site's robots.txt and tdmrep.json
	// unasked: the address guard refused the request for a robots.txt, so its host owes no interval.
	unasked bool
	reply   replier // to the shard that a request for a robots.txt is made for; nil: for this one
}

// newTurn begins a turn of a page that the frontier has handed out.
func (s *Shard) newTurn(page frontier.Page) *turn {
	s.last++
	t := &turn{number: s.last, page: page, asked: page}
	s.turns[t.number] = t
	return t
}

// handOut hands out turns while there is room and a page to request.
func (s *Shard) handOut() error {
	for s.mayHandOut() {
		page, wake, ok := s.front.NextWithin(s.budget(), s.now)
		if err := s.front.Err(); err != nil {
			return fmt.Errorf("crawl: %w", err)
		}
		if s.next = wake; !ok {
			s.wakeAt(wake)
			s.whenStarved()
			return nil
		}
		s.offers.timing.Asked(true, true)
		if err := s.start(s.newTurn(page)); err != nil {
			return err
		}
	}
	return nil
}

// mayHandOut reports whether turns may be handed out.
func (s *Shard) mayHandOut() bool {
	if !s.begun || s.ending != "" || s.places.holds() || s.rescopes() {
		return false
	}
	if !s.until.IsZero() {
		if !s.now.Before(s.until) {
			s.end(TimeUp)
			return false
		}
		s.wakeAt(s.until)
	}
	if most := s.settings.MaxPages; most > 0 && s.counts.Pages+int64(len(s.turns)) >= most {
		if len(s.turns) == 0 {
			s.end(MaxPages)
		}
		return false
	}
	return s.asking < s.room
}

// whenStarved ends a crawl that has nothing left to discover. Otherwise it reports to the drains that the crawl may be
// waiting for undecided links.
func (s *Shard) whenStarved() {
	queued := s.waits()
	s.offers.timing.Asked(false, queued)
	if comes := s.settings.Wait || !s.alone() || s.fresh != nil || !s.Idle(); !queued && !comes {
		s.end(FrontierEmpty)
	}
}

// waits reports whether pages are queued that the shard may still fetch.
func (s *Shard) waits() bool { return s.front.Stats().Open() > 0 && !s.mistaken() }

// mistaken reports whether no server was found at any of the sites that the crawl was given. The crawl then ends
// instead of trying them again.
func (s *Shard) mistaken() bool {
	return s.alone() && !s.met && s.nobody > 0 && s.nobody == s.front.Stats().Sites
}

// Idle reports whether the shard has no work of its own left, and no links in flight to another shard. If all shards of
// a crawl are idle at once, the crawl has discovered everything.
func (s *Shard) Idle() bool {
	return s.begun && !s.waits() && len(s.turns) == 0 && !s.offers.undecided() && !s.obeys.busy() && len(s.changes) == 0 &&
		!s.appends.busy() && !s.moves.busy() && !s.rescopes() && s.Unsent() == 0
}

// budget returns the budget of the requests, or nil if there is none.
func (s *Shard) budget() frontier.Budget {
	if s.fresh == nil {
		return nil
	}
	return s.fresh.pacer
}

// refund returns a request that is not made to the budget.
func (s *Shard) refund() {
	if s.fresh != nil {
		s.fresh.pacer.GiveBack()
	}
}

// spend notes what a request of the budget was for.
func (s *Shard) spend(t *turn) {
	if s.fresh == nil {
		return
	}
	on, row := keepfresh.Freshness, &t.row
	switch {
	case row.FailedInRow > 0 || row.GoneSeen > 0:
		on = keepfresh.Retry
	case row.Requisite():
		on = keepfresh.Requisite
	case apart(row):
		on = keepfresh.List
	case row.Versions == 0:
		on = keepfresh.FirstCopy
	}
	s.fresh.pacer.Spend(on, t.page.Site, s.now)
}

// done ends a turn, so that the node can release what it holds for it.
func (s *Shard) done(t *turn) {
	delete(s.turns, t.number)
	s.out.Done = append(s.out.Done, t.number)
}

// start requests a turn's page, if that is allowed.
func (s *Shard) start(t *turn) error {
	if t.page.Robots {
		return s.askRobots(t)
	}
	row, err := s.rows.Page(s.home(t.page.Site), t.page.Fingerprint)
	if err != nil {
		return fmt.Errorf("crawl: page %s queued at %s: %w", t.page.Fingerprint, t.page.Site, err)
	}
	t.row, t.url = row, row.URL
	standing, err := s.standing(t.page.Site)
	if err != nil {
		return err
	}
	if reason := s.refusal(row, standing); reason != "" {
		s.refund()
		s.refuse(t, reason)
		return nil
	}
	if s.book.Skipped(t.page.Site) { // it has not opted out any more: robots.txt comes first
		s.book.Skip(t.page.Site, false)
		s.front.AskRobots(t.page.Site, s.now, s.now)
		s.refund()
		s.front.Return(t.page, s.now)
		s.done(t)
		return nil
	}
	t.said = standing.Signals(row.URL).String()
	request := s.request(t)
	if _, slow := standing.Rules.CrawlDelay(); slow {
		request.Once = true
	}
	request.Wanted = s.rules.of(t.page.Site).Fetch
	if row.State == store.StateLive && (row.ETag != "" || row.LastModified != "") {
		if t.audit, err = s.audits(t.page, &row); err != nil {
			return err
		}
		if !t.audit {
			request.ETag, request.LastModified = row.ETag, row.LastModified
		}
	}
	s.ask(request)
	return nil
}

// ask passes a request to the node.
func (s *Shard) ask(f Fetch) {
	s.asking++
	s.out.Fetches = append(s.out.Fetches, f)
}

// request returns a turn's request under the rules of the site.
func (s *Shard) request(t *turn) Fetch {
	delay := s.rules.manners(t.page.Site).Interval(s.settings.Delay)
	return Fetch{
		Turn: t.number, URL: t.url, Page: t.url, KeepAlive: s.keepsConnections(delay), Once: delay > 0,
		AskLeave: s.settings.AddressDelay > 0,
	}
}

// keepsConnections reports whether it is worth keeping connections open. It is not if servers would close them before
// the next request.
func (s *Shard) keepsConnections(delay time.Duration) bool {
	const serversWait = 5 * time.Second
	return s.settings.PerConnection > 1 || delay < s.of(serversWait)
}

// auditEvery is the number of visits to pages with validators for each audit, a visit that omits the validators.
const auditEvery = 16

// audits reports whether a page is requested without the validators of its copy: because the site's validators were
// found wrong, or because an audit is due. A site that backs off is not audited, to spare it a full answer.
func (s *Shard) audits(page frontier.Page, row *store.Page) (bool, error) {
	site, err := s.rows.Site(page.Site)
	if err != nil {
		return false, fmt.Errorf("crawl: site of %s: %w", row.URL, err)
	}
	if !site.Validators.Trusted(s.now.UnixNano()) {
		return true, nil
	}
	if (uint64(page.Fingerprint)+uint64(row.Visits))%auditEvery != 0 || row.FailedInRow > 0 {
		return false, nil
	}
	gate, err := s.rows.Gate(s.home(page.Site), page.Site.Host())
	if err != nil {
		return false, fmt.Errorf("crawl: gate of %s: %w", page.Site, err)
	}
	return gate.Failures == 0, nil
}

// refusal returns the reason not to request a page whose turn has come, or "".
func (s *Shard) refusal(page store.Page, standing robots.Standing) string {
	if page.Strikes >= MaxStrikes {
		return store.ReasonCrashes
	}
	if reason, ok := s.finder.Bounds().Admits(page); !ok {
		return reason.String()
	}
	if !standing.Allowed(page.URL) {
		return standing.Reason()
	}
	return ""
}

// refuse ends a turn without a request.
func (s *Shard) refuse(t *turn, reason string) {
	at := s.now.UnixNano()
	records := []store.Record{&store.Refused{URL: t.url, At: at, Reason: reason}}
	if reason == robots.ReasonRobots && served(t.row) {
		records = append(records, &store.Withdrawn{
			Partition: s.home(t.page.Site), Fingerprint: t.page.Fingerprint, At: at, Reason: reason,
		})
	}
	s.front.Drop(t.page, s.now)
	s.proposeTurn(Append{Turn: t.number, Records: records, Refused: &t.row}, 0, func(stored) error {
		s.counts.refuse(reason, 1)
		s.done(t)
		return s.learned(t, nil, nil)
	})
}

// resolved decides whether a turn's request may go to the address of its host.
func (s *Shard) resolved(e Resolved) error {
	t := s.turns[e.Turn]
	free, _ := s.front.Bind(t.asked, e.Address, s.now)
	s.out.Leaves = append(s.out.Leaves, Leave{e.Turn, free})
	if free {
		return nil
	}
	s.asking-- // the page is back in its queue
	return s.giveUp(t)
}

// giveUp ends a turn that was not requested, and whose host is given back.
func (s *Shard) giveUp(t *turn) error {
	s.done(t)
	if t.reply != nil {
		return t.reply(Reply{Wait: s.of(time.Second)})
	}
	if t.page.Robots {
		s.dropErrand(t)
	} else {
		s.refund()
	}
	return nil
}

// ended gives back the host of a turn whose request has ended, and passes the answer on for processing.
func (s *Shard) ended(e Ended) error {
	t := s.turns[e.Turn]
	s.asking--
	took := e.At.Sub(e.Started)
	switch e.Given {
	case Nothing:
		s.lost = true
		s.front.Return(t.asked, s.now)
		return s.giveUp(t)
	case Unheard:
		s.front.Done(t.asked, frontier.Answer{End: e.At, Took: took, Unheard: true}, s.now)
		return s.giveUp(t)
	}
	s.counts.Bytes += e.Bytes
	answer := frontier.Answer{End: e.At, Took: took, Kept: e.Kept, Failed: e.Failed, RetryAfter: e.RetryAfter}
	if t.reply != nil {
		return s.askedFor(t, e, answer)
	}
	if t.page.Robots {
		return s.robotsEnded(t, e, answer)
	}
	t.gate = s.front.Done(t.asked, answer, s.now)
	s.spend(t)
	s.out.Process = append(s.out.Process, Process{
		Turn: t.number, URL: t.url, Page: s.key(t.page), Row: t.row, Alone: t.row.Strikes > 0, Audit: t.audit,
		Store: s.rules.of(t.page.Site).Store,
	})
	return nil
}

// processed proposes the record of a turn.
func (s *Shard) processed(e Processed) error {
	t := s.turns[e.Turn]
	if t.page.Robots {
		s.robotsProcessed(t, e)
		return nil
	}
	record := e.Page
	record.Gate = storedGate(t.gate)
	record.Unconditional, record.SiteSignals = t.audit, t.said
	if record.Truncated == store.TruncatedLength {
		record.Limit = s.settings.MaxBody
	}
	record.Claimed = uint8(s.fresh.claimant(s.key(t.page)))
	s.setRetry(t, record)
	if record.Links != nil {
		// If a crash comes before the links that brought the cash are marked as decided, they bring it again.
		held := s.seen.Collect(weburl.Link{URL: t.row.URL, Fingerprint: t.page.Fingerprint, Depth: t.row.Depth})
		if !s.places.knows(s.home(t.page.Site), t.page.Fingerprint) { // otherwise its rank is its cash
			record.Collected = held
		}
	}
	a := Append{Turn: t.number, Records: []store.Record{record}, Owes: discovery.Owes(s.settings.Ordering, e.Links)}
	s.proposeTurn(a, e.Bytes+len(record.Links), func(done stored) error {
		s.count(t, record, e.Class)
		s.offers.add(offered{mark: done.at, links: e.Links, cash: record.Paid, then: func() error {
			s.done(t)
			return nil
		}})
		return s.learned(t, record, e.Links)
	})
	return nil
}

// setRetry sets when a failed page is requested again before it is due. A page that is missing once may come back, so
// it counts as gone when it is missing twice. A crawl that keeps pages fresh gives no failed page up.
func (s *Shard) setRetry(t *turn, record *store.Fetched) {
	switch record.Outcome {
	case store.OutcomeFailed, store.OutcomeServerError:
		record.RetryAt = s.retryAt(t.url, int(t.row.FailedInRow), s.fresh != nil && t.row.Versions == 0)
	case store.OutcomeMissing:
		if s.fresh != nil && t.row.State == store.StateLive && t.row.GoneSeen == 0 {
			record.RetryAt = s.retryAt(t.url, 0, false)
		}
	}
}

// retryAt returns when a failed page is tried again, or 0 for never. With lasting, that is never 0: nothing else would
// bring a page back that has no version.
func (s *Shard) retryAt(url weburl.URL, failures int, lasting bool) int64 {
	retries := frontier.Retries{Most: s.settings.Retries, First: s.settings.RetryDelay, Lasting: lasting}
	wait, ok := retries.Wait(url.Fingerprint(), failures)
	if !ok {
		return 0
	}
	return s.now.Add(wait).UnixNano()
}

// count counts a page that was requested.
func (s *Shard) count(t *turn, record *store.Fetched, class string) {
	c := &s.counts
	switch {
	case record.Outcome == store.OutcomeStored && record.Truncated == "" && !record.SoftError:
		if t.row.Requisite() {
			c.Requisites++
		} else {
			c.Pages++
		}
		if record.Unconditional {
			c.Audits++
		}
		if record.Lied(&t.row) {
			c.Lies++
		}
		if t.row.Versions > 0 && record.TextDigest != t.row.TextDigest {
			c.Changed++
		}
	case record.Outcome == store.OutcomeNotModified:
		c.NotModified++
	case record.Outcome == store.OutcomeRedirected:
	default:
		c.Failed++
		c.Errors[class]++
	}
}
