package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"freshet/store/warc"
	"freshet/weburl"
)

// asideDir holds, in the data directory, what a repair could not use: damaged WARC files as they were,
// and rows, a JSON object a line.
const asideDir = "aside"

// Repair mends what Verify finds and calls report for everything that it did. Nothing is dropped in
// silence: what cannot be used any more is set aside in DIR/aside, by name. In this order
//
//   - WARC files that cannot be read to their end are replaced by ones with all records that can be
//     read, those that rows point at beyond the damage included; the damaged file is set aside;
//   - rows let go of captures that are lost, and a page whose last body is lost is fetched again;
//   - values that cannot be decoded, and visits, versions, out-links and queue entries that belong to no
//     page, are set aside; a page's row is made anew where a capture tells its URL;
//   - numbers of visits and versions, places in queues, entries of the change log, and the totals of
//     sites and partitions become what the rows say.
//
// The set of seen URLs is rebuilt by the next crawl wherever it is missing. Nothing else may use the
// store meanwhile; after Repair it has to be closed and opened again. Memory is by page of a
// partition.
func (s *Store) Repair(ctx context.Context, report func(Problem)) error {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if err := s.endFile(); err != nil {
		return err
	}
	r := &repair{Store: s, ctx: ctx, report: report}
	if err := r.files(); err != nil {
		return fmt.Errorf("store: repair: %w", err)
	}
	for p := range s.dir.partitions {
		if err := r.partition(weburl.Partition(p)); err != nil {
			return fmt.Errorf("store: repair partition %d: %w", p, err)
		}
	}
	return nil
}

type repair struct {
	*Store
	ctx    context.Context // of the one call of Repair
	report func(Problem)
	p      weburl.Partition
	batch  *pebble.Batch
	aside  []byte // lines of rows set aside, of the partition
}

func (r *repair) say(place, format string, args ...any) {
	r.report(Problem{place, fmt.Sprintf(format, args...)})
}

// files replaces the WARC files that are damaged.
func (r *repair) files() error {
	names, err := r.closedFiles()
	if err != nil {
		return err
	}
	for _, name := range names {
		path := r.fs.PathJoin(r.dir.join(warcDir), name)
		members, err := r.members(r.ctx, path, nothing)
		if err == nil {
			continue
		}
		if !errors.Is(err, warc.ErrCorrupt) && !errors.Is(err, ErrCorrupt) {
			return err
		}
		if err := r.salvage(name, path, members); err != nil {
			return err
		}
	}
	return nil
}

// salvage copies what can be read of a damaged file into a new one and sets the file aside.
func (r *repair) salvage(name, path string, members []member) error {
	places, err := r.placesIn(r.ctx, []string{name})
	if err != nil {
		return err
	}
	rw := &rewriting{Store: r.Store, file: name, places: places[name], copies: map[int64]warc.Pointer{}}
	lengths, err := r.lengthsIn(name)
	if err != nil {
		return err
	}
	stay := map[warc.ID]bool{}
	for i := range members {
		stay[members[i].group] = true
		delete(lengths, members[i].offset)
	}
	lost := 0
	for offset, length := range lengths {
		record, err := warc.ReadAt(r.fs, r.dir.join(warcDir), warc.Pointer{File: name, Offset: offset, Length: length})
		if err != nil {
			lost++
			continue
		}
		members = append(members, member{offset: offset, length: length, id: record.ID, group: record.ID})
		stay[record.ID] = true
	}
	slices.SortFunc(members, func(a, b member) int { return int(a.offset - b.offset) })
	if err := rw.copy(r.ctx, members, stay); err != nil {
		return err
	}
	if err := rw.point(); err != nil {
		return err
	}
	if err := r.setFileAside(name, path); err != nil {
		return err
	}
	r.say(name, "damaged: %d records were copied out of it, %d captures that rows point at are lost; set aside", len(members), lost)
	return nil
}

// lengthsIn returns the lengths of the captures of a file that rows point at, by offset.
func (r *repair) lengthsIn(name string) (map[int64]int64, error) {
	lengths := map[int64]int64{}
	return lengths, r.captures(r.ctx, r.db, func(at pointing) error {
		if at.capture.File == name {
			lengths[at.capture.Offset] = at.capture.Length
		}
		return nil
	})
}

func (r *repair) setFileAside(name, path string) error {
	dir := r.dir.join(asideDir)
	if err := makeDir(r.fs, dir); err != nil {
		return err
	}
	if err := r.fs.Rename(path, r.fs.PathJoin(dir, name)); err != nil {
		return err
	}
	return errors.Join(syncDir(r.fs, dir), syncDir(r.fs, r.dir.join(warcDir)))
}

