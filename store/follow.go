package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"freshet/log"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// A cluster keeps the records of each partition in a log that several machines have. Whoever owns a partition appends
// its records there, with their captures, and applies them when the log has them. All others apply what they read of
// the log. So a partition's rows are the same in every directory that has come as far, except for one thing: each
// directory has WARC files of its own, and pointers into those.

// Log is a cluster's log, as a store writes to it. See package log.
type Log interface {
	// Append makes groups of records durable, each of another partition, and moves their Place behind them. After an
	// error any of them may be durable.
	Append(groups []Group) error
}

// Group are records of one partition that follow one another.
type Group struct {
	Partition weburl.Partition
	Place     log.Place // given to Log.Append: behind the group before; given to Follow: behind this one
	Data      []byte    // the records with their captures, as Follow takes them; empty: none
	Seeds     bool      // given to Log.Append: they make seeds of pages
}

// grouped is Data.
type grouped struct {
	First   uint64          `cbor:"1,keyasint"` // number of the first record
	Records []groupedRecord `cbor:"2,keyasint"`

	seeds bool // they make seeds of pages
}

// groupedRecord is a record, and its capture if it has one.
type groupedRecord struct {
	_       struct{} `cbor:",toarray"`
	Record  []byte
	Members [][]byte // WARC records, each a whole gzip member
	Main    int      // which of them the record's Capture names
}

// appendToLog has the log keep what a batch is made of, and notes how far the log has come.
func (s *Store) appendToLog(st *state) error {
	staged := s.applied[s.appended:]
	s.appended = len(s.applied)
	if len(staged) == 0 {
		return nil
	}
	if s.options.Log == nil {
		return s.CheckAlone()
	}
	groups, err := s.groupsOf(st, staged)
	if err != nil {
		return err
	}
	if err := s.options.Log.Append(groups); err != nil {
		return fmt.Errorf("store: append to the log: %w", err)
	}
	for _, g := range groups {
		st.total(g.Partition).Place = g.Place
	}
	return nil
}

// groupsOf encodes records by partition, in the order in which the partitions come first.
func (s *Store) groupsOf(st *state, staged []appliedRecord) (groups []Group, err error) {
	var order []weburl.Partition
	of := map[weburl.Partition]*grouped{}
	for _, a := range staged {
		g := of[a.p]
		if g == nil {
			g = &grouped{First: a.n}
			of[a.p], order = g, append(order, a.p)
		}
		g.seeds = g.seeds || a.seeds
		g.Records = append(g.Records, groupedRecord{
			Record: s.records[a.from:a.to], Members: a.capture.members, Main: a.capture.main,
		})
	}
	for _, p := range order {
		data, err := cbor.Marshal(of[p])
		if err != nil {
			return nil, fmt.Errorf("store: encode records of partition %d: %w", p, err)
		}
		groups = append(groups, Group{Partition: p, Place: st.peekTotal(p).Place, Data: data, Seeds: of[p].seeds})
	}
	return groups, nil
}

// followed is a group that was read from the log.
type followed struct {
	place   log.Place
	first   uint64
	records []Record
}

