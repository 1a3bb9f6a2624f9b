package store

import (
	"errors"
	"slices"

	"freshet/store/internal/format"
	"freshet/store/warc"
)

// files replaces the WARC files that are damaged.
func (r *repair) files() error {
	names, err := r.closedFiles()
	if err != nil {
		return err
	}
	for _, name := range names {
		path := r.fs.PathJoin(r.dir.join(format.CapturesDir), name)
		members, err := r.members(r.ctx, path, nothing)
		if err == nil {
			continue
		}
		if !errors.Is(err, warc.ErrCorrupt) && !errors.Is(err, ErrCorrupt) {
			return err
		}
		if err := r.salvage(name, path, members); err != nil {
			return err
		}
	}
	return nil
}

// salvage copies what can be read of a damaged file into a new one and sets the file aside.
func (r *repair) salvage(name, path string, members []member) error {
	places, err := r.placesIn(r.ctx, []string{name})
	if err != nil {
		return err
	}
	rw := &rewriting{Store: r.Store, file: name, places: places[name], copies: map[int64]warc.Pointer{}}
	lengths, err := r.lengthsIn(name)
	if err != nil {
		return err
	}
	stay := map[warc.ID]bool{}
	for i := range members {
		stay[members[i].group] = true
		delete(lengths, members[i].offset)
	}
	lost := 0
	for offset, length := range lengths {
		record, err := warc.ReadAt(r.fs, r.dir.join(format.CapturesDir), warc.Pointer{File: name, Offset: offset, Length: length})
		if err != nil {
			lost++
			continue
		}
		members = append(members, member{offset: offset, length: length, id: record.ID, group: record.ID})
		stay[record.ID] = true
	}
	slices.SortFunc(members, func(a, b member) int { return int(a.offset - b.offset) })
	if err := rw.copy(r.ctx, members, stay); err != nil {
		return err
	}
	if err := rw.point(); err != nil {
		return err
	}
	if err := r.setFileAside(name, path); err != nil {
		return err
	}
	r.say(name, "damaged: %d records were copied out of it, %d captures that rows point at are lost; set aside", len(members), lost)
	return nil
}

// lengthsIn returns the lengths of the captures of a file that rows point at, by offset.
func (r *repair) lengthsIn(name string) (map[int64]int64, error) {
	lengths := map[int64]int64{}
	return lengths, r.captures(r.ctx, r.db, func(at pointing) error {
		if at.capture.File == name {
			lengths[at.capture.Offset] = at.capture.Length
		}
		return nil
	})
}

func (r *repair) setFileAside(name, path string) error {
	dir := r.dir.join(format.AsideDir)
	if err := format.MakeDir(r.fs, dir); err != nil {
		return err
	}
	if err := r.fs.Rename(path, r.fs.PathJoin(dir, name)); err != nil {
		return err
	}
	return errors.Join(format.SyncDir(r.fs, dir), format.SyncDir(r.fs, r.dir.join(format.CapturesDir)))
}
