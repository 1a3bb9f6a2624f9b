package crawl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// A ping says that pages have changed. Who sends it, a site or a hub of its feeds, is believed only as far
// as that costs little: a ping spends of an allowance, and neither widens the scope nor makes a seed.

// pingsPerSecond is the allowance of a crawl without a budget; of a budget it is half.
const pingsPerSecond = 1

// newPings returns the meter that pings are taken from. It begins full.
func newPings(refresh *Refresh, now time.Time) *meter {
	const day = 24 * time.Hour
	budget, interval := int64(pingsPerSecond*day/time.Second), day
	if refresh != nil {
		budget, interval = max(1, refresh.Budget/2), refresh.Interval
	}
	m := newMeter(budget, interval, now)
	m.pacer.Fill()
	return m
}

// Ping takes word that pages have changed: those that were visited are due now, those that nobody knew are
// discovered if the scope and the rules let them in, those that wait for their first visit go on waiting.
// It returns of how many that is true. The others are in refused, with the reason: that of the rules,
// "guard", "purged", "type" for a type of content that the rules do not refresh, "rate" when more is said
// than half of the budget would pay for, or a page a second where there is none.
func (e *Engine) Ping(urls []weburl.URL) (taken int64, refused map[string]string, err error) {
	urls = slices.SortedFunc(slices.Values(urls), func(a, b weburl.URL) int { return cmp.Compare(a.String(), b.String()) })
	urls = slices.Compact(urls)
	refused = map[string]string{}
	for lot := range slices.Chunk(urls, perOrder) {
		p := pinged{engine: e, refused: refused}
		err := e.order(func(now time.Time) error {
			p.now = now
			for _, u := range lot {
				if err := p.look(u); err != nil {
					return fmt.Errorf("crawl: ping %s: %w", u, err)
				}
			}
			return errors.Join(p.discover(), e.apply(now, p.due...))
		})
		if err != nil {
			return 0, refused, err
		}
		e.refresher.claimed(p.claims)
	}
	return int64(len(urls) - len(refused)), refused, nil
}

// pinged is what is to be done about the pages of a ping.
type pinged struct {
	engine  *Engine
	now     time.Time
	refused map[string]string
	due     []store.Record
	unknown []weburl.Link
	claims  []claim // of those that are due
}

// look decides about one page.
func (p *pinged) look(u weburl.URL) error {
	e := p.engine
	row, fingerprint, err := e.store.PageOf(u)
	unknown := errors.Is(err, store.ErrNotFound)
	switch {
	case err != nil && !unknown:
		return err
	case unknown:
		if reason, ok := e.discover.finder.Bounds().AdmitURL(u); !ok {
			p.refused[u.String()] = reason.String()
			return nil
		}
	case row.State == store.StatePurged:
		p.refused[u.String()] = "purged"
		return nil
	case !row.Visited:
		return nil
	case row.Versions > 0 && !e.current().rules.of(u.Site()).Refresh.Has(row.ContentType):
		p.refused[u.String()] = "type"
		return nil
	}
	if _, ok := e.pings.take(p.now); !ok {
		p.refused[u.String()] = "rate"
		return nil
	}
	if unknown { // it lies a link away from a seed, as far as a ping can tell
		p.unknown = append(p.unknown, weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Depth: 1})
		return nil
	}
	key := pageKey{e.partition(u.Site()), fingerprint}
	p.due = append(p.due, &store.Planned{Partition: key.partition, Fingerprint: fingerprint, Due: p.now.UnixNano()})
	p.claims = append(p.claims, claim{key, refresh.Ping, keepfresh.Seconds(p.now)})
	return nil
}

// discover takes the unknown pages to the seen test and lets it decide.
func (p *pinged) discover() error {
	if len(p.unknown) == 0 {
		return nil
	}
	if err := errors.Join(p.engine.discoverLinks(seen.Mark{}, p.unknown, 0, p.now), p.engine.drain(p.now)); err != nil {
		return err
	}
	for _, link := range p.unknown {
		_, _, err := p.engine.store.PageOf(link.URL)
		if errors.Is(err, store.ErrNotFound) {
			p.refused[link.URL.String()] = "guard"
		} else if err != nil {
			return err
		}
	}
	return nil
}
