package warc

import (
	"fmt"
	"slices"

	"github.com/klauspost/compress/gzip"
)

// FastLevel is the gzip level for crawling. It takes half the time of the default level, and HTML becomes a few
// percent longer. Records with blocks below smallBlock, such as requests and metadata, are not compressed: to
// compress those two would take a quarter of a page's time and make its three members 2 % shorter.
const FastLevel = gzip.BestSpeed

// Encoder turns records into gzip members. It keeps what a member takes, some 1 MB, for the next one, and is
// not safe for concurrent use: each worker has its own. The zero value is not usable.
type Encoder struct {
	record Record       // being encoded, sealed
	head   []byte       // its header, then its end
	out    output       // the member: copied once its length is known
	gzip   *gzip.Writer // to out
	small  *gzip.Writer // of records of blocks of less than smallBlock
}

// output collects what is written to it.
type output []byte

// Write appends p.
func (o *output) Write(p []byte) (int, error) {
	*o = append(*o, p...)
	return len(p), nil
}

// NewEncoder returns an encoder of a gzip level, 0 to 9 or FastLevel; another one panics.
func NewEncoder(level int) *Encoder {
	if level < gzip.NoCompression || level > gzip.BestCompression {
		panic(fmt.Sprintf("warc: NewEncoder: level %d: want 0 to 9", level))
	}
	e := &Encoder{}
	e.gzip, _ = gzip.NewWriterLevel(&e.out, level)
	if e.small = e.gzip; level == FastLevel {
		e.small, _ = gzip.NewWriterLevel(&e.out, gzip.NoCompression)
	}
	return e
}

// AppendMember appends record r as one gzip member, sealed (see Record.Seal). It does not change r. If a field
// cannot be written (no type, a control character, a header over 256 KiB), it returns dst unchanged and an error.
// It allocates only to grow dst. O(len(r.Block)).
func (e *Encoder) AppendMember(dst []byte, r *Record) ([]byte, error) {
	e.record = *r
	e.record.Seal()
	head, err := appendHeader(e.head[:0], &e.record)
	if err == nil {
		dst = e.compress(dst, append(head, recordEnd...))
	}
	e.record, e.head = Record{}, head
	return dst, err
}

// compress appends the record as one gzip member. text is its header and, after it, its end.
func (e *Encoder) compress(dst, text []byte) []byte {
	header := len(text) - len(recordEnd)
	e.out = e.out[:0]
	large := len(e.record.Block) > keepBuffer
	if large { // at most what the block takes as it is, in frames
		e.out = slices.Grow(e.out, len(text)+len(e.record.Block)+len(e.record.Block)/1024+1024)
	}
	w := e.gzip
	if len(e.record.Block) < smallBlock {
		w = e.small
	}
	w.Reset(&e.out)
	_, _ = w.Write(text[:header]) // writes to memory: none of these fails
	_, _ = w.Write(e.record.Block)
	_, _ = w.Write(text[header:])
	_ = w.Close()
	if large && len(dst) == 0 && len(e.out) > cap(e.out)/2 {
		dst = e.out // a copy would save little
	} else {
		dst = append(dst, e.out...)
	}
	if cap(e.out) > keepBuffer {
		e.out = nil
	}
	return dst
}

// smallBlock is the size of a block in bytes below which the tables of a member's codes cost more than they save.
const smallBlock = 1 << 10

// keepBuffer is the size of a buffer in bytes beyond which it is not kept for the next member.
const keepBuffer = 1 << 20

// recordEnd follows every block.
const recordEnd = "\r\n\r\n"
