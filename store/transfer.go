package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/zeebo/xxh3"

	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// A partition's stream is a magic line and frames: a byte of kind, four bytes of length
// (big-endian), content. First a header, then captures, then pairs, then the end with the 128-bit
// XXH3 hash of everything before it. See docs/format/partition.md.
const (
	streamMagic = "freshet partition 1\n"

	frameHeader  = 'H' // CBOR streamHeader
	frameCapture = 'C' // pointer in the exporting directory as CBOR, with its length as uint16 before, and the member
	framePair    = 'P' // length of the key's part from its kind on as uint16, that part, the value
	frameEnd     = 'E'

	maxFrame = warc.MaxBlock + 1<<20 // longest frame
)

type streamHeader struct {
	Format     int              `cbor:"1,keyasint"`
	Crawl      string           `cbor:"2,keyasint"`
	Partitions int              `cbor:"3,keyasint"`
	Partition  weburl.Partition `cbor:"4,keyasint"`
}

// ExportPartition writes partition p, as it is when the call begins, with its captures as one
// stream for ImportPartition. Captures are found by reading every WARC file once: those of the
// partition's URLs are copied, as compressed members. Writing may go on meanwhile.
func (s *Store) ExportPartition(p weburl.Partition, w io.Writer) error {
	if int(p) >= s.dir.partitions {
		return fmt.Errorf("store: export: partition %d: want one below %d", p, s.dir.partitions)
	}
	s.files.RLock()
	defer s.files.RUnlock()
	snapshot := s.db.NewSnapshot()
	err := s.export(snapshot, p, w)
	return errors.Join(err, snapshot.Close())
}

func (s *Store) export(db pebble.Reader, p weburl.Partition, w io.Writer) error {
	out := newFrameWriter(w)
	out.write([]byte(streamMagic))
	out.frame(frameHeader, format.AppendValue(nil, streamHeader{Format, s.options.Crawl, s.dir.partitions, p}))
	if err := s.exportCaptures(p, out); err != nil {
		return err
	}
	from, to := s.keys.PartitionSpan(p)
	var pair []byte
	err := database.Scan(db, from, to, func(key, value []byte) error {
		key = key[len(from):]
		pair = binary.BigEndian.AppendUint16(pair[:0], uint16(len(key)))
		pair = append(append(pair, key...), value...)
		out.frame(framePair, pair)
		return out.err
	})
	if err != nil {
		return err
	}
	return out.end()
}

// exportCaptures writes the members of p's URLs, of all WARC files.
func (s *Store) exportCaptures(p weburl.Partition, out *frameWriter) error {
	paths, err := s.Files()
	if err != nil {
		return err
	}
	for _, path := range paths {
		err := s.exportFile(p, path, out)
		if strings.HasSuffix(path, ".open") && errors.Is(err, io.ErrUnexpectedEOF) {
			continue // its end is being written, of pages later than the snapshot
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) exportFile(p weburl.Partition, path string, out *frameWriter) (err error) {
	r, err := s.openFile(path)
	if err != nil {
		return fmt.Errorf("store: export: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var frame []byte
	for {
		record, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("store: export: %w", err)
		}
		target, _ := weburl.Parse(record.TargetURI)
		length, err := r.Finish()
		if err != nil {
			return fmt.Errorf("store: export: %w", err)
		}
		if target.IsZero() || s.homes.of(target.Site()) != p {
			continue
		}
		at := warc.Pointer{File: strings.TrimSuffix(s.fs.PathBase(path), ".open"), Offset: r.Offset(), Length: length}
		if frame, err = s.appendCapture(frame[:0], at); err != nil {
			return err
		}
		if out.frame(frameCapture, frame); out.err != nil {
			return out.err
		}
	}
}

func (s *Store) appendCapture(frame []byte, at warc.Pointer) ([]byte, error) {
	pointer := format.AppendValue(nil, Pointer{File: at.File, Offset: at.Offset, Length: at.Length})
	frame = binary.BigEndian.AppendUint16(frame, uint16(len(pointer)))
	frame, err := warc.ReadMember(append(frame, pointer...), s.fs, s.dir.join(format.CapturesDir), at)
	if err != nil {
		return frame, captureError(err)
	}
	return frame, nil
}

// frameWriter writes frames and hashes them. The first error is kept.
type frameWriter struct {
	w   *bufio.Writer
	sum *xxh3.Hasher
	err error
}

func newFrameWriter(w io.Writer) *frameWriter {
	return &frameWriter{w: bufio.NewWriterSize(w, 1<<16), sum: xxh3.New()}
}

func (f *frameWriter) write(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
		f.sum.Write(b)
	}
}

func (f *frameWriter) frame(kind byte, content []byte) {
	if len(content) > maxFrame && f.err == nil {
		f.err = fmt.Errorf("store: export: frame of %d bytes: want at most %d", len(content), maxFrame)
	}
	f.write(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(content))))
	f.write(content)
}