// partition mends the rows of one partition, in one batch.
func (r *repair) partition(p weburl.Partition) error {
	r.p, r.batch, r.aside = p, r.db.NewBatch(), nil
	if err := r.rows(); err != nil {
		return errors.Join(err, r.batch.Close())
	}
	if err := r.writeAside(); err != nil {
		return errors.Join(err, r.batch.Close())
	}
	if r.batch.Empty() {
		return r.batch.Close()
	}
	if err := commit(r.batch, pebble.Sync); err != nil {
		return r.fail(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.release()
	r.state = newState(r.keys, r.db)
	return nil
}

func (r *repair) writeAside() error {
	if len(r.aside) == 0 {
		return nil
	}
	dir := r.dir.join(asideDir)
	if err := makeDir(r.fs, dir); err != nil {
		return err
	}
	for n := 0; ; n++ {
		name := r.fs.PathJoin(dir, fmt.Sprintf("%s-%d-%d.jsonl", r.options.Crawl, r.p, n))
		if _, err := r.fs.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return errors.Join(writeFile(r.fs, name, r.aside), syncDir(r.fs, dir))
	}
}

// drop sets a pair aside and deletes it.
func (r *repair) drop(key, value []byte, why string) error {
	line, err := json.Marshal(map[string]string{"key": hex.EncodeToString(key), "value": hex.EncodeToString(value), "why": why})
	if err != nil {
		return err
	}
	r.aside = append(append(r.aside, line...), '\n')
	r.say(fmt.Sprintf("partition %d", r.p), "key %x: %s; set aside", key, why)
	return r.batch.Delete(key, nil)
}

func (r *repair) set(key []byte, v any) error { return r.batch.Set(key, appendValue(nil, v), nil) }

// found is what a page has beside its row.
type found struct {
	first, last [2]uint32 // numbers of visits, of versions
	lost        bool      // the last version's capture is gone
	visit       Visit     // the last
	version     Version   // the last
	url         weburl.URL
}

const ofVisits, ofVersions = 0, 1

// rows mends what can be mended of the partition's rows.
func (r *repair) rows() error {
	if err := r.dropUnreadable(); err != nil {
		return err
	}
	have := map[weburl.Fingerprint]*found{}
	for _, kind := range []keyKind{keyVisit, keyVersion} {
		if err := r.history(kind, have); err != nil {
			return err
		}
	}
	pages, err := r.pages(have)
	if err != nil {
		return err
	}
	if err := r.queues(pages); err != nil {
		return err
	}
	if err := r.changes(pages); err != nil {
		return err
	}
	return r.totals(pages)
}

// dropUnreadable sets aside the values that are none.
func (r *repair) dropUnreadable() error {
	for kind := keyCounters; kind <= lastKind; kind++ {
		from, to := r.keys.kindSpan(r.p, kind)
		err := scan(r.db, from, to, func(key, value []byte) error {
			if err := decodes(kind, value); err != nil {
				return r.drop(bytes.Clone(key), value, err.Error())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// decodes returns what is wrong with a value of a kind.
func decodes(kind keyKind, value []byte) error {
	switch kind {
	case keyCounters:
		return decodeValue(value, new(Counters))
	case keySite:
		return decodeValue(value, new(SiteRow))
	case keyGate:
		return decodeValue(value, new(Gate))
	case keyPage:
		return decodeValue(value, new(Page))
	case keyVisit:
		return decodeValue(value, new(Visit))
	case keyVersion:
		return decodeValue(value, new(Version))
	case keyChange:
		return decodeValue(value, new(Change))
	case keyLinks:
		_, err := DecodeLinks(value)
		return err
	case keyNew, keyDue:
		_, _, err := entryValue(value)
		return err
	case keyRecord:
		_, err := decodeRecord(value)
		return err
	}
	return nil
}

// history looks at all visits or versions and lets go of captures that are lost.
func (r *repair) history(kind keyKind, have map[weburl.Fingerprint]*found) error {
	from, to := r.keys.kindSpan(r.p, kind)
	return scan(r.db, from, to, func(key, value []byte) error {
		fp, number, err := pageTail(key[len(from):])
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
			var page Page
			if r.row(r.keys.appendPage(nil, r.p, keyPage, fp), &page) == nil {
				h.url = page.URL
			}
		}
		of := ofVisits
		var capture *Pointer
		var row any
		if kind == keyVisit {
			h.visit = Visit{}
			err = decodeValue(value, &h.visit)
			capture, row = &h.visit.Capture, &h.visit
		} else {
			of = ofVersions
			h.version = Version{}
			err = decodeValue(value, &h.version)
			capture, row = &h.version.Capture, &h.version
			h.lost = false
		}
		if of == ofVersions && h.last[of] != 0 && number != h.last[of]+1 {
			if err := r.dropVersions(fp, h.first[of], h.last[of]); err != nil {
				return err
			}
			h.first[of] = 0
		}
		if of == ofVisits && h.last[of] != 0 && number-h.last[of] <= keptVisits {
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
		case err == nil && (kind == keyVisit || warc.DigestOf(body.Payload) == h.version.BodyDigest):
			u, err := weburl.Parse(body.URL)
			if err == nil && (h.url.IsZero() || h.url == u) {
				h.url = u
				return nil
			}
		case err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		r.say(fp.String(), "the capture of %s %d is lost (%s:%d)", []string{"visit", "version"}[of], number, capture.File, capture.Offset)
		h.lost = h.lost || of == ofVersions
		*capture = Pointer{}
		return r.set(bytes.Clone(key), row)
	})
}

// dropVersions sets aside versions before one that is missing: a page's are numbered without a gap.
func (r *repair) dropVersions(fp weburl.Fingerprint, first, last uint32) error {
	for n := first; n <= last; n++ {
		key := r.keys.appendOfPage(nil, r.p, keyVersion, fp, n)
		value, err := r.raw(key)
		if err == nil {
			err = r.drop(key, value, "a version before one that is lost")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fillVisits puts visits of which nothing is known in the place of those that are lost.
func (r *repair) fillVisits(fp weburl.Fingerprint, first, last uint32) error {
	for n := first; n <= last; n++ {
		r.say(fp.String(), "visit %d is lost: it counts as one that told nothing", n)
		if err := r.set(r.keys.appendOfPage(nil, r.p, keyVisit, fp, n), &Visit{Outcome: OutcomeFailed, Reason: "lost"}); err != nil {
			return err
		}
	}
	return nil
}

// pages mends rows by what belongs to them, makes those that are missing, and sets aside what belongs to
// none.
func (r *repair) pages(have map[weburl.Fingerprint]*found) (map[weburl.Fingerprint]*Page, error) {
	pages := map[weburl.Fingerprint]*Page{}
	from, to := r.keys.kindSpan(r.p, keyPage)
	err := scan(r.db, from, to, func(key, value []byte) error {
		n, err := numberTail(key[len(from):])
		var page Page
		if err != nil || decodeValue(value, &page) != nil {
			return nil
		}
		pages[weburl.Fingerprint(n)] = &page
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, fp := range sortedKeys(have) {
		if pages[fp] == nil && !have[fp].url.IsZero() && have[fp].url.Partition(r.dir.partitions) == r.p {
			pages[fp] = madeOf(have[fp])
			r.say(have[fp].url.String(), "its row was missing and is made anew from its captures")
		}
	}
	for _, kind := range []keyKind{keyVisit, keyVersion, keyLinks} {
		from, to := r.keys.kindSpan(r.p, kind)
		err := scan(r.db, from, to, func(key, value []byte) error {
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

// madeOf returns a row of what a page's visits and versions tell.
func madeOf(h *found) *Page {
	page := &Page{URL: h.url, Visited: h.last[ofVisits] > 0, FirstSeen: h.visit.At}
	if h.last[ofVersions] > 0 {
		v := &h.version
		page.State, page.FirstSeen, page.LastChanged = StateLive, v.At, v.At
		page.ContentType, page.Size, page.BodyDigest, page.TextDigest = v.ContentType, v.Size, v.BodyDigest, v.TextDigest
	}
	if page.Visited {
		page.LastFetched, page.Outcome, page.Status = h.visit.At, h.visit.Outcome, h.visit.Status
	}
	return page
}

// page makes a row agree with its history, and stores it. A page whose body is lost forgets its
// validators, so that the next visit brings it again, and waits for that visit.
func (r *repair) page(fp weburl.Fingerprint, page *Page, h *found) error {
	if h == nil {
		h = &found{}
	}
	before := *page
	if page.State != StatePurged {
		page.Visits, page.Versions = max(h.last[ofVisits], visitsWithout(page, h)), h.last[ofVersions]
		if page.Pruned = 0; h.first[ofVersions] > 0 {
			page.Pruned = h.first[ofVersions] - 1
		}
	}
	if page.State >= states || page.Versions == 0 && before.Versions > 0 {
		page.State = StatePending
	}
	if h.lost || page.Versions == 0 && before.Versions > 0 {
		page.ETag, page.LastModified, page.BodyDigest, page.TextDigest = "", "", BodyDigest{}, TextDigest{}
		if page.Queue == NoQueue {
			page.Queue, page.Key = DueQueue, Key{uint64(max(0, page.LastFetched)), uint64(fp)}
		}
	}
	if first := page.firstVisit(); page.State != StatePurged && h.first[ofVisits] > first {
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
	return r.set(r.keys.appendPage(nil, r.p, keyPage, fp), page)
}

// visitsWithout returns the number of the last visit of a page that has none left: that which the row says if
// all of them have been folded, else 0.
func visitsWithout(page *Page, h *found) uint32 {
	if h.last[ofVisits] == 0 && page.Folded.Visits == int64(page.Visits) {
		return page.Visits
	}
	return 0
}

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
	if after := appendValue(nil, &total); bytes.Equal(before, after) {
		return nil
	}
	r.say(fmt.Sprintf("partition %d", r.p), "its totals are counted anew: %d pages of %d sites", total.Pages, total.Sites)
	return r.set(r.keys.appendKind(nil, r.p, keyCounters), &total)
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
	err := scan(r.db, from, to, func(key, value []byte) error {
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
	if gap > total.Trimmed {
		err := scan(r.db, from, r.keys.appendNumber(nil, r.p, keyRecord, gap+1), func(key, value []byte) error {
			if decodes(keyRecord, value) != nil {
				return nil
			}
			return r.drop(bytes.Clone(key), value, "a record before one that is lost")
		})
		if err != nil {
			return err
		}
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
