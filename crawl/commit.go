package crawl

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"freshet/crawl/discovery"
	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// A group of visits is made durable at once: whatever has gathered while the last group was being
// synced, up to these. As many may wait for the committer, so that a slow sync stops nobody.
const (
	groupPages = 128
	groupBytes = 32 << 20
)

// commit makes visits durable, tells the frontier what came of its pages, and takes their links to the
// seen test, and leaves notes for the refresher. After a fault it only empties its queue, so that nobody waits for it.
func (e *Engine) commit(refreshing context.Context) {
	clock := e.opt.Clock
	drain := clock.NewTimer(time.Hour)
	defer drain.Stop()
	var group []*visit
	for {
		select {
		case v, ok := <-e.done:
			if !ok {
				e.check(e.alone(e.lastDrain))
				return
			}
			group = e.gather(append(group[:0], v))
			if !e.broken.Load() {
				e.check(e.alone(func() error { return e.commitGroup(group) }))
				e.leaveNotes(refreshing, group)
			}
			e.end(group)
			for _, v := range group {
				v.hold.Release()
			}
			e.handedOut.Add(-int64(len(group)))
			signal(e.wake)
		case <-e.hungry:
			if e.undecided.Load() && !e.broken.Load() {
				e.check(e.alone(func() error { return e.drain(clock.Now()) }))
			}
		case <-drain.C:
		}
		if !e.broken.Load() {
			e.check(e.alone(e.drainIfDue))
		}
		if e.undecided.Load() {
			clock.Reset(drain, clock.Span(drainEvery))
		}
	}
}

// leaveNotes tells the refresher what came of a group that was committed.
func (e *Engine) leaveNotes(refreshing context.Context, group []*visit) {
	if e.refresher == nil || e.broken.Load() {
		return
	}
	var notes []note
	for _, v := range group {
		n, ok, err := e.noteOf(v)
		e.check(err)
		if ok {
			notes = append(notes, n)
		}
	}
	e.refresher.leave(refreshing, notes)
}

// alone does something while nobody else changes the crawl, and sees whether a ranking is due after it.
func (e *Engine) alone(do func() error) error {
	e.writing.Lock()
	defer e.writing.Unlock()
	defer e.reordering.askIfDue()
	return do()
}

// drainIfDue decides the waiting links if they have waited long enough. While the fetchers have pages to fetch
// this is restAfterDrain times as long as the drain before took, so that the committer has most of its time for
// what they bring; what comes together then is also told of its cash once.
func (e *Engine) drainIfDue() error {
	now := e.opt.Clock.Now()
	rest := restAfterDrain * e.drainTook
	if e.starved.Load() {
		rest = 0
	}
	if !e.discover.seen.Due(now, rest) {
		return nil
	}
	defer func() { e.drainTook = e.opt.Clock.Now().Sub(now) }()
	return e.drain(now)
}

// restAfterDrain is how many times as long as a drain took links wait for the next one.
const restAfterDrain = 30

// drainEvery is how often the committer looks whether waiting links are old enough to be decided, in
// machine time.
const drainEvery = 50 * time.Millisecond

func (e *Engine) check(err error) {
	if err != nil {
		e.fail(err)
	}
}

// lastDrain decides the links that still wait when the crawl stops.
func (e *Engine) lastDrain() error {
	if e.broken.Load() || !e.undecided.Load() {
		return nil
	}
	return e.drain(e.opt.Clock.Now())
}

// gather appends what else is ready to be committed to group.
func (e *Engine) gather(group []*visit) []*visit {
	size := group[0].size()
	for len(group) < groupPages && size < e.plan.group {
		select {
		case v, ok := <-e.done:
			if !ok {
				return group
			}
			group = append(group, v)
			size += v.size()
		default:
			return group
		}
	}
	return group
}

func (v *visit) size() (bytes int) {
	for _, member := range v.members {
		bytes += len(member)
	}
	if page, ok := v.record.(*store.Fetched); ok {
		bytes += len(page.Links)
	}
	return bytes
}

