package format

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Values are CBOR maps with integer keys in the core deterministic encoding (RFC 8949, 4.2): equal values have
// equal bytes. Unknown fields are skipped.
var (
	encoding = mustMode(cbor.EncOptions{
		Sort:          cbor.SortCoreDeterministic,
		ShortestFloat: cbor.ShortestFloat16,
		NaNConvert:    cbor.NaNConvert7e00,
		InfConvert:    cbor.InfConvertFloat16,
		IndefLength:   cbor.IndefLengthForbidden,
		TextMarshaler: cbor.TextMarshalerTextString,
	}.UserBufferEncMode())
	decoding = mustMode(decOptions.DecMode())
	knowing  = mustMode(knowingOptions().DecMode())
)

var decOptions = cbor.DecOptions{
	DupMapKey:        cbor.DupMapKeyEnforcedAPF,
	IndefLength:      cbor.IndefLengthForbidden,
	MaxNestedLevels:  8,
	MaxArrayElements: 1 << 17,
	MaxMapPairs:      1 << 10,
	TextUnmarshaler:  cbor.TextUnmarshalerTextString,
}

func knowingOptions() cbor.DecOptions {
	o := decOptions
	o.ExtraReturnErrors = cbor.ExtraDecErrorUnknownField
	return o
}

func mustMode[M any](m M, err error) M {
	if err != nil {
		panic(err)
	}
	return m
}

// AppendValue appends the encoding of v, one of the store's own types.
func AppendValue(dst []byte, v any) []byte {
	b := bytes.NewBuffer(dst)
	if err := encoding.MarshalToBuffer(v, b); err != nil {
		panic(fmt.Sprintf("store: encode %T: %v", v, err))
	}
	return b.Bytes()
}

// Decode decodes CBOR, without naming ErrCorrupt.
func Decode(raw []byte, v any) error { return decoding.Unmarshal(raw, v) }

// DecodeKnown is Decode, but returns ErrUnknown if there is a field that v does not have.
func DecodeKnown(raw []byte, v any) error {
	err := knowing.Unmarshal(raw, v)
	if unknown := (*cbor.UnknownFieldError)(nil); errors.As(err, &unknown) {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// ErrUnknown is returned for a value of a kind, or with a field, that only a newer build knows.
var ErrUnknown = errors.New("store: a newer build wrote it")

// DecodeValue decodes a row that the store wrote. The error is ErrCorrupt.
func DecodeValue(raw []byte, v any) error {
	if err := decoding.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%w: %T: %w", ErrCorrupt, v, err)
	}
	return nil
}
