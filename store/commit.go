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

// Fetch is a finished fetch: its record, and its captures.
type Fetch struct {
	Record  Record   // *Fetched or *Robots; CommitPages sets its Capture
	Members [][]byte // WARC records in the order of writing, each a whole gzip member; none: no capture
	Main    int      // the member that Capture will name: the response or revisit
	ID      warc.ID  // identity of that record
	// Owes returns how much cash the page passes on. The result becomes the record's Paid. cash is all the cash that
	// the page ever got, including what came during the visit. paid is what it passed on before. nil: the visit
	// hands nothing on.
	Owes func(cash, paid float64) float64

	Partition weburl.Partition // set by CommitPages: of the record
	Number    uint64           // set by CommitPages: its number there
}

// appliedRecord is a record that is applied but not durable yet. Its encoding is records[from:to].
type appliedRecord struct {
	p        weburl.Partition
	n        uint64
	from, to int
	capture  capture
	seeds    bool // it makes pages seeds
	purges   bool // it takes pages down
}

// capture are the members of a record's capture, as Fetch has them.
type capture struct {
	members [][]byte
	main    int
}

// CommitPages makes a group of fetches durable, in order. First it appends all captures to the WARC file and syncs
// the file once. Then it writes the pages to the database, in one batch unless they are large, and syncs the
// database's log with the last batch. A crash in between leaves captures that no row names, and a prefix of the
// pages. If CommitPages returns no error, every page of the group is on disk.
//
// It returns what the records did to the queues, in order. After an error the store refuses every write, and the
// part of the group that was not durable is lost at the next Open. An invalid record is different: it is refused
// and changes nothing.
func (s *Store) CommitPages(group []Fetch) ([]Move, error) {
	for i := range group {
		if err := checkFetch(&group[i]); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	for i := range group {
		s.silence(&group[i])
	}
	if err := s.appendCaptures(group); err != nil {
		return nil, s.fail(err)
	}
	for i := range group {
		s.settlePaid(&group[i])
		group[i].Partition, group[i].Number = s.stage(s.state, group[i].Record, capture{group[i].Members, group[i].Main})
		last := i == len(group)-1
		if !last && s.state.batch.Len() < enoughBatched {
			continue
		}
		if err := s.commitBatch(s.state, last); err != nil {
			return nil, s.fail(err)
		}
	}
	return s.finish(), nil
}

// Later returns the visits that are later than the last visit of their page, in order. All visits must be to
// different pages. Later keeps the rows decoded for CommitPages.
func (s *Store) Later(group []Fetch) ([]Fetch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	ids := make([]pageID, len(group))
	for i := range group {
		r := group[i].Record.(*Fetched)
		ids[i] = pageID{r.home(s.homes), r.URL.Fingerprint()}
	}
	s.state.readRows(ids)
	var later []Fetch
	for i := range group {
		r := group[i].Record.(*Fetched)
		if row := s.state.resolve(r.home(s.homes), r.URL); !row.exists || row.LastFetched < r.At {
			later = append(later, group[i])
		}
	}
	if s.state.err != nil {
		return nil, s.fail(s.state.err)
	}
	return later, nil
}

// settlePaid sets the cash that a visit's page passes on.
func (s *Store) settlePaid(f *Fetch) {
	r, ok := f.Record.(*Fetched)
	if !ok || f.Owes == nil {
		return
	}
	if row := s.state.resolve(r.home(s.homes), r.URL); row.exists {
		r.Paid = f.Owes(row.Cash+r.Collected, row.Paid)
	}
}

// enoughBatched is how many bytes of pages share a batch of the database. Rows that many pages change, of sites and
// totals, are then written once.
const enoughBatched = 1 << 20

func checkFetch(f *Fetch) error {
	switch f.Record.(type) {
	case *Fetched, *Robots:
	default:
		return fmt.Errorf("store: commit: %T: want *Fetched or *Robots", f.Record)
	}
	if len(f.Members) > 0 && (f.Main < 0 || f.Main >= len(f.Members)) {
		return fmt.Errorf("store: commit: main member %d of %d", f.Main, len(f.Members))
	}
	return f.Record.check()
}

// appendCaptures writes and syncs the captures of a group, and sets the pointers in its records.
func (s *Store) appendCaptures(group []Fetch) (err error) {
	written := false
	for i := range group {
		f := &group[i]
		if len(f.Members) == 0 {
			continue
		}
		written = true
		if s.pointers, err = s.warc.Append(s.pointers[:0], f.Members...); err != nil {
			return fmt.Errorf("store: append capture: %w", err)
		}
		at := s.pointers[f.Main]
		capture := Pointer{File: at.File, Offset: at.Offset, Length: at.Length, ID: f.ID}
		switch r := f.Record.(type) {
		case *Fetched:
			r.Capture = capture
		case *Robots:
			r.Capture = capture
		}
	}
	if !written {
		return nil
	}
	if err := s.warc.Sync(); err != nil {
		return fmt.Errorf("store: sync captures: %w", err)
	}
	return nil
}

// Apply applies records without captures, of any partitions, in one atomic batch, and makes it durable. Fetched and
// Robots records must go to CommitPages. Records whose effect depends on more than page and site rows (Scrubbed,
// Relocated, Pruned, Forgotten) must not be mixed with other kinds. Apply returns what the records did to the
// queues, in order. Its errors are those of CommitPages.
func (s *Store) Apply(records ...Record) ([]Move, error) {
	moves := 0
	for _, r := range records {
		switch r := r.(type) {
		case *Fetched, *Robots:
			return nil, fmt.Errorf("store: apply: %T: want it given to CommitPages", r)
		case *Discovered:
			moves += len(r.New) + len(r.Repeats)
		}
		if err := s.checkRecord(r); err != nil {
			return nil, err
		}
		if first := records[0].kind(); r.kind() != first && (looksFurther(first) || looksFurther(r.kind())) {
			return nil, fmt.Errorf("store: apply: %T with %T: want one kind", r, records[0])
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	s.state.moves = slices.Grow(s.state.moves, moves)
	return s.applyAll(records, s.ordersOf(records))
}

// applyAll applies records in one batch, and then notes the orders that they carry out. The caller holds s.mu and has
// checked them.
func (s *Store) applyAll(records []Record, ordered []order) ([]Move, error) {
	s.state.readAhead(records)
	for _, r := range records {
		s.stage(s.state, r, capture{})
	}
	if len(ordered) > 0 {
		known := s.orders.last + uint64(len(ordered))
		if err := s.state.batch.Set(ordersKey(s.options.Crawl), format.AppendValue(nil, known), nil); err != nil {
			return nil, s.fail(err)
		}
	}
	if err := s.commitBatch(s.state, true); err != nil {
		return nil, s.fail(err)
	}
	moves := s.finish()
	if len(ordered) == 0 {
		return moves, nil
	}
	if err := s.orders.note(ordered...); err != nil {
		return nil, s.fail(err)
	}
	return moves, nil
}

// applyTo is Apply for any crawl of the directory. Only records of the open crawl are passed to OnRecord, and only
// they have moves.
func (s *Store) applyTo(crawl string, records ...Record) ([]Move, error) {
	if crawl == s.options.Crawl {
		return s.Apply(records...)
	}
	if s.options.Log != nil {
		return nil, fmt.Errorf("store: crawl %s: a cluster has one crawl, %s", crawl, s.options.Crawl)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	st := newState(format.NewKeyspace(crawl), s.db, s.large)
	defer st.release()
	for _, r := range records {
		s.stage(st, r, capture{})
	}
	err := s.commitBatch(st, true)
	s.forgetApplied()
	if err != nil {
		return nil, s.fail(err)
	}
	return nil, nil
}

// looksFurther reports whether the effect of a kind of record depends on rows of the database before the batch.
func looksFurther(k recordKind) bool {
	switch k {
	case kindScrubbed, kindRelocated, kindPruned, kindForgotten:
		return true
	}
	return false
}

func (s *Store) checkRecord(r Record) error {
	if p := r.home(s.homes); int(p) >= s.dir.partitions {
		return fmt.Errorf("store: %T: partition %d: want one below %d", r, p, s.dir.partitions)
	}
	return r.check()
}

// Replay applies a record that OnRecord was called with, under its number, which must be the partition's next.
// Pointers to captures are stored unchecked. Replaying all records of a crawl into an empty directory with as many
// partitions gives the same keys and values.
func (s *Store) Replay(p weburl.Partition, n uint64, record []byte) error {
	r, err := s.readRecord(p, record, DecodeRecord)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	if next := s.state.peekTotal(p).Records + 1; n != next {
		return fmt.Errorf("store: replay: record %d of partition %d: want %d", n, p, next)
	}
	s.stage(s.state, r, capture{})
	if err := s.commitBatch(s.state, true); err != nil {
		return s.fail(err)
	}
	s.finish()
	return nil
}

// readRecord decodes a record of a partition that another directory made.
func (s *Store) readRecord(p weburl.Partition, record []byte, decode func([]byte) (Record, error)) (Record, error) {
	r, err := decode(record)
	if err != nil {
		return nil, err
	}
	r.settle(p)
	if err := s.learnHomes(p, r); err != nil {
		return nil, err
	}
	if err := s.checkRecord(r); err != nil {
		return nil, err
	}
	if home := r.home(s.homes); home != p {
		return nil, fmt.Errorf("store: replay: %T of partition %d: want one of %d", r, home, p)
	}
	return r, nil
}

// stage applies a record to a crawl's state in its batch, and returns its partition and number. In a directory of a
// cluster, a record that concerns only this directory's files has no number, because no other directory applies it.
func (s *Store) stage(st *state, r Record, c capture) (weburl.Partition, uint64) {
	s.begin(st)
	p := r.home(s.homes)
	if s.options.Log != nil && st.applyHere(p, r) {
		return p, 0
	}
	n := st.peekTotal(p).Records + 1
	from := len(s.records)
	s.records = AppendRecord(s.records, r)
	s.applied = append(s.applied, appliedRecord{p, n, from, len(s.records), c, makesSeeds(r), takesDown(r)})
	st.apply(p, n, r, s.records[from:])
	return p, n
}

// begin makes a batch for a crawl's state, if it has none.
func (s *Store) begin(st *state) {
	if st.batch == nil {
		st.batch = s.db.NewBatch(pebble.WithMaxRetainedSizeBytes(maxScratch))
	}
}

// commitBatch completes a crawl's batch and commits it.
func (s *Store) commitBatch(st *state, sync bool) error {
	batch := st.batch
	if batch == nil {
		return nil
	}
	if st.err == nil {
		if err := s.appendToLog(st); err != nil {
			st.batch = nil
			return errors.Join(err, batch.Close())
		}
	}
	st.flush()
	st.batch = nil
	if err := errors.Join(st.err, s.noteDurable(batch)); err != nil {
		return errors.Join(err, batch.Close())
	}
	if sync {
		return database.Commit(batch, pebble.Sync)
	}
	return database.Commit(batch, pebble.NoSync)
}

// noteDurable adds to a batch how much of the WARC file is on disk, if that has grown.
func (s *Store) noteDurable(batch *pebble.Batch) error {
	d := s.warc.Durable()
	if d == s.durable || d.File == "" {
		return nil
	}
	s.durable = d
	return batch.Set(durableKey(), format.AppendValue(nil, durable(d)), nil)
}

// finish ends a durable group and returns its moves.
func (s *Store) finish() []Move {
	for _, a := range s.applied {
		s.highwater.reached(s.options.Crawl, a.p, a.n)
	}
	if s.options.OnRecord != nil {
		for _, a := range s.applied {
			s.options.OnRecord(a.p, a.n, s.records[a.from:a.to])
		}
	}
	s.forgetApplied()
	if cap(s.records) > maxScratch {
		s.records = nil
	}
	s.state.forget()
	if s.flushed.Swap(false) {
		s.measure()
	}
	moves := s.state.moves
	s.state.moves = nil
	return moves
}

// forgetApplied drops the list of the group's records.
func (s *Store) forgetApplied() {
	clear(s.applied) // so that captures are freed
	s.applied, s.records, s.appended = s.applied[:0], s.records[:0], 0
}

// maxScratch bounds the buffers for encoded records and for a batch that are kept from one group to the next.
const maxScratch = 4 << 20

// writable returns an error if the store refuses writes.
func (s *Store) writable() error {
	switch {
	case s.closed:
		return ErrClosed
	case s.options.ReadOnly:
		return ErrReadOnly
	case s.broken != nil:
		return s.broken
	case s.damaged.Load() != nil:
		return s.fail(fmt.Errorf("store: %w", s.damaged.Load()))
	case s.full.Load():
		return s.fail(fmt.Errorf("store: %w", ErrDiskFull))
	}
	return nil
}

// fail makes the store refuse all further writes: the decoded rows may be ahead of the database.
func (s *Store) fail(err error) error {
	if s.full.Load() && !errors.Is(err, ErrDiskFull) {
		err = fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	if s.broken == nil {
		s.broken = err
		s.options.Logger.Error("store refuses further writes", "error", err)
	}
	return err
}
