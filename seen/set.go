package seen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/weburl"
)

// set is the exact set of known fingerprints on disk, with the lowest depth of each and the marks
// that belong to it: a small Pebble database of its own. Nothing outside this file knows that.
//
//	8-byte fingerprint, big endian          -> lowest depth, uint16
//	8 zero bytes                            -> format byte, number of fingerprints, uint64
//	8 zero bytes, partition, uint16         -> mark, uint64
//
// All numbers are big endian. A fingerprint is never 0, so that the head and the marks come first.
// A set without a head is no set: the head is the last thing that filling it writes.
type set struct {
	db     *pebble.DB
	lock   *pebble.Lock
	fs     vfs.FS
	dir    string
	logger *slog.Logger
	known  int64                       // fingerprints
	marks  map[weburl.Partition]uint64 // durable
	broken error                       // of a write whose fate is unknown: no other may follow it
}

const (
	setFormat = 1
	keyLen    = 8
)

// depthOf is a fingerprint and the lowest depth at which it was offered.
type depthOf struct {
	fp    weburl.Fingerprint
	depth uint16
}

// openSet opens the set of dir. What it finds to be damaged it throws away. lost says that the set
// has no head: it is new, damaged, or was cut while it was filled.
func openSet(fsys vfs.FS, dir string, logger *slog.Logger) (s *set, lost bool, err error) {
	s = &set{fs: fsys, dir: dir, logger: logger}
	if err = s.hold(); err != nil {
		return nil, false, err
	}
	err = s.open()
	if err == nil {
		lost, err = s.readHead()
	}
	if err == nil && !lost {
		err = s.readMarks()
	}
	if damaged(err) {
		logger.Error("seen: set is damaged and must be rebuilt", "dir", dir, "error", err)
		lost, err = true, s.reset()
	}
	if err != nil {
		return nil, false, errors.Join(err, s.close())
	}
	return s, lost, nil
}

// hold makes the directory and keeps others from it. A set that is in use must not be taken for a
// damaged one.
func (s *set) hold() (err error) {
	if err := s.fs.MkdirAll(s.dir, 0o755); err != nil {
		return fmt.Errorf("seen: make %s: %w", s.dir, err)
	}
	if s.lock, err = pebble.LockDirectory(s.dir, s.fs); err != nil {
		return fmt.Errorf("seen: lock %s: %w", s.dir, err)
	}
	return nil
}

func (s *set) open() error {
	db, err := pebble.Open(s.dir, &pebble.Options{
		FS:   s.fs,
		Lock: s.lock,
		// Memtables are taken out of the cache's size: two of them leave 8 MiB for blocks.
		CacheSize:          16 << 20,
		MemTableSize:       4 << 20,
		MaxOpenFiles:       128,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             pebbleLogger{s.logger},
		// Damage that a read meets is that read's error, and no reason to end the process.
		EventListener: &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}},
	})
	if err != nil {
		return fmt.Errorf("seen: open set: %w", err)
	}
	s.db, s.broken = db, nil
	s.known, s.marks = 0, map[weburl.Partition]uint64{}
	return nil
}

// readHead reads the number of fingerprints, and reports whether there is no head.
func (s *set) readHead() (lost bool, err error) {
	value, err := s.get(headKey())
	if err != nil || value == nil {
		return true, err
	}
	if len(value) != 9 || value[0] != setFormat {
		return true, fmt.Errorf("seen: head of the set is % x: %w", value, pebble.ErrCorruption)
	}
	s.known = int64(binary.BigEndian.Uint64(value[1:]))
	return false, nil
}

// get returns a copy of key's value, nil if there is none.
func (s *set) get(key []byte) ([]byte, error) {
	value, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("seen: read set: %w", err)
	}
	value = append([]byte{}, value...)
	return value, closer.Close()
}

// lookup calls found for every fingerprint of fps that the set holds, in order. fps ascend. One pass
// of an iterator: the closer the fingerprints, the cheaper each.
func (s *set) lookup(fps []weburl.Fingerprint, found func(depthOf)) error {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return fmt.Errorf("seen: read set: %w", err)
	}
	var key [keyLen]byte
	for _, fp := range fps {
		binary.BigEndian.PutUint64(key[:], uint64(fp))
		if !it.SeekGE(key[:]) {
			break // past the last key, or an error, which Close tells
		}
		if string(it.Key()) == string(key[:]) {
			found(depthOf{fp, depthValue(it.Value())})
		}
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("seen: read set: %w", err)
	}
	return nil
}

