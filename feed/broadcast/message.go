package broadcast

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"
)

// ErrFrame matches the errors of a frame that was altered, or does not hold a message.
var ErrFrame = errors.New("broadcast: damaged frame")

const (
	maxFrame   = 256 << 20 // bytes of a message
	maxBody    = 128 << 20 // bytes of a page; a larger one is withheld
	frameHead  = 4 + sha256.Size
	maxNesting = 8
)

// Message is a message from a server to a client. Any of its fields may be set. An empty one is a sign of life.
type Message struct {
	Hello    *Hello    `cbor:"1,keyasint,omitempty"`
	Chunk    *Chunk    `cbor:"2,keyasint,omitempty"`
	Drop     []string  `cbor:"3,keyasint,omitempty"` // URLs that the client has and the repository has not
	Cursor   string    `cbor:"4,keyasint,omitempty"` // with all earlier messages, the client has everything up to here
	End      bool      `cbor:"5,keyasint,omitempty"` // a downloader has its copy
	Standing *Standing `cbor:"6,keyasint,omitempty"`
	Sent     *Sent     `cbor:"7,keyasint,omitempty"` // stands for a message that goes to the group
}

// Hello is a stream's first message.
type Hello struct {
	Session string `cbor:"1,keyasint"`
	LeaseMs int64  `cbor:"2,keyasint"` // a client is dropped after this long without a sign of life
	// key of the group's datagrams in this run of the server, for clients that listen to the group
	Key []byte `cbor:"3,keyasint,omitempty"`
}

// Sent announces a frame that goes to the transport's group. A client that does not receive it requests it.
type Sent struct {
	Serial  uint64            `cbor:"1,keyasint"`
	Bytes   int               `cbor:"2,keyasint"`
	Digest  [sha256.Size]byte `cbor:"3,keyasint"` // of the whole frame
	TakesMs int64             `cbor:"4,keyasint"` // from the announcement until the last byte has left
}

// Standing tells a client how up to date it is.
type Standing struct {
	Freshness float64 `cbor:"1,keyasint"` // share of current pages among those that it was sent
	AgeS      float64 `cbor:"2,keyasint"` // mean age of its pages, seconds
	Chunks    int     `cbor:"3,keyasint"` // chunks from which it lacks pages
}

// Chunk carries pages of one site, in their current versions.
type Chunk struct {
	Number int    `cbor:"1,keyasint"` // of this run of the server
	Site   string `cbor:"2,keyasint"`
	Pages  []Page `cbor:"3,keyasint"`
}

// Page is a page's current version. If Kind is set there is none, and Kind is the reason: gone, moved, withdrawn,
// purged, or withheld (the body is not kept).
type Page struct {
	URL     string          `cbor:"1,keyasint"`
	Kind    string          `cbor:"2,keyasint,omitempty"`
	Version uint32          `cbor:"3,keyasint,omitempty"`
	At      int64           `cbor:"4,keyasint,omitempty"` // unix nanoseconds of the capture
	Status  int             `cbor:"5,keyasint,omitempty"`
	Digest  [sha1.Size]byte `cbor:"6,keyasint"`
	Header  []Field         `cbor:"7,keyasint,omitempty"` // sorted by name
	Body    []byte          `cbor:"8,keyasint,omitempty"` // transfer-decoded, still content-encoded
	MovedTo string          `cbor:"9,keyasint,omitempty"`
}

// Field is a field of an HTTP header.
type Field struct {
	_     struct{} `cbor:",toarray"`
	Name  string
	Value string
}

// Verify returns an error unless the body has the page's digest.
func (p *Page) Verify() error {
	if p.Kind == "" && sha1.Sum(p.Body) != p.Digest {
		return fmt.Errorf("%w: the body of %q does not have the digest %x", ErrFrame, p.URL, p.Digest)
	}
	return nil
}

// AppendFrame appends a message as a frame: its length, its SHA-256, itself in CBOR.
func AppendFrame(dst []byte, m *Message) ([]byte, error) {
	raw, err := cbor.Marshal(m)
	if err != nil {
		return dst, err
	}
	if len(raw) > maxFrame {
		return dst, fmt.Errorf("broadcast: message of %d bytes: at most %d", len(raw), maxFrame)
	}
	sum := sha256.Sum256(raw)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(raw)))
	return append(append(dst, sum[:]...), raw...), nil
}

// ReadFrame reads a message. It takes no more memory than has arrived. The error is io.EOF at the end of
// a stream, io.ErrUnexpectedEOF in the middle of a frame, and ErrFrame for one that was altered.
func ReadFrame(r io.Reader) (*Message, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return nil, fmt.Errorf("%w: %d bytes: at most %d", ErrFrame, size, maxFrame)
	}
	raw, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err != nil {
		return nil, err
	}
	if len(raw) < int(size) {
		return nil, io.ErrUnexpectedEOF
	}
	if sha256.Sum256(raw) != [sha256.Size]byte(head[4:]) {
		return nil, fmt.Errorf("%w: its digest is wrong", ErrFrame)
	}
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden,
		MaxNestedLevels: maxNesting, MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 10,
	}.DecMode()
	if err != nil {
		return nil, err
	}
	m := &Message{}
	if err := mode.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return m, nil
}
