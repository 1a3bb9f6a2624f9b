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

// A cluster keeps the records of each partition in a log that several machines store. The owner of a partition
// appends its records there, with their captures, and applies them once the log has them. The other nodes apply
// what they read from the log. So the rows of a partition are the same in every directory that has read as far. One
// thing differs: each directory has its own WARC files, and pointers into those.

// Log is a cluster's log, as a store writes to it. See package log.
type Log interface {
	// Append makes groups of records durable and moves each group's Place behind it. Each group is of another
	// partition. After an error any of them may be durable.
	Append(groups []Group) error
}

// Group is consecutive records of one partition.
type Group struct {
	Partition weburl.Partition
	Place     log.Place // for Log.Append: behind the previous group; for Follow: behind this one
	Data      []byte    // the encoded records with their captures; empty: none
	Seeds     bool      // for Log.Append: the records make pages seeds
	Purges    bool      // for Log.Append: the records take pages down
}

// grouped is the decoded Data of a Group.
type grouped struct {
	First   uint64          `cbor:"1,keyasint"` // number of the first record
	Records []groupedRecord `cbor:"2,keyasint"`

	seeds  bool // they make pages seeds
	purges bool // they take pages down
}

// groupedRecord is a record, and its capture if it has one.
type groupedRecord struct {
	_       struct{} `cbor:",toarray"`
	Record  []byte
	Members [][]byte // WARC records, each a whole gzip member
	Main    int      // which of them the record's Capture names
}

// appendToLog appends the records of a batch to the log, and notes the log's new end.
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

// groupsOf encodes records by partition, in the order of each partition's first record.
func (s *Store) groupsOf(st *state, staged []appliedRecord) (groups []Group, err error) {
	var order []weburl.Partition
	of := map[weburl.Partition]*grouped{}
	for _, a := range staged {
		g := of[a.p]
		if g == nil {
			g = &grouped{First: a.n}
			of[a.p], order = g, append(order, a.p)
		}
		g.seeds, g.purges = g.seeds || a.seeds, g.purges || a.purges
		g.Records = append(g.Records, groupedRecord{
			Record: s.records[a.from:a.to], Members: a.capture.members, Main: a.capture.main,
		})
	}
	for _, p := range order {
		data, err := cbor.Marshal(of[p])
		if err != nil {
			return nil, fmt.Errorf("store: encode records of partition %d: %w", p, err)
		}
		groups = append(groups, Group{Partition: p, Place: st.peekTotal(p).Place, Data: data, Seeds: of[p].seeds, Purges: of[p].purges})
	}
	return groups, nil
}

// followed is a group that was read from the log.
type followed struct {
	place   log.Place
	first   uint64
	records []Record
}

// Follow applies groups of a partition that other nodes appended to the log, in order, and makes them durable. It
// returns the seeds among their pages. It notes purges for FinishPurges. It returns ErrCorrupt if a group is
// damaged or does not continue the partition's records, ErrNewer if a record is of a newer build, and otherwise the
// errors of Apply.
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

func takesDown(r Record) bool {
	switch r.(type) {
	case *Purged, *SitePurged:
		return true
	}
	return false
}

func (s *Store) readGroup(p weburl.Partition, g Group) (f followed, raw []groupedRecord, err error) {
	f.place = g.Place
	if len(g.Data) == 0 {
		return f, nil, nil
	}
	var all grouped
	if err := format.DecodeKnown(g.Data, &all); errors.Is(err, format.ErrUnknown) {
		return f, nil, fmt.Errorf("%w: follow partition %d: group with an unknown field: %s", ErrNewer, p, newerRemedy)
	} else if err != nil {
		return f, nil, fmt.Errorf("%w: follow partition %d: %w", ErrCorrupt, p, err)
	}
	f.first = all.First
	for _, one := range all.Records {
		r, err := s.readRecord(p, one.Record, decodeKnown)
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

// openCluster determines whether the directory belongs to a cluster. It returns ErrCluster if the directory is
// opened with a log and has records that are in no log.
func (s *Store) openCluster() error {
	for p := range weburl.Partition(s.dir.partitions) {
		counters, err := s.Counters(p)
		if s.options.Log == nil && errors.Is(err, ErrCorrupt) { // reading the row reports the damage
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

// OfCluster reports whether the directory belongs to a node of a cluster. Other directories may be ahead of it.
func (s *Store) OfCluster() bool { return s.ofCluster || s.options.Log != nil }

// Partial reports whether the directory need not have all partitions of its cluster.
func (s *Store) Partial() bool { return s.options.Partial }

// CheckAlone returns ErrCluster if the directory belongs to a cluster. Such a directory is written only through the
// cluster's log.
func (s *Store) CheckAlone() error {
	if s.ofCluster && s.options.Log == nil {
		return fmt.Errorf("%w: %s is a node's of a cluster, and is written only by freshet serve --nats", ErrCluster, s.dir.path)
	}
	return nil
}

// applyHere applies a record that concerns only this directory's files: it moves captures, or deletes bytes that no
// row names. It reports whether the record is of that kind.
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

// captureOf returns the pointer to a record's capture; nil for a kind without one.
func captureOf(r Record) *Pointer {
	switch r := r.(type) {
	case *Fetched:
		return &r.Capture
	case *Robots:
		return &r.Capture
	}
	return nil
}

// takeCaptures writes the captures of followed records to this directory's files, and sets the pointers in the
// records.
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

// applyFollowed applies groups whose captures are on disk. Each group is a batch, as it was for its owner, because
// the effect of some records depends on the rows before the batch.
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

// notePurge notes that the bytes of what a record purges must be deleted from this disk.
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
