package warc

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// FastLevel is the gzip level for crawling: half the time of the default level for HTML that comes out
// a few percent longer. Blocks of less than smallBlock, such as requests and metadata, are not searched
// for repetitions, which takes half the time for members a tenth longer.
const FastLevel = gzip.BestSpeed

// Encoder turns records into gzip members. It is safe for concurrent use and keeps what a member
// needs for the next one; the zero value is not usable.
type Encoder struct {
	pool sync.Pool // of *member
}

// member is what encoding one takes.
type member struct {
	record Record // sealed
	head   []byte // its header, then its end
	out    []byte // the member: copied once its length is known
	gzip   *gzip.Writer
	small  *gzip.Writer // of records of less than smallBlock
}

// Write appends to out.
func (m *member) Write(p []byte) (int, error) {
	m.out = append(m.out, p...)
	return len(p), nil
}

// NewEncoder returns an encoder of a gzip level, 0 to 9 or FastLevel; another one panics.
func NewEncoder(level int) *Encoder {
	if level < gzip.NoCompression || level > gzip.BestCompression {
		panic(fmt.Sprintf("warc: NewEncoder: level %d: want 0 to 9", level))
	}
	e := &Encoder{}
	e.pool.New = func() any {
		m := &member{}
		m.gzip, _ = gzip.NewWriterLevel(m, level)
		if m.small = m.gzip; level == FastLevel {
			m.small, _ = gzip.NewWriterLevel(m, gzip.HuffmanOnly)
		}
		return m
	}
	return e
}

// AppendMember appends record r as one gzip member, sealed (see Record.Seal) but with r itself left
// as it is, and returns dst as it was with an error if a field cannot be written: no type, a control
// character, a header over 256 KiB. It allocates nothing but what dst needs to grow.
// O(len(r.Block)).
func (e *Encoder) AppendMember(dst []byte, r *Record) ([]byte, error) {
	m := e.pool.Get().(*member)
	defer e.pool.Put(m)
	m.record = *r
	m.record.Seal()
	head, err := appendHeader(m.head[:0], &m.record)
	if err == nil {
		dst = m.compress(dst, append(head, recordEnd...))
	}
	m.record, m.head = Record{}, head
	return dst, err
}

// compress appends the record as one gzip member. text is its header and, after it, its end.
func (m *member) compress(dst, text []byte) []byte {
	header := len(text) - len(recordEnd)
	m.out = m.out[:0]
	w := m.gzip
	if len(m.record.Block) < smallBlock {
		w = m.small
	}
	w.Reset(m)
	w.Write(text[:header]) // writes to memory: none of these fails
	w.Write(m.record.Block)
	w.Write(text[header:])
	w.Close()
	dst = append(dst, m.out...)
	if cap(m.out) > keepBuffer {
		m.out = nil
	}
	return dst
}

// smallBlock is the size of a block in bytes below which the start of a search for repetitions costs more
// than all else.
const smallBlock = 1 << 10

// keepBuffer is the size of a buffer in bytes beyond which it is not kept for the next member.
const keepBuffer = 1 << 20

// recordEnd follows every block.
const recordEnd = "\r\n\r\n"

// AppendRecord appends record r uncompressed, otherwise as an Encoder would.
func AppendRecord(dst []byte, r *Record) ([]byte, error) {
	sealed := *r
	sealed.Seal()
	dst, err := appendHeader(dst, &sealed)
	if err != nil {
		return dst, err
	}
	return append(append(dst, r.Block...), recordEnd...), nil
}
