package store

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// state is what apply reads and changes: the rows in the database, with the changes of the records since the last
// forget. Rows are decoded once and encoded once a batch. Everything else is written to the batch at once.
//
// The first error is kept in err. The batch must then not be committed, because a row that could not be read counts
// as absent.
type state struct {
	keys  format.Keyspace
	db    pebble.Reader
	large *atomic.Bool // the store's
	err   error

	// pageRows reads page rows as they were after the last forget; nil until it is needed. If rows are looked up by
	// key order, it is already in the block of the next one. Most pages that are looked up were just discovered and
	// have no row. Only an iterator uses the filters of the last level, which say so.
	pageRows *pebble.Iterator

	batch *pebble.Batch // of the records being applied
	moves []Move        // what they did to the queues

	totals map[weburl.Partition]*totalsRow
	sites  map[siteID]*siteRow
	pages  map[pageID]*pageRow
	// arrivals are, by partition and where links came from, what Arrived records have noted since the last forget.
	arrivals map[[2]weburl.Partition]uint64

	dirtyTotals []*totalsRow // in the order of their first change
	dirtySites  []*siteRow
	dirtyPages  []*pageRow

	spare []*pageRow // empty, to be used again

	key, value []byte // scratch
}

type pageID struct {
	p  weburl.Partition
	fp weburl.Fingerprint
}

// siteID names a site as seen from a partition. A refused link may point to a site of another partition.
type siteID struct {
	p    weburl.Partition
	site weburl.Site
}

type pageRow struct {
	Page
	id            pageID
	exists, dirty bool
}

type siteRow struct {
	SiteRow
	p             weburl.Partition
	exists, dirty bool
}

type totalsRow struct {
	Counters
	p     weburl.Partition
	marks []Mark // sorted by consumer
	dirty bool
}

// Between commits at most maxCached decoded site rows and maxSpare spare page rows are kept. A page row takes 0.5 KB,
// and a drain of the seen test needs thousands.
const (
	maxCached = 1 << 13
	maxSpare  = 1 << 12
)

func newState(keys format.Keyspace, db pebble.Reader, large *atomic.Bool) *state {
	return &state{
		keys:   keys,
		db:     db,
		large:  large,
		totals: map[weburl.Partition]*totalsRow{},
		sites:  map[siteID]*siteRow{},
		pages:  map[pageID]*pageRow{},

		arrivals: map[[2]weburl.Partition]uint64{},
	}
}

// renew drops all decoded rows: rows have changed without a record.
func (s *Store) renew() {
	s.state.release()
	s.state = newState(s.keys, s.db, s.large)
}

func (st *state) fail(err error) {
	if st.err == nil {
		st.err = err
	}
}

// load decodes the value at st.key into v and reports whether there is one.
func (st *state) load(v any) bool {
	found, err := database.Get(st.db, st.key, func(raw []byte) error { return format.DecodeValue(raw, v) })
	if err != nil {
		st.fail(err)
	}
	return found && err == nil
}

// set puts the encoding of v at st.key.
func (st *state) set(v any) {
	st.value = format.AppendValue(st.value[:0], v)
	st.setRaw(st.value)
}

func (st *state) setRaw(value []byte) {
	if err := st.batch.Set(st.key, value, nil); err != nil {
		st.fail(err)
	}
}

func (st *state) delete() {
	if err := st.batch.Delete(st.key, nil); err != nil {
		st.fail(err)
	}
}

func (st *state) deleteSpan(from, to []byte) {
	if err := st.batch.DeleteRange(from, to, nil); err != nil {
		st.fail(err)
	}
}

// page returns the row at fp. The row may not exist.
func (st *state) page(p weburl.Partition, fp weburl.Fingerprint) *pageRow {
	id := pageID{p, fp}
	if row := st.pages[id]; row != nil {
		return row
	}
	row := st.emptyRow()
	row.id = id
	st.key = st.keys.AppendPage(st.key[:0], p, format.KeyPage, fp)
	row.exists = st.loadPage(&row.Page)
	st.pages[id] = row
	return row
}

func (st *state) emptyRow() *pageRow {
	n := len(st.spare) - 1
	if n < 0 {
		return &pageRow{}
	}
	row := st.spare[n]
	st.spare = st.spare[:n]
	return row
}

// loadPage is load for a page row.
func (st *state) loadPage(page *Page) bool {
	if st.pageRows == nil {
		it, err := st.db.NewIter(&pebble.IterOptions{UseL6Filters: !st.large.Load()})
		if err != nil {
			st.fail(err)
			return false
		}
		st.pageRows = it
	}
	if !st.pageRows.SeekPrefixGE(st.key) {
		if err := st.pageRows.Error(); err != nil {
			st.fail(err)
		}
		return false
	}
	raw, err := st.pageRows.ValueAndErr()
	if err == nil {
		err = format.DecodeValue(raw, page)
	}
	if err != nil {
		st.fail(err)
	}
	return err == nil
}

