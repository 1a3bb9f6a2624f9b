package retain

import (
	"context"
	"slices"

	"freshet/store"
	"freshet/store/internal/format"
	"freshet/store/warc"
)

// Salvage repairs WARC files that cannot be read to their end. It copies what can be read into a new file,
// including captures beyond the damage that rows point to, and points the rows to the copies. Then it calls aside
// with the numbers of records copied and captures lost. aside moves the file out of the directory.
func Salvage(ctx context.Context, s *store.Store, aside func(file string, copied, lost int) error) error {
	d := directory{s.Inside()}
	files, err := d.closedFiles()
	if err != nil {
		return err
	}
	for _, file := range files {
		members, err := d.members(ctx, d.Path(format.CapturesDir, file), nothing)
		if err == nil {
			continue
		}
		if !store.IsLost(err) {
			return err
		}
		copied, lost, err := d.salvage(ctx, file, members)
		if err == nil {
			err = aside(file, copied, lost)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// salvage copies what can be read of a damaged file into a new one. members are the records before the damage.
func (s directory) salvage(ctx context.Context, file string, members []member) (copied, lost int, err error) {
	places, err := s.placesIn(ctx, []string{file})
	if err != nil {
		return 0, 0, err
	}
	rw := &rewriting{directory: s, file: file, places: places[file], copies: map[int64]warc.Pointer{}}
	lengths, err := s.lengthsIn(ctx, file)
	if err != nil {
		return 0, 0, err
	}
	stay := map[warc.ID]bool{}
	for i := range members {
		stay[members[i].group] = true
		delete(lengths, members[i].offset)
	}
	for offset, length := range lengths {
		at := warc.Pointer{File: file, Offset: offset, Length: length}
		record, err := warc.ReadAt(s.FS, s.Path(format.CapturesDir), at)
		if err != nil {
			lost++
			continue
		}
		members = append(members, member{offset: offset, length: length, id: record.ID, group: record.ID})
		stay[record.ID] = true
	}
	slices.SortFunc(members, func(a, b member) int { return int(a.offset - b.offset) })
	if err := rw.copy(ctx, members, stay); err != nil {
		return 0, 0, err
	}
	return len(members), lost, rw.point()
}

// lengthsIn returns the lengths of the captures in a file that rows point to, by offset.
func (s directory) lengthsIn(ctx context.Context, file string) (map[int64]int64, error) {
	lengths := map[int64]int64{}
	return lengths, s.captures(ctx, s.DB, func(at pointing) error {
		if at.capture.File == file {
			lengths[at.capture.Offset] = at.capture.Length
		}
		return nil
	})
}
