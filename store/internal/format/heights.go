package format

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Heights is the content of the high-water file: how many records each partition of each crawl had on disk at the
// last heartbeat or close. A database with fewer records was rolled back, by a cut log or an older copy of a file.
// Heights also repeats the number of partitions. The file is one line of AppendLine.
type Heights struct {
	Partitions int                 `json:"partitions"`
	Crawls     map[string][]uint64 `json:"crawls"` // by partition, the numbers of the last records
}

// ReadHeights reads the high-water file of a directory. It returns zero if there is none. The errors are ErrCorrupt
// and those of the file system.
func ReadHeights(fsys vfs.FS, dir string) (h Heights, err error) {
	path := fsys.PathJoin(dir, HighwaterFile)
	raw, err := ReadFile(fsys, path, 1<<28)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	} else if err != nil {
		return h, fmt.Errorf("store: %w", err)
	}
	if !DecodeLine(raw, &h) {
		return Heights{}, fmt.Errorf("%w: %s: the checksum differs", ErrCorrupt, path)
	}
	return h, nil
}

// WriteHeights replaces the high-water file.
func WriteHeights(fsys vfs.FS, dir string, line []byte) error {
	path := fsys.PathJoin(dir, HighwaterFile)
	if err := errors.Join(WriteFile(fsys, path+".new", line), fsys.Rename(path+".new", path)); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// Of returns the number of a partition's last record.
func (h *Heights) Of(crawl string, p int) uint64 {
	if all := h.Crawls[crawl]; p < len(all) {
		return all[p]
	}
	return 0
}

// Behind returns how many records of h are missing in other.
func (h *Heights) Behind(other Heights) (lost uint64) {
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
