package transfer

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"freshet/log"
	"freshet/store"
	"freshet/store/warc"
	"freshet/weburl"
)

// A partition's stream is a magic line and frames: a byte of kind, four bytes of length
// (big-endian), content. First a header, then captures, then pairs, then the end with the 128-bit
// XXH3 hash of everything before it. See docs/format/partition.md.
const (
	streamMagic = "freshet partition 1\n"

	frameHeader  = 'H' // CBOR streamHeader
	frameCapture = 'C' // length (uint16) and CBOR of the pointer in the exporting directory, then the member
	framePair    = 'P' // length (uint16) and key from its kind on, then the value
	frameEnd     = 'E'

	maxFrame = warc.MaxBlock + 1<<20 // longest frame
)

type streamHeader struct {
	Format     int              `cbor:"1,keyasint"`
	Crawl      string           `cbor:"2,keyasint"`
	Partitions int              `cbor:"3,keyasint"`
	Partition  weburl.Partition `cbor:"4,keyasint"`
	Cluster    string           `cbor:"5,keyasint,omitempty"` // whose log Place is of
	Place      log.Place        `cbor:"6,keyasint,omitzero"`  // how far the log has been applied
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
		return fmt.Errorf("%w: import: stream begins with %q: want %q", store.ErrCorrupt, start, streamMagic)
	}
	f.sum.Write(start)
	return nil
}

// next returns a frame, valid until the next call. It checks the hash of an end frame. Memory grows with the bytes
// read, not with a claimed length.
func (f *frameReader) next() (kind byte, content []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return 0, nil, torn(err)
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("%w: import: frame of %d bytes: want at most %d", store.ErrCorrupt, n, maxFrame)
	}
	if f.buf, err = readAppend(f.buf[:0], f.r, int(n)); err != nil {
		return 0, nil, torn(err)
	}
	if head[0] == frameEnd {
		if sum := f.sum.Sum128().Bytes(); string(f.buf) != string(sum[:]) {
			return 0, nil, fmt.Errorf("%w: import: hash of the stream is %x: want %x", store.ErrCorrupt, sum, f.buf)
		}
	}
	f.sum.Write(head[:])
	f.sum.Write(f.buf)
	return head[0], f.buf, nil
}

// readAppend appends n bytes of r to dst, growing dst as they arrive.
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

// torn makes the early end of a stream an ErrCorrupt.
func torn(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: import: the stream ends before its end frame", store.ErrCorrupt)
	}
	return fmt.Errorf("store: import: %w", err)
}
