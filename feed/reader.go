package feed

import (
	"fmt"
	"slices"

	"freshet/store"
	"freshet/weburl"
)

// Entry is an entry of the change log and its partition.
type Entry struct {
	Partition weburl.Partition
	store.Change
}

// A Reader reads the change log from a cursor on, partition by partition. The log holds only the last entry of each
// page, so a page that has changed twice in between comes once. Not for concurrent use.
type Reader struct {
	store *store.Store
	site  weburl.Site // "": all
	parts []weburl.Partition
	turn  int // of parts: where the next batch begins
	at    Cursor
	floor Cursor // as of a Place
}

// NewReader returns a reader from the text of a place or cursor on: "" is from now, Start from the oldest change
// kept. With a site it reads only entries of that site, and leaves the positions of other partitions unchanged. Its
// errors are ErrCursor, ErrBehind, in a cluster ErrNotYet and ErrPartial, and those of the store.
func NewReader(s *store.Store, since string, site weburl.Site) (r *Reader, err error) {
	if s.Partial() {
		return nil, ErrPartial
	}
	r = &Reader{store: s, site: site, at: make(Cursor, s.Partitions()), floor: make(Cursor, s.Partitions())}
	if since != "" && since != Start {
		place, err := ParsePlace(since, s.Partitions())
		if err != nil {
			return nil, err
		}
		r.at = place.At
		copy(r.floor, place.floor)
	}
	if site != "" {
		r.parts = []weburl.Partition{s.Home(site)}
	}
	for p := range s.Partitions() {
		p := weburl.Partition(p)
		if site == "" {
			r.parts = append(r.parts, p)
		}
		total, err := s.Counters(p)
		switch {
		case err != nil:
			return nil, err
		case since == "":
			r.at[p] = total.Records
		case since == Start:
			r.floor[p] = total.Horizon
		case max(r.at[p], r.floor[p]) > total.Records && s.OfCluster():
			return nil, fmt.Errorf("%w: partition %d is at record %d of %d", ErrNotYet, p, total.Records, max(r.at[p], r.floor[p]))
		case max(r.at[p], r.floor[p]) > total.Records:
			return nil, fmt.Errorf("%w: it is ahead of partition %d", ErrBehind, p)
		}
	}
	for _, p := range r.parts {
		if err := r.within(p); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// within returns an error if the log no longer has all changes after the reader's place.
func (r *Reader) within(p weburl.Partition) error {
	total, err := r.store.Counters(p)
	if err == nil && total.Horizon > max(r.at[p], r.floor[p]) {
		err = fmt.Errorf("%w: record %d of partition %d, which goes back to %d", ErrBehind, r.at[p], p, total.Horizon)
	}
	return err
}

// Cursor returns where the reader is: behind all that Next has returned.
func (r *Reader) Cursor() Cursor { return slices.Clone(r.at) }

// Place returns the reader's place, from which another reader goes on as this one would.
func (r *Reader) Place() Place { return Place{r.Cursor(), slices.Clone(r.floor)} }

// Behind returns the number of records that the reader has not read. It is a bound of the entries left,
// because a record that changes no page has none.
func (r *Reader) Behind() (records uint64, err error) {
	for _, p := range r.parts {
		total, err := r.store.Counters(p)
		if err != nil {
			return 0, err
		}
		records += total.Records - min(r.at[p], total.Records)
	}
	return records, nil
}

// Next returns up to about n further entries, or none if there are none yet. The error is ErrBehind if the log forgot
// ends of pages before they were read.
func (r *Reader) Next(n int) (entries []Entry, err error) {
	for range r.parts {
		entries, err = r.read(entries, r.parts[r.turn], n)
		if err != nil || len(entries) >= n {
			return entries, err
		}
		r.turn = (r.turn + 1) % len(r.parts)
	}
	return entries, nil
}

// read adds entries of a partition until there are n, or no more. Those of other sites do not count.
func (r *Reader) read(entries []Entry, p weburl.Partition, n int) ([]Entry, error) {
	for len(entries) < n {
		before, err := r.store.Counters(p)
		if err != nil || before.Records == r.at[p] {
			return entries, err
		}
		changes, err := r.store.Changes(p, r.at[p], n)
		if err != nil {
			return entries, err
		}
		if err := r.within(p); err != nil {
			return entries, err
		}
		for _, c := range changes {
			if r.at[p] = c.Record; r.site == "" || c.URL.Site() == r.site {
				entries = append(entries, Entry{p, c})
			}
			if len(entries) == n {
				return entries, nil
			}
		}
		if len(changes) < n { // that was all up to then
			r.at[p] = max(r.at[p], before.Records)
			return entries, nil
		}
	}
	return entries, nil
}
