package warc

import (
	"crypto/sha1"
	"encoding/base32"
	"encoding/hex"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Type is the kind of a record, the value of WARC-Type. Readers may find other kinds than those below.
type Type string

// The record types that a crawl writes.
const (
	Warcinfo Type = "warcinfo" // describes the file
	Request  Type = "request"  // the bytes sent
	Response Type = "response" // the bytes received
	Metadata Type = "metadata" // further information about a capture, as warc-fields
	Revisit  Type = "revisit"  // a capture whose payload an earlier record has
)

// The content types of blocks.
const (
	TypeRequest  = "application/http;msgtype=request"
	TypeResponse = "application/http;msgtype=response"
	TypeFields   = "application/warc-fields"
)

// The profiles of revisit records.
const (
	ProfileIdentical   = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	ProfileNotModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// Truncation is the reason why a block has less than the server sent.
type Truncation string

// The reasons for truncation; the empty one means that the block is whole.
const (
	TruncatedLength     Truncation = "length"
	TruncatedTime       Truncation = "time"
	TruncatedDisconnect Truncation = "disconnect"
)

// Field is one named field of a header or of a warc-fields block. Names compare without case.
type Field struct{ Name, Value string }

// Record is a WARC record. A zero value of a field means that the record does not have it.
//
// Records of other programs may hold values of a form that this package does not write (a SHA-256 digest, an ID
// that is no UUID, a date without a time), and fields more than once. The first valid value is in its own field;
// the others are in Fields, in order.
type Record struct {
	Type          Type
	ID            ID
	Date          time.Time // start of the capture; written and read to the millisecond, in UTC
	TargetURI     string
	Address       netip.Addr // the server's
	ConcurrentTo  ID         // another record of the same capture
	RefersTo      ID         // of a revisit: the record that has the payload
	RefersToURI   string     // … its target
	RefersToDate  time.Time  // … its date
	Profile       string
	Truncated     Truncation
	PayloadDigest Digest // of the entity body: transfer-decoded, still content-encoded; of a revisit: the original's
	BlockDigest   Digest
	WarcinfoID    ID
	Filename      string
	Fields        []Field // all others
	ContentType   string

	// Block is the content. It is nil in a record from Reader.Next: the Reader then reads the block.
	Block []byte

	// Length is the block's length in bytes from the header of a record that was read. Encoders ignore it.
	Length int64
}

// Seal fills in BlockDigest and, after it, ID where they are zero. The ID is a version 5 UUID of the
// record's type, date (to the millisecond), target, file name and block digest: equal for equal
// records, different whenever one of these differs. An Encoder seals what it writes by itself; seal
// a record before to learn its ID for another's ConcurrentTo. O(len(Block)) for the digest.
func (r *Record) Seal() {
	if r.BlockDigest == (Digest{}) {
		r.BlockDigest = DigestOf(r.Block)
	}
	if r.ID != (ID{}) {
		return
	}
	var room [512]byte
	name := append(room[:0], namespace[:]...)
	name = append(append(name, r.Type...), ' ')
	name = append(appendDate(name, r.Date), ' ')
	name = append(append(name, r.TargetURI...), ' ')
	name = append(append(name, r.Filename...), ' ')
	name = append(name, r.BlockDigest[:]...)
	sum := sha1.Sum(name)
	copy(r.ID[:], sum[:])
	r.ID[6] = r.ID[6]&0x0f | 0x50 // version 5
	r.ID[8] = r.ID[8]&0x3f | 0x80 // the variant of RFC 9562
}

// Field returns the value of a field of r.Fields and whether there is one; the first if there are
// several.
func (r *Record) Field(name string) (string, bool) {
	i := slices.IndexFunc(r.Fields, func(f Field) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return "", false
	}
	return r.Fields[i].Value, true
}

// ID is a record's identity, a UUID. The zero ID means none.
type ID [16]byte

// namespace is the UUID namespace of our names. It never changes.
var namespace = ID{0x6b, 0x0e, 0x2d, 0x5a, 0x93, 0x71, 0x4c, 0x1f, 0x8a, 0x44, 0xd2, 0x0b, 0x57, 0xe6, 0x18, 0xc3}

// String returns the ID in the form of headers: "<urn:uuid:…>".
func (id ID) String() string { return string(id.append(nil)) }

func (id ID) append(dst []byte) []byte {
	dst = append(dst, "<urn:uuid:"...)
	for i, part := range [...][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return append(dst, '>')
}

func parseID(s string) (id ID, ok bool) {
	s, ok = strings.CutPrefix(s, "<urn:uuid:")
	if !ok || len(s) != 37 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' || s[36] != '>' {
		return ID{}, false
	}
	for i, at := range [...]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34} {
		if _, err := hex.Decode(id[i:i+1], []byte(s[at:at+2])); err != nil {
			return ID{}, false
		}
	}
	return id, id != ID{}
}

// Digest is a SHA-1. The zero digest means none.
type Digest [sha1.Size]byte

// DigestOf returns the digest of b. O(len(b)).
func DigestOf(b []byte) Digest { return sha1.Sum(b) }

// DigestOfPieces returns the digest of the bytes of all pieces, one after the other. O(n).
func DigestOfPieces(pieces iter.Seq[[]byte]) (d Digest) {
	hash := sha1.New()
	for piece := range pieces {
		hash.Write(piece)
	}
	hash.Sum(d[:0])
	return d
}

// String returns the digest in the form of headers: "sha1:" and 32 characters of base32.
func (d Digest) String() string { return string(d.append(nil)) }

func (d Digest) append(dst []byte) []byte {
	return base32.StdEncoding.AppendEncode(append(dst, "sha1:"...), d[:])
}

func parseDigest(s string) (d Digest, ok bool) {
	s, ok = strings.CutPrefix(s, "sha1:")
	if !ok || len(s) != 32 || strings.Contains(s, "=") {
		return Digest{}, false
	}
	b, err := base32.StdEncoding.DecodeString(s)
	if err != nil || len(b) != len(d) {
		return Digest{}, false
	}
	copy(d[:], b)
	return d, d != Digest{}
}

const dateLayout = "2006-01-02T15:04:05.000Z"

func appendDate(dst []byte, t time.Time) []byte { return t.UTC().AppendFormat(dst, dateLayout) }

func parseDate(s string) (time.Time, bool) {
	t, err := time.Parse("2006-01-02T15:04:05Z", s) // takes a fraction of any length
	t = t.Truncate(time.Millisecond)
	return t, err == nil && !t.IsZero()
}
