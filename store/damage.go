package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"freshet/store/internal/format"
	"freshet/store/warc"

	"github.com/cockroachdb/pebble/v2"
)

// damage is a file of the database that cannot be read. It matches ErrCorrupt.
type damage struct {
	file  string
	cause error
}

// Error names the file.
func (d *damage) Error() string { return fmt.Sprintf("%v: %s: %v", ErrCorrupt, d.file, d.cause) }

// Unwrap returns ErrCorrupt.
func (d *damage) Unwrap() error { return ErrCorrupt }

// noteDamage stores the first damage of the database that a reader or writer finds. The store then refuses writes.
func (s *Store) noteDamage(file string, cause error) {
	if s.damaged.CompareAndSwap(nil, &damage{file, cause}) {
		s.options.Logger.Error("the database is damaged", "file", file, "error", cause.Error()) // without stack traces
	}
}

// damagedError makes an error of opening the database match ErrCorrupt, unless it comes from the file system. The
// database does not mark every kind of damage itself.
func (s *Store) damagedError(err error) error {
	if d := s.damaged.Load(); d != nil {
		return d
	}
	if _, failed := errors.AsType[syscall.Errno](err); failed && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, s.dir.join(format.DatabaseDir), err)
}

// checkDB compares an opened database with the high-water file.
func (s *Store) checkDB() error {
	err := s.checkHighwater()
	if err != nil && s.damaged.Load() != nil {
		return fmt.Errorf("store: open database: %w", s.damaged.Load())
	}
	return err
}

// IsDamage reports whether an error means that stored data cannot be read and needs repair.
func IsDamage(err error) bool {
	return errors.Is(err, ErrCorrupt) || pebble.IsCorruptionError(err)
}

// IsLost reports whether an error of reading captures means that they are damaged or gone, or that the disk cannot read
// them. After another error they can be read later: an object store does not answer.
func IsLost(err error) bool {
	return IsDamage(err) || errors.Is(err, warc.ErrCorrupt) || errors.Is(err, ErrNotFound) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, syscall.EIO)
}

// LostRemedy says what helps if IsLost.
const LostRemedy = "freshet verify --repair, with the same --data, has what is damaged or lost fetched again"
