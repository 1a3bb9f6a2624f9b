// Package format is the format of a data directory: the names of its files, freshet.json, keys and values. See
// docs/format.
package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/zeebo/xxh3"

	"freshet/store/internal/database"
	"freshet/weburl"
)

// KeyFormat is the first byte of every key: the last format of the data directory whose keys differ from
// those of the format before.
const KeyFormat = 2

// Kind is the byte of a key that says what its value is. The numbers are part of the format; see
// docs/format/keys.md.
type Kind byte

// The kinds of keys.
const (
	KeyCounters Kind = 1  // → the partition's Counters
	KeyMark     Kind = 2  // consumer's name → number of the last record that it read
	KeySite     Kind = 3  // site → SiteRow
	KeyRobots   Kind = 4  // site → body of its robots.txt
	KeyGate     Kind = 5  // host → Gate
	KeyPage     Kind = 6  // fingerprint → Page
	KeyNew      Kind = 7  // site hash, order, arrival → fingerprint, cash
	KeyDue      Kind = 8  // site hash, time, arrival → fingerprint, cash
	KeyVisit    Kind = 9  // fingerprint, number → Visit
	KeyVersion  Kind = 10 // fingerprint, number → Version
	KeyLinks    Kind = 11 // fingerprint → out-links
	KeyChange   Kind = 12 // number of a record → Change
	KeyRecord   Kind = 13 // number → encoded record
	KeyArrived  Kind = 14 // partition → number of its last record whose links are accepted
	KeyParted   Kind = 15 // partition → number of the record after which links to it are sent
	KeyTDMRep   Kind = 16 // site → body of its tdmrep.json
	LastKind         = KeyTDMRep
)

// Keyspace makes the keys of one crawl.
type Keyspace struct{ Prefix []byte }

// NewKeyspace returns the keys of the crawl of that name.
func NewKeyspace(crawl string) Keyspace {
	return Keyspace{append(append([]byte{KeyFormat}, crawl...), 0)}
}

// Outside returns a key outside of every crawl: no crawl has an empty name.
func Outside(name string) []byte { return append([]byte{KeyFormat, 0}, name...) }

// AppendPartition appends what all keys of a partition begin with.
func (k Keyspace) AppendPartition(dst []byte, p weburl.Partition) []byte {
	return binary.BigEndian.AppendUint16(append(dst, k.Prefix...), uint16(p))
}

// AppendKind appends what all keys of a kind in a partition begin with.
func (k Keyspace) AppendKind(dst []byte, p weburl.Partition, kind Kind) []byte {
	return append(k.AppendPartition(dst, p), byte(kind))
}

// Span returns the bounds, from included and to excluded, of the keys that begin with prefix.
func Span(prefix []byte) (from, to []byte) {
	to = append([]byte(nil), prefix...)
	for i := len(to) - 1; i >= 0; i-- {
		if to[i]++; to[i] != 0 {
			return prefix, to[:i+1]
		}
	}
	return prefix, nil // all bytes 255: no key of ours
}

// PartitionSpan returns the bounds of a partition's keys.
func (k Keyspace) PartitionSpan(p weburl.Partition) (from, to []byte) {
	return Span(k.AppendPartition(nil, p))
}

// KindSpan returns the bounds of the keys of a kind in a partition.
func (k Keyspace) KindSpan(p weburl.Partition, kind Kind) (from, to []byte) {
	return Span(k.AppendKind(nil, p, kind))
}

// AppendText appends a key that ends in a text: the name of a site, host or consumer.
func (k Keyspace) AppendText(dst []byte, p weburl.Partition, kind Kind, text string) []byte {
	return append(k.AppendKind(dst, p, kind), text...)
}

// AppendNumber appends a key that ends in a number: a record's or a fingerprint.
func (k Keyspace) AppendNumber(dst []byte, p weburl.Partition, kind Kind, n uint64) []byte {
	return binary.BigEndian.AppendUint64(k.AppendKind(dst, p, kind), n)
}

// AppendPage appends the prefix of a page's keys of a kind. For KeyPage it is the whole key.
func (k Keyspace) AppendPage(dst []byte, p weburl.Partition, kind Kind, fp weburl.Fingerprint) []byte {
	return k.AppendNumber(dst, p, kind, uint64(fp))
}

// AppendOfPage appends the key of a page's visit or version.
func (k Keyspace) AppendOfPage(dst []byte, p weburl.Partition, kind Kind, fp weburl.Fingerprint, n uint32) []byte {
	return binary.BigEndian.AppendUint32(k.AppendPage(dst, p, kind, fp), n)
}

// AppendQueue appends the prefix of the keys of a site's queue, of kind KeyNew or KeyDue. The key has a 64-bit hash
// of the site: two sites of a partition with the same hash would share their queues.
func (k Keyspace) AppendQueue(dst []byte, p weburl.Partition, kind Kind, site weburl.Site) []byte {
	return binary.BigEndian.AppendUint64(k.AppendKind(dst, p, kind), xxh3.HashString(string(site)))
}

