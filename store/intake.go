package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// Intake loads the rows and captures of a whole partition without applying records. Nothing else is written to the
// store between BeginIntake and End or Drop. After a failure or a crash the partition is empty. Captures that were
// loaded by then stay, but no row names them.
type Intake struct {
	s      *Store
	p      weburl.Partition
	prefix []byte // of its keys
	batch  *pebble.Batch
}

// intakeBatch is how many bytes of rows a batch of an intake holds.
const intakeBatch = 1 << 20

// intakeKey is outside of every crawl. Its value is the key prefix of the partition that is being loaded. If Open
// finds it, the intake was interrupted, and the partition is emptied.
func intakeKey() []byte { return format.Outside("import") }

// unnamedKey is outside of every crawl. It exists while the WARC files may hold captures that no row names: of a
// partition that was emptied, or of an intake that failed. Its value counts the intakes since it did not exist.
func unnamedKey() []byte { return format.Outside("unnamed") }

// Unnamed returns how many intakes may have left captures in the WARC files that no row names.
func (in Inside) Unnamed() (intakes uint64, err error) {
	err = format.Read(in.db, unnamedKey(), &intakes)
	return intakes, ignoreMissing(err)
}

// Reclaimed declares that the captures left by that many intakes are deleted. Those of later intakes are not.
func (in Inside) Reclaimed(intakes uint64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	now, err := in.Unnamed()
	if err != nil || now != intakes {
		return err
	}
	batch := in.db.NewBatch()
	if err := batch.Delete(unnamedKey(), nil); err != nil {
		return errors.Join(err, batch.Close())
	}
	if err := database.Commit(batch, pebble.Sync); err != nil {
		return in.fail(err)
	}
	return nil
}

// BeginIntake begins to load a partition. The partition must be empty.
func (in Inside) BeginIntake(p weburl.Partition) (*Intake, error) {
	return in.beginIntake(p, (*Intake).checkEmpty)
}

// BeginReplacement begins to load a partition. What it held is deleted.
func (in Inside) BeginReplacement(p weburl.Partition) (*Intake, error) {
	return in.beginIntake(p, (*Intake).lower)
}

func (in Inside) beginIntake(p weburl.Partition, prepare func(*Intake) error) (*Intake, error) {
	in.mu.Lock()
	i := &Intake{s: in.Store, p: p, prefix: in.keys.AppendPartition(nil, p)}
	if err := i.begin(prepare); err != nil {
		in.mu.Unlock()
		return nil, err
	}
	i.batch = in.db.NewBatch()
	return i, nil
}

// begin notes that an intake has begun, and empties the partition.
func (i *Intake) begin(prepare func(*Intake) error) error {
	if err := i.s.writable(); err != nil {
		return err
	}
	if err := prepare(i); err != nil {
		return err
	}
	intakes, err := i.s.Inside().Unnamed()
	if err != nil {
		return err
	}
	from, to := format.Span(i.prefix)
	batch := i.s.db.NewBatch()
	err = errors.Join(batch.Set(intakeKey(), i.prefix, nil), batch.DeleteRange(from, to, nil),
		batch.Set(unnamedKey(), format.AppendValue(nil, intakes+1), nil))
	if err != nil {
		return errors.Join(err, batch.Close())
	}
	if err := database.Commit(batch, pebble.Sync); err != nil {
		return i.s.fail(err)
	}
	return nil
}

// checkEmpty refuses a partition with keys.
func (i *Intake) checkEmpty() error {
	from, to := format.Span(i.prefix)
	return database.Scan(i.s.db, from, to, func(_, _ []byte) error {
		return fmt.Errorf("store: import: partition %d is not empty", i.p)
	})
}

// lower resets the partition's record numbers.
func (i *Intake) lower() error {
	i.s.highwater.begin(i.s.options.Crawl, i.p)
	return i.s.highwater.write()
}

// Capture stores a capture and returns its pointer.
func (i *Intake) Capture(member []byte) (warc.Pointer, error) {
	at, err := i.s.warc.Append(nil, member)
	if err != nil {
		return warc.Pointer{}, i.s.fail(fmt.Errorf("store: import: %w", err))
	}
	return at[0], nil
}

// Row stores a row. rest is its key without the partition.
func (i *Intake) Row(rest, value []byte) error {
	if err := i.batch.Set(append(slices.Clip(i.prefix), rest...), value, nil); err != nil {
		return err
	}
	if err := i.notePurge(rest, value); err != nil {
		return err
	}
	if i.batch.Len() < intakeBatch {
		return nil
	}
	full := i.batch
	i.batch = i.s.db.NewBatch()
	return i.commit(full)
}

// notePurge notes a purge that a row shows. Captures of what was purged may have been loaded, or may have been
// here.
func (i *Intake) notePurge(rest, value []byte) error {
	purge := Purging{Crawl: i.s.options.Crawl}
	switch format.Kind(rest[0]) {
	case format.KeyPage:
		var page Page
		if err := format.DecodeValue(value, &page); err != nil || page.State != StatePurged {
			return err
		}
		purge.URL = page.URL
	case format.KeySite:
		var site SiteRow
		if err := format.DecodeValue(value, &site); err != nil || !site.Purged {
			return err
		}
		purge.Site = weburl.Site(rest[1:])
	default:
		return nil
	}
	return i.batch.Set(purge.key(), format.AppendValue(nil, &purge), nil)
}

func (i *Intake) commit(batch *pebble.Batch) error {
	if err := database.Commit(batch, pebble.NoSync); err != nil {
		return i.s.fail(err)
	}
	return nil
}

// End completes the intake. The intake has ended even after an error.
func (i *Intake) End() error {
	if err := i.s.warc.Sync(); err != nil {
		return i.Drop(i.s.fail(fmt.Errorf("store: import: %w", err)))
	}
	last := i.batch
	i.batch = nil
	if err := i.commit(last); err != nil {
		return i.Drop(err)
	}
	defer i.s.mu.Unlock()
	batch := i.s.db.NewBatch()
	if err := batch.Delete(intakeKey(), nil); err != nil {
		return errors.Join(err, batch.Close())
	}
	if err := database.Commit(batch, pebble.Sync); err != nil {
		return i.s.fail(err)
	}
	i.s.renew()
	if err := i.s.findStrays(i.s.keys, i.p); err != nil {
		return err
	}
	return i.s.keepHomes(false)
}

// Drop ends an intake that cannot be completed and leaves the partition empty. It returns why, joined with its own
// error.
func (i *Intake) Drop(why error) error {
	defer i.s.mu.Unlock()
	if i.batch != nil {
		why = errors.Join(why, i.batch.Close())
	}
	why = errors.Join(why, i.s.undoIntake())
	i.s.renew()
	return why
}

// undoIntake empties the partition that intakeKey names, if there is such a key.
func (s *Store) undoIntake() error {
	prefix, err := format.ReadRaw(s.db, intakeKey())
	if errors.Is(err, ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	from, to := format.Span(prefix)
	batch := s.db.NewBatch()
	if err := errors.Join(batch.DeleteRange(from, to, nil), batch.Delete(intakeKey(), nil)); err != nil {
		return errors.Join(err, batch.Close())
	}
	return database.Commit(batch, pebble.Sync)
}
