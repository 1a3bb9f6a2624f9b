package retain

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"freshet/store"
	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// A WARC file is never changed. To delete captures from one, the others are copied into a new file, which is synced
// and closed. Then records (Relocated) point the rows to the copies. Then the old file is deleted. Before the last
// step both copies are whole, so a crash loses nothing. It may leave a file with captures that no row names; a
// later rewrite deletes that file.

// member is what a rewrite needs to know about a record of a WARC file.
type member struct {
	offset, length int64
	id, group      warc.ID // group: the ID of the capture's response, or the member's own
	refers         uint64  // of a revisit: the reference of what it refers to; else 0
	names          uint64  // of others: the reference of its ID
	payload        uint64  // … and of its payload's digest
	main           bool    // a response or revisit: rows may point to it
	hit            bool    // the caller searches for its target
}

// reference returns the number by which a revisit is matched with its target: the first 64 bits of the target's ID.
// For revisits that name no ID it is of the payload's digest. 0 means none.
func reference(id []byte) uint64 { return binary.BigEndian.Uint64(id) }

// members returns the records of a WARC file in order, without those that describe the file. It reads the whole
// file and takes some hundred bytes a record. With an error it returns the records before the fault.
func (s directory) members(ctx context.Context, path string, hit func(target string) bool) (all []member, err error) {
	r, err := s.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		record, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return all, err
		}
		m := memberOf(record)
		m.hit = hit(record.TargetURI)
		described := record.Type == warc.Warcinfo
		m.offset = r.Offset()
		if m.length, err = r.Finish(); err != nil {
			return all, err
		}
		if m.length == 0 {
			return nil, fmt.Errorf("%w: %s: records share a gzip member, which cannot be parted", store.ErrCorrupt, s.FS.PathBase(path))
		}
		if !described {
			all = append(all, m)
		}
	}
}

func memberOf(record *warc.Record) member {
	m := member{id: record.ID, group: record.ConcurrentTo}
	switch record.Type {
	case warc.Request, warc.Metadata:
	default:
		m.main, m.group = true, record.ID
	}
	if m.group == (warc.ID{}) {
		m.group = record.ID
	}
	if record.Type != warc.Revisit {
		m.names, m.payload = reference(record.ID[:]), reference(record.PayloadDigest[:])
	} else if m.refers = reference(record.RefersTo[:]); m.refers == 0 {
		m.refers = reference(record.PayloadDigest[:])
	}
	return m
}

// rewriting is the replacement of one file.
type rewriting struct {
	directory
	file   string
	places map[int64][]place // by offset
	copies map[int64]warc.Pointer
}

// rewrite replaces closed files by files with only the captures that must stay: rows point to them, or a revisit
// record elsewhere refers to them, and drop does not select them. It leaves a file as it is if less than part of it
// would become free. It returns how many files were replaced and how many bytes became free. The caller holds
// Alone.
func (s directory) rewrite(ctx context.Context, files []string, drop func(target string) bool, part float64) (done int, freed int64, err error) {
	places, err := s.placesIn(ctx, files)
	if err != nil {
		return 0, 0, err
	}
	for _, file := range files {
		r := &rewriting{directory: s, file: file, places: places[file], copies: map[int64]warc.Pointer{}}
		rewritten, n, err := r.run(ctx, drop, part)
		if err != nil {
			return done, freed, fmt.Errorf("store: rewrite %s: %w", file, err)
		}
		if rewritten {
			done++
		}
		freed += n
	}
	return done, freed, nil
}

// placesIn finds the rows that point into the given files, by file and offset.
func (s directory) placesIn(ctx context.Context, files []string) (map[string]map[int64][]place, error) {
	found := map[string]map[int64][]place{}
	for _, file := range files {
		found[file] = map[int64][]place{}
	}
	snapshot := s.DB.NewSnapshot()
	err := s.captures(ctx, snapshot, func(at pointing) error {
		if in := found[at.capture.File]; in != nil {
			in[at.capture.Offset] = append(in[at.capture.Offset], at.place)
		}
		return nil
	})
	return found, errors.Join(err, snapshot.Close())
}

func (r *rewriting) run(ctx context.Context, drop func(target string) bool, part float64) (done bool, freed int64, err error) {
	path := r.FS.PathJoin(r.Path(format.CapturesDir), r.file)
	before, err := r.FS.Stat(path)
	if err != nil {
		return false, 0, err
	}
	members, err := r.members(ctx, path, drop)
	if err != nil {
		return false, 0, err
	}
	stay, err := r.staying(ctx, members)
	if err != nil {
		return false, 0, err
	}
	for i := range members {
		if !stay[members[i].group] {
			freed += members[i].length
		}
	}
	if float64(freed) < part*float64(before.Size()) {
		return false, 0, nil
	}
	if err := r.copy(ctx, members, stay); err != nil {
		return false, 0, err
	}
	if err := r.point(); err != nil {
		return false, 0, err
	}
	return true, freed, r.Replaced(r.file, r.copies)
}