// AppendEntry appends the key of a place in a site's queue.
func (k Keyspace) AppendEntry(dst []byte, p weburl.Partition, kind Kind, site weburl.Site, order, arrival uint64) []byte {
	dst = binary.BigEndian.AppendUint64(k.AppendQueue(dst, p, kind, site), order)
	return binary.BigEndian.AppendUint64(dst, arrival)
}

// AppendPeer appends the key of what partition p notes about another one, of kind KeyArrived or KeyParted.
func (k Keyspace) AppendPeer(dst []byte, p weburl.Partition, kind Kind, peer weburl.Partition) []byte {
	return binary.BigEndian.AppendUint16(k.AppendKind(dst, p, kind), uint16(peer))
}

// PeerTail decodes the end of such a key.
func PeerTail(rest []byte) (weburl.Partition, error) {
	if len(rest) != 2 {
		return 0, fmt.Errorf("%w: key's end %x: want 2 bytes", ErrCorrupt, rest)
	}
	return weburl.Partition(binary.BigEndian.Uint16(rest)), nil
}

// NumberTail decodes a key that ends with a fingerprint or a record's number.
func NumberTail(rest []byte) (uint64, error) {
	if len(rest) != 8 {
		return 0, fmt.Errorf("%w: key's end %x: want 8 bytes", ErrCorrupt, rest)
	}
	return binary.BigEndian.Uint64(rest), nil
}

// PageTail decodes the end of a visit's or version's key.
func PageTail(rest []byte) (weburl.Fingerprint, uint32, error) {
	if len(rest) != 12 {
		return 0, 0, fmt.Errorf("%w: key's end %x: want 12 bytes", ErrCorrupt, rest)
	}
	return weburl.Fingerprint(binary.BigEndian.Uint64(rest)), binary.BigEndian.Uint32(rest[8:]), nil
}

// QueueTail decodes the end of a queue entry's key.
func QueueTail(rest []byte) (site, order, arrival uint64, err error) {
	if len(rest) != 24 {
		return 0, 0, 0, fmt.Errorf("%w: key's end %x: want 24 bytes", ErrCorrupt, rest)
	}
	return binary.BigEndian.Uint64(rest), binary.BigEndian.Uint64(rest[8:]), binary.BigEndian.Uint64(rest[16:]), nil
}

// AppendEntryValue appends a queue entry's value: the page's fingerprint and, unless it is 0, its
// cash.
func AppendEntryValue(dst []byte, fp weburl.Fingerprint, cash float64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(fp))
	if cash != 0 {
		dst = appendFloat(dst, cash)
	}
	return dst
}

// EntryValue decodes a queue entry's value.
func EntryValue(value []byte) (weburl.Fingerprint, float64, error) {
	switch len(value) {
	case 8:
		return weburl.Fingerprint(binary.BigEndian.Uint64(value)), 0, nil
	case 16:
		return weburl.Fingerprint(binary.BigEndian.Uint64(value)), float(value[8:]), nil
	}
	return 0, 0, fmt.Errorf("%w: queue entry %x: want 8 or 16 bytes", ErrCorrupt, value)
}

func appendFloat(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(f))
}

func float(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }

// Probe returns the next fingerprint to try if another page has fp.
func Probe(fp weburl.Fingerprint) weburl.Fingerprint { return max(1, fp+1) }

// Crawls returns the names of the crawls that have keys, sorted. It costs one lookup a crawl, whatever their sizes.
func Crawls(db pebble.Reader) (names []string, err error) {
	from, to := []byte{KeyFormat, 1}, []byte{KeyFormat + 1} // past the keys outside of every crawl
	for {
		var name []byte
		err := database.Scan(db, from, to, func(key, _ []byte) error {
			name, _, _ = bytes.Cut(bytes.Clone(key[1:]), []byte{0})
			return database.ErrStop
		})
		if err != nil {
			return nil, err
		}
		if name == nil {
			return names, nil
		}
		names = append(names, string(name))
		_, from = Span(NewKeyspace(string(name)).Prefix)
	}
}

// Read decodes the value at key into v; ErrNotFound if there is none.
func Read(db pebble.Reader, key []byte, v any) error {
	found, err := database.Get(db, key, func(raw []byte) error { return DecodeValue(raw, v) })
	if err == nil && !found {
		err = ErrNotFound
	}
	return err
}

// ReadRaw returns a copy of the value at key; ErrNotFound if there is none.
func ReadRaw(db pebble.Reader, key []byte) (value []byte, err error) {
	found, err := database.Get(db, key, func(raw []byte) error { value = append([]byte{}, raw...); return nil })
	if err == nil && !found {
		err = ErrNotFound
	}
	return value, err
}

// DropOlder deletes the keys of older formats, if there are any.
func DropOlder(db *pebble.DB) error {
	from, to := []byte{Oldest}, []byte{KeyFormat}
	found := false
	err := database.Scan(db, from, to, func(_, _ []byte) error { found = true; return database.ErrStop })
	if err != nil || !found {
		return err
	}
	return database.Drop(db, from, to)
}