func (f *frameWriter) end() error {
	sum := f.sum.Sum128().Bytes()
	f.frame(frameEnd, sum[:])
	if f.err == nil {
		f.err = f.w.Flush()
	}
	return f.err
}

// importKey, outside of every crawl, holds what the keys of a partition that is being imported begin
// with. Found at Open, it says that the import was cut off: the partition is emptied again.
func importKey() []byte { return format.Outside("import") }

// importBatch is how many bytes of pairs a batch of an import holds.
const importBatch = 1 << 20

// ImportPartition takes in what ExportPartition wrote and returns the partition, which must be empty;
// the directories must have the same number of partitions. Captures go into this directory's WARC
// files, and everything that points at them is written anew. Whatever goes wrong, a crash included,
// leaves the partition empty; captures that were taken in by then stay, named by nothing. Memory is
// some hundred bytes a capture. Errors are ErrCorrupt for a stream that is cut or changed.
func (s *Store) ImportPartition(r io.Reader) (p weburl.Partition, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return 0, err
	}
	in := newFrameReader(r)
	header, err := s.readHeader(in)
	if err != nil {
		return 0, err
	}
	imp := &importer{Store: s, p: header.Partition, moved: map[warc.Pointer]warc.Pointer{}}
	imp.prefix, _ = s.keys.PartitionSpan(header.Partition)
	if err := imp.begin(); err != nil {
		return 0, err
	}
	if err := imp.take(in); err != nil {
		return 0, errors.Join(err, imp.drop(), s.undoImport())
	}
	return header.Partition, imp.end()
}

func (s *Store) readHeader(in *frameReader) (h streamHeader, err error) {
	if err := in.magic(); err != nil {
		return h, err
	}
	kind, content, err := in.next()
	if err != nil {
		return h, err
	}
	if kind != frameHeader {
		return h, fmt.Errorf("%w: import: frame %q: want the header", ErrCorrupt, kind)
	}
	if err := format.DecodeValue(content, &h); err != nil {
		return h, err
	}
	switch {
	case h.Format > Format:
		return h, fmt.Errorf("%w: import: stream of format %d: this program knows up to %d", ErrFormat, h.Format, Format)
	case h.Partitions != s.dir.partitions:
		return h, fmt.Errorf("store: import: stream of a directory of %d partitions: want %d", h.Partitions, s.dir.partitions)
	case int(h.Partition) >= s.dir.partitions:
		return h, fmt.Errorf("%w: import: partition %d of %d", ErrCorrupt, h.Partition, h.Partitions)
	}
	return h, nil
}

// importer takes in one partition.
type importer struct {
	*Store
	p      weburl.Partition
	prefix []byte                        // of its keys
	moved  map[warc.Pointer]warc.Pointer // captures, from where to where
	batch  *pebble.Batch
}

// begin refuses a partition with keys and notes that an import has begun.
func (i *importer) begin() error {
	from, to := format.Span(i.prefix)
	err := database.Scan(i.db, from, to, func(key, _ []byte) error {
		return fmt.Errorf("store: import: partition %d is not empty", i.p)
	})
	if err != nil {
		return err
	}
	batch := i.db.NewBatch()
	if err := batch.Set(importKey(), i.prefix, nil); err != nil {
		return errors.Join(err, batch.Close())
	}
	return database.Commit(batch, pebble.Sync)
}

// take reads frames up to the end, of which the hash must be right.
func (i *importer) take(in *frameReader) error {
	i.batch = i.db.NewBatch()
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
			return i.finishPairs()
		default:
			err = fmt.Errorf("%w: import: frame %q", ErrCorrupt, kind)
		}
		if err != nil {
			return err
		}
	}
}

// drop closes the batch of an import that failed.
func (i *importer) drop() error {
	if i.batch == nil {
		return nil
	}
	return i.batch.Close()
}

// finishPairs makes the captures durable and commits the last pairs.
func (i *importer) finishPairs() error {
	if err := i.warc.Sync(); err != nil {
		return i.fail(fmt.Errorf("store: import: %w", err))
	}
	last := i.batch
	i.batch = nil
	return i.commitPairs(last)
}

func (i *importer) commitPairs(batch *pebble.Batch) error {
	if err := database.Commit(batch, pebble.NoSync); err != nil {
		return i.fail(err)
	}
	return nil
}

func (i *importer) capture(content []byte) error {
	pointer, member, err := cutPrefixed(content)
	if err != nil {
		return err
	}
	var old Pointer
	if err := format.DecodeValue(pointer, &old); err != nil {
		return err
	}
	at, err := i.warc.Append(nil, member)
	if err != nil {
		return i.fail(fmt.Errorf("store: import: %w", err))
	}
	i.moved[warc.Pointer{File: old.File, Offset: old.Offset, Length: old.Length}] = at[0]
	return nil
}

