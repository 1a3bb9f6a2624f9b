package crawl

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// The consumers whose marks the records wait for. linksConsumer's mark is the last record whose links
// are decided: their pages have rows. seenConsumer's is the last one that the set has kept; it may lag
// behind, never lead.
const (
	linksConsumer = "links"
	seenConsumer  = "seen"
)

// discovery takes the links of stored pages through the scope, the seen test and the guards, and
// makes records of what is new. The engine's writing guards it.
type discovery struct {
	engine *Engine
	seen   *seen.Test

	// scope is changed by who holds writing and scoping, and may be read by who holds either.
	scope   frontier.Scope
	scoping sync.RWMutex

	offer    []weburl.Link // reused
	verdicts []seen.Verdict
	refused  map[refusalKey]int64 // since the last drain
	siteSize map[weburl.Site]int  // pages of sites that the verdicts of one drain touch

	linked, kept []uint64 // the consumers' marks as the records have them, by partition

	pages, sites atomic.Int64 // known
}

// maxRefusals is how many sites and reasons refusals are counted for before a drain is due.
const maxRefusals = 10_000

type refusalKey struct {
	site   weburl.Site
	reason frontier.Reason
}

func newDiscovery(e *Engine, set *seen.Test) (*discovery, error) {
	scope, err := frontier.ParseScope(e.opt.Scope)
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	n := e.store.Partitions()
	return &discovery{engine: e, seen: set, scope: scope, refused: map[refusalKey]int64{}, siteSize: map[weburl.Site]int{},
		linked: make([]uint64, n), kept: make([]uint64, n)}, nil
}

// guard returns the limits on what is discovered.
func (o Options) guard() frontier.Guard {
	guard := frontier.DefaultGuard()
	guard.Depth = uint16(min(o.MaxDepth, 1<<16-1))
	guard.PagesPerSite = int(o.PagesPerSite)
	return guard
}

// guards returns the limits of every site, as they are now.
func (d *discovery) guards() func(weburl.Site) frontier.Guard {
	now := d.engine.current()
	all := now.guard()
	return func(site weburl.Site) frontier.Guard { return now.rules.guard(site, all) }
}

// pageLinks returns the links of a stored page as the seen test wants them. They lie one deeper than
// the page; the target of a redirect as deep as the page itself, one hop further.
func pageLinks(links []store.OutLink, page store.Page, follow bool) []weburl.Link {
	if !follow {
		return nil
	}
	out := make([]weburl.Link, 0, len(links))
	for _, link := range links {
		if link.Rel == weburl.RelRedirect {
			out = append(out, redirectLink(link.URL, page))
			continue
		}
		out = append(out, weburl.Link{URL: link.URL, Fingerprint: link.URL.Fingerprint(), Depth: deeper(page.Depth), Rel: link.Rel,
			Via: page.URL.Fingerprint(), LastMod: link.LastMod})
	}
	return out
}

// pageLinks is the function of that name. Where the ordering goes by cash, each different link has a share of what
// the page hands on: Cash 1, in place of which share puts the amount.
func (e *Engine) pageLinks(links []store.OutLink, page store.Page, follow bool) []weburl.Link {
	out := pageLinks(links, page, follow)
	if !e.opt.paysCash() || len(out) == 0 {
		return out
	}
	paid := make(map[weburl.Fingerprint]bool, len(out)+1)
	paid[page.URL.Fingerprint()] = true // a page pays itself nothing
	for i := range out {
		if fp := out[i].Fingerprint; !paid[fp] {
			paid[fp] = true
			out[i].Cash = 1
		}
	}
	return out
}

// owes returns how the ordering says what a page hands on to its links; nil if none of them has a share.
func (e *Engine) owes(links []weburl.Link) func(cash, paid float64) float64 {
	payer, ok := e.opt.ordering.(frontier.Payer)
	if !ok || !slices.ContainsFunc(links, func(l weburl.Link) bool { return l.Cash > 0 }) {
		return nil
	}
	return payer.Owes
}

