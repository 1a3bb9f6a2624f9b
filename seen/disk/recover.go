package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"freshet/weburl"
)

// load reads what the manifest names. A file that is missing is fs.ErrNotExist.
func (s *Set) load() error {
	m, err := readManifest(s.opt.FS, s.dir)
	if err != nil {
		return err
	}
	if m.Partitions != s.opt.Partitions {
		return fmt.Errorf("%w: it has %d partitions: want %d", ErrDamaged, m.Partitions, s.opt.Partitions)
	}
	s.next.Store(m.Next)
	for _, numbers := range m.Runs {
		r := &run{}
		s.runs = append(s.runs, r)
		for _, n := range numbers {
			g, err := openSegment(s.opt.FS, s.path(segmentName(n)), n)
			if err != nil {
				return notThere(err)
			}
			r.segments = append(r.segments, g)
		}
	}
	s.state, s.whole = m.state, true
	if err := s.replayJournals(); err != nil {
		return notThere(err)
	}
	return s.renewJournal()
}

// notThere makes damage of a missing file.
func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: a file is missing: %v", ErrDamaged, err) //nolint:errorlint // it is damage, not an absent set
	}
	return err
}

// replayJournals takes in all journals from the manifest's on. The last one may end with a frame whose Keep
// never returned.
func (s *Set) replayJournals() error {
	names, err := s.opt.FS.List(s.dir)
	if err != nil {
		return fmt.Errorf("seen: list %s: %w", s.dir, err)
	}
	var numbers []uint32
	for _, name := range names {
		var n uint32
		if _, err := fmt.Sscanf(name, "%08d.log", &n); err == nil && name == journalName(n) && n >= s.state.Journal {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	if len(numbers) == 0 || numbers[0] != s.state.Journal {
		return fmt.Errorf("seen: journal %s: %w", s.path(journalName(s.state.Journal)), fs.ErrNotExist)
	}
	for i, n := range numbers {
		path := s.path(journalName(n))
		content, err := readFile(s.opt.FS, path, maxJournal)
		if err != nil {
			return fmt.Errorf("seen: read journal: %w", err)
		}
		whole := replay(content, &s.state, s.active.put)
		if whole < len(content) && i < len(numbers)-1 {
			return fmt.Errorf("%w: journal %s at %d: broken frame", ErrDamaged, path, whole)
		}
		if whole < len(content) {
			s.opt.Logger.Warn("seen: journal ends with a broken frame, which is dropped", "journal", path, "at", whole, "bytes", len(content)-whole)
		}
		s.next.Store(max(s.next.Load(), n+1))
	}
	return nil
}

// renewJournal writes the entries of the journals into a new one, makes that the set's journal, and removes all files
// that are not part of the set.
func (s *Set) renewJournal() error {
	if err := s.openJournal(); err != nil {
		return err
	}
	entries := s.active.entries()
	slices.SortFunc(entries, compare)
	if err := s.journalFrame(s.state.Marks, entries); err != nil {
		return err
	}
	s.state.Journal = s.journal.number
	s.base = s.state.clone()
	if err := s.commit(s.runs); err != nil {
		return err
	}
	keep := []string{"LOCK", manifestName, journalName(s.journal.number)}
	for _, r := range s.runs {
		for _, g := range r.segments {
			keep = append(keep, segmentName(g.number))
		}
	}
	return s.removeAllBut(keep)
}

func (s *Set) openJournal() (err error) {
	s.journal, err = createJournal(s.opt.FS, s.dir, s.next.Add(1)-1)
	return err
}

// journalFrame makes entries and marks durable, and how many URLs are known.
func (s *Set) journalFrame(marks map[weburl.Partition]uint64, entries []Entry) error {
	s.frame = appendFrame(s.frame[:0], state{Known: s.state.Known, Marks: marks}, entries)
	s.written.Add(int64(len(s.frame)))
	return s.journal.append(s.frame)
}

// empty makes the set empty, without a manifest. It removes the manifest first, so that a crash on the way leaves a
// lost set and not an incomplete one.
func (s *Set) empty() error {
	if err := s.closeFiles(); err != nil {
		s.opt.Logger.Error("seen: close the lost set", "dir", s.dir, "error", err)
	}
	if err := s.condemn(); err != nil {
		return err
	}
	if err := s.removeAllBut([]string{"LOCK"}); err != nil {
		return err
	}
	s.clear()
	if err := s.openJournal(); err != nil {
		return err
	}
	s.state.Journal = s.journal.number
	s.base = s.state.clone()
	return nil
}

// condemn removes the manifest.
func (s *Set) condemn() error {
	if err := s.opt.FS.Remove(s.path(manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("seen: remove manifest: %w", err)
	}
	return syncDir(s.opt.FS, s.dir)
}

func (s *Set) removeAllBut(keep []string) error {
	names, err := s.opt.FS.List(s.dir)
	if err != nil {
		return fmt.Errorf("seen: list %s: %w", s.dir, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if slices.Contains(keep, name) {
			continue
		}
		if err := s.opt.FS.RemoveAll(s.path(name)); err != nil {
			return fmt.Errorf("seen: remove %s: %w", s.path(name), err)
		}
	}
	return nil
}
