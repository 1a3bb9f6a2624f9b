package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/segments"
	"freshet/store/warc"
	"freshet/weburl"
)

// Options configure how a data directory is opened. The zero value is usable.
type Options struct {
	FS         vfs.FS // default vfs.Default
	Crawl      string // name of the crawl, 1 to 64 of a-z, 0-9, '.', '_', '-'; default "main"
	Partitions int    // of a new directory, 1 to 65,536; default 16; ignored for an existing one
	ReadOnly   bool   // refuse every write; the directory must exist
	Repairing  bool   // also open a directory that was rolled back, for repair
	CacheBytes int64  // block cache, in addition to two write buffers; default 1 MiB
	WARC       WARCOptions
	Clock      *clock.Clock // dates the WARC files; default clock.Real()
	Logger     *slog.Logger // default: none
	// Suffixes decides the partition of a new host; default: the list in the program.
	Suffixes weburl.Suffixes

	// Segments, if set, keep closed WARC files in an object store. A directory that has any there needs them.
	Segments *segments.Segments

	// OnRecord is called for every record once it is durable, in the order of its partition, by the goroutine that
	// wrote it. The encoded record is valid only during the call. See Replay.
	OnRecord func(p weburl.Partition, n uint64, record []byte)

	// Log, if set, stores each record on other machines before it is applied here. The directory then belongs to a
	// cluster, and Follow applies the records of partitions of other nodes.
	Log Log

	// Partial means that the directory need not have all partitions of its cluster.
	Partial bool

	// FinishPurges calls OnPurge before it ends. hit reports whether a URL is being purged. OnPurge removes such
	// URLs from files in the directory that are not the store's. After an error the purge is not finished.
	OnPurge func(ctx context.Context, hit func(url string) bool) error
}

// WARCOptions configure how captures are written.
type WARCOptions struct {
	Prefix   string      // of file names; default "freshet"
	Host     string      // in file names; default the machine's name
	MaxBytes int64       // a capture that does not fit goes to a new file; default 1 GiB
	Info     [][2]string // fields of the warcinfo record: operator, software, robots, …
}

// Validate returns all faults of o, joined.
func (o Options) Validate() error {
	var faults []error
	if o.Crawl != "" && !validName(o.Crawl) {
		faults = append(faults, fmt.Errorf("store: crawl %q: want 1 to 64 of a-z, 0-9, '.', '_', '-'", o.Crawl))
	}
	if o.Partitions < 0 || o.Partitions > weburl.MaxPartitions {
		faults = append(faults, fmt.Errorf("store: %d partitions: want 1 to %d", o.Partitions, weburl.MaxPartitions))
	}
	if o.CacheBytes < 0 {
		faults = append(faults, fmt.Errorf("store: cache of %d bytes: want a positive size", o.CacheBytes))
	}
	if o.WARC.MaxBytes < 0 {
		faults = append(faults, fmt.Errorf("store: WARC files of %d bytes: want a positive size", o.WARC.MaxBytes))
	}
	return errors.Join(faults...)
}