// write adds depths, of which added are of fingerprints that the set did not hold, and moves marks,
// in one atomic batch that is on disk when write returns. depths ascend.
func (s *set) write(depths []depthOf, added int64, marks []Mark) error {
	b := s.db.NewBatch()
	defer b.Close()
	if err := putDepths(b, depths); err != nil {
		return err
	}
	for _, m := range marks {
		if err := b.Set(markKey(m.Partition), binary.BigEndian.AppendUint64(nil, m.Record), nil); err != nil {
			return err
		}
	}
	head := binary.BigEndian.AppendUint64([]byte{setFormat}, uint64(s.known+added))
	if err := b.Set(headKey(), head, nil); err != nil {
		return err
	}
	if err := s.commit(b); err != nil {
		return err
	}
	s.known += added
	for _, m := range marks {
		s.marks[m.Partition] = m.Record
	}
	return nil
}

// commit applies b and waits until it is on disk. Asking for the wait apart keeps a failing disk an
// error: Pebble ends the process when an Apply that waits by itself fails.
func (s *set) commit(b *pebble.Batch) error {
	if s.broken != nil {
		return s.broken
	}
	err := s.db.ApplyNoSyncWait(b, pebble.Sync)
	if err == nil {
		err = b.SyncWait()
	}
	if err != nil {
		s.broken = fmt.Errorf("seen: write set: %w", err)
	}
	return s.broken
}

// fill writes depths without waiting for the disk; it becomes part of the set with the next write.
func (s *set) fill(depths []depthOf) error {
	b := s.db.NewBatch()
	defer b.Close()
	if err := putDepths(b, depths); err != nil {
		return err
	}
	if err := s.db.Apply(b, pebble.NoSync); err != nil {
		return fmt.Errorf("seen: write set: %w", err)
	}
	return nil
}

func putDepths(b *pebble.Batch, depths []depthOf) error {
	var key [keyLen]byte
	var value [2]byte
	for _, d := range depths {
		binary.BigEndian.PutUint64(key[:], uint64(d.fp))
		binary.BigEndian.PutUint16(value[:], d.depth)
		if err := b.Set(key[:], value[:], nil); err != nil {
			return fmt.Errorf("seen: write set: %w", err)
		}
	}
	return nil
}

// readMarks reads the durable marks.
func (s *set) readMarks() error {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: append(headKey(), 0),
		UpperBound: binary.BigEndian.AppendUint64(nil, 1),
	})
	if err != nil {
		return fmt.Errorf("seen: read marks: %w", err)
	}
	for it.First(); it.Valid(); it.Next() {
		key, value := it.Key(), it.Value()
		if len(key) != keyLen+2 || len(value) != 8 {
			err = fmt.Errorf("seen: mark % x is % x: %w", key, value, pebble.ErrCorruption)
			break
		}
		s.marks[weburl.Partition(binary.BigEndian.Uint16(key[keyLen:]))] = binary.BigEndian.Uint64(value)
	}
	return errors.Join(err, it.Close())
}

// reset empties the set, however damaged it is. The head goes first, so that a crash on the way
// leaves a set that is lost and not one that lacks something.
func (s *set) reset() error {
	if s.db != nil && s.broken == nil {
		if err := s.db.Delete(headKey(), pebble.Sync); err != nil {
			s.logger.Error("seen: set refuses to be emptied", "dir", s.dir, "error", err)
		}
	}
	if err := s.close(); err != nil {
		s.logger.Error("seen: close damaged set", "dir", s.dir, "error", err)
	}
	if err := s.fs.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("seen: remove damaged set: %w", err)
	}
	if err := s.hold(); err != nil {
		return err
	}
	return s.open()
}

// close closes what of the set is open.
func (s *set) close() (err error) {
	if s.db != nil {
		err, s.db = s.db.Close(), nil
	}
	if s.lock != nil {
		err, s.lock = errors.Join(err, s.lock.Close()), nil
	}
	return err
}

// damaged reports whether err says that what is on disk cannot be trusted, as against a disk that
// cannot be read or written now. Pebble does not mark all damage as such, so that everything counts
// but the errors of the operating system: to rebuild a sound set costs some time, no more.
func damaged(err error) bool {
	if err == nil || pebble.IsCorruptionError(err) || errors.Is(err, fs.ErrNotExist) {
		return err != nil
	}
	_, system := errors.AsType[syscall.Errno](err)
	return !system && !errors.Is(err, fs.ErrPermission)
}

func headKey() []byte { return make([]byte, keyLen) }

func markKey(p weburl.Partition) []byte { return binary.BigEndian.AppendUint16(headKey(), uint16(p)) }

// depthValue decodes a depth; a value of another length, which we never wrote, is the lowest depth.
func depthValue(value []byte) uint16 {
	if len(value) != 2 {
		return 0
	}
	return binary.BigEndian.Uint16(value)
}

// pebbleLogger passes on what Pebble complains of, not what it tells.
type pebbleLogger struct{ *slog.Logger }

func (pebbleLogger) Infof(string, ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.Error("seen: " + fmt.Sprintf(format, args...))
}

// Fatalf is called where Pebble cannot go on: it must not return.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	panic("seen: " + fmt.Sprintf(format, args...))
}