// resolve returns u's row, or the free row where it belongs: at its fingerprint or, if another URL has that, at the
// next free number.
func (st *state) resolve(p weburl.Partition, u weburl.URL) *pageRow {
	for fp := u.Fingerprint(); ; fp = probe(fp) {
		row := st.page(p, fp)
		if !row.exists || row.URL == u || st.err != nil {
			return row
		}
	}
}

// probe returns the fingerprint to try after fp.
func probe(fp weburl.Fingerprint) weburl.Fingerprint { return max(1, fp+1) }

// change notes that row has been or will be changed in this batch.
func (st *state) change(row *pageRow) {
	if !row.dirty {
		row.dirty = true
		st.dirtyPages = append(st.dirtyPages, row)
	}
}

// total returns a partition's counters, to be changed.
func (st *state) total(p weburl.Partition) *totalsRow {
	row := st.peekTotal(p)
	if !row.dirty {
		row.dirty = true
		st.dirtyTotals = append(st.dirtyTotals, row)
	}
	return row
}

func (st *state) peekTotal(p weburl.Partition) *totalsRow {
	row := st.totals[p]
	if row == nil {
		row = &totalsRow{p: p, marks: st.loadMarks(p)}
		st.key = st.keys.AppendKind(st.key[:0], p, format.KeyCounters)
		st.load(&row.Counters)
		st.totals[p] = row
	}
	return row
}

func (st *state) loadMarks(p weburl.Partition) []Mark {
	marks, err := readMarks(st.db, st.keys, p)
	if err != nil {
		st.fail(err)
	}
	return marks
}

// site returns a site's row, to be changed. It creates a missing row.
func (st *state) site(p weburl.Partition, site weburl.Site) *siteRow {
	row := st.peekSite(p, site)
	if !row.exists {
		row.exists = true
		st.total(p).Sites++
	}
	if !row.dirty {
		row.dirty = true
		st.dirtySites = append(st.dirtySites, row)
	}
	return row
}

// peekSite returns a site's row. The row may not exist.
func (st *state) peekSite(p weburl.Partition, site weburl.Site) *siteRow {
	id := siteID{p, site}
	row := st.sites[id]
	if row == nil {
		row = &siteRow{p: p}
		row.Site = site
		st.key = st.keys.AppendText(st.key[:0], p, format.KeySite, string(site))
		row.exists = st.load(&row.SiteRow)
		st.sites[id] = row
	}
	return row
}

// flush writes the changed rows to the batch, which is then complete.
func (st *state) flush() {
	for _, row := range st.dirtyPages {
		row.exists, row.dirty = true, false
		st.key = st.keys.AppendPage(st.key[:0], row.id.p, format.KeyPage, row.id.fp)
		st.set(&row.Page)
	}
	for _, row := range st.dirtySites {
		row.dirty = false
		st.key = st.keys.AppendText(st.key[:0], row.p, format.KeySite, string(row.Site))
		st.set(&row.SiteRow)
	}
	for _, row := range st.dirtyTotals {
		row.dirty = false
		st.key = st.keys.AppendKind(st.key[:0], row.p, format.KeyCounters)
		st.set(&row.Counters)
	}
	clear(st.dirtyPages) // so that the rows of a large batch are freed
	st.dirtyPages, st.dirtySites, st.dirtyTotals = st.dirtyPages[:0], st.dirtySites[:0], st.dirtyTotals[:0]
}

// forget drops the decoded pages, and the decoded sites if there are too many. Everything must be committed.
func (st *state) forget() {
	st.release()
	for _, row := range st.pages {
		if len(st.spare) == maxSpare {
			break
		}
		*row = pageRow{}
		st.spare = append(st.spare, row)
	}
	clear(st.pages)
	clear(st.arrivals)
	if len(st.sites) > maxCached {
		clear(st.sites)
	}
}

// release closes the iterator, so that the database can be closed.
func (st *state) release() {
	if st.pageRows != nil {
		if err := st.pageRows.Close(); err != nil {
			st.fail(err)
		}
		st.pageRows = nil
	}
}

// readMarks returns the marks of p's consumers, sorted by consumer.
func readMarks(db pebble.Reader, keys format.Keyspace, p weburl.Partition) (marks []Mark, err error) {
	from, to := keys.KindSpan(p, format.KeyMark)
	err = database.Scan(db, from, to, func(key, value []byte) error {
		m := Mark{Partition: p, Consumer: string(key[len(from):])}
		marks = append(marks, m)
		return format.DecodeValue(value, &marks[len(marks)-1].Record)
	})
	return marks, err
}

// count adds n to a reason's count in a list sorted by reason.
func count(reasons []Reason, reason string, n int64) []Reason {
	i, found := slices.BinarySearchFunc(reasons, reason, func(r Reason, s string) int { return cmp.Compare(r.Reason, s) })
	if !found {
		reasons = slices.Insert(reasons, i, Reason{Reason: reason})
	}
	reasons[i].Count += n
	return reasons
}