// share lets the links that are offered share the cash of their page. Those that nobody will crawl have no part
// in it.
func (d *discovery) share(cash float64) {
	payer, ok := d.engine.opt.ordering.(frontier.Payer)
	if !ok {
		return
	}
	shares := 0
	for i := range d.offer {
		if d.offer[i].Cash > 0 {
			shares++
		}
	}
	for i := range d.offer {
		if link := &d.offer[i]; link.Cash > 0 {
			link.Cash = payer.Pay(cash, shares)
		}
	}
}

func redirectLink(target weburl.URL, page store.Page) weburl.Link {
	hops := page.Hops
	if hops < 255 {
		hops++
	}
	return weburl.Link{URL: target, Fingerprint: target.Fingerprint(), Depth: page.Depth, Hops: hops, Rel: weburl.RelRedirect, Via: page.URL.Fingerprint()}
}

// sitemapLinks returns the sitemaps that a robots.txt names.
func sitemapLinks(site weburl.Site, record *store.Robots) []weburl.Link {
	if !record.Keep {
		return nil
	}
	var links []weburl.Link
	for _, raw := range robots.Sitemaps(record.Body) {
		if u, err := robots.At(site).Parse(raw); err == nil {
			links = append(links, weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Depth: 1, Rel: weburl.RelSitemap})
		}
	}
	return links
}

func deeper(depth uint16) uint16 {
	if depth == 1<<16-1 {
		return depth
	}
	return depth + 1
}

// isSeed tells whether a page widens the scope: a seed, or where a seed redirects to.
func isSeed(l weburl.Link) bool {
	return l.Rel == weburl.RelSeed || l.Rel == weburl.RelRedirect && l.Depth == 0
}

// take offers the links of the record at mark to the seen test, with the cash that their page hands on, and lets it
// decide if many wait, whatever else is to be taken with them. Of links outside of the scope it only counts the
// refusals.
func (d *discovery) take(mark seen.Mark, links []weburl.Link, cash float64, now time.Time) error {
	refuse := func(link weburl.Link, reason frontier.Reason) { d.refused[refusalKey{link.URL.Site(), reason}]++ }
	d.engine.undecided.Store(true)
	if err := d.offerLinks(mark, links, cash, now, refuse, d.drain); err != nil {
		return err
	}
	if d.engine.opt.OnLinks != nil {
		d.engine.opt.OnLinks(d.offer)
	}
	d.engine.undecided.Store(true) // also if a drain made room
	if len(d.refused) >= maxRefusals || d.seen.Due(now, math.MaxInt64) {
		return d.drain(now)
	}
	return nil
}

// remember offers links that are decided and stored: the set must know them, nobody the verdicts, and their cash
// has come to those that it was for.
func (d *discovery) remember(mark seen.Mark, links []weburl.Link, now time.Time) error {
	return d.offerLinks(mark, links, 0, now, func(weburl.Link, frontier.Reason) {}, func(time.Time) error { return d.forget() })
}

// forget lets the seen test decide and keep, and drops the verdicts.
func (d *discovery) forget() error {
	if _, _, err := d.decide(nil); err != nil {
		return err
	}
	return d.keep()
}

// decide drains the seen test. If the set turns out to be damaged it is rebuilt, and asked again.
func (d *discovery) decide(dst []seen.Verdict) (verdicts []seen.Verdict, marks []seen.Mark, err error) {
	verdicts, marks, err = d.seen.Drain(dst)
	if errors.Is(err, seen.ErrDamaged) {
		if err = d.engine.rebuildSeen(d.linked); err == nil {
			verdicts, marks, err = d.seen.Drain(dst)
		}
	}
	if err != nil {
		return verdicts, nil, fmt.Errorf("crawl: seen test: %w", err)
	}
	return verdicts, marks, nil
}

