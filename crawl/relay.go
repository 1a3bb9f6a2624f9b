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
// next drain tells of the pages behind them is relayed after that, and so on. A relay that is cut off by the end
// of the crawl is lost, and so is one for which the seen test has no room: that costs order, never a page.
func (d *discovery) relay(verdicts []seen.Verdict, moves []store.Move, now time.Time) error {
	relayer, ok := d.engine.opt.ordering.(frontier.Relayer)
	if !ok {
		return nil
	}
	relayed := map[weburl.Fingerprint]float64{}
	for _, m := range moves {
		if m.From != m.To || m.To == store.NewQueue || m.Cash <= m.FromCash {
			continue
		}
		if cash := relayer.Relay(m.FromCash, m.Cash-m.FromCash); cash > 0 {
			relayed[m.Fingerprint] = cash
		}
	}
	for _, v := range verdicts {
		cash, ok := relayed[v.Link.Fingerprint]
		if !ok {
			continue
		}
		switch err := d.offerAgain(v.Link.URL.Site(), v.Link.Fingerprint, cash, now); {
		case errors.Is(err, seen.ErrFull):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// offerAgain offers the links of a stored page, of which the scope refused its part before, with that cash.
func (d *discovery) offerAgain(site weburl.Site, fp weburl.Fingerprint, cash float64, now time.Time) error {
	row, links, err := d.engine.followed(pageKey{d.engine.partition(site), fp})
	if err != nil {
		return fmt.Errorf("crawl: links of page %s: %w", fp, err)
	}
	if len(links) == 0 {
		return nil
	}
	row.Cash = cash
	d.engine.undecided.Store(true)
	return d.offerLinks(seen.Mark{}, d.engine.pageLinks(links, row, true), now,
		func(weburl.Link, frontier.Reason) {}, func(time.Time) error { return seen.ErrFull })
}
