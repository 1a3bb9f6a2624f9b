package disk

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/weburl"
)

// segment is one file of sorted entries, in sections. It never changes. The package comment draws it.
type segment struct {
	number   uint32
	path     string
	file     vfs.File
	sections []section
	n        int
	size     int64
}

const (
	segmentFormat = 3
	segmentMagic  = "freshet#"
	sectionLen    = 24
	footerLen     = 24
)

func segmentName(number uint32) string { return fmt.Sprintf("%08d.run", number) }

// segmentWriter writes a segment. Sections come in order; for each, call begin, add for every entry in order, and
// end.
type segmentWriter struct {
	fs      vfs.FS
	segment *segment
	at      int64 // offset in the file, including what is in the buffer
	buffer  *bufio.Writer
	tails   packer // of the open block
	depths  packer // of the open block
	open    *section
	inBlock int
	err     error
}

// writeSize is how many bytes of a file are written at once.
const writeSize = 256 << 10

// createSegment creates the file of a segment.
func createSegment(fs vfs.FS, path string, number uint32) (*segmentWriter, error) {
	file, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("seen: create run %s: %w", path, err)
	}
	return &segmentWriter{
		fs: fs, segment: &segment{number: number, path: path, file: file},
		buffer: bufio.NewWriterSize(file, writeSize),
		tails:  packer{data: make([]byte, 0, blockEntries*(56+16)/8+checksumLen)}, // room for a whole block
		depths: packer{data: make([]byte, 0, blockEntries*16/8)},
	}, nil
}

// begin opens a section of about n entries that are at most depth deep.
func (w *segmentWriter) begin(p piece, n int, depth uint16) {
	w.segment.sections = append(w.segment.sections, section{
		head: newHead(p, n), depthBits: bits.Len16(depth), tail: w.at,
	})
	w.open = &w.segment.sections[len(w.segment.sections)-1]
}

func (w *segmentWriter) add(e Entry) {
	s := w.open
	bucket, b, rest := s.split(e.Fingerprint)
	s.append(bucket, b)
	w.tails.put(rest<<8|uint64(e.Check), s.tailBits())
	w.depths.put(uint64(e.Value), s.depthBits)
	s.n++
	if w.inBlock++; w.inBlock == blockEntries {
		w.endBlock()
	}
}

// addAll adds sections for all partitions of entries, which are sorted.
func (w *segmentWriter) addAll(entries []Entry) error {
	for len(entries) > 0 && w.err == nil {
		p := piece{partition: entries[0].Partition}
		n, depth := 0, uint32(0)
		for ; n < len(entries) && entries[n].Partition == p.partition; n++ {
			depth = max(depth, entries[n].Value)
		}
		w.begin(p, n, uint16(depth))
		for _, e := range entries[:n] {
			w.add(e)
		}
		w.end()
		entries = entries[n:]
	}
	return w.err
}

func (w *segmentWriter) endBlock() {
	block := append(w.tails.end(), w.depths.end()...)
	sum := checksum(w.segment.number, w.at, block)
	w.write(binary.LittleEndian.AppendUint32(block, sum))
	w.inBlock = 0
}

// end closes the section; one without entries leaves no trace.
func (w *segmentWriter) end() {
	if w.inBlock > 0 {
		w.endBlock()
	}
	if w.open.n == 0 {
		w.segment.sections = w.segment.sections[:len(w.segment.sections)-1]
		return
	}
	if !w.open.finish() {
		panic(fmt.Sprintf("seen: section of %d entries does not add up", w.open.n))
	}
	w.segment.n += w.open.n
}

func (w *segmentWriter) write(p []byte) {
	w.at += int64(len(p))
	_, w.err = w.buffer.Write(p) // an error stays
}

// finish writes the heads and the directory. The segment is then on disk, except for its name, and can be read.
func (w *segmentWriter) finish() (*segment, error) {
	g := w.segment
	for i := range g.sections {
		s := &g.sections[i]
		crc := crc32.New(castagnoli())
		for chunk := range s.encoded() {
			crc.Write(chunk)
			w.write(chunk)
		}
		s.crc = crc.Sum32()
	}
	directory := make([]byte, 0, len(g.sections)*sectionLen+footerLen)
	for i := range g.sections {
		directory = g.sections[i].appendTo(directory)
	}
	directory = binary.LittleEndian.AppendUint32(directory, uint32(len(g.sections)))
	directory = binary.LittleEndian.AppendUint32(directory, g.number)
	directory = binary.LittleEndian.AppendUint32(directory, segmentFormat)
	directory = binary.LittleEndian.AppendUint32(directory, checksum(g.number, w.at, directory))
	w.write(append(directory, segmentMagic...))
	g.size = w.at
	if err := errors.Join(w.buffer.Flush(), g.file.Sync(), g.file.Close()); err != nil {
		return nil, fmt.Errorf("seen: write run %s: %w", g.path, err)
	}
	if err := g.reopen(w.fs); err != nil {
		return nil, err
	}
	return g, nil
}

// abandon closes the file without finishing it.
func (w *segmentWriter) abandon() error { return w.segment.file.Close() }

// close closes the file and frees the heads.
func (g *segment) close() error {
	g.sections = nil
	return g.file.Close()
}

func (g *segment) reopen(fs vfs.FS) (err error) {
	if g.file, err = fs.Open(g.path, vfs.RandomReadsOption); err != nil {
		return fmt.Errorf("seen: open run %s: %w", g.path, err)
	}
	return nil
}