func validName(name string) bool {
	if len(name) < 1 || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Crawl == "" {
		o.Crawl = "main"
	}
	if o.Partitions == 0 {
		o.Partitions = 16
	}
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.Suffixes.Domain == nil {
		o.Suffixes = weburl.PublicSuffixes()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.WARC.Host == "" {
		o.WARC.Host, _ = os.Hostname() // if it fails, the WARC writer uses its own default
	}
	return o
}

// Store is an open data directory, seen as one crawl. Its methods are safe for concurrent use; writes wait for one
// another, reads never wait. After Close every call panics or fails.
type Store struct {
	options Options
	fs      vfs.FS // of the options; drops the ballast when the disk is full
	dir     *directory
	db      *pebble.DB
	large   *atomic.Bool // the database stores more than database.SmallBytes
	keys    format.Keyspace
	homes   *homes
	start   Start
	full    atomic.Bool // a write failed because the disk is full
	settled atomic.Bool // Close may note a clean stop
	flushed atomic.Bool // a table was written since large was last updated
	logs    *reusing
	orders  *orders // orders of an operator, in files beside the database

	highwater  *highwater
	rolledBack uint64 // records that were on disk and are missing at Open
	unreadable error  // why the high-water file could not be read
	damaged    atomic.Pointer[damage]
	ofCluster  bool
	moved      moved

	keeping sync.Mutex   // one purge or sweep at a time; locked before the others
	files   sync.RWMutex // read-locked to read many WARC files, locked to delete one; before mu

	mu      sync.Mutex // of everything below: writes
	warc    *warc.Writer
	durable warc.Extent // as last noted in the database
	state   *state
	broken  error // why writes are refused
	closed  bool

	pointers []warc.Pointer // scratch of a commit group
	records  []byte
	applied  []appliedRecord
	appended int // how many of applied the log has
}

// Start is the state of the directory at Open.
type Start struct {
	Fresh     bool      // it was created, or this crawl has no record yet
	Clean     bool      // it was closed cleanly, or created
	LastAlive time.Time // of the last heartbeat; zero if there is none
	Truncated []string  // WARC files whose torn tails were cut
}

// Open opens the data directory dir. If there is none and ReadOnly is not set, it creates one. After a crash it
// cuts WARC files that were being written after their last whole record, and closes them. The errors are ErrLocked,
// ErrFormat, ErrOutdated, ErrCorrupt, ErrDiskFull if there is too little space to begin, ErrTakeDown if ReadOnly is
// set, and those of the file system.
func Open(dir string, o Options) (_ *Store, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if o.ReadOnly {
		o.FS = format.Unwritten{FS: o.FS}
	}
	s := &Store{options: o, keys: format.NewKeyspace(o.Crawl)}
	if s.dir, err = openDirectory(o.FS, dir, o.Partitions, !o.ReadOnly); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.dir.unmake(), s.release())
		}
	}()
	below, err := s.openSegments()
	if err != nil {
		return nil, err
	}
	s.logs = &reusing{FS: below}
	s.fs = vfs.OnDiskFull(s.logs, s.diskFull)
	if !o.ReadOnly {
		if err := s.prepare(); err != nil {
			return nil, err
		}
	}
	if err := s.openDB(); err != nil {
		return nil, err
	}
	if err := s.checkDB(); err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		if err := s.openWARC(); err != nil {
			return nil, err
		}
	}
	if err := s.readStart(); err != nil {
		return nil, err
	}
	if s.rolledBack == 0 {
		if s.highwater.now, err = s.heightsOf(s.highwater.now); err != nil { // without what readStart emptied
			return nil, err
		}
	}
	if err := s.openHomes(); err != nil {
		return nil, err
	}
	if err := s.openCluster(); err != nil {
		return nil, err
	}
	s.state = newState(s.keys, s.db, s.large)
	var noted []order
	if s.orders, noted, err = openOrders(s.fs, dir, o.ReadOnly); err != nil {
		return nil, err
	}
	if s.ofCluster || o.Log != nil { // every order is in the log, or its caller got an error
		return s, nil
	}
	if o.ReadOnly {
		err = s.checkPurges(noted)
	} else {
		err = errors.Join(s.resumePurges(), s.resumeOrders(noted))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// prepare lays the ballast, makes the folder of captures and deletes leftovers. It runs before the database is
// made: if a database exists after a crash, captures are expected too.
func (s *Store) prepare() error {
	if err := s.dir.layBallast(); errors.Is(err, ErrDiskFull) {
		return err
	} else if err != nil {
		s.options.Logger.Warn("no space held back for a full disk", "error", err)
	}
	if err := format.MakeDir(s.fs, s.dir.join(format.CapturesDir)); err != nil {
		return err
	}
	return s.dropLeftovers()
}

// openWARC recovers the WARC files of a crash and prepares a writer. The writer opens a new file at the first
// capture.
func (s *Store) openWARC() (err error) {
	var d durable
	_, err = database.Get(s.db, durableKey(), func(raw []byte) error { return format.DecodeValue(raw, &d) })
	if err != nil && !errors.Is(err, ErrCorrupt) { // if it is corrupt, the whole file is read
		return err
	}
	recovered, err := warc.Recover(s.fs, s.dir.join(format.CapturesDir), warc.Extent(d))
	if err != nil {
		return fmt.Errorf("store: recover captures: %w", err)
	}
	for _, r := range recovered {
		if r.Cut > 0 {
			s.start.Truncated = append(s.start.Truncated, r.File)
		}
	}
	s.warc, err = s.newWARC("")
	return err
}

// newWARC returns a writer of files whose names end in the host's name and a suffix.
func (s *Store) newWARC(suffix string) (*warc.Writer, error) {
	o := s.options.WARC
	info := make([]warc.Field, len(o.Info))
	for i, field := range o.Info {
		info[i] = warc.Field{Name: field[0], Value: field[1]}
	}
	w, err := warc.NewWriter(s.fs, s.dir.join(format.CapturesDir), warc.Options{
		Prefix: o.Prefix, Host: cmp.Or(o.Host, "localhost") + suffix, MaxBytes: o.MaxBytes, Info: info, Now: s.options.Clock.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return w, nil
}

func (s *Store) openDB() (err error) {
	s.db, err = database.Open(s.dir.join(format.DatabaseDir), database.Options{
		FS: s.fs, CacheBytes: s.options.CacheBytes, ReadOnly: s.options.ReadOnly, Log: s.options.Logger,
		Flushed: func() { s.flushed.Store(true) }, Damaged: s.noteDamage,
	})
	if err != nil {
		return fmt.Errorf("store: open database: %w", s.damagedError(err))
	}
	s.large = new(atomic.Bool)
	s.measure()
	return nil
}

// measure updates large. Once large, a database stays large until the next Open.
func (s *Store) measure() {
	if !s.large.Load() && database.Large(s.db) {
		s.large.Store(true)
	}
}

// durable is the value of the durable key: how much of the open WARC file is on disk. It is written with the batch
// after the file's sync, so that a restart reads only what came later.
type durable struct {
	File  string `cbor:"1,keyasint"`
	Bytes int64  `cbor:"2,keyasint"`
}

// heartbeat is the value of the heartbeat key.
type heartbeat struct {
	At    int64 `cbor:"1,keyasint,omitempty"`
	Clean bool  `cbor:"2,keyasint,omitempty"` // the directory was closed after it
}

// readStart determines how the last run ended, and notes that this one has begun.
func (s *Store) readStart() error {
	var last heartbeat
	found, err := database.Get(s.db, heartbeatKey(), func(raw []byte) error { return format.DecodeValue(raw, &last) })
	if err != nil {
		return err
	}
	s.start.Clean = last.Clean || !found && s.dir.fresh
	if last.At != 0 {
		s.start.LastAlive = time.Unix(0, last.At)
	}
	s.settled.Store(s.start.Clean)
	s.start.Fresh = true
	from, to := format.Span(s.keys.Prefix)
	err = database.Scan(s.db, from, to, func(_, _ []byte) error { s.start.Fresh = false; return database.ErrStop })
	if err != nil {
		return err
	}
	if s.options.ReadOnly {
		return nil
	}
	if err := errors.Join(format.DropOlder(s.db), s.undoIntake()); err != nil {
		return err
	}
	return s.putHeartbeat(heartbeat{At: last.At})
}

// Start returns the state of the directory at Open.
func (s *Store) Start() Start { return s.start }

// Partitions returns the number of partitions of the directory.
func (s *Store) Partitions() int { return s.dir.partitions }

// Heartbeat notes durably that the crawl is alive at now. After an unclean stop the next Open reports the last one
// in Start.LastAlive. Heartbeat does not wait for other writes.
func (s *Store) Heartbeat(now time.Time) error {
	if s.options.ReadOnly {
		return ErrReadOnly
	}
	if s.full.Load() {
		return fmt.Errorf("store: heartbeat: %w", ErrDiskFull)
	}
	s.settled.Store(false)
	if d := s.damaged.Load(); d != nil {
		return fmt.Errorf("store: heartbeat: %w", d)
	}
	return errors.Join(s.putHeartbeat(heartbeat{At: now.UnixNano()}), s.highwater.write())
}

// Settle declares that no request is in flight and that the stored gates are complete. A Close without a Heartbeat in
// between then notes a clean stop. After a clean stop a directory is settled until the first Heartbeat. After an
// unclean stop it is not: so opening it to read or repair does not hide from the next crawl that gates may be missing.
func (s *Store) Settle() { s.settled.Store(true) }

func (s *Store) putHeartbeat(h heartbeat) error { return s.put(heartbeatKey(), h, pebble.Sync) }

// put stores a row outside of every crawl.
func (s *Store) put(key []byte, v any, o *pebble.WriteOptions) error {
	return database.Set(s.db, key, format.AppendValue(nil, v), o)
}

// diskFull is called when a write fails because the disk is full. The write is then tried again.
func (s *Store) diskFull() {
	s.full.Store(true)
	if err := s.dir.dropBallast(); err != nil {
		s.options.Logger.Error("drop ballast", "error", err)
	}
}

// Close ends the WARC file, notes a clean stop if the directory is settled (see Settle) and closes the database. If
// a write failed before, Close returns that error, and the next Open finds an unclean stop. A second Close does
// nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.broken
	if s.warc != nil {
		if e := s.warc.Close(); e != nil && err == nil {
			err = fmt.Errorf("store: close captures: %w", e)
		}
		s.warc = nil
	}
	if err == nil && !s.options.ReadOnly && s.settled.Load() {
		err = s.putHeartbeat(heartbeat{At: s.lastAlive(), Clean: true})
	}
	if err == nil && !s.options.ReadOnly {
		err = errors.Join(s.highwater.write(), format.SyncDir(s.fs, s.dir.path))
	}
	return errors.Join(err, s.release())
}

func (s *Store) lastAlive() int64 {
	var h heartbeat
	if _, err := database.Get(s.db, heartbeatKey(), func(raw []byte) error { return format.DecodeValue(raw, &h) }); err != nil {
		return 0
	}
	return h.At
}

// release closes what Open has opened so far.
func (s *Store) release() error {
	var errs []error
	if s.warc != nil {
		errs = append(errs, s.warc.Close())
	}
	if s.state != nil {
		s.state.release()
	}
	if s.db != nil {
		errs = append(errs, database.Close(s.db))
	}
	if s.options.Segments != nil {
		s.options.Segments.Close()
	}
	return errors.Join(append(errs, s.dir.lock.Close())...)
}

// heartbeatKey is outside of every crawl: the heartbeat belongs to the directory.
func heartbeatKey() []byte { return format.Outside("heartbeat") }

// durableKey is outside of every crawl too: all crawls share the WARC files.
func durableKey() []byte { return format.Outside("durable") }

// Fatal returns the error that made the database panic. cause is what the caller recovered. It returns nil for
// other panics.
func Fatal(cause any) error { return database.Fatal(cause) }