// staying returns the groups that are to be copied.
func (r *rewriting) staying(ctx context.Context, members []member) (map[warc.ID]bool, error) {
	stay := map[warc.ID]bool{}
	for i := range members {
		if m := &members[i]; len(r.places[m.offset]) > 0 {
			stay[m.group] = true
		}
	}
	pinned, err := r.pinned(ctx, members, stay)
	if err != nil {
		return nil, err
	}
	for i := range members {
		if m := &members[i]; m.main && (pinned[m.names] || pinned[m.payload]) {
			stay[m.group] = true
		}
	}
	for i := range members {
		if members[i].hit {
			delete(stay, members[i].group)
		}
	}
	return stay, nil
}

// pinned returns the captures that no row names but a revisit refers to: one that stays in the file, or any in
// another file.
func (r *rewriting) pinned(ctx context.Context, members []member, stay map[warc.ID]bool) (map[uint64]bool, error) {
	loose := map[uint64]bool{}
	for i := range members {
		if m := &members[i]; m.main && !stay[m.group] {
			loose[m.names], loose[m.payload] = true, true
		}
	}
	delete(loose, 0)
	pinned := map[uint64]bool{}
	for i := range members {
		if m := &members[i]; stay[m.group] && loose[m.refers] {
			pinned[m.refers] = true
		}
	}
	if len(loose) == 0 {
		return pinned, nil
	}
	err := r.eachReference(ctx, func(file string, n uint64) {
		if file != r.file && loose[n] {
			pinned[n] = true
		}
	})
	return pinned, err
}

// copy writes the members that stay into new files, which it closes.
func (r *rewriting) copy(ctx context.Context, members []member, stay map[warc.ID]bool) (err error) {
	w, err := r.NewFiles("_kept") // the crawl's own files never have this suffix
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var group [][]byte
	var from []int64
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		to, err := w.Append(nil, group...)
		for i := range to {
			r.copies[from[i]] = to[i]
		}
		group, from = group[:0], from[:0]
		return err
	}
	var last warc.ID
	for i := range members {
		m := &members[i]
		if !stay[m.group] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, err := warc.ReadMember(nil, r.FS, r.Path(format.CapturesDir), warc.Pointer{File: r.file, Offset: m.offset, Length: m.length})
		if err != nil {
			return err
		}
		if m.group != last {
			if err := flush(); err != nil {
				return err
			}
			last = m.group
		}
		group, from = append(group, raw), append(from, m.offset)
	}
	return flush()
}

// point makes the rows point to the copies, some thousand a batch. The copies are on disk: copy has closed their
// files.
func (r *rewriting) point() error {
	offsets := make([]int64, 0, len(r.places))
	for offset := range r.places {
		if _, copied := r.copies[offset]; copied {
			offsets = append(offsets, offset)
		}
	}
	slices.Sort(offsets)
	type home struct {
		crawl string
		p     weburl.Partition
	}
	waiting := map[home]*store.Relocated{}
	var order []home
	for _, offset := range offsets {
		for _, at := range r.places[offset] {
			to := r.copies[offset]
			h := home{at.crawl, at.p}
			if waiting[h] == nil {
				waiting[h] = &store.Relocated{Partition: at.p, File: r.file}
				order = append(order, h)
			}
			record := waiting[h]
			record.Captures = append(record.Captures, at.relocation(offset, to))
			if len(record.Captures) == store.MaxListed {
				if err := r.ApplyTo(at.crawl, record); err != nil {
					return err
				}
				waiting[h] = &store.Relocated{Partition: at.p, File: r.file}
			}
		}
	}
	for _, h := range order {
		if record := waiting[h]; len(record.Captures) > 0 {
			if err := r.ApplyTo(h.crawl, record); err != nil {
				return err
			}
		}
	}
	return nil
}

func (at place) relocation(offset int64, to warc.Pointer) store.Relocation {
	moved := store.Relocation{Offset: offset, File: to.File, NewOffset: to.Offset}
	switch at.kind {
	case format.KeySite:
		moved.Site = at.site
	case format.KeyVersion:
		moved.Fingerprint, moved.Version = at.page, at.number
	case format.KeyVisit:
		moved.Fingerprint, moved.Visit = at.page, at.number
	}
	return moved
}

// closedFiles returns the names of the closed WARC files.
func (s directory) closedFiles() (names []string, err error) {
	paths, err := s.Files()
	for _, path := range paths {
		if name := s.FS.PathBase(path); !strings.HasSuffix(name, ".open") {
			names = append(names, name)
		}
	}
	return names, err
}
