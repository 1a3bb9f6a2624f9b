package segments

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/internal/format"
)

// upload is the upload under way.
type upload struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{} // closed at its end
}

// The first and the longest wait after a failed upload. Each wait is twice the one before.
const (
	firstWait = time.Second
	longWait  = 5 * time.Minute
)

// notify reports that a file was closed.
func (s *Segments) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// publish uploads closed files until Close.
func (s *Segments) publish() {
	wait := firstWait
	for last := false; ; {
		err := s.publishAll(s.ctx)
		if last || s.ctx.Err() != nil {
			s.tell(err)
			return
		}
		s.tell(err)
		if err == nil {
			wait = firstWait
			select {
			case <-s.wake:
			case <-s.ending:
				last = true
			case <-s.ctx.Done():
			}
			continue
		}
		timer := s.options.Clock.NewTimer(wait)
		wait = min(2*wait, longWait)
		select {
		case <-timer.C:
		case <-s.ending:
			last = true
		case <-s.ctx.Done():
		}
		timer.Stop()
	}
}

// tell notes whether uploads work, and logs a change.
func (s *Segments) tell(err error) {
	s.mu.Lock()
	was := s.fault
	s.fault = err
	s.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
	case err != nil && (was == nil || was.Error() != err.Error()):
		s.options.Logger.Error("segments are not uploaded, and wait on this disk; it is tried again", "error", err)
	case err == nil && was != nil:
		s.options.Logger.Warn("segments are uploaded again")
	}
}

