package store

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/weburl"
)

// MendFormat writes the freshet.json of a directory again where it is lost, cannot be read, or says another number of
// partitions than the high-water file, which has a checksum. The number of partitions
// comes from the high-water file, else from the pages in the database, which must be sound. It reports whether it did.
// A directory of another format is left alone.
func MendFormat(fsys vfs.FS, dir string) (mended bool, err error) {
	d := &directory{fs: fsys, path: dir}
	f, formatErr := readFormat(fsys, d.join(formatFile))
	if formatErr != nil && !errors.Is(formatErr, ErrCorrupt) && !errors.Is(formatErr, fs.ErrNotExist) {
		return false, formatErr
	}
	noted, _, err := readHighwater(fsys, d.join(highwaterFile))
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return false, err
	}
	partitions := noted.Partitions
	if formatErr == nil && (partitions == 0 || partitions == f.Partitions) {
		return false, nil
	}
	if partitions < 1 || partitions > weburl.MaxPartitions {
		if partitions, err = partitionsOf(fsys, d.join(dbDir)); err != nil {
			return false, err
		}
	}
	return true, d.writeFormat(format{Format, partitions})
}

// likelyPartitions are tried before others.
const likelyPartitions = 16

// partitionsOf returns the number of partitions by which the pages of a database lie where they do.
func partitionsOf(fsys vfs.FS, path string) (n int, err error) {
	defer recoverFatal(&err)
	db, err := pebble.Open(path, &pebble.Options{FS: fsys, ReadOnly: true, Logger: dbLogger{Options{}.withDefaults().Logger}})
	if err != nil {
		return 0, fmt.Errorf("store: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	type sight struct {
		u weburl.URL
		p weburl.Partition
	}
	var seen []sight
	names, err := crawls(db)
	for _, crawl := range names {
		keys := newKeyspace(crawl)
		from, to := span(keys.prefix)
		more := scan(db, from, to, func(key, value []byte) error {
			var page Page
			rest := key[len(keys.prefix):]
			if len(rest) != 11 || keyKind(rest[2]) != keyPage || decodeValue(value, &page) != nil {
				return nil
			}
			if seen = append(seen, sight{page.URL, weburl.Partition(rest[0])<<8 | weburl.Partition(rest[1])}); len(seen) == 4096 {
				return errStop
			}
			return nil
		})
		if more != nil && !errors.Is(more, errStop) {
			err = errors.Join(err, more)
		}
	}
	if err != nil {
		return 0, err
	}
	fits := func(n, strays int) bool {
		for _, s := range seen {
			if s.u.Partition(n) == s.p {
				continue
			}
			if strays--; strays < 0 {
				return false
			}
		}
		return true
	}
	// A host may lie elsewhere than its domain says (see homes). Of half the true number, half the pages fit at most.
	for _, strays := range []int{0, len(seen) / 4} {
		if fits(likelyPartitions, strays) {
			return likelyPartitions, nil
		}
		for n := 1; n <= weburl.MaxPartitions; n++ {
			if fits(n, strays) {
				return n, nil
			}
		}
	}
	return 0, fmt.Errorf("%w: %s: no number of partitions fits its pages", ErrCorrupt, path)
}
