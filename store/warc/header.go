package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Bounds of a header. It must have room for two targets of the greatest length of a URL.
const (
	maxHeader = 256 << 10 // bytes, with the version line and the empty line
	maxFields = 1000
)

const version = "WARC/1.1"

// namedField is a header field that Record has a field for.
type namedField struct {
	name string
	// get appends the value, nothing if the record has none.
	get func(dst []byte, r *Record) []byte
	// set stores a value. It returns false if the value does not have the form that get writes, or if r already has
	// one.
	set func(r *Record, value string) bool
}

// named lists the fields in the order of writing, except Content-Length, which follows from the block.
var named = [...]namedField{
	text("WARC-Type", func(r *Record) *string { return (*string)(&r.Type) }),
	identity("WARC-Record-ID", func(r *Record) *ID { return &r.ID }),
	date("WARC-Date", func(r *Record) *time.Time { return &r.Date }),
	target("WARC-Target-URI", func(r *Record) *string { return &r.TargetURI }),
	{"WARC-IP-Address", getAddress, setAddress},
	identity("WARC-Concurrent-To", func(r *Record) *ID { return &r.ConcurrentTo }),
	identity("WARC-Refers-To", func(r *Record) *ID { return &r.RefersTo }),
	target("WARC-Refers-To-Target-URI", func(r *Record) *string { return &r.RefersToURI }),
	date("WARC-Refers-To-Date", func(r *Record) *time.Time { return &r.RefersToDate }),
	text("WARC-Profile", func(r *Record) *string { return &r.Profile }),
	text("WARC-Truncated", func(r *Record) *string { return (*string)(&r.Truncated) }),
	digest("WARC-Payload-Digest", func(r *Record) *Digest { return &r.PayloadDigest }),
	digest("WARC-Block-Digest", func(r *Record) *Digest { return &r.BlockDigest }),
	identity("WARC-Warcinfo-ID", func(r *Record) *ID { return &r.WarcinfoID }),
	text("WARC-Filename", func(r *Record) *string { return &r.Filename }),
	text("Content-Type", func(r *Record) *string { return &r.ContentType }),
}

func text(name string, at func(*Record) *string) namedField {
	return namedField{name,
		func(dst []byte, r *Record) []byte { return append(dst, *at(r)...) },
		func(r *Record, value string) bool { return put(at(r), value, value != "") }}
}

// target is a field that some programs write in angle brackets.
func target(name string, at func(*Record) *string) namedField {
	f := text(name, at)
	f.set = func(r *Record, value string) bool {
		for strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">") && len(value) > 1 {
			value = trim(value[1 : len(value)-1])
		}
		return put(at(r), value, value != "")
	}
	return f
}

func identity(name string, at func(*Record) *ID) namedField {
	return namedField{name,
		func(dst []byte, r *Record) []byte {
			if id := at(r); *id != (ID{}) {
				dst = id.append(dst)
			}
			return dst
		},
		func(r *Record, value string) bool {
			id, ok := parseID(value)
			return put(at(r), id, ok)
		}}
}

func digest(name string, at func(*Record) *Digest) namedField {
	return namedField{name,
		func(dst []byte, r *Record) []byte {
			if d := at(r); *d != (Digest{}) {
				dst = d.append(dst)
			}
			return dst
		},
		func(r *Record, value string) bool {
			d, ok := parseDigest(value)
			return put(at(r), d, ok)
		}}
}

func date(name string, at func(*Record) *time.Time) namedField {
	return namedField{name,
		func(dst []byte, r *Record) []byte {
			if t := at(r); !t.IsZero() {
				dst = appendDate(dst, *t)
			}
			return dst
		},
		func(r *Record, value string) bool {
			t, ok := parseDate(value)
			return put(at(r), t, ok)
		}}
}

func getAddress(dst []byte, r *Record) []byte {
	if r.Address.IsValid() {
		dst = r.Address.WithZone("").AppendTo(dst)
	}
	return dst
}

func setAddress(r *Record, value string) bool {
	a, err := netip.ParseAddr(value)
	return put(&r.Address, a, err == nil && a.Zone() == "")
}

// put stores v if it is good and nothing is stored yet.
func put[T comparable](at *T, v T, good bool) bool {
	var zero T
	if !good || *at != zero {
		return false
	}
	*at = v
	return true
}

// appendHeader appends the header of r, with the empty line that ends it.
func appendHeader(dst []byte, r *Record) ([]byte, error) {
	if r.Type == "" {
		return dst, errors.New("warc: encode: record without a type")
	}
	for _, t := range []time.Time{r.Date, r.RefersToDate} {
		if y := t.UTC().Year(); y > 9999 || y < 0 {
			return dst, fmt.Errorf("warc: encode: date %v: want a year of four digits", t)
		}
	}
	start := len(dst)
	dst = append(dst, version+"\r\n"...)
	for i := range named {
		f := &named[i]
		line := len(dst)
		dst = append(append(dst, f.name...), ": "...)
		value := len(dst)
		if dst = f.get(dst, r); len(dst) == value {
			dst = dst[:line]
			continue
		}
		if !goodValue(dst[value:]) {
			return dst[:start], fmt.Errorf("warc: encode: %s %q: control characters or outer space", f.name, dst[value:])
		}
		dst = append(dst, "\r\n"...)
	}
	dst, err := appendExtra(dst, r.Fields)
	if err != nil {
		return dst[:start], err
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(r.Block)), 10)
	dst = append(dst, "\r\n\r\n"...)
	if len(dst)-start > maxHeader {
		return dst[:start], fmt.Errorf("warc: encode: header of %d bytes: want at most %d", len(dst)-start, maxHeader)
	}
	return dst, nil
}

