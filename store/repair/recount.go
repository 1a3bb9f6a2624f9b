package repair

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// queues makes both queues what the rows say.
func (r *repair) queues(pages map[weburl.Fingerprint]*store.Page) error {
	wanted := map[string]weburl.Fingerprint{}
	for fp, page := range pages {
		if page.Queue == store.NewQueue || page.Queue == store.DueQueue {
			wanted[string(r.Keys.AppendEntry(nil, r.p, page.Queue.KeyKind(), page.URL.Site(), page.Key.Order, page.Key.Arrival))] = fp
		}
	}
	for _, kind := range []format.Kind{format.KeyNew, format.KeyDue} {
		from, to := r.Keys.KindSpan(r.p, kind)
		err := database.Scan(r.DB, from, to, func(key, value []byte) error {
			fp, _, err := format.EntryValue(value)
			if err != nil {
				return nil
			}
			if is, there := wanted[string(key)]; there && is == fp {
				delete(wanted, string(key))
				return nil
			}
			return r.drop(bytes.Clone(key), value, "an entry of a queue that no row names")
		})
		if err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		page := pages[wanted[key]]
		r.say(page.URL.String(), "it was not in the %v queue, where its row says it is: put back", page.Queue)
		if err := r.batch.Set([]byte(key), format.AppendEntryValue(nil, wanted[key], page.Cash), nil); err != nil {
			return err
		}
	}
	return nil
}

// changes makes the change log agree with the rows. A row that was rebuilt gets back its entry, and the state that the
// entry names. A lost entry is made again from the row.
func (r *repair) changes(pages map[weburl.Fingerprint]*store.Page) error {
	there := map[weburl.Fingerprint]bool{}
	from, to := r.Keys.KindSpan(r.p, format.KeyChange)
	err := database.Scan(r.DB, from, to, func(key, value []byte) error {
		var change store.Change
		n, err := format.NumberTail(key[len(from):])
		if err != nil || format.DecodeValue(value, &change) != nil {
			return nil
		}
		page := pages[change.Fingerprint]
		if page != nil && page.LastChange == 0 && page.Versions > 0 && change.Kind != store.ChangePurged {
			page.LastChange, page.State, page.MovedTo = n, stateAfter(change.Kind), change.MovedTo
			if err := r.set(r.Keys.AppendPage(nil, r.p, format.KeyPage, change.Fingerprint), page); err != nil {
				return err
			}
		}
		if page != nil && page.LastChange == n {
			there[change.Fingerprint] = true
			return nil
		}
		return r.drop(bytes.Clone(key), value, "a change that no row names")
	})
	if err != nil {
		return err
	}
	for _, fp := range sortedKeys(pages) {
		page := pages[fp]
		if page.LastChange == 0 || there[fp] {
			continue
		}
		r.say(page.URL.String(), "its change %d is lost: it is noted again", page.LastChange)
		change := store.Change{Kind: store.ChangeChanged, Fingerprint: fp, URL: page.URL, At: page.LastFetched, Version: page.Versions, MovedTo: page.MovedTo}
		for kind := store.ChangeMoved; kind <= store.ChangePurged; kind++ {
			if stateAfter(kind) == page.State {
				change.Kind = kind
			}
		}
		if err := r.set(r.Keys.AppendNumber(nil, r.p, format.KeyChange, page.LastChange), &change); err != nil {
			return err
		}
	}
	return nil
}

// stateAfter returns the state of a page after a change.
func stateAfter(kind store.ChangeKind) store.State {
	switch kind {
	case store.ChangeMoved:
		return store.StateMoved
	case store.ChangeGone:
		return store.StateGone
	case store.ChangeWithdrawn:
		return store.StateWithdrawn
	case store.ChangePurged:
		return store.StatePurged
	}
	return store.StateLive
}

// totals makes the numbers of sites and of the partition what the rows make them, and the records follow
// one another: those before a gap are taken for read.
func (r *repair) totals(pages map[weburl.Fingerprint]*store.Page) error {
	var total store.Counters
	if err := format.Read(r.DB, r.Keys.AppendKind(nil, r.p, format.KeyCounters), &total); err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	before := format.AppendValue(nil, &total)
	total.Sites, total.Pages, total.New, total.Due, total.States = 0, 0, 0, 0, store.Counters{}.States
	sites, err := r.sites(pages, &total)
	if err != nil {
		return err
	}
	total.Sites = int64(len(sites))
	if err := r.records(&total); err != nil {
		return err
	}
	if total.Records == 0 && total.Pages == 0 && total.Sites == 0 {
		return nil // nothing has ever been here
	}
	if r.lost {
		total.Scoped, total.Horizon = store.Scoped{Scope: offerAgain}, max(total.Horizon, total.Records)
	}
	if after := format.AppendValue(nil, &total); bytes.Equal(before, after) {
		return nil
	}
	r.say(fmt.Sprintf("partition %d", r.p), "its totals are counted again: %d pages of %d sites", total.Pages, total.Sites)
	return r.set(r.Keys.AppendKind(nil, r.p, format.KeyCounters), &total)
}

// offerAgain is the digest of no scope: the next crawl takes its own for another one, and offers all links.
const offerAgain = 1

