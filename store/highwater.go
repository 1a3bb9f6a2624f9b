package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"strconv"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/internal/format"
	"freshet/weburl"
)

// The high-water file says how many records each partition of each crawl had on disk at some moment: at the last
// heartbeat or the last close. A database that has fewer has been rolled back, by a log that was cut or an older copy of a file.
// The file also repeats the number of partitions. It is a line: the CRC-32C of what follows it, a space, and JSON.

// heights are the numbers of the partitions' last records.
type heights struct {
	Partitions int                 `json:"partitions"`
	Crawls     map[string][]uint64 `json:"crawls"` // by partition
}

// highwater keeps the file.
type highwater struct {
	fs   vfs.FS
	path string

	mu  sync.Mutex
	now heights
}

// readHighwater reads the file; found is false where there is none. The errors are ErrCorrupt and the file system's.
func readHighwater(fsys vfs.FS, path string) (h heights, found bool, err error) {
	raw, err := format.ReadFile(fsys, path, 1<<28)
	if errors.Is(err, fs.ErrNotExist) {
		return h, false, nil
	} else if err != nil {
		return h, false, fmt.Errorf("store: %w", err)
	}
	sum, text, ok := bytes.Cut(bytes.TrimSuffix(raw, []byte("\n")), []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if !ok || err != nil || crc32.Checksum(text, castagnoli) != uint32(want) || json.Unmarshal(text, &h) != nil {
		return heights{}, true, fmt.Errorf("%w: %s: the checksum differs", ErrCorrupt, path)
	}
	return h, true, nil
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

// write puts the file in the place of the one before.
func (h *highwater) write() error {
	h.mu.Lock()
	text, err := json.Marshal(h.now)
	h.mu.Unlock()
	if err != nil {
		return err
	}
	raw := append(fmt.Appendf(nil, "%08x %s", crc32.Checksum(text, castagnoli), text), '\n')
	if err := errors.Join(format.WriteFile(h.fs, h.path+".new", raw), h.fs.Rename(h.path+".new", h.path)); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// heightsOf returns what a database has; of totals that cannot be read, what was noted.
func (s *Store) heightsOf(noted heights) (h heights, err error) {
	h = heights{Partitions: s.dir.partitions, Crawls: map[string][]uint64{}}
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
				total.Records = noted.of(crawl, p)
			case err != nil && !errors.Is(err, ErrNotFound):
				return h, err
			}
			all[p] = total.Records
		}
		h.Crawls[crawl] = all
	}
	return h, nil
}

// behind returns how many records of h another has not.
func (h *heights) behind(other heights) (lost uint64) {
	for crawl, all := range h.Crawls {
		had := other.Crawls[crawl]
		for p, n := range all {
			if p >= len(had) {
				lost += n
			} else if n > had[p] {
				lost += n - had[p]
			}
		}
	}
	return lost
}

// checkHighwater compares the database with what it has had. Its error is ErrCorrupt if records are missing, unless the
// directory is opened to be repaired.
func (s *Store) checkHighwater() error {
	path := s.dir.join(format.HighwaterFile)
	noted, _, err := readHighwater(s.fs, path)
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
	s.rolledBack = noted.behind(now)
	s.highwater = &highwater{fs: s.fs, path: path, now: now}
	if s.rolledBack == 0 {
		return nil
	}
	if !s.options.Repairing {
		return fmt.Errorf("%w: %s: %d records that were on disk are missing: the database has been rolled back",
			ErrCorrupt, s.dir.join(format.DatabaseDir), s.rolledBack)
	}
	for crawl, all := range noted.Crawls { // no number is given twice
		if now.Crawls[crawl] == nil && validName(crawl) {
			now.Crawls[crawl] = make([]uint64, s.dir.partitions)
		}
		for p, n := range all[:min(len(all), s.dir.partitions)] {
			now.Crawls[crawl][p] = max(now.Crawls[crawl][p], n)
		}
	}
	return nil
}

// of returns the number of a partition's last record.
func (h *heights) of(crawl string, p int) uint64 {
	if all := h.Crawls[crawl]; p < len(all) {
		return all[p]
	}
	return 0
}

// height returns the number that a partition's records have come to, also those that were lost.
func (h *highwater) height(crawl string, p weburl.Partition) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now.of(crawl, int(p))
}
