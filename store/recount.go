package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"freshet/weburl"
)

// queues makes both queues what the rows say.
func (r *repair) queues(pages map[weburl.Fingerprint]*Page) error {
	wanted := map[string]weburl.Fingerprint{}
	for fp, page := range pages {
		if page.Queue == NewQueue || page.Queue == DueQueue {
			wanted[string(r.keys.appendEntry(nil, r.p, page.Queue, page.URL.Site(), page.Key))] = fp
		}
	}
	for _, kind := range []keyKind{keyNew, keyDue} {
		from, to := r.keys.kindSpan(r.p, kind)
		err := scan(r.db, from, to, func(key, value []byte) error {
			fp, _, err := entryValue(value)
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
		if err := r.batch.Set([]byte(key), appendEntryValue(nil, wanted[key], page.Cash), nil); err != nil {
			return err
		}
	}
	return nil
}

// changes makes the change log agree with the rows.
func (r *repair) changes(pages map[weburl.Fingerprint]*Page) error {
	there := map[weburl.Fingerprint]bool{}
	from, to := r.keys.kindSpan(r.p, keyChange)
	err := scan(r.db, from, to, func(key, value []byte) error {
		var change Change
		n, err := numberTail(key[len(from):])
		if err != nil || decodeValue(value, &change) != nil {
			return nil
		}
		if page := pages[change.Fingerprint]; page != nil && page.LastChange == n {
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
		r.say(page.URL.String(), "its change %d is lost", page.LastChange)
		page.LastChange = 0
		if err := r.set(r.keys.appendPage(nil, r.p, keyPage, fp), page); err != nil {
			return err
		}
	}
	return nil
}

// totals makes the numbers of sites and of the partition what the rows make them, and the records follow
// one another: those before a gap are taken for read.
func (r *repair) totals(pages map[weburl.Fingerprint]*Page) error {
	var total Counters
	if err := r.row(r.keys.appendKind(nil, r.p, keyCounters), &total); err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrCorrupt) {
		return err
	}
	before := appendValue(nil, &total)
	total.Sites, total.Pages, total.New, total.Due, total.States = 0, 0, 0, 0, [states]int64{}
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
		total.Scoped, total.Horizon = Scoped{Scope: offerAgain}, max(total.Horizon, total.Records)
	}
	if after := appendValue(nil, &total); bytes.Equal(before, after) {
		return nil
	}
	r.say(fmt.Sprintf("partition %d", r.p), "its totals are counted anew: %d pages of %d sites", total.Pages, total.Sites)
	return r.set(r.keys.appendKind(nil, r.p, keyCounters), &total)
}

// offerAgain is the digest of no scope: the next crawl takes its own for another one, and offers all links.
const offerAgain = 1

// counters replaces totals that cannot be read by ones that only number the records, without which none
// could be applied. What else they say totals counts.
func (r *repair) counters() error {
	key := r.keys.appendKind(nil, r.p, keyCounters)
	height := r.highwater.height(r.options.Crawl, r.p)
	var had Counters
	value, err := r.raw(key)
	switch fault := decodes(keyCounters, value); {
	case errors.Is(err, ErrNotFound) && height == 0 && !r.lost:
		return nil
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	case err != nil: // not there
	case fault != nil:
		if err := r.drop(key, value, fault.Error()); err != nil {
			return err
		}
	default:
		if err := decodeValue(value, &had); err != nil || had.Records >= height {
			return err
		}
		had.Records, had.Trimmed = height, height // no number is given twice
		return r.set(key, &had)
	}
	marks, err := readMarks(r.db, r.keys, r.p)
	if err != nil {
		return err
	}
	var total Counters
	for _, m := range marks {
		total.Records = max(total.Records, m.Record)
	}
	total.Trimmed = total.Records
	from, to := r.keys.kindSpan(r.p, keyRecord)
	err = scan(r.db, from, to, func(key, _ []byte) error {
		n, err := numberTail(key[len(from):])
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

// sites mends the sites' rows, adds them up, and returns them.
func (r *repair) sites(pages map[weburl.Fingerprint]*Page, total *Counters) (map[weburl.Site]*SiteRow, error) {
	sites, was := map[weburl.Site]*SiteRow{}, map[weburl.Site]SiteRow{}
	from, to := r.keys.kindSpan(r.p, keySite)
	err := scan(r.db, from, to, func(key, value []byte) error {
		row := &SiteRow{}
		if decodeValue(value, row) != nil {
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
			row = &SiteRow{}
			sites[page.URL.Site()] = row
		}
		row.Pages++
		total.Pages++
		total.States[page.State]++
		if page.Visited {
			row.Fetched++
		}
		switch page.Queue {
		case NewQueue:
			row.New++
			row.Cash += unitsOf(page.Cash)
			total.New++
		case DueQueue:
			row.Due++
			total.Due++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sites)) {
		row, old := sites[name], was[name]
		if row.Pages == old.Pages && row.Fetched == old.Fetched && row.New == old.New && row.Due == old.Due && row.Cash == old.Cash {
			continue
		}
		r.say(string(name), "its row is counted anew: %d pages, %d fetched", row.Pages, row.Fetched)
		if err := r.set(r.keys.appendText(nil, r.p, keySite, string(name)), row); err != nil {
			return nil, err
		}
	}
	return sites, nil
}

// records sets aside the kept records before the last gap.
func (r *repair) records(total *Counters) error {
	from, to := r.keys.kindSpan(r.p, keyRecord)
	gap, last := total.Trimmed, total.Trimmed // everything up to gap is taken for trimmed
	kept := r.keys.appendNumber(nil, r.p, keyRecord, total.Trimmed+1)
	err := scan(r.db, kept, to, func(key, value []byte) error {
		n, err := numberTail(key[len(from):])
		if err != nil || decodes(keyRecord, value) != nil {
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
	err = scan(r.db, from, r.keys.appendNumber(nil, r.p, keyRecord, gap+1), func(key, value []byte) error {
		if decodes(keyRecord, value) != nil {
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
	marks, err := readMarks(r.db, r.keys, r.p)
	for _, m := range marks {
		if at := min(max(m.Record, total.Trimmed), total.Records); at != m.Record && err == nil {
			r.say(fmt.Sprintf("partition %d", r.p), "the mark of %s at %d is now at %d", m.Consumer, m.Record, at)
			err = r.set(r.keys.appendText(nil, r.p, keyMark, m.Consumer), at)
		}
	}
	return err
}