// openSegment opens a run's file and reads its heads. What is not as it was written is ErrDamaged.
func openSegment(fs vfs.FS, path string, number uint32) (*segment, error) {
	g := &segment{number: number, path: path}
	if err := g.reopen(fs); err != nil {
		return nil, err
	}
	if err := g.load(); err != nil {
		return nil, errors.Join(err, g.file.Close())
	}
	return g, nil
}

// load reads the directory and the heads.
func (g *segment) load() error {
	info, err := g.file.Stat()
	if err != nil {
		return fmt.Errorf("seen: run %s: %w", g.path, err)
	}
	g.size = info.Size()
	footer := make([]byte, footerLen)
	if err := g.read(footer, g.size-footerLen); err != nil {
		return err
	}
	sections := int64(binary.LittleEndian.Uint32(footer))
	start := g.size - footerLen - sections*sectionLen
	if string(footer[16:]) != segmentMagic || start < 0 {
		return g.damaged(g.size-footerLen, "no end of a run")
	}
	directory := make([]byte, g.size-start)
	if err := g.read(directory, start); err != nil {
		return err
	}
	sum := len(directory) - 12
	if binary.LittleEndian.Uint32(directory[sum:]) != checksum(g.number, start, directory[:sum]) {
		return g.damaged(start, "directory's checksum differs")
	}
	if format := binary.LittleEndian.Uint32(footer[8:]); format != segmentFormat {
		return g.damaged(start, fmt.Sprintf("format %d: want %d", format, segmentFormat))
	}
	return g.loadSections(directory[:sections*sectionLen], start)
}

// loadSections reads the heads that the directory at end lists.
func (g *segment) loadSections(directory []byte, end int64) error {
	at := int64(0)
	for ; len(directory) > 0; directory = directory[sectionLen:] {
		s, ok := parseSection(directory[:sectionLen])
		if !ok {
			return g.damaged(end, "impossible section")
		}
		s.tail = at
		at += s.tailLen()
		g.n += s.n
		g.sections = append(g.sections, s)
	}
	for i := range g.sections {
		s := &g.sections[i]
		if s.headLen() > end-at {
			return g.damaged(at, "heads are cut")
		}
		if err := g.loadHead(s, at); err != nil {
			return err
		}
		at += s.headLen()
	}
	if at != end {
		return g.damaged(at, "sections do not fill the file")
	}
	return nil
}

func (g *segment) loadHead(s *section, at int64) error {
	crc := crc32.New(castagnoli())
	s.buckets, s.bytes = make([]uint64, s.headWords()), make([]byte, s.n)
	chunk := make([]byte, min(8*len(s.buckets), 64<<10))
	for i := 0; i < len(s.buckets); {
		part := chunk[:min(len(chunk), 8*(len(s.buckets)-i))]
		if err := g.read(part, at); err != nil {
			return err
		}
		crc.Write(part)
		at += int64(len(part))
		for ; len(part) > 0; part, i = part[8:], i+1 {
			s.buckets[i] = binary.LittleEndian.Uint64(part)
		}
	}
	if err := g.read(s.bytes, at); err != nil {
		return err
	}
	crc.Write(s.bytes)
	if crc.Sum32() != s.crc {
		return g.damaged(at, "head's checksum differs")
	}
	if !s.finish() {
		return g.damaged(at, "head does not add up")
	}
	return nil
}

// read fills p from the file; a file that ends too soon is damaged.
func (g *segment) read(p []byte, at int64) error {
	if at < 0 {
		return g.damaged(0, "file is cut")
	}
	_, err := g.file.ReadAt(p, at)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return g.damaged(at, "file is cut")
	}
	if err != nil {
		return fmt.Errorf("seen: read run %s at %d: %w", g.path, at, err)
	}
	return nil
}

func (g *segment) damaged(at int64, what string) error {
	return fmt.Errorf("%w: run %s at %d: %s", ErrDamaged, g.path, at, what)
}

// appendTo appends the section's line of the directory.
func (s *section) appendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(s.partition))
	dst = append(dst, byte(s.bits), byte(s.bucketBits), byte(s.depthBits), 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, s.prefix)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.n))
	return binary.LittleEndian.AppendUint32(dst, s.crc)
}

// parseSection reads what appendTo wrote. ok is false for what no section can be.
func parseSection(line []byte) (s section, ok bool) {
	h := &head{bucketBits: int(line[3])}
	h.partition, h.piece.bits = weburl.Partition(binary.LittleEndian.Uint16(line)), int(line[2])
	h.prefix = binary.LittleEndian.Uint64(line[8:])
	s = section{head: h, depthBits: int(line[4]), n: int(binary.LittleEndian.Uint32(line[16:])), crc: binary.LittleEndian.Uint32(line[20:])}
	ok = s.n > 0 && s.depthBits <= 16 && h.bucketBits >= minBucketBits && h.bucketBits <= 32 && h.restBits() >= 0 && h.prefix>>h.piece.bits == 0
	return s, ok
}

// encoded yields the head's bytes as they lie on disk.
func (s *section) encoded() func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		var chunk []byte
		for i, word := range s.buckets {
			if chunk = binary.LittleEndian.AppendUint64(chunk, word); len(chunk) >= 4096 || i == len(s.buckets)-1 {
				if !yield(chunk) {
					return
				}
				chunk = chunk[:0]
			}
		}
		for from := 0; from < len(s.bytes); from += 4096 {
			if !yield(s.bytes[from:min(from+4096, len(s.bytes))]) {
				return
			}
		}
	}
}