// cutPrefixed cuts content after a first part whose length stands before it.
func cutPrefixed(content []byte) (first, rest []byte, err error) {
	if len(content) < 2 || len(content)-2 < int(binary.BigEndian.Uint16(content)) {
		return nil, nil, fmt.Errorf("%w: import: frame of %d bytes is too short", ErrCorrupt, len(content))
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
		return fmt.Errorf("%w: import: empty key", ErrCorrupt)
	}
	if value, err = i.repoint(format.Kind(key[0]), value); err != nil {
		return err
	}
	if err := i.batch.Set(append(i.prefix[:len(i.prefix):len(i.prefix)], key...), value, nil); err != nil {
		return err
	}
	if i.batch.Len() < importBatch {
		return nil
	}
	full := i.batch
	i.batch = i.db.NewBatch()
	return i.commitPairs(full)
}

// repoint returns a value with its pointer, if it has one, to where the capture is now.
func (i *importer) repoint(kind format.Kind, value []byte) ([]byte, error) {
	switch kind {
	case format.KeySite:
		return repointed(value, new(SiteRow), func(v *SiteRow) error { return i.repointTo(&v.Robots.Capture) })
	case format.KeyVisit:
		return repointed(value, new(Visit), func(v *Visit) error { return i.repointTo(&v.Capture) })
	case format.KeyVersion:
		return repointed(value, new(Version), func(v *Version) error { return i.repointTo(&v.Capture) })
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
	record, err := decodeRecord(value)
	if err != nil {
		return nil, err
	}
	switch r := record.(type) {
	case *Fetched:
		err = i.repointTo(&r.Capture)
	case *Robots:
		err = i.repointTo(&r.Capture)
	default:
		return value, nil
	}
	return appendRecord(nil, record), err
}

func (i *importer) repointTo(p *Pointer) error {
	if p.IsZero() {
		return nil
	}
	to, found := i.moved[warc.Pointer{File: p.File, Offset: p.Offset, Length: p.Length}]
	if !found {
		return fmt.Errorf("%w: import: no capture for %s:%d", ErrCorrupt, p.File, p.Offset)
	}
	p.File, p.Offset, p.Length = to.File, to.Offset, to.Length
	return nil
}

// end makes the import final.
func (i *importer) end() error {
	batch := i.db.NewBatch()
	if err := batch.Delete(importKey(), nil); err != nil {
		return errors.Join(err, batch.Close())
	}
	if err := database.Commit(batch, pebble.Sync); err != nil {
		return i.fail(err)
	}
	i.state = newState(i.keys, i.db, i.large)
	if err := i.findStrays(i.keys, i.p); err != nil {
		return err
	}
	return i.keepHomes(false)
}

// undoImport empties the partition that importKey names, if it is there.
func (s *Store) undoImport() error {
	var prefix []byte
	found, err := database.Get(s.db, importKey(), func(raw []byte) error { prefix = append(prefix, raw...); return nil })
	if err != nil || !found {
		return err
	}
	from, to := format.Span(prefix)
	batch := s.db.NewBatch()
	if err := errors.Join(batch.DeleteRange(from, to, nil), batch.Delete(importKey(), nil)); err != nil {
		return errors.Join(err, batch.Close())
	}
	return database.Commit(batch, pebble.Sync)
}

// frameReader reads frames and checks their hash at the end.
type frameReader struct {
	r   *bufio.Reader
	sum *xxh3.Hasher
	buf []byte
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, 1<<16), sum: xxh3.New()}
}

func (f *frameReader) magic() error {
	start := make([]byte, len(streamMagic))
	if _, err := io.ReadFull(f.r, start); err != nil {
		return torn(err)
	}
	if string(start) != streamMagic {
		return fmt.Errorf("%w: import: stream begins with %q: want %q", ErrCorrupt, start, streamMagic)
	}
	f.sum.Write(start)
	return nil
}

// next returns a frame, valid until the next call. A frame of the end that is returned has the right
// hash. Memory grows by what has been read, not by what a length claims.
func (f *frameReader) next() (kind byte, content []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return 0, nil, torn(err)
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("%w: import: frame of %d bytes: want at most %d", ErrCorrupt, n, maxFrame)
	}
	if f.buf, err = readAppend(f.buf[:0], f.r, int(n)); err != nil {
		return 0, nil, torn(err)
	}
	if head[0] == frameEnd {
		if sum := f.sum.Sum128().Bytes(); string(f.buf) != string(sum[:]) {
			return 0, nil, fmt.Errorf("%w: import: hash of the stream is %x: want %x", ErrCorrupt, sum, f.buf)
		}
	}
	f.sum.Write(head[:])
	f.sum.Write(f.buf)
	return head[0], f.buf, nil
}

// readAppend appends n bytes of r to dst, growing it as they come.
func readAppend(dst []byte, r io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	for n > 0 {
		k := min(n, step)
		start := len(dst)
		dst = append(dst, make([]byte, k)...)
		if _, err := io.ReadFull(r, dst[start:]); err != nil {
			return dst, err
		}
		n -= k
	}
	return dst, nil
}

// torn names a stream's early end.
func torn(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: import: the stream ends before its end frame", ErrCorrupt)
	}
	return fmt.Errorf("store: import: %w", err)
}