// Follow applies groups of a partition that others have appended to the log, in order, and makes them durable. It
// returns the seeds among their pages. What a page was purged by is noted for FinishPurges. The errors are ErrCorrupt
// where a group is damaged or does not follow what the partition has, and as Apply's.
func (s *Store) Follow(p weburl.Partition, groups ...Group) (seeds []weburl.URL, err error) {
	var all []followed
	var captures []groupedRecord // of all records, in order
	for _, g := range groups {
		f, raw, err := s.readGroup(p, g)
		if err != nil {
			return nil, err
		}
		all, captures = append(all, f), append(captures, raw...)
		seeds = append(seeds, seedsOf(f.records)...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	next := s.state.peekTotal(p).Records + 1
	for _, f := range all {
		if len(f.records) > 0 && f.first != next {
			return nil, fmt.Errorf("%w: follow partition %d: record %d: want %d", ErrCorrupt, p, f.first, next)
		}
		next += uint64(len(f.records))
	}
	if err := s.takeCaptures(all, captures); err != nil {
		return nil, s.fail(err)
	}
	if err := s.applyFollowed(p, all); err != nil {
		return nil, s.fail(err)
	}
	s.finish()
	return seeds, nil
}

// seedsOf returns the pages that records make seeds.
func seedsOf(records []Record) (seeds []weburl.URL) {
	for _, r := range records {
		if found, ok := r.(*Discovered); ok {
			for _, page := range found.New {
				if page.Seed {
					seeds = append(seeds, page.URL)
				}
			}
		}
	}
	return seeds
}

func makesSeeds(r Record) bool {
	found, ok := r.(*Discovered)
	return ok && slices.ContainsFunc(found.New, func(page NewPage) bool { return page.Seed })
}

func (s *Store) readGroup(p weburl.Partition, g Group) (f followed, raw []groupedRecord, err error) {
	f.place = g.Place
	if len(g.Data) == 0 {
		return f, nil, nil
	}
	var all grouped
	if err := cbor.Unmarshal(g.Data, &all); err != nil {
		return f, nil, fmt.Errorf("%w: follow partition %d: %w", ErrCorrupt, p, err)
	}
	f.first = all.First
	for _, one := range all.Records {
		r, err := s.readRecord(p, one.Record)
		if err == nil && len(one.Members) > 0 && (one.Main < 0 || one.Main >= len(one.Members) || captureOf(r) == nil) {
			err = fmt.Errorf("%w: %T with a capture of %d members, of which %d is the main one", ErrCorrupt, r, len(one.Members), one.Main)
		}
		if err != nil {
			return f, nil, fmt.Errorf("store: follow partition %d: %w", p, err)
		}
		f.records = append(f.records, r)
	}
	return f, all.Records, nil
}

// openCluster finds out whether the directory is a cluster's. It returns ErrCluster if it has records that no log has,
// and is opened with one.
func (s *Store) openCluster() error {
	for p := range weburl.Partition(s.dir.partitions) {
		counters, err := s.Counters(p)
		if s.options.Log == nil && errors.Is(err, ErrCorrupt) { // whoever reads the row is told
			continue
		}
		if err != nil {
			return err
		}
		logged := counters.Place != (log.Place{})
		s.ofCluster = s.ofCluster || logged
		if !logged && counters.Records > 0 && s.options.Log != nil {
			return fmt.Errorf("%w: %s was crawled by one machine alone: give the node an empty directory", ErrCluster, s.dir.path)
		}
	}
	return nil
}

// OfCluster reports whether the directory is a node's of a cluster: others may be ahead of it.
func (s *Store) OfCluster() bool { return s.ofCluster || s.options.Log != nil }

// Partial reports whether the directory need not have all partitions of its cluster.
func (s *Store) Partial() bool { return s.options.Partial }

// CheckAlone returns ErrCluster if the directory is a cluster's: without the cluster's log no record is written.
func (s *Store) CheckAlone() error {
	if s.ofCluster && s.options.Log == nil {
		return fmt.Errorf("%w: %s is a node's of a cluster, and is written only by freshet serve --nats", ErrCluster, s.dir.path)
	}
	return nil
}

// applyHere applies a record that changes nothing but where captures lie, or takes off the disk what rows say no more.
// It reports whether the record is of that kind.
func (st *state) applyHere(p weburl.Partition, r Record) bool {
	switch r := r.(type) {
	case *Relocated:
		st.relocated(p, r)
	case *Scrubbed:
		st.scrubbed(p)
	default:
		return false
	}
	return true
}

// captureOf returns where a record says that its capture lies; nil if it is of a kind that has none.
func captureOf(r Record) *Pointer {
	switch r := r.(type) {
	case *Fetched:
		return &r.Capture
	case *Robots:
		return &r.Capture
	}
	return nil
}

// takeCaptures writes the captures of followed records to this directory's files, and points the records there.
func (s *Store) takeCaptures(all []followed, captures []groupedRecord) (err error) {
	for _, f := range all {
		for _, r := range f.records {
			c := captures[0]
			captures = captures[1:]
			if len(c.Members) == 0 {
				continue
			}
			if s.pointers, err = s.warc.Append(s.pointers[:0], c.Members...); err != nil {
				return fmt.Errorf("store: append capture: %w", err)
			}
			at, to := captureOf(r), s.pointers[c.Main]
			*at = Pointer{File: to.File, Offset: to.Offset, Length: to.Length, ID: at.ID}
		}
	}
	if err := s.warc.Sync(); err != nil {
		return fmt.Errorf("store: sync captures: %w", err)
	}
	return nil
}

// applyFollowed applies groups whose captures are on disk, each in a batch of its own, as its owner did: what some
// records do depends on the rows before the batch.
func (s *Store) applyFollowed(p weburl.Partition, all []followed) error {
	st := s.state
	for i, f := range all {
		for _, r := range f.records {
			s.stage(st, r, capture{})
			s.notePurge(st, p, r)
		}
		s.appended = len(s.applied) // the log has them
		s.begin(st)
		st.total(p).Place = f.place
		if err := s.commitBatch(st, i == len(all)-1); err != nil {
			return err
		}
	}
	return nil
}

// notePurge notes that bytes of what a record takes down are to be taken off this disk.
func (s *Store) notePurge(st *state, p weburl.Partition, r Record) {
	purge := Purging{Crawl: s.options.Crawl}
	switch r := r.(type) {
	case *SitePurged:
		purge.Site, purge.At = r.Site, r.At
	case *Purged:
		row := st.page(p, r.Fingerprint)
		if !r.URL.IsZero() {
			row = st.resolve(p, r.URL)
		}
		if !row.exists || st.peekSite(p, row.URL.Site()).Purged {
			return
		}
		purge.URL, purge.At = row.URL, r.At
	default:
		return
	}
	if err := st.batch.Set(purge.key(), format.AppendValue(nil, &purge), nil); err != nil {
		st.fail(err)
	}
}
