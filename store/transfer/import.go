package transfer

import (
	"encoding/binary"
	"fmt"
	"io"

	"freshet/log"
	"freshet/store"
	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// ImportPartition imports the output of ExportPartition and returns the partition. The partition must be empty, and
// the directories must have the same number of partitions. Captures go to this directory's WARC files, and pointers
// to them are changed. After a failure or a crash the partition is empty; captures that were imported by then stay,
// but no row names them. It takes some hundred bytes a capture. For a cut or changed stream the error is
// store.ErrCorrupt.
func ImportPartition(s *store.Store, r io.Reader) (p weburl.Partition, err error) {
	return importTo(s, r, store.Inside.BeginIntake)
}

// ReplacePartition is ImportPartition for a partition that need not be empty: it is emptied first.
func ReplacePartition(s *store.Store, r io.Reader) (p weburl.Partition, err error) {
	return importTo(s, r, store.Inside.BeginReplacement)
}

// ForgetPartition empties a partition. Its captures stay in their files until retain.Reclaim rewrites these.
func ForgetPartition(s *store.Store, p weburl.Partition) error {
	i, err := s.Inside().BeginReplacement(p)
	if err != nil {
		return err
	}
	return i.Drop(nil)
}

func importTo(s *store.Store, r io.Reader, begin func(store.Inside, weburl.Partition) (*store.Intake, error)) (p weburl.Partition, err error) {
	in := newFrameReader(r)
	header, err := readHeader(in, s.Partitions())
	if err != nil {
		return 0, err
	}
	to, err := begin(s.Inside(), header.Partition)
	if err != nil {
		return 0, err
	}
	i := importer{to, map[warc.Pointer]warc.Pointer{}}
	if err := i.take(in); err != nil {
		return 0, to.Drop(err)
	}
	return header.Partition, to.End()
}

// CheckPartition reads and checks a stream like ImportPartition, but stores nothing. It returns the stream's
// partition, cluster, and place in the cluster's log.
func CheckPartition(r io.Reader, partitions int) (p weburl.Partition, cluster string, at log.Place, err error) {
	in := newFrameReader(r)
	h, err := readHeader(in, partitions)
	if err != nil {
		return 0, "", log.Place{}, err
	}
	i := importer{nowhere{}, map[warc.Pointer]warc.Pointer{}}
	return h.Partition, h.Cluster, h.Place, i.take(in)
}

// intake stores what is read from a stream.
type intake interface {
	Capture(member []byte) (warc.Pointer, error)
	Row(rest, value []byte) error
}

// nowhere is an intake that stores nothing.
type nowhere struct{}

// Capture implements intake.
func (nowhere) Capture([]byte) (warc.Pointer, error) { return warc.Pointer{}, nil }

// Row implements intake.
func (nowhere) Row(_, _ []byte) error { return nil }

func readHeader(in *frameReader, partitions int) (h streamHeader, err error) {
	if err := in.magic(); err != nil {
		return h, err
	}
	kind, content, err := in.next()
	if err != nil {
		return h, err
	}
	if kind != frameHeader {
		return h, fmt.Errorf("%w: import: frame %q: want the header", store.ErrCorrupt, kind)
	}
	if err := format.DecodeValue(content, &h); err != nil {
		return h, err
	}
	switch {
	case h.Format > store.Format:
		return h, fmt.Errorf("%w: import: stream of format %d: this program reads up to format %d", store.ErrFormat, h.Format, store.Format)
	case h.Partitions != partitions:
		return h, fmt.Errorf("store: import: stream of a directory of %d partitions: want %d", h.Partitions, partitions)
	case int(h.Partition) >= partitions:
		return h, fmt.Errorf("%w: import: partition %d of %d", store.ErrCorrupt, h.Partition, h.Partitions)
	}
	return h, nil
}

// importer imports one partition.
type importer struct {
	intake
	moved map[warc.Pointer]warc.Pointer // captures: old to new pointers
}

// take reads frames up to the end frame, which has a valid hash.
func (i *importer) take(in *frameReader) error {
	for {
		kind, content, err := in.next()
		if err != nil {
			return err
		}
		switch kind {
		case frameCapture:
			err = i.capture(content)
		case framePair:
			err = i.pair(content)
		case frameEnd:
			return nil
		default:
			err = fmt.Errorf("%w: import: frame %q", store.ErrCorrupt, kind)
		}
		if err != nil {
			return err
		}
	}
}

func (i *importer) capture(content []byte) error {
	pointer, member, err := cutPrefixed(content)
	if err != nil {
		return err
	}
	var old store.Pointer
	if err := format.DecodeValue(pointer, &old); err != nil {
		return err
	}
	i.moved[warc.Pointer{File: old.File, Offset: old.Offset, Length: old.Length}], err = i.Capture(member)
	return err
}

// cutPrefixed splits content after a length-prefixed first part.
func cutPrefixed(content []byte) (first, rest []byte, err error) {
	if len(content) < 2 || len(content)-2 < int(binary.BigEndian.Uint16(content)) {
		return nil, nil, fmt.Errorf("%w: import: frame of %d bytes is too short", store.ErrCorrupt, len(content))
	}
	n := 2 + int(binary.BigEndian.Uint16(content))
	return content[2:n], content[n:], nil
}

func (i *importer) pair(content []byte) error {
	key, value, err := cutPrefixed(content)
	if err != nil {
		return err
	}
	if len(key) == 0 {
		return fmt.Errorf("%w: import: empty key", store.ErrCorrupt)
	}
	if value, err = i.repoint(format.Kind(key[0]), value); err != nil {
		return err
	}
	return i.Row(key, value)
}

// repoint returns a value with its pointer, if any, changed to the new place of the capture.
func (i *importer) repoint(kind format.Kind, value []byte) ([]byte, error) {
	switch kind {
	case format.KeySite:
		return repointed(value, new(store.SiteRow), func(v *store.SiteRow) error { return i.repointTo(&v.Robots.Capture) })
	case format.KeyVisit:
		return repointed(value, new(store.Visit), func(v *store.Visit) error { return i.repointTo(&v.Capture) })
	case format.KeyVersion:
		return repointed(value, new(store.Version), func(v *store.Version) error { return i.repointTo(&v.Capture) })
	case format.KeyRecord:
		return i.repointRecord(value)
	}
	return value, nil
}

func repointed[T any](value []byte, v *T, repoint func(*T) error) ([]byte, error) {
	if err := format.DecodeValue(value, v); err != nil {
		return nil, err
	}
	if err := repoint(v); err != nil {
		return nil, err
	}
	return format.AppendValue(nil, v), nil
}

func (i *importer) repointRecord(value []byte) ([]byte, error) {
	record, err := store.DecodeRecord(value)
	if err != nil {
		return nil, err
	}
	var at *store.Pointer
	switch r := record.(type) {
	case *store.Fetched:
		at = &r.Capture
	case *store.Robots:
		at = &r.Capture
	default:
		return value, nil
	}
	if i.repointTo(at) != nil { // a file was rewritten since: only the rows say where captures are now
		*at = store.Pointer{}
	}
	return store.AppendRecord(nil, record), nil
}

func (i *importer) repointTo(p *store.Pointer) error {
	if p.IsZero() {
		return nil
	}
	to, found := i.moved[warc.Pointer{File: p.File, Offset: p.Offset, Length: p.Length}]
	if !found {
		return fmt.Errorf("%w: import: no capture for %s:%d", store.ErrCorrupt, p.File, p.Offset)
	}
	p.File, p.Offset, p.Length = to.File, to.Offset, to.Length
	return nil
}
