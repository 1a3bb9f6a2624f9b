package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/weburl"
)

// ErrDamaged means that something on disk is not as it was written. The text names the file and the place. The set is
// then useless: Reset it, or open it again, and fill it.
var ErrDamaged = errors.New("seen: set is damaged")

// Options configure a Set. A zero field means its default.
type Options struct {
	FS         vfs.FS // default the machine's file system
	Partitions int    // number of partitions; default 16
	Logger     *slog.Logger

	tableEntries   int // most entries in memory before they become a run; default 2¹⁷ - 1
	segmentEntries int // entries of a file, about; default 2 Mi
}

func (o Options) withDefaults() Options {
	o.FS = cmp.Or(o.FS, vfs.Default)
	o.Partitions = cmp.Or(o.Partitions, 16)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.tableEntries = cmp.Or(o.tableEntries, 1<<17-1) // with those of another drain, they fit 2¹⁸ slots
	o.segmentEntries = cmp.Or(o.segmentEntries, 2<<20)
	return o
}

// Set is the exact set of the URLs that are known. Its methods are for one goroutine at a time; a
// goroutine of its own writes runs and merges them.
type Set struct {
	opt   Options
	order order
	dir   string
	lock  io.Closer

	active  *table  // what is in no run, the frozen entries apart
	pending []Entry // entries of these that Keep must write
	state   state   // the entries of pending included, except for their marks
	journal *journal
	frame   []byte // reused
	inquiry inquiry
	spare   []Entry // for sorting questions
	broken  error   // error of a Keep that may or may not be on disk: no other may follow it

	background
	next atomic.Uint32 // number of the next file

	read, written, peak atomic.Int64 // for Stats
}

// Open opens the set in dir, which it makes if need be, and reports whether it was lost: there was none,
// or it was damaged, of another format, or cut while it was filled. A lost set is empty. Open fails if
// the disk cannot be used or the set is open already.
func Open(dir string, opt Options) (s *Set, lost bool, err error) {
	s = &Set{opt: opt.withDefaults(), dir: dir}
	s.order = orderOf(s.opt.Partitions)
	s.changed.L = &s.mu
	if err := s.opt.FS.MkdirAll(dir, 0o700); err != nil {
		return nil, false, fmt.Errorf("seen: make %s: %w", dir, err)
	}
	if err := syncDir(s.opt.FS, s.opt.FS.PathDir(dir)); err != nil {
		return nil, false, err
	}
	if s.lock, err = s.opt.FS.Lock(s.path("LOCK")); err != nil {
		return nil, false, fmt.Errorf("seen: lock %s: %w", dir, err)
	}
	s.clear()
	err = s.load()
	if lost = errors.Is(err, ErrDamaged) || errors.Is(err, fs.ErrNotExist); lost {
		if !errors.Is(err, fs.ErrNotExist) {
			s.opt.Logger.Error("seen: the set is lost", "dir", dir, "error", err)
		}
		err = s.empty()
	}
	if err != nil {
		return nil, false, errors.Join(err, s.closeFiles(), s.lock.Close())
	}
	s.start()
	return s, lost, nil
}

func (s *Set) path(name string) string { return s.opt.FS.PathJoin(s.dir, name) }

// clear forgets all that is in memory.
func (s *Set) clear() {
	s.active, s.pending, s.broken = newTable(), nil, nil
	s.state = state{Marks: map[weburl.Partition]uint64{}}
	s.background.clear()
}

// Lookup sorts and answers questions. The Value of each is the index of its answer. The answers must be zero except
// for Asked. It makes a sorted pass over every run, the oldest first, because that is the largest and has most of the
// answers. After an error the answers are of no use, and after ErrDamaged neither is the set.
func (s *Set) Lookup(questions []Entry, answers []Answer) error {
	s.spare = slices.Grow(s.spare[:0], len(questions))[:len(questions)]
	s.order.sort(questions, s.spare)
	q := &s.inquiry
	q.begin(questions, answers)
	err := s.answer(q)
	q.end(answers)
	s.read.Add(q.reads)
	if errors.Is(err, ErrDamaged) {
		err = s.ruin(err)
		s.broken = err
	}
	return err
}

