package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
)

// background is the state of the set's own goroutine. It writes each full table as a run, and merges runs. mu guards
// the part that the other goroutine sees; commits guards the manifest. To lock both, lock commits first.
type background struct {
	mu      sync.RWMutex
	changed sync.Cond // of frozen, fault and working; its lock is mu
	runs    []*run    // newest first
	frozen  []Entry   // of a full table, sorted, on their way to a run
	then    state     // when it was frozen
	fault   error     // the error that ended the work
	working bool      // there is something to flush or to merge

	commits sync.Mutex
	base    state // the state without entries that are in no run
	whole   bool  // there is a manifest

	merge    *merge
	stopping atomic.Bool
	ended    sync.WaitGroup
}

// maxRuns is the number of runs at which new ones wait for merges.
const maxRuns = 16

var errStopped = errors.New("seen: the set is being closed")

func (b *background) clear() {
	b.runs, b.frozen, b.fault, b.merge = nil, nil, nil, nil
	b.base, b.whole, b.working = state{}, false, false
}

func (s *Set) start() {
	s.stopping.Store(false)
	s.working = true // until its first check
	s.ended.Go(s.work)
}

// stop ends the work soon and waits for its end.
func (s *Set) stop() {
	s.mu.Lock()
	s.stopping.Store(true)
	s.changed.Broadcast()
	s.mu.Unlock()
	s.ended.Wait()
	s.merge = nil
}

// failed returns the error that ended the work, or nil.
func (s *Set) failed() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fault
}

// freeze hands the entries of the active table to the background, after the ones before have become a run. Sorted,
// they take half of the table's memory. The table serves as space for the sort and is free afterwards.
func (s *Set) freeze() error {
	if err := s.flushed(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = s.active.entries()
	s.order.sort(s.frozen, s.active.slots[:len(s.frozen)])
	s.then = s.state.clone()
	s.active.clear()
	s.changed.Broadcast()
	return nil
}

// flushed waits until the frozen entries have become a run.
func (s *Set) flushed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.frozen != nil && s.fault == nil {
		s.changed.Wait()
	}
	return s.fault
}

// Settle waits until all full tables are runs and no merge is due.
func (s *Set) Settle() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for (s.working || s.frozen != nil) && s.fault == nil {
		s.changed.Wait()
	}
	return s.fault
}

