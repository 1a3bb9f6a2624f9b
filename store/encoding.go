package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Values are CBOR maps with integer keys in the core deterministic encoding (RFC 8949, 4.2): equal
// values have equal bytes. Fields this version does not know are skipped.
var (
	encoding = mustMode(cbor.EncOptions{
		Sort:          cbor.SortCoreDeterministic,
		ShortestFloat: cbor.ShortestFloat16,
		NaNConvert:    cbor.NaNConvert7e00,
		InfConvert:    cbor.InfConvertFloat16,
		IndefLength:   cbor.IndefLengthForbidden,
		TextMarshaler: cbor.TextMarshalerTextString,
	}.UserBufferEncMode())
	decoding = mustMode(cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		IndefLength:      cbor.IndefLengthForbidden,
		MaxNestedLevels:  8,
		MaxArrayElements: 1 << 17,
		MaxMapPairs:      1 << 10,
		TextUnmarshaler:  cbor.TextUnmarshalerTextString,
	}.DecMode())
)

func mustMode[M any](m M, err error) M {
	if err != nil {
		panic(err)
	}
	return m
}

// appendValue appends the encoding of v, one of this package's own types.
func appendValue(dst []byte, v any) []byte {
	b := bytes.NewBuffer(dst)
	if err := encoding.MarshalToBuffer(v, b); err != nil {
		panic(fmt.Sprintf("store: encode %T: %v", v, err))
	}
	return b.Bytes()
}

// EncodeLinks returns links as Fetched.Links wants them. They are most of what is encoded, forty to
// a page: by hand this takes one allocation, where appendValue takes two a link.
func EncodeLinks(links []OutLink) cbor.RawMessage {
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
	cborText     = 0x60
	cborArray    = 0x80
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
	var links []OutLink
	if err := decoding.Unmarshal(raw, &links); err != nil {
		return nil, fmt.Errorf("%w: links: %w", ErrCorrupt, err)
	}
	return links, nil
}

// appendRecord appends the encoding of a record: its kind's byte, then the value.
func appendRecord(dst []byte, r Record) []byte {
	return appendValue(append(dst, byte(r.kind())), r)
}

// decodeRecord is the inverse of appendRecord for a record of any partition; it does not keep raw,
// but may point into it. Its errors are ErrCorrupt.
func decodeRecord(raw []byte) (Record, error) {
	if len(raw) == 0 {
		return nil, fmt.Errorf("%w: empty record", ErrCorrupt)
	}
	r := newRecord(recordKind(raw[0]))
	if r == nil {
		return nil, fmt.Errorf("%w: record of unknown kind %d", ErrCorrupt, raw[0])
	}
	if err := decoding.Unmarshal(raw[1:], r); err != nil {
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
	}
	return nil
}

// decodeValue decodes a row of this package's own writing.
func decodeValue(raw []byte, v any) error {
	if err := decoding.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%w: %T: %w", ErrCorrupt, v, err)
	}
	return nil
}
