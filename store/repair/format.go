package repair

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// mendFormat writes the freshet.json of a directory again where it is lost, cannot be read, or says another number of
// partitions than the high-water file, which has a checksum. The number of partitions
// comes from the high-water file, else from the pages in the database, which must be sound. It reports whether it did.
// A directory of another format is left alone.
func mendFormat(fsys vfs.FS, dir string) (mended bool, err error) {
	f, formatErr := format.ReadInfo(fsys, dir)
	if formatErr != nil && !errors.Is(formatErr, store.ErrCorrupt) && !errors.Is(formatErr, fs.ErrNotExist) {
		return false, formatErr
	}
	noted, err := format.ReadHeights(fsys, dir)
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return false, err
	}
	partitions := noted.Partitions
	if formatErr == nil && (partitions == 0 || partitions == f.Partitions) {
		return false, nil
	}
	if partitions < 1 || partitions > weburl.MaxPartitions {
		if partitions, err = partitionsOf(fsys, fsys.PathJoin(dir, format.DatabaseDir)); err != nil {
			return false, err
		}
	}
	return true, format.WriteInfo(fsys, dir, format.Info{Format: format.Current, Partitions: partitions})
}

// likelyPartitions are tried before others.
const likelyPartitions = 16

// partitionsOf returns the number of partitions that agrees with the places of the pages in a database.
func partitionsOf(fsys vfs.FS, path string) (n int, err error) {
	db, err := database.Open(path, database.Options{FS: fsys, ReadOnly: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, fmt.Errorf("store: %w", err)
	}
	defer func() { err = errors.Join(err, database.Close(db)) }()
	type sight struct {
		u weburl.URL
		p weburl.Partition
	}
	var seen []sight
	names, err := format.Crawls(db)
	for _, crawl := range names {
		keys := format.NewKeyspace(crawl)
		from, to := format.Span(keys.Prefix)
		more := database.Scan(db, from, to, func(key, value []byte) error {
			var page store.Page
			rest := key[len(keys.Prefix):]
			if len(rest) != 11 || format.Kind(rest[2]) != format.KeyPage || format.DecodeValue(value, &page) != nil {
				return nil
			}
			if seen = append(seen, sight{page.URL, weburl.Partition(rest[0])<<8 | weburl.Partition(rest[1])}); len(seen) == 4096 {
				return database.ErrStop
			}
			return nil
		})
		err = errors.Join(err, more)
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
	// A host may be in another partition than its domain's (see homes). With half the true number at most half the
	// pages fit.
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
	return 0, fmt.Errorf("%w: %s: no number of partitions fits its pages", store.ErrCorrupt, path)
}
