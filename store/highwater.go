package store

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/internal/format"
	"freshet/weburl"
)

// highwater keeps the high-water file.
type highwater struct {
	fs  vfs.FS
	dir string

	writing sync.Mutex // one write of the file at a time

	mu  sync.Mutex
	now format.Heights
}

// reached notes that a record of a partition is on disk.
func (h *highwater) reached(crawl string, p weburl.Partition, n uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.now.Crawls[crawl]
	if all == nil {
		all = make([]uint64, h.now.Partitions)
		h.now.Crawls[crawl] = all
	}
	all[p] = max(all[p], n)
}

// begin resets the height of a partition.
func (h *highwater) begin(crawl string, p weburl.Partition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if all := h.now.Crawls[crawl]; all != nil {
		all[p] = 0
	}
}

// write replaces the file.
func (h *highwater) write() error {
	h.writing.Lock()
	defer h.writing.Unlock()
	h.mu.Lock()
	line := format.AppendLine(nil, h.now)
	h.mu.Unlock()
	return format.WriteHeights(h.fs, h.dir, line)
}

// heightsOf returns the heights of a database. If a partition's totals cannot be read, it takes the noted height.
func (s *Store) heightsOf(noted format.Heights) (h format.Heights, err error) {
	h = format.Heights{Partitions: s.dir.partitions, Crawls: map[string][]uint64{}}
	names, err := s.Crawls()
	if err != nil {
		return h, err
	}
	for _, crawl := range names {
		all := make([]uint64, s.dir.partitions)
		for p := range all {
			var total Counters
			err := s.row(format.NewKeyspace(crawl).AppendKind(nil, weburl.Partition(p), format.KeyCounters), &total)
			switch {
			case errors.Is(err, ErrCorrupt):
				total.Records = noted.Of(crawl, p)
			case err != nil && !errors.Is(err, ErrNotFound):
				return h, err
			}
			all[p] = total.Records
		}
		h.Crawls[crawl] = all
	}
	return h, nil
}

// checkHighwater compares the database with the noted heights. It returns ErrCorrupt if records are missing, unless
// the directory is opened for repair.
func (s *Store) checkHighwater() error {
	noted, err := format.ReadHeights(s.fs, s.dir.path)
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	s.unreadable = err
	if noted.Partitions != 0 && noted.Partitions != s.dir.partitions {
		return fmt.Errorf("%w: %s: %d partitions: %s has %d", ErrCorrupt, s.dir.join(format.InfoFile), s.dir.partitions, format.HighwaterFile, noted.Partitions)
	}
	now, err := s.heightsOf(noted)
	if err != nil {
		return err
	}
	s.rolledBack = noted.Behind(now)
	s.highwater = &highwater{fs: s.fs, dir: s.dir.path, now: now}
	if s.rolledBack == 0 {
		return nil
	}
	if !s.options.Repairing {
		return fmt.Errorf("%w: %s: %d records that were on disk are missing: the database has been rolled back",
			ErrCorrupt, s.dir.join(format.DatabaseDir), s.rolledBack)
	}
	for crawl, all := range noted.Crawls { // so that no number is used twice
		if now.Crawls[crawl] == nil && validName(crawl) {
			now.Crawls[crawl] = make([]uint64, s.dir.partitions)
		}
		for p, n := range all[:min(len(all), s.dir.partitions)] {
			now.Crawls[crawl][p] = max(now.Crawls[crawl][p], n)
		}
	}
	return nil
}

// height returns the highest record number that a partition ever had, lost records included.
func (h *highwater) height(crawl string, p weburl.Partition) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now.Of(crawl, int(p))
}