// commitGroup makes a group durable.
func (e *Engine) commitGroup(group []*visit) error {
	var fetches []store.Fetch
	var fetched []*visit
	var others []store.Record
	for _, v := range group {
		if refused, ok := v.record.(*store.Refused); ok {
			others = append(others, v.record)
			if refused.Reason == robots.ReasonRobots && served(v.row) {
				p := e.partition(v.page.Site)
				others = append(others, &store.Withdrawn{Partition: p, Fingerprint: v.page.Fingerprint, At: refused.At, Reason: refused.Reason})
			}
			continue
		}
		fetches = append(fetches, store.Fetch{Record: v.record, Members: v.members, Main: v.main, ID: v.id, Owes: discovery.Owes(e.opt.ordering, v.links)})
		if host := v.gateHost; host != "" && host != v.page.Site.Name() {
			p := e.partition(v.result.URL.Site())
			others = append(others, &store.Gated{Partition: p, Host: host, Gate: *storedGate(v.gate)})
		}
		fetched = append(fetched, v)
	}
	var moves []store.Move
	if len(fetches) > 0 {
		var err error
		if moves, err = e.store.CommitPages(fetches); err != nil {
			return fmt.Errorf("crawl: commit %d pages: %w", len(fetches), err)
		}
	}
	if len(others) > 0 {
		refused, err := e.store.Apply(others...)
		if err != nil {
			return fmt.Errorf("crawl: store %d refusals: %w", len(others), err)
		}
		moves = append(moves, refused...)
	}
	now := e.opt.Clock.Now()
	if err := e.tellCommitted(group, moves, now); err != nil {
		return err
	}
	for _, v := range group {
		e.account(v)
	}
	for i, v := range fetched {
		if err := e.discoverLinks(seen.Mark{Partition: fetches[i].Partition, Record: fetches[i].Number}, v.links, paid(v.record), now); err != nil {
			return err
		}
	}
	return nil
}

// paid returns what a record's page hands on to its links.
func paid(r store.Record) float64 {
	if page, ok := r.(*store.Fetched); ok {
		return page.Paid
	}
	return 0
}

