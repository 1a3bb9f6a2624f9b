package crawl

import (
	"fmt"

	"freshet/store"
	"freshet/weburl"
)

// rowsAtOnce is the maximum number of rows that one change reads.
const rowsAtOnce = 1024

// A walk visits all pages of a partition, some at a time, and proposes the records that it makes. The crawl goes on
// meanwhile.
type walk struct {
	partition weburl.Partition
	from      weburl.Fingerprint
	look      func(store.PageAt) ([]store.Record, error)
	end       func() error // called after the walk
	yields    bool         // if the crawl ends, the walk is left to the next run
}

// walk begins a walk.
func (s *Shard) walk(w walk) error {
	s.walks[w.partition]++
	end := w.end
	w.end = func() error {
		s.walks[w.partition]--
		return end()
	}
	return s.walkOn(w)
}

// walkOn continues a walk.
func (s *Shard) walkOn(w walk) error {
	if w.yields && s.ending != "" {
		s.walks[w.partition]--
		return nil
	}
	var records []store.Record
	rows := 0
	on := w.end
	for row, err := range s.rows.PagesFrom(w.partition, w.from) {
		if err != nil {
			return fmt.Errorf("crawl: pages of partition %d: %w", w.partition, err)
		}
		if rows == rowsAtOnce || len(records) >= changesAtOnce {
			w.from = row.Fingerprint
			on = func() error { return s.walkOn(w) }
			break
		}
		rows++
		found, err := w.look(row)
		if err != nil {
			return err
		}
		records = append(records, found...)
	}
	return s.propose(records, func() error {
		s.whenFree(on)
		return nil
	})
}