// publishAll uploads all waiting files and completes the removal of objects.
func (s *Segments) publishAll(ctx context.Context) error {
	owning, cancel := context.WithTimeout(ctx, openTime)
	err := s.own(owning)
	cancel()
	if err == nil {
		err = s.Settle(ctx)
	}
	if err != nil {
		return err
	}
	waiting, err := s.waiting()
	if err != nil {
		return err
	}
	for _, name := range waiting {
		if err := s.publishOne(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// waiting returns the closed files that are not moved, oldest first.
func (s *Segments) waiting() ([]string, error) {
	names, err := s.fs.List(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("segments: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names = slices.DeleteFunc(names, func(name string) bool {
		_, moved := s.list.moved[name]
		return moved || !isSegment(name)
	})
	slices.Sort(names)
	return names, nil
}

// publishOne uploads a file and removes the local copy once the store has it.
func (s *Segments) publishOne(ctx context.Context, name string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u := &upload{name, cancel, make(chan struct{})}
	s.mu.Lock()
	busy := s.held[name] > 0 || s.list.removing[name]
	if !busy {
		s.uploading = u
	}
	s.mu.Unlock()
	if busy {
		return nil
	}
	segment, err := s.put(ctx, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uploading = nil
	defer close(u.done)
	interrupted := s.held[name] > 0
	switch {
	case interrupted || errors.Is(err, fs.ErrNotExist): // it is being removed, or was removed
		return nil
	case err != nil:
		return err
	}
	if err := s.list.note(segment, moved); err != nil {
		return err
	}
	s.options.Logger.Info("a segment is in the object store", "file", name, "bytes", segment.Bytes)
	if err := s.fs.Remove(s.fs.PathJoin(s.dir, name)); err != nil {
		return fmt.Errorf("segments: %w", err)
	}
	return format.SyncDir(s.fs, s.dir)
}

func (s *Segments) put(ctx context.Context, name string) (segment Segment, err error) {
	f, err := s.fs.Open(s.fs.PathJoin(s.dir, name), vfs.SequentialReadsOption)
	if err != nil {
		return segment, fmt.Errorf("segments: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return segment, fmt.Errorf("segments: %w", err)
	}
	sum, err := s.options.Store.Put(ctx, objectName(name), f, info.Size())
	if err != nil {
		return segment, fmt.Errorf("segments: %w", err)
	}
	return segmentOf(name, info.Size(), sum), nil
}

// hold stops the upload of a file and prevents another until release is called.
func (s *Segments) hold(name string) (release func()) {
	s.mu.Lock()
	s.held[name]++
	u := s.uploading
	s.mu.Unlock()
	if u != nil && u.name == name {
		u.cancel()
		<-u.done
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held[name]--; s.held[name] == 0 {
			delete(s.held, name)
		}
	}
}

// remove removes a segment from the store and the cache, whether it was moved or its upload was interrupted.
func (s *Segments) remove(name string) error {
	if err := s.own(s.ctx); err != nil {
		return err
	}
	s.mu.Lock()
	segment := s.list.moved[name]
	err := s.list.note(Segment{Name: name}, removing)
	s.mu.Unlock()
	if err == nil {
		err = s.cache.forget(name, segment.Bytes)
	}
	if err == nil {
		err = s.removeObject(s.ctx, name)
	}
	return err
}

// removeObject removes the object of a segment whose removal is noted.
func (s *Segments) removeObject(ctx context.Context, name string) error {
	if err := s.options.Store.Remove(ctx, objectName(name)); err != nil {
		return fmt.Errorf("segments: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list.note(Segment{Name: name}, removed)
}

// Settle completes interrupted removals. Without an error, the store has no object of a removed segment.
func (s *Segments) Settle(ctx context.Context) error {
	s.mu.Lock()
	names := slices.Sorted(maps.Keys(s.list.removing))
	s.mu.Unlock()
	if len(names) == 0 {
		return nil
	}
	if err := s.own(ctx); err != nil {
		return err
	}
	for _, name := range names {
		if err := s.removeObject(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Check compares the list of segments with the store. It calls report for each difference.
func (s *Segments) Check(ctx context.Context, report func(name, text string)) error {
	there := map[string]int64{}
	for o, err := range s.options.Store.List(ctx, format.CapturesDir+"/") {
		if err != nil {
			return fmt.Errorf("segments: %w", err)
		}
		there[o.Name] = o.Bytes
	}
	s.mu.Lock()
	known, leaving := maps.Clone(s.list.moved), maps.Clone(s.list.removing)
	s.mu.Unlock()
	waiting, err := s.waiting()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		bytes, ok := there[objectName(name)]
		switch {
		case !ok:
			report(name, fmt.Sprintf("is not in %s, to which it was moved", s.options.Store))
		case bytes != known[name].Bytes:
			report(name, fmt.Sprintf("has %d bytes in %s: want %d", bytes, s.options.Store, known[name].Bytes))
		}
		delete(there, objectName(name))
	}
	for name := range leaving {
		delete(there, objectName(name))
	}
	for _, name := range waiting {
		delete(there, objectName(name))
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		report(name, fmt.Sprintf("is in %s and is no segment of this directory: no purge looks into it", s.options.Store))
	}
	return nil
}

// Status is the progress of uploads.
type Status struct {
	Address      string
	Moved        int // segments in the store
	MovedBytes   int64
	Waiting      int // closed files that wait for upload
	WaitingBytes int64
	CacheBytes   int64
	Fault        error // why the last upload failed
}

// Status returns the progress of uploads.
func (s *Segments) Status() (st Status) {
	names, _ := s.waiting() // a folder that cannot be read counts as empty
	st.Waiting = len(names)
	for _, name := range names {
		if info, err := s.fs.Stat(s.fs.PathJoin(s.dir, name)); err == nil {
			st.WaitingBytes += info.Size()
		}
	}
	moves := s.moves()
	st.Address, st.Moved, st.MovedBytes, st.Fault = moves.Address, moves.Moved, moves.MovedBytes, moves.Fault
	st.CacheBytes = s.cache.bytes()
	return st
}

// moves returns the counts of moved segments.
func (s *Segments) moves() (st Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Address, st.Moved, st.Fault = s.options.Store.String(), len(s.list.moved), s.fault
	for _, segment := range s.list.moved {
		st.MovedBytes += segment.Bytes
	}
	return st
}
