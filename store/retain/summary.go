package retain

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
)

// summary is stored for a closed WARC file, so that the file is read only once. It is outside of every crawl, and
// is rebuilt if it is missing.
type summary struct {
	Size   int64  `cbor:"1,keyasint,omitempty"` // bytes
	Main   int64  `cbor:"2,keyasint,omitempty"` // … of the records that rows may point to
	Refers []byte `cbor:"3,keyasint,omitempty"` // references of its revisits, 8 bytes each, sorted
}

func summaryKey(file string) []byte {
	return format.Outside("file/" + file)
}

// summaryOf returns a closed file's summary and stores it if it is new.
func (s directory) summaryOf(ctx context.Context, file string) (sum summary, err error) {
	err = format.Read(s.DB, summaryKey(file), &sum)
	if !errors.Is(err, store.ErrNotFound) {
		return sum, err
	}
	path := s.FS.PathJoin(s.Path(format.CapturesDir), file)
	info, err := s.FS.Stat(path)
	if err != nil {
		return sum, err
	}
	members, err := s.members(ctx, path, nothing)
	if err != nil {
		return sum, err
	}
	sum.Size = info.Size()
	var refers []uint64
	for i := range members {
		if m := &members[i]; m.main {
			sum.Main += m.length
			refers = append(refers, m.refers)
		}
	}
	slices.Sort(refers)
	for _, n := range slices.Compact(refers) {
		if n != 0 {
			sum.Refers = binary.BigEndian.AppendUint64(sum.Refers, n)
		}
	}
	return sum, database.Set(s.DB, summaryKey(file), format.AppendValue(nil, &sum), pebble.NoSync)
}

// eachReference calls fn for the references of all revisits in every WARC file. It reads the open file, and closed
// files without a summary.
func (s directory) eachReference(ctx context.Context, fn func(file string, n uint64)) error {
	paths, err := s.Files()
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, path := range paths {
		file := s.FS.PathBase(path)
		if strings.HasSuffix(file, ".open") {
			members, err := s.members(ctx, path, nothing)
			// the open file may end in a capture whose page is not stored yet
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				return err
			}
			for i := range members {
				fn(file, members[i].refers)
			}
			continue
		}
		there[file] = true
		sum, err := s.summaryOf(ctx, file)
		if err != nil {
			return err
		}
		for i := 0; i+8 <= len(sum.Refers); i += 8 {
			fn(file, binary.BigEndian.Uint64(sum.Refers[i:]))
		}
	}
	return s.forgetSummaries(func(file string) bool { return !there[file] })
}

// nothing is a search for no target.
func nothing(string) bool { return false }

// forgetSummaries deletes the summaries of deleted files.
func (s directory) forgetSummaries(gone func(file string) bool) error {
	batch := s.DB.NewBatch()
	from, to := format.Span(summaryKey(""))
	err := database.Scan(s.DB, from, to, func(key, _ []byte) error {
		if gone(string(key[len(from):])) {
			return batch.Delete(key, nil)
		}
		return nil
	})
	if err != nil {
		return errors.Join(err, batch.Close())
	}
	return database.Commit(batch, pebble.NoSync)
}
