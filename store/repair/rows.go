package repair

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"

	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/retain"
	"freshet/weburl"
)

// Repair repairs what Verify finds and calls report for everything that it did. Nothing is dropped in silence: what
// cannot be used any more is set aside in DIR/aside, by name. In this order
//
//   - totals that cannot be read are replaced by ones that number the records, so that some can be applied;
//   - WARC files that cannot be read to their end are replaced by ones with all records that can be
//     read, those that rows point at beyond the damage included; the damaged file is set aside;
//   - rows let go of captures that are lost, and a page whose last body is lost is fetched again;
//   - values that cannot be decoded, and visits, versions, out-links and queue entries that belong to no
//     page, are set aside; a page's row is rebuilt if a capture has its URL;
//   - numbers of visits and versions, places in queues, entries of the change log, and the totals of
//     sites and partitions become what the rows say.
//
// Where rows were lost without a trace (lost, or records that Open has missed), a page without out-links is fetched
// again, the next crawl rebuilds its set of seen URLs and offers all stored links again, readers of the change log
// compare with the page table, and what an operator has ordered is done again.
//
// The set of seen URLs is rebuilt by the next crawl wherever it is missing. Nothing else may use the store meanwhile;
// after Repair it has to be closed and opened again. Memory is by page of a partition.
func Repair(ctx context.Context, s *store.Store, lost bool, report func(store.Problem)) error {
	in := s.Inside()
	defer in.Alone()()
	if err := errors.Join(in.EndFile(), in.DropIndexes()); err != nil {
		return err
	}
	damage := in.Damage()
	r := &repair{Inside: in, ctx: ctx, report: report, lost: lost || damage.RolledBack > 0}
	if damage.RolledBack > 0 {
		r.say(format.DatabaseDir, "%d records that were on disk are missing: the database had been rolled back", damage.RolledBack)
	}
	if damage.Heights != nil {
		r.say(format.HighwaterFile, "it could not be read, and is written again")
	}
	if err := r.partitions(r.counters); err != nil {
		return err
	}
	for _, p := range damage.Orders {
		report(p)
	}
	if r.lost {
		if err := in.OrderAgain(report); err != nil {
			return fmt.Errorf("store: repair orders: %w", err)
		}
	}
	if err := retain.Salvage(ctx, s, r.setFileAside); err != nil {
		return fmt.Errorf("store: repair: %w", err)
	}
	if err := r.partitions(r.rows); err != nil {
		return err
	}
	return errors.Join(r.returned(), in.NoteHeights())
}

// returned begins all take-downs again if a WARC file holds captures that were taken down, as an older copy of a file
// may. The next FinishPurges then deletes them.
func (r *repair) returned() error {
	down, err := r.TakenDown()
	if err != nil {
		return err
	}
	with, err := retain.Holding(r.ctx, r.Store, down)
	if err != nil || len(with) == 0 {
		return err
	}
	for _, file := range with {
		r.say(file, "it holds what was taken down: that is taken off the disk again")
	}
	for _, p := range down {
		if err := r.BeginAgain(p); err != nil {
			return err
		}
	}
	return nil
}

// setFileAside takes a damaged WARC file out of the directory.
func (r *repair) setFileAside(name string, copied, lost int) error {
	dir := r.Path(format.AsideDir)
	if err := format.MakeDir(r.FS, dir); err != nil {
		return err
	}
	if err := r.FS.Rename(r.Path(format.CapturesDir, name), r.FS.PathJoin(dir, name)); err != nil {
		return err
	}
	if err := errors.Join(format.SyncDir(r.FS, dir), format.SyncDir(r.FS, r.Path(format.CapturesDir))); err != nil {
		return err
	}
	r.say(name, "damaged: %d records were copied out of it, %d captures that rows point at are lost; set aside", copied, lost)
	return nil
}

type repair struct {
	store.Inside
	ctx    context.Context // of the one call of Repair
	report func(store.Problem)
	p      weburl.Partition
	batch  *pebble.Batch
	lost   bool   // rows have been lost without a trace
	aside  []byte // lines of rows set aside, of the partition
}

func (r *repair) say(place, text string, args ...any) {
	r.report(store.Problem{Place: place, Text: fmt.Sprintf(text, args...)})
}

// partitions repairs something of every partition, in one batch each.
func (r *repair) partitions(mend func() error) error {
	for p := range r.Partitions() {
		if err := r.partition(weburl.Partition(p), mend); err != nil {
			return fmt.Errorf("store: repair partition %d: %w", p, err)
		}
	}
	return nil
}

func (r *repair) partition(p weburl.Partition, mend func() error) error {
	r.p, r.batch, r.aside = p, r.DB.NewBatch(), nil
	if err := mend(); err != nil {
		return errors.Join(err, r.batch.Close())
	}
	if err := r.writeAside(); err != nil {
		return errors.Join(err, r.batch.Close())
	}
	if r.batch.Empty() {
		return r.batch.Close()
	}
	return r.Commit(r.batch)
}

func (r *repair) writeAside() error {
	if len(r.aside) == 0 {
		return nil
	}
	dir := r.Path(format.AsideDir)
	if err := format.MakeDir(r.FS, dir); err != nil {
		return err
	}
	for n := 0; ; n++ {
		name := r.FS.PathJoin(dir, fmt.Sprintf("%s-%d-%d.jsonl", r.Crawl, r.p, n))
		if _, err := r.FS.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return errors.Join(format.WriteFile(r.FS, name, r.aside), format.SyncDir(r.FS, dir))
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

// rows repairs what can be repaired of the partition's rows.
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

// dropUnreadable sets aside values that cannot be decoded.
func (r *repair) dropUnreadable() error {
	for kind := format.KeyCounters; kind <= format.LastKind; kind++ {
		from, to := r.Keys.KindSpan(r.p, kind)
		err := database.Scan(r.DB, from, to, func(key, value []byte) error {
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
		return format.DecodeValue(value, new(store.Counters))
	case format.KeySite:
		return format.DecodeValue(value, new(store.SiteRow))
	case format.KeyGate:
		return format.DecodeValue(value, new(store.Gate))
	case format.KeyPage:
		return format.DecodeValue(value, new(store.Page))
	case format.KeyVisit:
		return format.DecodeValue(value, new(store.Visit))
	case format.KeyVersion:
		return format.DecodeValue(value, new(store.Version))
	case format.KeyChange:
		return format.DecodeValue(value, new(store.Change))
	case format.KeyLinks:
		_, err := store.DecodeLinks(value)
		return err
	case format.KeyNew, format.KeyDue:
		_, _, err := format.EntryValue(value)
		return err
	case format.KeyRecord:
		_, err := store.DecodeRecord(value)
		return err
	case format.KeyMark, format.KeyArrived, format.KeyParted:
		return format.DecodeValue(value, new(uint64))
	}
	return nil
}
