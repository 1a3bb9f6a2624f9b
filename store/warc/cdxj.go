package warc

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"freshet/weburl"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// IndexOptions of Index.
type IndexOptions struct {
	FS vfs.FS // of the WARC files and of the temporary ones
	// directory for temporary files of this call only; made when needed, and the files are removed
	Temp        string
	BufferBytes int // memory for lines before they go to a temporary file; default 64 MiB

	Keep func(target string) (bool, error) // reports whether the records of a target get lines; nil: all do
}

// Index writes to w the CDXJ of the WARC files at the given paths: a line for each record that
// can be replayed, sorted by its bytes (the field names are in docs/format/cdxj.md). Warcinfo and
// request records, and those metadata and resource records that are warc-fields, have no line.
//
// An open file is indexed up to its last whole record, under its final name. A fault of another file is an *Error
// with ErrCorrupt. A record that shares its gzip member with others is a fault, because no index can point to it.
// Memory is bounded by BufferBytes and one line; O(n log n) for n lines.
func Index(w io.Writer, opt IndexOptions, paths ...string) (err error) {
	sorter := newSorter(opt)
	defer func() { err = errors.Join(err, sorter.close()) }()
	for _, path := range paths {
		if err := indexFile(sorter, opt, path); err != nil {
			return err
		}
	}
	return sorter.writeTo(w)
}

func indexFile(to *sorter, opt IndexOptions, path string) error {
	r, err := Open(opt.FS, path)
	if err != nil {
		return err
	}
	defer r.Close()
	name, open := strings.CutSuffix(opt.FS.PathBase(path), openSuffix)
	var line []byte
	room := make([]byte, 64<<10)
	for {
		e, err := nextEntry(r, room)
		switch {
		case err == io.EOF, open && errors.Is(err, ErrCorrupt):
			return nil
		case err != nil:
			return err
		case e == nil:
			continue
		}
		if opt.Keep != nil {
			if keep, err := opt.Keep(e.URL); err != nil {
				return err
			} else if !keep {
				continue
			}
		}
		e.Pointer.File = name
		line = e.append(line[:0])
		if err := to.add(line); err != nil {
			return err
		}
	}
}

// entry is a line of a CDXJ: what to search a record by and where it is.
type entry struct {
	URL       string
	Timestamp string // 14 digits
	Mime      string // empty: unknown
	Status    string // empty: none
	Digest    string // base32, of the payload; empty: none
	Pointer   Pointer
}

// nextEntry returns the entry of the next record, nil if it has none. It reads status and type from as much of the
// block as fits room.
func nextEntry(r *Reader, room []byte) (*entry, error) {
	record, err := r.Next()
	if err != nil {
		return nil, err
	}
	if !indexed(record) {
		_, err := r.Finish()
		return nil, err
	}
	e := &entry{
		URL:       record.TargetURI,
		Timestamp: timestamp(record),
		Mime:      baseType(record.ContentType),
		Digest:    payloadDigest(record),
	}
	if record.Type == Response || record.Type == Revisit {
		if err := e.describe(r, record.Type, room); err != nil {
			return nil, err
		}
	}
	length, err := r.Finish()
	if err != nil {
		return nil, err
	}
	if length == 0 {
		return nil, r.fail(fmt.Errorf("%w: several records in one gzip member", ErrCorrupt))
	}
	e.Pointer = Pointer{Offset: r.Offset(), Length: length}
	return e, nil
}

func indexed(r *Record) bool {
	switch r.Type {
	case Warcinfo, Request:
		return false
	case Metadata, "resource":
		return r.TargetURI != "" && r.ContentType != TypeFields
	}
	return r.TargetURI != ""
}

// describe takes status and type from the HTTP header at the start of the block.
func (e *entry) describe(r *Reader, t Type, room []byte) error {
	n, err := io.ReadFull(r, room)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	e.Mime = ""
	if m, err := ParseResponse(room[:n]); err == nil {
		e.Mime = baseType(join(m.Header, "Content-Type"))
		if m.Status != 0 {
			e.Status = strconv.Itoa(m.Status)
		}
	}
	if t == Revisit {
		e.Mime = "warc/revisit"
	}
	return nil
}

func join(h http.Header, name string) string { return strings.Join(h[name], ", ") }

// baseType is a content type without its parameters.
func baseType(t string) string {
	t, _, _ = strings.Cut(t, ";")
	return strings.TrimSpace(t)
}

// timestamp is the record's date as 14 digits, or as many as its date has.
func timestamp(r *Record) string {
	if !r.Date.IsZero() {
		return r.Date.UTC().Format("20060102150405")
	}
	raw, _ := r.Field("WARC-Date")
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, raw)
	return digits[:min(len(digits), 14)]
}

// payloadDigest is the digest without its algorithm.
func payloadDigest(r *Record) string {
	text, _ := r.Field("WARC-Payload-Digest")
	if r.PayloadDigest != (Digest{}) {
		text = r.PayloadDigest.String()
	}
	_, text, _ = strings.Cut(text, ":")
	return text
}

// append appends the entry as a line of a CDXJ, without the newline.
func (e *entry) append(dst []byte) []byte {
	dst = append(append(dst, urlKey(e.URL)...), ' ')
	dst = append(append(dst, e.Timestamp...), ' ')
	separator := byte('{')
	for _, f := range [...]Field{
		{"url", e.URL},
		{"mime", e.Mime},
		{"status", e.Status},
		{"digest", e.Digest},
		{"length", strconv.FormatInt(e.Pointer.Length, 10)},
		{"offset", strconv.FormatInt(e.Pointer.Offset, 10)},
		{"filename", e.Pointer.File},
	} {
		if f.Value == "" {
			continue
		}
		dst = appendString(append(dst, separator), f.Name)
		dst = appendString(append(dst, ':'), f.Value)
		separator = ','
	}
	return append(dst, '}')
}

// urlKey returns the sort key of a line: the SURT of an http or https URL, or else the target with white space
// escaped.
func urlKey(target string) string {
	if u, err := weburl.Parse(target); err == nil {
		return u.SURT()
	}
	return strings.NewReplacer(" ", "%20", "\t", "%09").Replace(target)
}

// appendString appends s as a JSON string with only the required escapes. Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
