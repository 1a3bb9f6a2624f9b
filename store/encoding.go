package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
	"github.com/klauspost/compress/s2"

	"freshet/store/internal/format"
)

// EncodeLinks returns links in the form of Fetched.Links: an array of links, or a byte string with that array
// compressed by S2. Links are most of what is encoded, forty a page. Compression here halves them in the record,
// the log, the write buffers and the tables. The encoder is written by hand: it takes two allocations, appendValue
// two a link. The same links may have other bytes on another machine, because compressors differ.
func EncodeLinks(links []OutLink) cbor.RawMessage {
	array := appendLinks(links)
	if len(array) < fewLinksBytes || len(array) > manyLinksBytes {
		return array
	}
	const head = 5 // at most: the length is below 1<<32
	packed := make([]byte, head+s2.MaxEncodedLen(len(array)))
	n := len(s2.Encode(packed[head:], array))
	size := appendHead(make([]byte, 0, head), cborBytes, uint64(n))
	first := head - len(size)
	copy(packed[first:], size)
	if packed = packed[first : head+n]; len(packed) < len(array) {
		return packed
	}
	return array
}

// Links of fewer bytes than fewLinksBytes are not worth compressing. Links of more than manyLinksBytes stay
// uncompressed too: a reader would need too much memory at once for one page.
const (
	fewLinksBytes  = 256
	manyLinksBytes = 64 << 20
)

// appendLinks encodes links as an array.
func appendLinks(links []OutLink) []byte {
	size := 3
	for i := range links {
		size += len(links[i].URL.String()) + 8
	}
	dst := appendHead(make([]byte, 0, size), cborArray, uint64(len(links)))
	for i := range links {
		l := &links[i]
		url := l.URL.String()
		dst = appendHead(dst, cborArray, 4)
		dst = append(appendHead(dst, cborText, uint64(len(url))), url...)
		dst = appendHead(dst, cborUnsigned, uint64(l.Rel))
		if l.NoFollow {
			dst = append(dst, cborTrue)
		} else {
			dst = append(dst, cborFalse)
		}
		if l.LastMod >= 0 {
			dst = appendHead(dst, cborUnsigned, uint64(l.LastMod))
		} else {
			dst = appendHead(dst, cborNegative, uint64(^l.LastMod))
		}
	}
	return dst
}

// The first bytes of CBOR items, without their argument.
const (
	cborUnsigned = 0x00
	cborNegative = 0x20
	cborBytes    = 0x40
	cborText     = 0x60
	cborArray    = 0x80
	cborKind     = 0xe0 // the bits that tell these apart
	cborFalse    = 0xf4
	cborTrue     = 0xf5
)

// appendHead appends the first bytes of a CBOR item and its argument, in the shortest form.
func appendHead(dst []byte, item byte, argument uint64) []byte {
	switch {
	case argument < 24:
		return append(dst, item|byte(argument))
	case argument < 1<<8:
		return append(dst, item|24, byte(argument))
	case argument < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, item|25), uint16(argument))
	case argument < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, item|26), uint32(argument))
	}
	return binary.BigEndian.AppendUint64(append(dst, item|27), argument)
}

// DecodeLinks is the inverse of EncodeLinks. Its errors are ErrCorrupt.
func DecodeLinks(raw cbor.RawMessage) ([]OutLink, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	array, err := unpackLinks(raw)
	if err != nil {
		return nil, err
	}
	var links []OutLink
	if err := format.Decode(array, &links); err != nil {
		return nil, fmt.Errorf("%w: links: %w", ErrCorrupt, err)
	}
	return links, nil
}

// unpackLinks returns the array of encoded links, whether it is compressed or not.
func unpackLinks(raw []byte) ([]byte, error) {
	if raw[0]&cborKind != cborBytes {
		return raw, nil
	}
	array, err := unpack(raw)
	if err != nil {
		err = fmt.Errorf("%w: links: %w", ErrCorrupt, err)
	}
	return array, err
}

// unpack returns the array that EncodeLinks compressed.
func unpack(raw cbor.RawMessage) ([]byte, error) {
	var packed []byte
	if err := format.Decode(raw, &packed); err != nil {
		return nil, err
	}
	n, err := s2.DecodedLen(packed)
	if err != nil {
		return nil, err
	}
	if n > manyLinksBytes {
		return nil, fmt.Errorf("%d bytes: want at most %d", n, manyLinksBytes)
	}
	return s2.Decode(nil, packed)
}

// AppendRecord appends the encoding of a record: its kind's byte, then the value.
func AppendRecord(dst []byte, r Record) []byte {
	return format.AppendValue(append(dst, byte(r.kind())), r)
}

// DecodeRecord is the inverse of AppendRecord, for a record of any partition. The record may point into raw. Errors
// are ErrCorrupt.
func DecodeRecord(raw []byte) (Record, error) { return decodeRecord(raw, format.Decode) }

// decodeKnown decodes a record that another directory has applied. A field or kind that this build does not know may
// change what the record does there, so the error is then ErrNewer.
func decodeKnown(raw []byte) (Record, error) {
	r, err := decodeRecord(raw, format.DecodeKnown)
	switch {
	case err == nil || len(raw) == 0:
		return r, err
	case newRecord(recordKind(raw[0])) == nil:
		return nil, fmt.Errorf("%w: record of unknown kind %d: %s", ErrNewer, raw[0], newerRemedy)
	case errors.Is(err, format.ErrUnknown):
		return nil, fmt.Errorf("%w: record of kind %d with an unknown field: %s", ErrNewer, raw[0], newerRemedy)
	}
	return nil, err
}

const newerRemedy = "upgrade this node"

func decodeRecord(raw []byte, decode func([]byte, any) error) (Record, error) {
	if len(raw) == 0 {
		return nil, fmt.Errorf("%w: empty record", ErrCorrupt)
	}
	r := newRecord(recordKind(raw[0]))
	if r == nil {
		return nil, fmt.Errorf("%w: record of unknown kind %d", ErrCorrupt, raw[0])
	}
	if err := decode(raw[1:], r); err != nil {
		return nil, fmt.Errorf("%w: record of kind %d: %w", ErrCorrupt, raw[0], err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return r, nil
}

func newRecord(k recordKind) Record {
	switch k {
	case kindDiscovered:
		return new(Discovered)
	case kindFetched:
		return new(Fetched)
	case kindRobots:
		return new(Robots)
	case kindGated:
		return new(Gated)
	case kindPlanned:
		return new(Planned)
	case kindRefused:
		return new(Refused)
	case kindWithdrawn:
		return new(Withdrawn)
	case kindPurged:
		return new(Purged)
	case kindMark:
		return new(Mark)
	case kindPaused:
		return new(Paused)
	case kindPaced:
		return new(Paced)
	case kindSitePurged:
		return new(SitePurged)
	case kindScrubbed:
		return new(Scrubbed)
	case kindRelocated:
		return new(Relocated)
	case kindPruned:
		return new(Pruned)
	case kindForgotten:
		return new(Forgotten)
	case kindRanked:
		return new(Ranked)
	case kindStruck:
		return new(Struck)
	case kindObeyed:
		return new(Obeyed)
	case kindArrived:
		return new(Arrived)
	case kindParted:
		return new(Parted)
	case kindTaken:
		return new(Taken)
	}
	return nil
}
