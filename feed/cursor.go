package feed

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A Cursor is a position in the change log: for each partition, the number of the last record that was read. Clients
// get it as an opaque text, the result of String.
type Cursor []uint64

// Start is the text of a cursor from the oldest change kept.
const Start = "start"

var (
	// ErrCursor matches the errors of a text that is no cursor of this directory's.
	ErrCursor = errors.New("feed: not a cursor")
	// ErrBehind matches the errors of a cursor that is too old: the log no longer has all changes since, and the
	// client must resynchronise.
	ErrBehind = errors.New("feed: the cursor is outside of the change log: resynchronise")
	// ErrPartial means that the node has only some of the cluster's partitions.
	ErrPartial = errors.New("feed: this node has only some of the partitions: ask a node that is started without --copies")
	// ErrNotYet matches the errors of a cursor from another node of the cluster, which this node has not caught up
	// with.
	ErrNotYet = errors.New("feed: this node has not followed the others as far as the cursor: ask again in some seconds, or ask another node")
)

// A Place is the position of a reader of the change log. A reader that began from the start has floors until it has
// passed them. Up to a floor, the log may have forgotten ends of pages: this reader never heard of these pages, so it
// does not need their ends.
type Place struct {
	At    Cursor
	floor Cursor
}

const (
	cursorFormat = 1
	placeFormat  = 2 // with floors behind the positions
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// String returns the cursor as a text for URLs: base64 of the format, the number of partitions, their
// positions as variable-length integers, and a checksum. About three bytes a partition.
func (c Cursor) String() string { return encode(cursorFormat, len(c), c) }

// String returns the place as a text: that of its cursor, with the floors while one of them is ahead.
func (p Place) String() string {
	if floors := p.ahead(); floors != nil {
		return encode(placeFormat, len(p.At), p.At, floors)
	}
	return p.At.String()
}

// ahead returns the floors that the place has not passed, with 0 for the others, or nil if it has passed all.
func (p Place) ahead() (floors Cursor) {
	for i, floor := range p.floor {
		if floor <= p.At[i] {
			continue
		}
		if floors == nil {
			floors = make(Cursor, len(p.At))
		}
		floors[i] = floor
	}
	return floors
}

func encode(format byte, partitions int, numbers ...Cursor) string {
	raw := binary.AppendUvarint([]byte{format}, uint64(partitions))
	for _, all := range numbers {
		for _, n := range all {
			raw = binary.AppendUvarint(raw, n)
		}
	}
	raw = binary.BigEndian.AppendUint32(raw, crc32.Checksum(raw, castagnoli))
	return base64.RawURLEncoding.EncodeToString(raw)
}

// ParseCursor is the inverse of Cursor.String, for a directory of that many partitions. Its errors are
// ErrCursor.
func ParseCursor(text string, partitions int) (Cursor, error) {
	place, err := ParsePlace(text, partitions)
	if err == nil && place.floor != nil {
		return nil, fmt.Errorf("%w: %q: it is of a reading that has just begun", ErrCursor, text)
	}
	return place.At, err
}

// ParsePlace is the inverse of Place.String, for a directory of that many partitions. A cursor's text is a place
// without floors. Its errors are ErrCursor.
func ParsePlace(text string, partitions int) (Place, error) {
	if longest := base64.RawURLEncoding.EncodedLen(1 + 4 + (2*partitions+1)*binary.MaxVarintLen64); len(text) > longest {
		return Place{}, fmt.Errorf("%w: %d bytes: want at most %d", ErrCursor, len(text), longest)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < 6 {
		return Place{}, fmt.Errorf("%w: %q", ErrCursor, text)
	}
	raw, sum := raw[:len(raw)-4], binary.BigEndian.Uint32(raw[len(raw)-4:])
	if crc32.Checksum(raw, castagnoli) != sum {
		return Place{}, fmt.Errorf("%w: %q: its checksum is wrong", ErrCursor, text)
	}
	format, rest := raw[0], raw[1:]
	if format != cursorFormat && format != placeFormat {
		return Place{}, fmt.Errorf("%w: format %d: want %d or %d", ErrCursor, format, cursorFormat, placeFormat)
	}
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
		return Place{}, fmt.Errorf("%w: of %d partitions: want %d", ErrCursor, n, partitions)
	}
	numbers := func() Cursor {
		c := make(Cursor, partitions)
		for p := range c {
			c[p] = next()
		}
		return c
	}
	place := Place{At: numbers()}
	if format == placeFormat {
		place.floor = numbers()
	}
	if err != nil || len(rest) > 0 {
		return Place{}, fmt.Errorf("%w: %q", ErrCursor, text)
	}
	return place, nil
}
