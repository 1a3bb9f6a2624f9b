package store

import (
	"errors"

	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// takenDown reports whether a page of a site, known or not, was taken down.
func (st *state) takenDown(row *pageRow, site weburl.Site) bool {
	if row.exists {
		return row.State == StatePurged
	}
	return st.peekSite(row.id.p, site).Purged
}

// purged replaces a page by a tombstone: its URL and its entry in the change log.
func (st *state) purged(p weburl.Partition, n uint64, r *Purged) {
	row := st.page(p, r.Fingerprint)
	if !r.URL.IsZero() {
		if row = st.resolve(p, r.URL); !row.exists {
			st.create(row, Page{URL: r.URL, FirstSeen: r.At})
		}
	}
	if !row.exists || row.State == StatePurged {
		return
	}
	st.dequeue(row)
	st.deletePast(p, row.id.fp)
	st.setState(row, StatePurged)
	row.Page = Page{
		URL: row.URL, State: row.State, Depth: row.Depth, Hops: row.Hops, Rel: row.Rel, Via: row.Via,
		Seed: row.Seed, FirstSeen: row.FirstSeen, LastFetched: row.LastFetched,
		Visited: row.Visited, LastChange: row.LastChange, Reason: ReasonPurged,
	}
	st.change(row)
	st.log(row, n, ChangePurged, r.At)
}

// sitePurged closes a site to new pages and deletes its robots.txt and tdmrep.json.
func (st *state) sitePurged(p weburl.Partition, r *SitePurged) {
	row := st.site(p, r.Site)
	row.Purged, row.Robots = true, RobotsState{}
	st.deleteFiles(p, string(r.Site))
}

// scrubbed strips the kept records of fetches of what was taken down. It deletes again what purges and trimming
// deleted. That changes no row, but it makes the database drop every older value of the key (see Inside.Scrub).
func (st *state) scrubbed(p weburl.Partition) {
	from, to := st.keys.KindSpan(p, format.KeyRecord)
	st.deleteSpan(from, st.keys.AppendNumber(nil, p, format.KeyRecord, st.peekTotal(p).Trimmed+1))
	st.scrubPages(p)
	err := database.Scan(st.db, from, to, func(key, value []byte) error {
		record, err := DecodeRecord(value)
		if err != nil {
			return err
		}
		switch r := record.(type) {
		case *Fetched:
			if !st.purgedPage(p, r.URL) {
				return nil
			}
		case *Robots:
			if !st.peekSite(p, r.Site).Purged {
				return nil
			}
		default:
			return nil
		}
		strip(record)
		st.key = append(st.key[:0], key...)
		st.value = AppendRecord(st.value[:0], record)
		st.setRaw(st.value)
		return nil
	})
	if err != nil {
		st.fail(err)
	}
}

// scrubPages writes the tombstones of a partition again, so that older values of their keys are dropped.
func (st *state) scrubPages(p weburl.Partition) {
	from, to := st.keys.KindSpan(p, format.KeyPage)
	err := database.Scan(st.db, from, to, func(key, value []byte) error {
		n, err := format.NumberTail(key[len(from):])
		var page Page
		if err = errors.Join(err, format.DecodeValue(value, &page)); err != nil || page.State != StatePurged {
			return err
		}
		st.deletePast(p, weburl.Fingerprint(n))
		st.key = append(st.key[:0], key...)
		st.setRaw(value)
		return nil
	})
	if err != nil {
		st.fail(err)
	}
	from, to = st.keys.KindSpan(p, format.KeySite)
	err = database.Scan(st.db, from, to, func(key, value []byte) error {
		var row SiteRow
		if err := format.DecodeValue(value, &row); err != nil || !row.Purged {
			return err
		}
		st.key = append(st.key[:0], key...)
		st.setRaw(value)
		st.deleteFiles(p, string(key[len(from):]))
		return nil
	})
	if err != nil {
		st.fail(err)
	}
}

// deleteFiles deletes a site's robots.txt and tdmrep.json.
func (st *state) deleteFiles(p weburl.Partition, site string) {
	for _, kind := range []format.Kind{format.KeyRobots, format.KeyTDMRep} {
		st.key = st.keys.AppendText(st.key[:0], p, kind, site)
		st.delete()
	}
}

// deletePast deletes what belongs to a page apart from its row.
func (st *state) deletePast(p weburl.Partition, fp weburl.Fingerprint) {
	for _, kind := range []format.Kind{format.KeyVersion, format.KeyVisit} {
		st.deleteSpan(format.Span(st.keys.AppendPage(nil, p, kind, fp)))
	}
	st.key = st.keys.AppendPage(st.key[:0], p, format.KeyLinks, fp)
	st.delete()
}

// purgedPage reports whether u's row is a tombstone. It does not keep the rows that it reads.
func (st *state) purgedPage(p weburl.Partition, u weburl.URL) bool {
	for fp := u.Fingerprint(); ; fp = format.Probe(fp) {
		var page Page
		st.key = st.keys.AppendPage(st.key[:0], p, format.KeyPage, fp)
		if !st.load(&page) || page.URL == u {
			return page.State == StatePurged
		}
	}
}

// strip reduces the record of a fetch to what totals and politeness need.
func strip(record Record) {
	switch r := record.(type) {
	case *Fetched:
		*r = Fetched{
			URL: r.URL, At: r.At, End: r.End, Outcome: r.Outcome, Status: r.Status, Truncated: r.Truncated,
			Size: r.Size, WireBytes: r.WireBytes, TotalNs: r.TotalNs, RetryAt: r.RetryAt, Gate: r.Gate,
		}
	case *Robots:
		*r = Robots{Site: r.Site, At: r.At, End: r.End, Outcome: r.Outcome, Status: r.Status, Expires: r.Expires, Gate: r.Gate, TDMRep: r.TDMRep, Aside: r.Aside}
	}
}

// silence removes from a finished fetch what must not be stored if its page or site was taken down in the meantime.
func (s *Store) silence(f *Fetch) {
	switch r := f.Record.(type) {
	case *Fetched:
		row := s.state.resolve(r.home(s.homes), r.URL)
		if !s.state.takenDown(row, r.URL.Site()) {
			return
		}
	case *Robots:
		if !s.state.peekSite(r.home(s.homes), r.Site).Purged {
			return
		}
	}
	f.Members = nil
	strip(f.Record)
}
