package crawl

import (
	"errors"
	"fmt"
	"time"

	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// relay lets pages that were fetched hand on what a drain's verdicts have brought them, as far as the ordering
// asks for it: their stored links are offered once more, with that cash, in the order of the verdicts. What the
// next drain tells of the pages behind them is relayed after that, and so on. What is cut off by the end of the crawl,
// and that for which the seen test has no room, stays with the page until its next visit.
func (d *discovery) relay(verdicts []seen.Verdict, moves []store.Move, now time.Time) error {
	relayer, ok := d.engine.opt.ordering.(frontier.Relayer)
	if !ok {
		return nil
	}
	lots := map[weburl.Fingerprint]lot{}
	for _, m := range moves {
		if m.From != m.To || m.To == store.NewQueue || m.Cash <= m.FromCash {
			continue
		}
		came := m.Cash - m.FromCash
		if cash := relayer.Relay(m.FromCash, came); cash > 0 {
			lots[m.Fingerprint] = lot{came, cash}
		}
	}
	for _, v := range verdicts {
		lot, ok := lots[v.Link.Fingerprint]
		if !ok {
			continue
		}
		switch err := d.offerAgain(pageKey{d.engine.partition(v.Link.URL.Site()), v.Link.Fingerprint}, lot, now); {
		case errors.Is(err, seen.ErrFull):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// A lot is cash that came to a stored page, and what of it the page relays.
type lot struct{ came, relayed float64 }

// offerAgain offers the links of a stored page, of which the scope refused its part before, with what the page
// relays of a lot.
func (d *discovery) offerAgain(page pageKey, lot lot, now time.Time) error {
	row, links, err := d.engine.followed(page)
	if err != nil {
		return fmt.Errorf("crawl: links of page %s: %w", page.fingerprint, err)
	}
	if len(links) == 0 {
		return nil
	}
	d.engine.undecided.Store(true)
	err = d.offerLinks(seen.Mark{}, d.engine.pageLinks(links, row, true), lot.relayed, now,
		func(weburl.Link, frontier.Reason) {}, func(time.Time) error { return seen.ErrFull })
	if err == nil {
		d.handing[page] += lot.came
	}
	return err
}

// settleRelays has decided what pages of a group are about to relay, before their visits say what they hand on.
func (d *discovery) settleRelays(group []*visit, now time.Time) error {
	for _, v := range group {
		if _, hands := d.handing[pageKey{d.engine.partition(v.page.Site), v.page.Fingerprint}]; hands {
			return d.makeRoom(now)
		}
	}
	return nil
}
