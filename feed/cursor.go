package feed

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A Cursor is a position in the change log: for each partition the number of the last record taken in.
// To clients it is an opaque text, String.
type Cursor []uint64

// Start is the text of a cursor from the oldest change kept.
const Start = "start"

var (
	// ErrCursor matches the errors of a text that is no cursor of this directory's.
	ErrCursor = errors.New("feed: not a cursor")
	// ErrBehind matches the errors of a cursor from which the log can no longer tell everything: the
	// client has to resynchronise.
	ErrBehind = errors.New("feed: the cursor lies outside of what the change log remembers: resynchronise")
)

const cursorFormat = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// String returns the cursor as a text for URLs: base64 of the format, the number of partitions, their
// positions as variable-length integers, and a checksum. About three bytes a partition.
func (c Cursor) String() string {
	raw := binary.AppendUvarint([]byte{cursorFormat}, uint64(len(c)))
	for _, at := range c {
		raw = binary.AppendUvarint(raw, at)
	}
	raw = binary.BigEndian.AppendUint32(raw, crc32.Checksum(raw, castagnoli))
	return base64.RawURLEncoding.EncodeToString(raw)
}

// ParseCursor is the inverse of String, for a directory of that many partitions. Its errors are
// ErrCursor.
func ParseCursor(text string, partitions int) (Cursor, error) {
	if longest := base64.RawURLEncoding.EncodedLen(1 + 4 + (partitions+1)*binary.MaxVarintLen64); len(text) > longest {
		return nil, fmt.Errorf("%w: %d bytes: want at most %d", ErrCursor, len(text), longest)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < 6 {
		return nil, fmt.Errorf("%w: %q", ErrCursor, text)
	}
	raw, sum := raw[:len(raw)-4], binary.BigEndian.Uint32(raw[len(raw)-4:])
	if crc32.Checksum(raw, castagnoli) != sum {
		return nil, fmt.Errorf("%w: %q: its checksum is wrong", ErrCursor, text)
	}
	if raw[0] != cursorFormat {
		return nil, fmt.Errorf("%w: format %d: want %d", ErrCursor, raw[0], cursorFormat)
	}
	rest := raw[1:]
	next := func() uint64 {
		value, n := binary.Uvarint(rest)
		if n <= 0 {
			err = ErrCursor
			return 0
		}
		rest = rest[n:]
		return value
	}
	if n := next(); err == nil && n != uint64(partitions) {
		return nil, fmt.Errorf("%w: of %d partitions: want %d", ErrCursor, n, partitions)
	}
	c := make(Cursor, partitions)
	for p := range c {
		c[p] = next()
	}
	if err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("%w: %q", ErrCursor, text)
	}
	return c, nil
}