// keep makes durable what was decided. All of that is stored, so that a set which turns out to be
// damaged may be made anew from the page table instead.
func (d *discovery) keep() error {
	err := d.seen.Keep()
	if errors.Is(err, seen.ErrDamaged) {
		err = d.engine.rebuildSeen(d.linked)
	}
	if err != nil {
		return fmt.Errorf("crawl: keep the seen set: %w", err)
	}
	return nil
}

// offerLinks offers the links that are in scope and near enough, which share the cash of their page, having made
// room for them if there is none. A link refused here stays unknown, so that the page may yet be found on a shorter way.
func (d *discovery) offerLinks(mark seen.Mark, links []weburl.Link, cash float64, at time.Time, refuse func(weburl.Link, frontier.Reason), makeRoom func(time.Time) error) error {
	d.offer = d.offer[:0]
	now, guards := d.engine.current(), d.guards()
	for _, link := range links {
		reason, ok := guards(link.URL.Site()).AdmitWay(link)
		if ok && isSeed(link) {
			d.scoping.Lock()
			d.scope.AddSeed(link.URL)
			d.scoping.Unlock()
		}
		if ok {
			reason, ok = now.rules.urls.Admit(d.scope, link.URL)
		}
		if !ok {
			refuse(link, reason)
			continue
		}
		d.offer = append(d.offer, link)
	}
	d.share(cash)
	for rest := d.offer; ; {
		some, from := rest, seen.Mark{Partition: mark.Partition} // a record of which only some links are known is not marked
		if some = fewLinks(rest, d.engine.plan.waiting/2); len(some) == len(rest) {
			from = mark
		}
		err := d.seen.Offer(from, some, at)
		if errors.Is(err, seen.ErrFull) {
			if err = makeRoom(at); err == nil {
				err = d.seen.Offer(from, some, at)
			}
		}
		if err != nil {
			return fmt.Errorf("crawl: offer the links of record %d of partition %d: %w", mark.Record, mark.Partition, err)
		}
		if rest = rest[len(some):]; len(rest) == 0 {
			return nil
		}
	}
}

// fewLinks returns the first links that take no more than so many bytes while they wait, but one at least. Of a page
// with more than that, a crash in between may pay the first ones' cash twice.
func fewLinks(links []weburl.Link, bytes int64) []weburl.Link {
	for i := range links {
		if bytes -= int64(seen.Bytes(links[i : i+1])); bytes < 0 {
			return links[:max(i, 1)]
		}
	}
	return links
}

// drain lets the seen test decide, stores what is new, tells the frontier, and lets the set keep it.
func (d *discovery) drain(now time.Time) error {
	if err := d.settle(now); err != nil {
		return err
	}
	signal(d.engine.wake)
	return d.keep()
}

// settle lets the seen test decide, stores what is new and tells the frontier.
func (d *discovery) settle(now time.Time) error {
	verdicts, marks, err := d.decide(d.verdicts[:0])
	d.verdicts = verdicts
	if err != nil {
		return err
	}
	records, err := d.records(verdicts, now)
	if err != nil {
		return err
	}
	// What the set kept at the drain before may be noted now: it may lag behind the records, never lead.
	records = d.note(records, seenConsumer, d.seen.Marks(), d.kept)
	records = d.noteNothingKept(records, marks)
	records = d.note(records, linksConsumer, marks, d.linked)
	if len(records) > 0 {
		moves, err := d.engine.store.Apply(records...)
		if err != nil {
			return fmt.Errorf("crawl: store what is new: %w", err)
		}
		if err := d.engine.tellMoves(moves, now); err != nil {
			return err
		}
	}
	d.engine.undecided.Store(false)
	return nil
}

// note appends records that move a consumer's marks on, where they have moved.
func (d *discovery) note(records []store.Record, consumer string, marks []seen.Mark, noted []uint64) []store.Record {
	for _, mark := range marks {
		if mark.Record > noted[mark.Partition] {
			noted[mark.Partition] = mark.Record
			records = append(records, &store.Mark{Partition: mark.Partition, Consumer: consumer, Record: mark.Record})
		}
	}
	return records
}