// counters replaces totals that cannot be read by ones that only number the records, without which none
// could be applied. What else they say totals counts.
func (r *repair) counters() error {
	key := r.Keys.AppendKind(nil, r.p, format.KeyCounters)
	height := r.Height(r.p)
	var had store.Counters
	value, err := format.ReadRaw(r.DB, key)
	switch fault := decodes(format.KeyCounters, value); {
	case errors.Is(err, store.ErrNotFound) && height == 0 && !r.lost:
		return nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return err
	case err != nil: // not there
	case fault != nil:
		if err := r.drop(key, value, fault.Error()); err != nil {
			return err
		}
	default:
		if err := format.DecodeValue(value, &had); err != nil || had.Records >= height {
			return err
		}
		had.Records, had.Trimmed = height, height // no number is given twice
		return r.set(key, &had)
	}
	marks, err := r.Marks(r.p)
	if err != nil {
		return err
	}
	var total store.Counters
	for _, m := range marks {
		total.Records = max(total.Records, m.Record)
	}
	total.Trimmed = total.Records
	from, to := r.Keys.KindSpan(r.p, format.KeyRecord)
	err = database.Scan(r.DB, from, to, func(key, _ []byte) error {
		n, err := format.NumberTail(key[len(from):])
		if err == nil {
			total.Trimmed = min(total.Trimmed, n-1)
			total.Records = max(total.Records, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if total.Records = max(total.Records, height); total.Records == 0 {
		return nil
	}
	return r.set(key, &total)
}

// sites repairs the sites' rows, adds them up, and returns them.
func (r *repair) sites(pages map[weburl.Fingerprint]*store.Page, total *store.Counters) (map[weburl.Site]*store.SiteRow, error) {
	sites, was := map[weburl.Site]*store.SiteRow{}, map[weburl.Site]store.SiteRow{}
	from, to := r.Keys.KindSpan(r.p, format.KeySite)
	err := database.Scan(r.DB, from, to, func(key, value []byte) error {
		row := &store.SiteRow{}
		if format.DecodeValue(value, row) != nil {
			return nil
		}
		name := weburl.Site(key[len(from):])
		sites[name], was[name] = row, *row
		row.Pages, row.Fetched, row.New, row.Due, row.Cash = 0, 0, 0, 0, 0
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, fp := range sortedKeys(pages) {
		page := pages[fp]
		row := sites[page.URL.Site()]
		if row == nil {
			row = &store.SiteRow{}
			sites[page.URL.Site()] = row
		}
		row.Pages++
		total.Pages++
		total.States[page.State]++
		if page.Visited {
			row.Fetched++
		}
		switch page.Queue {
		case store.NewQueue:
			row.New++
			row.Cash += store.UnitsOf(page.Cash)
			total.New++
		case store.DueQueue:
			row.Due++
			total.Due++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sites)) {
		row, old := sites[name], was[name]
		if row.Pages == old.Pages && row.Fetched == old.Fetched && row.New == old.New && row.Due == old.Due && row.Cash == old.Cash {
			continue
		}
		r.say(string(name), "its row is counted again: %d pages, %d fetched", row.Pages, row.Fetched)
		if err := r.set(r.Keys.AppendText(nil, r.p, format.KeySite, string(name)), row); err != nil {
			return nil, err
		}
	}
	return sites, nil
}

// records sets aside the kept records before the last gap.
func (r *repair) records(total *store.Counters) error {
	from, to := r.Keys.KindSpan(r.p, format.KeyRecord)
	gap, last := total.Trimmed, total.Trimmed // everything up to gap is taken for trimmed
	kept := r.Keys.AppendNumber(nil, r.p, format.KeyRecord, total.Trimmed+1)
	err := database.Scan(r.DB, kept, to, func(key, value []byte) error {
		n, err := format.NumberTail(key[len(from):])
		if err != nil || decodes(format.KeyRecord, value) != nil {
			return nil
		}
		if n != last+1 {
			gap = n - 1
		}
		last = n
		return nil
	})
	if err != nil {
		return err
	}
	if last < total.Records && last > total.Trimmed {
		gap = last // the newest are lost: none can be told to follow
	}
	err = database.Scan(r.DB, from, r.Keys.AppendNumber(nil, r.p, format.KeyRecord, gap+1), func(key, value []byte) error {
		if decodes(format.KeyRecord, value) != nil {
			return nil
		}
		return r.drop(bytes.Clone(key), value, "a record before one that is lost")
	})
	if err != nil {
		return err
	}
	total.Trimmed = gap
	if total.Records = max(total.Records, last); last < total.Records {
		total.Trimmed = total.Records
	}
	marks, err := r.Marks(r.p)
	for _, m := range marks {
		if at := min(max(m.Record, total.Trimmed), total.Records); at != m.Record && err == nil {
			r.say(fmt.Sprintf("partition %d", r.p), "the mark of %s at %d is now at %d", m.Consumer, m.Record, at)
			err = r.mark(m.Consumer, at)
		}
	}
	if r.lost && err == nil {
		err = r.mark(store.SeenConsumer, total.Records) // the set of seen URLs is behind, so it is rebuilt
	}
	return err
}

func (r *repair) mark(consumer string, at uint64) error {
	return r.set(r.Keys.AppendText(nil, r.p, format.KeyMark, consumer), at)
}