// tellCommitted tells the frontier that a group's pages have left the queues in which they were, and
// which of them have a new place; and takes note of sites whose rules are others.
func (e *Engine) tellCommitted(group []*visit, moves []store.Move, now time.Time) error {
	e.reordering.note(moves)
	for _, v := range group {
		if record, ok := v.record.(*store.Robots); ok && record.Keep {
			if err := e.obeys.read(record.Site); err != nil {
				return err
			}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, v := range group {
		if !v.page.Robots {
			e.front.Committed(v.page)
		}
		if refused, ok := v.record.(*store.Refused); ok && (refused.Reason == robots.ReasonRobots || refused.Reason == robots.ReasonUnreachable) {
			e.front.WatchRobots(v.page.Site, now)
		}
	}
	for _, m := range moves {
		if m.To == store.DueQueue {
			e.front.Planned(m.Site, entryOf(m), now)
		}
	}
	return nil
}

// tellMoves tells the frontier of pages that were not in its hands: discovered, moved in their queue.
func (e *Engine) tellMoves(moves []store.Move, now time.Time) error {
	e.reordering.note(moves)
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(moves) > 0 {
		site := moves[0].Site
		n := slices.IndexFunc(moves, func(m store.Move) bool { return m.Site != site })
		if n < 0 {
			n = len(moves)
		}
		if err := e.tellSite(site, moves[:n], now); err != nil {
			return err
		}
		moves = moves[n:]
	}
	return nil
}

// tellSite tells the frontier of one site's moves; pages that wait in no queue are nothing to it. A site that it
// does not hold is restored from the store, which has the moves already.
func (e *Engine) tellSite(site weburl.Site, moves []store.Move, now time.Time) error {
	if !slices.ContainsFunc(moves, func(m store.Move) bool { return m.From != store.NoQueue || m.To != store.NoQueue }) {
		return nil
	}
	if !e.front.Known(site) {
		info, err := siteInfo(e.store, e.robots, site)
		if err != nil {
			return err
		}
		e.front.Restore(info, now)
		return nil
	}
	entries := make([]frontier.Entry, 0, len(moves))
	for _, m := range moves {
		switch {
		case m.From == store.NoQueue && m.To == store.NewQueue:
			entries = append(entries, entryOf(m))
		case m.From == store.NoQueue && m.To == store.DueQueue:
			e.front.Planned(site, entryOf(m), now)
		case m.From != store.NoQueue && m.To == m.From:
			e.front.Moved(site, kindOf(m.From), fromEntry(m), entryOf(m), now)
		case m.From != store.NoQueue:
			e.front.Removed(site, kindOf(m.From), fromEntry(m), now)
			if m.To == store.DueQueue {
				e.front.Planned(site, entryOf(m), now)
			}
		}
	}
	if len(entries) > 0 {
		e.front.Discovered(site, entries, now)
	}
	return nil
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

// account counts and logs a visit that is durable.
func (e *Engine) account(v *visit) {
	line := logLine{url: v.url.String(), depth: int(v.row.Depth), rel: v.row.Rel.String()}
	if v.row.Via != 0 {
		line.via = v.row.Via.String()
	}
	if r := v.result; r != nil {
		line.at, line.bytes, line.took = r.Started, v.bytes, r.Total
		line.status = strconv.Itoa(r.Status)
		if r.Status == 0 {
			line.status = r.Outcome.String()
		}
	}
	switch record := v.record.(type) {
	case *store.Refused:
		line.at, line.status = time.Unix(0, record.At), "refused"
		line.annotations = append(line.annotations, record.Reason)
		e.tally.countRefused(record.Reason, 1)
	case *store.Robots:
		line.rel = "robots"
	case *store.Fetched:
		e.accountPage(v, record, &line)
	}
	e.log.write(line)
}

func (e *Engine) accountPage(v *visit, record *store.Fetched, line *logLine) {
	line.contentType = record.ContentType
	line.digest = fmt.Sprintf("%x", record.BodyDigest[:6])
	annotate := func(when bool, word string) {
		if when {
			line.annotations = append(line.annotations, word)
		}
	}
	annotate(record.Truncated != "", "truncated:"+record.Truncated)
	annotate(record.Revisit, "revisit")
	annotate(record.SoftError, "soft-error")
	annotate(record.RetryAt != 0, "retry")
	annotate(v.result.Reused, "reused")
	switch {
	case record.Outcome == store.OutcomeStored && record.Truncated == "" && !record.SoftError:
		e.tally.pages.Add(1)
		if record.Unconditional {
			e.tally.audits.Add(1)
		}
		if record.Lied(&v.row) {
			e.tally.lies.Add(1)
		}
		if v.row.Versions > 0 && record.TextDigest != v.row.TextDigest {
			e.tally.changed.Add(1)
		}
	case record.Outcome == store.OutcomeNotModified:
		e.tally.notModified.Add(1)
	case record.Outcome == store.OutcomeRedirected:
	default:
		e.tally.countError(v.result.Class())
	}
}

// storedGate is a host's gate as records hold it.
func storedGate(g frontier.Gate) *store.Gate {
	return &store.Gate{End: unix(g.End), Next: unix(g.Next), IntervalNs: int64(g.Interval), Failures: g.Failures, Blocked: unix(g.Blocked)}
}

// loadedGate is the inverse of storedGate.
func loadedGate(g store.Gate) frontier.Gate {
	return frontier.Gate{End: fromUnix(g.End), Next: fromUnix(g.Next), Interval: time.Duration(g.IntervalNs), Failures: g.Failures, Blocked: fromUnix(g.Blocked)}
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