// noteNothingKept appends seenConsumer's first mark of partitions whose links are decided for the first
// time: records go when all consumers that there are have passed them.
func (d *discovery) noteNothingKept(records []store.Record, decided []seen.Mark) []store.Record {
	for _, mark := range decided {
		if d.linked[mark.Partition] == 0 && d.kept[mark.Partition] == 0 {
			records = append(records, &store.Mark{Partition: mark.Partition, Consumer: seenConsumer})
		}
	}
	return records
}

// newPerRecord bounds the pages of one Discovered record.
const newPerRecord = 1 << 14

// records makes Discovered records of verdicts, by partition.
func (d *discovery) records(verdicts []seen.Verdict, now time.Time) ([]store.Record, error) {
	clear(d.siteSize)
	n := d.engine.store.Partitions()
	open := make([]*store.Discovered, n) // the record being filled, a partition
	var records []store.Record
	guards := d.guards()
	byCash := d.engine.opt.paysCash()
	of := func(p weburl.Partition) *store.Discovered {
		if r := open[p]; r != nil && len(r.New) < newPerRecord && len(r.Repeats) < newPerRecord {
			return r
		}
		open[p] = &store.Discovered{Partition: p, At: now.UnixNano()}
		records = append(records, open[p])
		return open[p]
	}
	for _, v := range verdicts {
		link := v.Link
		site := link.URL.Site()
		p := d.engine.partition(site)
		if !v.New {
			if d.engine.reordering.knows(p, link.Fingerprint) {
				link.Cash = 0
			}
			r := of(p)
			r.ByCash = byCash
			r.Repeats = append(r.Repeats, store.Repeat{Fingerprint: link.Fingerprint, Depth: link.Depth, Hops: link.Hops, Cash: link.Cash,
				Order: d.engine.opt.ordering.PageOrder(link)})
			continue
		}
		size, err := d.sizeOf(site)
		if err != nil {
			return nil, err
		}
		if reason, ok := guards(site).Admit(link, size, now); !ok {
			d.refused[refusalKey{site, reason}]++
			continue
		}
		d.siteSize[site]++
		d.pages.Add(1)
		r := of(p)
		r.New = append(r.New, store.NewPage{URL: link.URL, Depth: link.Depth, Hops: link.Hops, Rel: link.Rel, Via: link.Via,
			Cash: link.Cash, Order: d.engine.opt.ordering.PageOrder(link), Seed: isSeed(link), LastMod: link.LastMod})
	}
	for _, refusal := range d.takeRefused() {
		r := of(d.engine.partition(refusal.Site))
		r.Refused = append(r.Refused, refusal)
	}
	return records, nil
}

// sizeOf returns how many pages of a site are known, those of this drain included.
func (d *discovery) sizeOf(site weburl.Site) (int, error) {
	if size, ok := d.siteSize[site]; ok {
		return size, nil
	}
	row, err := d.engine.store.Site(site)
	switch {
	case errors.Is(err, store.ErrNotFound):
		d.sites.Add(1)
	case err != nil:
		return 0, fmt.Errorf("crawl: site %s: %w", site, err)
	}
	d.siteSize[site] = int(row.Pages)
	return int(row.Pages), nil
}

// takeRefused returns what was refused since the last drain, by site and reason, and forgets it.
func (d *discovery) takeRefused() []store.Refusal {
	refused := make([]store.Refusal, 0, len(d.refused))
	for key, count := range d.refused {
		refused = append(refused, store.Refusal{Site: key.site, Reason: key.reason.String(), Count: count})
		d.engine.tally.countRefused(key.reason.String(), count)
	}
	clear(d.refused)
	sortRefusals(refused)
	return refused
}
