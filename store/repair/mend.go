package repair

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"

	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// found is what a page has beside its row.
type found struct {
	first, last [2]uint32     // numbers of visits, of versions
	lost        bool          // the last version's capture is gone
	visit       store.Visit   // the last
	version     store.Version // the last
	url         weburl.URL
}

const ofVisits, ofVersions = 0, 1

// history looks at all visits or versions and drops captures that are lost.
func (r *repair) history(kind format.Kind, have map[weburl.Fingerprint]*found) error {
	from, to := r.Keys.KindSpan(r.p, kind)
	return database.Scan(r.DB, from, to, func(key, value []byte) error {
		fp, number, err := format.PageTail(key[len(from):])
		if err != nil || decodes(kind, value) != nil {
			return nil // set aside already
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		h := have[fp]
		if h == nil {
			h = &found{}
			have[fp] = h
			var page store.Page
			if format.Read(r.DB, r.Keys.AppendPage(nil, r.p, format.KeyPage, fp), &page) == nil {
				h.url = page.URL
			}
		}
		of := ofVisits
		var capture *store.Pointer
		var row any
		if kind == format.KeyVisit {
			h.visit = store.Visit{}
			err = format.DecodeValue(value, &h.visit)
			capture, row = &h.visit.Capture, &h.visit
		} else {
			of = ofVersions
			h.version = store.Version{}
			err = format.DecodeValue(value, &h.version)
			capture, row = &h.version.Capture, &h.version
			h.lost = false
		}
		if of == ofVersions && h.last[of] != 0 && number != h.last[of]+1 {
			if err := r.dropVersions(fp, h.first[of], h.last[of]); err != nil {
				return err
			}
			h.first[of] = 0
		}
		if of == ofVisits && h.last[of] != 0 && number-h.last[of] <= store.KeptVisits {
			if err := r.fillVisits(fp, h.last[of]+1, number-1); err != nil {
				return err
			}
		}
		if h.first[of] == 0 {
			h.first[of] = number
		}
		h.last[of] = number
		if err != nil || capture.IsZero() {
			return err
		}
		body, err := r.Body(*capture)
		switch {
		case err == nil && (kind == format.KeyVisit || warc.DigestOf(body.Payload) == h.version.BodyDigest):
			u, err := weburl.Parse(body.URL)
			if err == nil && (h.url.IsZero() || h.url == u) {
				h.url = u
				return nil
			}
		case err != nil && !store.IsLost(err):
			return err
		}
		r.say(fp.String(), "the capture of %s %d is lost (%s:%d)", []string{"visit", "version"}[of], number, capture.File, capture.Offset)
		h.lost = h.lost || of == ofVersions
		*capture = store.Pointer{}
		return r.set(bytes.Clone(key), row)
	})
}

// dropVersions sets aside versions before one that is missing: a page's are numbered without a gap.
func (r *repair) dropVersions(fp weburl.Fingerprint, first, last uint32) error {
	for n := first; n <= last; n++ {
		key := r.Keys.AppendOfPage(nil, r.p, format.KeyVersion, fp, n)
		value, err := format.ReadRaw(r.DB, key)
		if err == nil {
			err = r.drop(key, value, "a version before one that is lost")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fillVisits stores a failed visit for each lost one. Its reason says that it was lost.
func (r *repair) fillVisits(fp weburl.Fingerprint, first, last uint32) error {
	for n := first; n <= last; n++ {
		r.say(fp.String(), "visit %d is lost: it counts as one that told nothing", n)
		if err := r.set(r.Keys.AppendOfPage(nil, r.p, format.KeyVisit, fp, n), &store.Visit{Outcome: store.OutcomeFailed, Reason: "lost"}); err != nil {
			return err
		}
	}
	return nil
}

// pages repairs rows by what belongs to them, makes those that are missing, and sets aside what belongs to
// none.
func (r *repair) pages(have map[weburl.Fingerprint]*found) (map[weburl.Fingerprint]*store.Page, error) {
	pages := map[weburl.Fingerprint]*store.Page{}
	from, to := r.Keys.KindSpan(r.p, format.KeyPage)
	err := database.Scan(r.DB, from, to, func(key, value []byte) error {
		n, err := format.NumberTail(key[len(from):])
		var page store.Page
		if err != nil || format.DecodeValue(value, &page) != nil {
			return nil
		}
		pages[weburl.Fingerprint(n)] = &page
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, fp := range sortedKeys(have) {
		if pages[fp] == nil && !have[fp].url.IsZero() && r.Home(have[fp].url.Site()) == r.p {
			pages[fp] = madeOf(fp, have[fp])
			r.say(have[fp].url.String(), "its row was missing and is rebuilt from its captures")
		}
	}
	for _, kind := range []format.Kind{format.KeyVisit, format.KeyVersion, format.KeyLinks} {
		from, to := r.Keys.KindSpan(r.p, kind)
		err := database.Scan(r.DB, from, to, func(key, value []byte) error {
			rest := key[len(from):]
			if len(rest) >= 8 && pages[weburl.Fingerprint(binary.BigEndian.Uint64(rest))] == nil && decodes(kind, value) == nil {
				return r.drop(bytes.Clone(key), value, "belongs to no page, and no capture tells of which it was")
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, fp := range sortedKeys(pages) {
		if err := r.page(fp, pages[fp], have[fp]); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

func sortedKeys[V any](m map[weburl.Fingerprint]V) []weburl.Fingerprint {
	return slices.Sorted(maps.Keys(m))
}

// madeOf returns a row of what a page's visits and versions tell. The rest is lost: the page waits for a visit, which
// counts as a change.
func madeOf(fp weburl.Fingerprint, h *found) *store.Page {
	page := &store.Page{URL: h.url, Visited: h.last[ofVisits] > 0, FirstSeen: h.visit.At}
	if h.last[ofVersions] > 0 {
		v := &h.version
		page.State, page.FirstSeen, page.LastChanged = store.StateLive, v.At, v.At
		page.ContentType, page.Size, page.SiteSignals, page.PageSignals = v.ContentType, v.Size, v.SiteSignals, v.PageSignals
	}
	if page.Visited {
		page.LastFetched, page.Outcome, page.Status = h.visit.At, h.visit.Outcome, h.visit.Status
	}
	waits(fp, page)
	return page
}

// waits puts a page into the due queue.
func waits(fp weburl.Fingerprint, page *store.Page) {
	page.Queue, page.Key = store.DueQueue, store.Key{Order: uint64(max(0, page.LastFetched)), Arrival: uint64(fp)}
}

// page makes a row agree with its history, and stores it. A page whose body is lost forgets its
// validators, so that the next visit brings it again, and waits for that visit.
func (r *repair) page(fp weburl.Fingerprint, page *store.Page, h *found) error {
	if h == nil {
		h = &found{}
	}
	before := *page
	if page.State != store.StatePurged {
		page.Visits, page.Versions = max(h.last[ofVisits], visitsWithout(page, h)), h.last[ofVersions]
		if page.Pruned = 0; h.first[ofVersions] > 0 {
			page.Pruned = h.first[ofVersions] - 1
		}
	}
	if !page.State.Known() || page.Versions == 0 && before.Versions > 0 {
		page.State = store.StatePending
	}
	again, err := r.linkless(fp, page)
	if err != nil {
		return err
	}
	if h.lost || again || page.Versions == 0 && before.Versions > 0 {
		page.ETag, page.LastModified, page.BodyDigest, page.TextDigest = "", "", store.BodyDigest{}, store.TextDigest{}
		again = true
	}
	if page.Queue == store.NoQueue && (again || page.State == store.StatePending) { // what nothing has decided of waits
		waits(fp, page)
	}
	if first := page.FirstVisit(); page.State != store.StatePurged && h.first[ofVisits] > first {
		if err := r.fillVisits(fp, first, h.first[ofVisits]-1); err != nil {
			return err
		}
	}
	if *page == before {
		return nil
	}
	if page.Pruned > before.Pruned {
		r.say(page.URL.String(), "its versions up to %d are lost", page.Pruned)
	}
	if before.Visits != page.Visits || before.Versions != page.Versions {
		r.say(page.URL.String(), "its row said %d visits, %d versions: it has %d and %d", before.Visits, before.Versions, page.Visits, page.Versions)
	}
	return r.set(r.Keys.AppendPage(nil, r.p, format.KeyPage, fp), page)
}

// linkless reports whether the out-links of a page may have been lost: it is fetched again for them.
func (r *repair) linkless(fp weburl.Fingerprint, page *store.Page) (bool, error) {
	if !r.lost || page.State != store.StateLive || page.NoFollow {
		return false, nil
	}
	found, err := database.Get(r.DB, r.Keys.AppendPage(nil, r.p, format.KeyLinks, fp), func([]byte) error { return nil })
	if err == nil && !found && page.Queue == store.NoQueue {
		r.say(page.URL.String(), "it has no links: they may be lost, and it is fetched again")
	}
	return !found, err
}

// visitsWithout returns the number of the last visit of a page that has none left: that which the row says if
// all of them have been folded, else 0.
func visitsWithout(page *store.Page, h *found) uint32 {
	if h.last[ofVisits] == 0 && page.Folded.Visits == int64(page.Visits) {
		return page.Visits
	}
	return 0
}