// answer passes an inquiry through the table, what is frozen and the runs.
func (s *Set) answer(q *inquiry) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	q.askTable(s.active)
	q.askSorted(s.frozen)
	for _, r := range slices.Backward(s.runs) {
		for _, g := range r.segments {
			if err := q.ask(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// Add adds e to the set, in memory. fresh means that the set did not know it; else its depth is lower than any before.
// It becomes durable with the next Keep. O(1).
func (s *Set) Add(e Entry, fresh bool) {
	s.active.put(e)
	s.pending = append(s.pending, e)
	if fresh {
		s.state.Known++
	}
}

// Keep makes durable what was added since the last Keep, and with it marks, which replace the former ones of their
// partitions: all of it or, after a crash or an error, nothing. After an error nothing can be kept any more. Keep
// waits for the disk and, if new entries come faster than merges, for merges.
func (s *Set) Keep(marks map[weburl.Partition]uint64) error {
	if s.broken != nil {
		return s.broken
	}
	if s.broken = s.failed(); s.broken != nil {
		return s.broken
	}
	if s.broken = s.journalFrame(marks, s.pending); s.broken != nil {
		return s.broken
	}
	s.pending = s.pending[:0]
	maps.Copy(s.state.Marks, marks)
	if s.broken = s.becomeWhole(); s.broken != nil {
		return s.broken
	}
	if s.full() {
		s.broken = s.turnJournal()
	}
	return s.broken
}

// turnJournal hands the table to the background, and begins a new journal.
func (s *Set) turnJournal() error {
	old := s.journal
	if err := s.openJournal(); err != nil {
		return errors.Join(err, old.file.Close())
	}
	if err := old.file.Close(); err != nil {
		return fmt.Errorf("seen: close journal %s: %w", old.path, err)
	}
	s.state.Journal = s.journal.number
	return s.freeze()
}

// Fill takes entries into a set that was Reset. It becomes durable with Filled, and until then the set
// is lost after a crash. Otherwise as Add.
func (s *Set) Fill(e Entry, fresh bool) error {
	s.active.put(e)
	if fresh {
		s.state.Known++
	}
	if !s.full() {
		return nil
	}
	return s.freeze()
}

// firstEntries is the most entries in the table of a small set before they become a run; they fit 2¹⁴ slots.
const firstEntries = 3 << 12

// full reports whether the table has reached its size: an eighth of what is known, so that its memory grows with the
// set, between firstEntries and Options.tableEntries.
func (s *Set) full() bool {
	return s.active.n >= min(s.opt.tableEntries, max(firstEntries, int(s.state.Known/8)))
}

// Filled makes a set that was Reset and filled durable, with its marks, and frees the memory that filling has taken,
// because later entries come more slowly.
func (s *Set) Filled(marks map[weburl.Partition]uint64) error {
	s.state.Marks = map[weburl.Partition]uint64{}
	maps.Copy(s.state.Marks, marks)
	if s.active.n > 0 {
		if err := s.freeze(); err != nil {
			return err
		}
	}
	if err := s.flushed(); err != nil {
		return err
	}
	s.active, s.spare = newTable(), nil
	s.commits.Lock()
	s.base = s.state.clone()
	s.commits.Unlock()
	return s.becomeWhole()
}

// Reset empties the set, however damaged it is, and makes it work again. After an error nothing can be kept, unless
// another Reset succeeds.
func (s *Set) Reset() error {
	s.stop()
	if s.broken = s.empty(); s.broken != nil {
		return s.broken
	}
	s.start()
	return nil
}

// Known returns how many URLs are known.
func (s *Set) Known() int64 { return s.state.Known }

// Marks returns the durable marks.
func (s *Set) Marks() map[weburl.Partition]uint64 { return maps.Clone(s.state.Marks) }

// Close waits for the background and closes the set. What was not kept is forgotten.
func (s *Set) Close() error {
	s.stop()
	return errors.Join(s.closeFiles(), s.lock.Close())
}

// closeFiles closes all but the lock.
func (s *Set) closeFiles() (err error) {
	if s.journal != nil {
		err = s.journal.file.Close()
		s.journal = nil
	}
	for _, r := range s.runs {
		for _, g := range r.segments {
			err = errors.Join(err, g.close())
		}
	}
	s.runs = nil
	return err
}
