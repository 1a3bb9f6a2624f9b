package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// Repair mends what Verify finds and calls report for everything that it did. Nothing is dropped in
// silence: what cannot be used any more is set aside in DIR/aside, by name. In this order
//
//   - totals that cannot be read are replaced by ones that number the records, so that some can be applied;
//   - WARC files that cannot be read to their end are replaced by ones with all records that can be
//     read, those that rows point at beyond the damage included; the damaged file is set aside;
//   - rows let go of captures that are lost, and a page whose last body is lost is fetched again;
//   - values that cannot be decoded, and visits, versions, out-links and queue entries that belong to no
//     page, are set aside; a page's row is made anew where a capture tells its URL;
//   - numbers of visits and versions, places in queues, entries of the change log, and the totals of
//     sites and partitions become what the rows say.
//
// Where rows were lost without a trace (lost, or records that Open has missed), a page without out-links is fetched
// again, the next crawl offers all stored links once more, readers of the change log compare with the page table, and
// what an operator has ordered is done again.
//
// The set of seen URLs is rebuilt by the next crawl wherever it is missing. Nothing else may use the
// store meanwhile; after Repair it has to be closed and opened again. Memory is by page of a
// partition.
func (s *Store) Repair(ctx context.Context, lost bool, report func(Problem)) error {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if err := s.endFile(); err != nil {
		return err
	}
	r := &repair{Store: s, ctx: ctx, report: report, lost: lost || s.rolledBack > 0}
	if s.rolledBack > 0 {
		r.say(format.DatabaseDir, "%d records that were on disk are missing: the database had been rolled back", s.rolledBack)
	}
	if s.unreadable != nil {
		r.say(format.HighwaterFile, "it could not be read, and is written again")
	}
	if err := r.partitions(r.counters); err != nil {
		return err
	}
	if err := r.orders(); err != nil {
		return fmt.Errorf("store: repair orders: %w", err)
	}
	if err := r.files(); err != nil {
		return fmt.Errorf("store: repair: %w", err)
	}
	if err := r.partitions(r.rows); err != nil {
		return err
	}
	return errors.Join(r.returned(), s.highwater.write())
}

// returned has the next FinishPurges take off the disk what was taken down and is there again: an older copy of a file
// of captures brings it back.
func (r *repair) returned() error {
	all, _, err := readOrders(r.fs, r.dir.path)
	if err != nil {
		return err
	}
	var down []purge
	for _, o := range all {
		if o.Do == orderPurge {
			down = append(down, purge{Crawl: o.Crawl, URL: o.URL, Site: o.Site, At: o.At})
		}
	}
	with, err := r.filesWith(r.ctx, searchFor(down))
	if err != nil || len(with) == 0 {
		return err
	}
	for _, file := range with {
		r.say(file, "it holds what was taken down: that is taken off the disk again")
	}
	for i := range down {
		if err := r.put(down[i].key(), &down[i], pebble.Sync); err != nil {
			return err
		}
	}
	return nil
}

// orders makes files and rows agree on what was ordered.
func (r *repair) orders() error {
	for _, p := range r.Store.orders.faults {
		r.report(p)
	}
	if !r.lost {
		return nil
	}
	all, _, err := readOrders(r.fs, r.dir.path)
	if err != nil {
		return err
	}
	if err := r.completeOrders(all); err != nil {
		return err
	}
	if all, _, err = readOrders(r.fs, r.dir.path); err != nil {
		return err
	}
	mine := slices.DeleteFunc(all, func(o order) bool { return o.Crawl != r.options.Crawl })
	for _, o := range mine {
		r.say(cmp.Or(o.target().String(), o.Host, fmt.Sprintf("partition %d", o.Partition)), "%s ordered by an operator: done again", o.Do)
	}
	if err := r.pausable(mine); err != nil {
		return err
	}
	return r.obey(mine)
}