// becomeWhole writes the first manifest.
func (s *Set) becomeWhole() error {
	s.commits.Lock()
	defer s.commits.Unlock()
	if s.whole {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.whole = true
	return s.commit(s.runs)
}

// commit makes runs and base the set, if there is a manifest. The caller holds commits, or is the only user.
func (s *Set) commit(runs []*run) error {
	if !s.whole {
		return nil
	}
	m := manifest{Format: manifestFormat, Partitions: s.opt.Partitions, state: s.base, Next: s.next.Load(), Runs: [][]uint32{}}
	for _, r := range runs {
		numbers := make([]uint32, 0, len(r.segments))
		for _, g := range r.segments {
			numbers = append(numbers, g.number)
		}
		m.Runs = append(m.Runs, numbers)
	}
	size, err := writeManifest(s.opt.FS, s.dir, m)
	s.written.Add(int64(size))
	return err
}

// work flushes and merges until stop is called or an error occurs.
func (s *Set) work() {
	for {
		frozen, ok := s.await()
		if !ok {
			return
		}
		err := s.advance(frozen)
		if errors.Is(err, errStopped) {
			return
		}
		if err == nil {
			continue
		}
		if errors.Is(err, ErrDamaged) {
			err = s.ruin(err)
		}
		s.mu.Lock()
		s.fault = err
		s.changed.Broadcast()
		s.mu.Unlock()
		return
	}
}

// await waits for work and returns the frozen entries, or nil. ok is false when it is time to stop.
func (s *Set) await() (frozen []Entry, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.stopping.Load() && s.frozen == nil && s.merge == nil && toMerge(s.runs) == 0 {
		s.working = false
		s.changed.Broadcast()
		s.changed.Wait()
	}
	s.working = true
	return s.frozen, !s.stopping.Load()
}

// advance does the next step. A flush comes before a merge, because a caller may wait for it.
func (s *Set) advance(frozen []Entry) error {
	if s.merge == nil {
		if n := toMerge(s.runs); n > 0 {
			m, err := newMerge(s.runs, n, s.opt.segmentEntries)
			if err != nil {
				return err
			}
			s.merge = m
		}
	}
	if frozen != nil && (s.merge == nil || len(s.runs) < maxRuns) {
		return s.flush(frozen)
	}
	return s.mergeStep()
}

// flush makes a run of the frozen entries.
func (s *Set) flush(frozen []Entry) error {
	g, err := s.writeSegment(func(w *segmentWriter) error { return w.addAll(frozen) })
	if err != nil {
		return err
	}
	runs := append([]*run{{[]*segment{g}}}, s.runs...)
	then, journal := s.then, s.base.Journal // both may change again is frozen
	done := func() {
		s.frozen = nil
		s.changed.Broadcast()
	}
	if err := s.install(runs, &then, done); err != nil {
		return errors.Join(err, g.close())
	}
	return s.removeJournals(journal, then.Journal)
}

// removeJournals removes the journals numbered from up to, but not including, to.
func (s *Set) removeJournals(from, to uint32) error {
	for ; from < to; from++ {
		err := s.opt.FS.Remove(s.path(journalName(from)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // segments are numbered with journals
			return fmt.Errorf("seen: remove journal: %w", err)
		}
	}
	return nil
}

// writeSegment makes a segment that fill writes.
func (s *Set) writeSegment(fill func(*segmentWriter) error) (*segment, error) {
	number := s.next.Add(1) - 1
	w, err := createSegment(s.opt.FS, s.path(segmentName(number)), number)
	if err != nil {
		return nil, err
	}
	if err := fill(w); err != nil {
		return nil, errors.Join(err, w.abandon())
	}
	g, err := w.finish()
	if err != nil {
		return nil, err
	}
	s.written.Add(g.size)
	disk := g.size
	for _, r := range s.runs {
		for _, g := range r.segments {
			disk += g.size
		}
	}
	s.peak.Store(max(s.peak.Load(), disk))
	return g, syncDir(s.opt.FS, s.dir)
}

// install makes runs the runs of the set, on disk and then in memory, with a new base unless that is nil. It calls
// done under the lock.
func (s *Set) install(runs []*run, base *state, done func()) error {
	s.commits.Lock()
	defer s.commits.Unlock()
	if base != nil {
		s.base = base.clone()
	}
	if err := s.commit(runs); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = runs
	done()
	return nil
}

// mergeStep writes one segment of the merge and drops the inputs' segments that are passed with it.
func (s *Set) mergeStep() error {
	m := s.merge
	pieces := m.next()
	g, err := s.writeSegment(func(w *segmentWriter) error { return m.step(w, pieces, s.stopping.Load) })
	if err != nil {
		return err
	}
	newer := s.runs[:len(s.runs)-m.width-len(m.older)]
	passed := m.pass(g)
	runs := slices.Concat(newer, m.runs(), m.older)
	if err := s.install(runs, nil, func() {}); err != nil {
		return errors.Join(err, g.close())
	}
	m.width = len(m.runs())
	if len(m.pieces) == 0 {
		s.merge = nil
	}
	for _, g := range passed {
		if err := errors.Join(g.close(), s.opt.FS.Remove(g.path)); err != nil {
			return fmt.Errorf("seen: remove run %s: %w", g.path, err)
		}
	}
	return nil
}

// ruin removes the manifest of a set that err shows to be damaged, so that the next Open finds it lost. It returns
// err.
func (s *Set) ruin(err error) error {
	s.opt.Logger.Error("seen: the set is damaged and must be rebuilt", "dir", s.dir, "error", err)
	s.commits.Lock()
	defer s.commits.Unlock()
	s.whole = false
	return errors.Join(err, s.condemn())
}