func appendExtra(dst []byte, fields []Field) ([]byte, error) {
	if len(fields) > maxFields-len(named)-1 {
		return dst, fmt.Errorf("warc: encode: %d fields: want at most %d", len(fields), maxFields-len(named)-1)
	}
	for _, f := range fields {
		if strings.EqualFold(f.Name, "Content-Length") {
			return dst, errors.New("warc: encode: Content-Length among the fields: it is the block's")
		}
	}
	return AppendFields(dst, fields)
}

// AppendFields appends fields as warcinfo and metadata blocks hold them, "name: value" lines. It
// fails on a name that is not a token and on a value with control characters or space at its ends.
func AppendFields(dst []byte, fields []Field) ([]byte, error) {
	for _, f := range fields {
		if !goodName(f.Name) || !goodValue([]byte(f.Value)) {
			return dst, fmt.Errorf("warc: encode: field %q: %q: not a token, control characters or outer space", f.Name, f.Value)
		}
		dst = append(append(dst, f.Name...), ": "...)
		dst = append(append(dst, f.Value...), "\r\n"...)
	}
	return dst, nil
}

// readHeader reads a record's header with the empty line that ends it.
func readHeader(in *bufio.Reader) (*Record, error) {
	first, err := readLine(in, 64)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(first, "WARC/") {
		return nil, fmt.Errorf("%w: starts with %q", ErrCorrupt, first)
	}
	fields, err := readFields(in, maxHeader)
	if err != nil {
		return nil, noEOF(err)
	}
	r := &Record{Length: -1}
	for _, f := range fields {
		if strings.EqualFold(f.Name, "Content-Length") {
			if err := setLength(r, f.Value); err != nil {
				return nil, err
			}
		} else if !r.set(f) {
			r.Fields = append(r.Fields, f)
		}
	}
	if r.Type == "" || r.Length < 0 {
		return nil, fmt.Errorf("%w: record without type or length", ErrCorrupt)
	}
	return r, nil
}

func (r *Record) set(f Field) bool {
	for i := range named {
		if strings.EqualFold(named[i].name, f.Name) {
			return named[i].set(r, f.Value)
		}
	}
	return false
}

func setLength(r *Record, value string) error {
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil || n > math.MaxInt64/2 || r.Length >= 0 {
		return fmt.Errorf("%w: Content-Length %q", ErrCorrupt, value)
	}
	r.Length = int64(n)
	return nil
}

// readFields reads fields up to and with an empty line, at most limit bytes.
func readFields(in *bufio.Reader, limit int) ([]Field, error) {
	var fields []Field
	for lines := 0; ; lines++ {
		line, err := readLine(in, limit)
		if err != nil || line == "" {
			return fields, err
		}
		if lines == maxFields {
			return nil, fmt.Errorf("%w: over %d fields", ErrCorrupt, maxFields)
		}
		limit -= len(line)
		if line[0] == ' ' || line[0] == '\t' { // continues the previous field
			if len(fields) == 0 {
				return nil, fmt.Errorf("%w: continuation of no field", ErrCorrupt)
			}
			last := &fields[len(fields)-1]
			last.Value = trim(last.Value + " " + trim(line))
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !goodName(name) {
			return nil, fmt.Errorf("%w: field %.80q", ErrCorrupt, line)
		}
		fields = append(fields, Field{name, trim(value)})
	}
}

// readLine reads a line of at most limit bytes and returns it without its end, CR LF or LF.
func readLine(in *bufio.Reader, limit int) (string, error) {
	var long []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(long)+len(part) > limit {
			return "", fmt.Errorf("%w: header too long", ErrCorrupt)
		}
		if err == nil && long == nil {
			return cleanLine(part)
		}
		long = append(long, part...)
		switch {
		case err == nil:
			return cleanLine(long)
		case err == io.EOF && len(long) > 0:
			return "", io.ErrUnexpectedEOF
		case err != bufio.ErrBufferFull:
			return "", err
		}
	}
}

func cleanLine(line []byte) (string, error) {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if bytes.ContainsFunc(line, isControl) {
		return "", fmt.Errorf("%w: control character in %.80q", ErrCorrupt, line)
	}
	return string(line), nil
}

func trim(s string) string { return strings.Trim(s, " \t") }

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func goodValue(v []byte) bool {
	return !bytes.ContainsFunc(v, isControl) && len(bytes.Trim(v, " \t")) == len(v)
}

// goodName reports whether s is a token of the standard's grammar.
func goodName(s string) bool {
	const separators = "()<>@,;:\\\"/[]?={} "
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(separators, r)
	})
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