// pausable makes rows of sites that were paused and whose rows are lost: only a site with a row can be.
func (r *repair) pausable(all []order) error {
	batch := r.db.NewBatch()
	for _, o := range all {
		if o.Do != orderPause || o.Site == "" || int(o.Partition) >= r.dir.partitions {
			continue
		}
		key := r.keys.AppendText(nil, o.Partition, format.KeySite, string(o.Site))
		found, err := database.Get(r.db, key, func([]byte) error { return nil })
		if err == nil && !found {
			err = batch.Set(key, format.AppendValue(nil, &SiteRow{}), nil)
		}
		if err != nil {
			return errors.Join(err, batch.Close())
		}
	}
	return r.commitRows(batch)
}

type repair struct {
	*Store
	ctx    context.Context // of the one call of Repair
	report func(Problem)
	p      weburl.Partition
	batch  *pebble.Batch
	lost   bool   // rows have been lost without a trace
	aside  []byte // lines of rows set aside, of the partition
}

func (r *repair) say(place, format string, args ...any) {
	r.report(Problem{place, fmt.Sprintf(format, args...)})
}

// partitions mends something of every partition, in one batch each.
func (r *repair) partitions(mend func() error) error {
	for p := range r.dir.partitions {
		if err := r.partition(weburl.Partition(p), mend); err != nil {
			return fmt.Errorf("store: repair partition %d: %w", p, err)
		}
	}
	return nil
}

func (r *repair) partition(p weburl.Partition, mend func() error) error {
	r.p, r.batch, r.aside = p, r.db.NewBatch(), nil
	if err := mend(); err != nil {
		return errors.Join(err, r.batch.Close())
	}
	if err := r.writeAside(); err != nil {
		return errors.Join(err, r.batch.Close())
	}
	if r.batch.Empty() {
		return r.batch.Close()
	}
	return r.commitRows(r.batch)
}

// commitRows commits rows that no record has made, and forgets the decoded ones.
func (r *repair) commitRows(batch *pebble.Batch) error {
	if err := database.Commit(batch, pebble.Sync); err != nil {
		return r.fail(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.release()
	r.state = newState(r.keys, r.db, r.large)
	return nil
}

func (r *repair) writeAside() error {
	if len(r.aside) == 0 {
		return nil
	}
	dir := r.dir.join(format.AsideDir)
	if err := format.MakeDir(r.fs, dir); err != nil {
		return err
	}
	for n := 0; ; n++ {
		name := r.fs.PathJoin(dir, fmt.Sprintf("%s-%d-%d.jsonl", r.options.Crawl, r.p, n))
		if _, err := r.fs.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return errors.Join(format.WriteFile(r.fs, name, r.aside), format.SyncDir(r.fs, dir))
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

func (r *repair) set(key []byte, v any) error {
	return r.batch.Set(key, format.AppendValue(nil, v), nil)
}

// rows mends what can be mended of the partition's rows.
func (r *repair) rows() error {
	if err := r.dropUnreadable(); err != nil {
		return err
	}
	have := map[weburl.Fingerprint]*found{}
	for _, kind := range []format.Kind{format.KeyVisit, format.KeyVersion} {
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
	for kind := format.KeyCounters; kind <= format.LastKind; kind++ {
		from, to := r.keys.KindSpan(r.p, kind)
		err := database.Scan(r.db, from, to, func(key, value []byte) error {
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
func decodes(kind format.Kind, value []byte) error {
	switch kind {
	case format.KeyCounters:
		return format.DecodeValue(value, new(Counters))
	case format.KeySite:
		return format.DecodeValue(value, new(SiteRow))
	case format.KeyGate:
		return format.DecodeValue(value, new(Gate))
	case format.KeyPage:
		return format.DecodeValue(value, new(Page))
	case format.KeyVisit:
		return format.DecodeValue(value, new(Visit))
	case format.KeyVersion:
		return format.DecodeValue(value, new(Version))
	case format.KeyChange:
		return format.DecodeValue(value, new(Change))
	case format.KeyLinks:
		_, err := DecodeLinks(value)
		return err
	case format.KeyNew, format.KeyDue:
		_, _, err := format.EntryValue(value)
		return err
	case format.KeyRecord:
		_, err := decodeRecord(value)
		return err
	case format.KeyMark, format.KeyArrived, format.KeyParted:
		return format.DecodeValue(value, new(uint64))
	}
	return nil
}
