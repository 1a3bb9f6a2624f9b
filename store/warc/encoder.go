package warc

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/gzip"

	"freshet/deflate"
)

// FastLevel is the gzip level for crawling, that of package deflate: a third of the time of level 5, HTML
// comes out 8 % longer.
const FastLevel = gzip.BestSpeed

// Encoder turns records into gzip members. It is safe for concurrent use and keeps what a member
// needs for the next one; the zero value is not usable.
type Encoder struct {
	pool sync.Pool // of *member
}

// member is what encoding one takes.
type member struct {
	record Record           // sealed
	text   []byte           // as it is compressed
	out    []byte           // what gzip has written
	fast   *deflate.Encoder // of FastLevel
	gzip   *gzip.Writer     // of the other levels
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
		if level == FastLevel {
			return &member{fast: new(deflate.Encoder)}
		}
		m := &member{}
		m.gzip, _ = gzip.NewWriterLevel(m, level)
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
	text, err := appendHeader(m.text[:0], &m.record)
	if err == nil {
		text = append(append(text, m.record.Block...), recordEnd...)
		dst = append(dst, m.compress(text)...)
	}
	m.record, m.text = Record{}, text
	if cap(m.text) > keepBuffer {
		m.text, m.out = nil, nil
	}
	return dst, err
}

// compress makes text one gzip member, valid until the next one.
func (m *member) compress(text []byte) []byte {
	m.out = m.out[:0]
	if m.fast != nil {
		m.out = m.fast.AppendGzip(m.out, text)
		return m.out
	}
	m.gzip.Reset(m)
	m.gzip.Write(text) // writes to memory: neither fails
	m.gzip.Close()
	return m.out
}

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
