package store

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/zeebo/xxh3"

	"freshet/weburl"
)

// keyFormat is the first byte of every key: the last format of the data directory whose keys differ from
// those of the format before.
const keyFormat = 2

// keyKind is the byte of a key that says what its value is. The numbers are part of the format; see
// docs/format/keys.md.
type keyKind byte

const (
	keyCounters keyKind = 1  // → the partition's Counters
	keyMark     keyKind = 2  // consumer's name → number of the last record it took in
	keySite     keyKind = 3  // site → SiteRow
	keyRobots   keyKind = 4  // site → body of its robots.txt
	keyGate     keyKind = 5  // host → Gate
	keyPage     keyKind = 6  // fingerprint → Page
	keyNew      keyKind = 7  // site hash, order, arrival → fingerprint, cash
	keyDue      keyKind = 8  // site hash, time, arrival → fingerprint, cash
	keyVisit    keyKind = 9  // fingerprint, number → Visit
	keyVersion  keyKind = 10 // fingerprint, number → Version
	keyLinks    keyKind = 11 // fingerprint → out-links
	keyChange   keyKind = 12 // number of a record → Change
	keyRecord   keyKind = 13 // number → encoded record
	lastKind            = keyRecord
)

// keyspace makes the keys of one crawl.
type keyspace struct{ prefix []byte }

func newKeyspace(crawl string) keyspace {
	return keyspace{append(append([]byte{keyFormat}, crawl...), 0)}
}

// heartbeatKey lies outside of every crawl: no crawl has an empty name.
func heartbeatKey() []byte { return append([]byte{keyFormat, 0}, "heartbeat"...) }

// durableKey lies outside of every crawl too: they share the WARC files.
func durableKey() []byte { return append([]byte{keyFormat, 0}, "durable"...) }

// appendPartition appends what all keys of a partition begin with.
func (k keyspace) appendPartition(dst []byte, p weburl.Partition) []byte {
	return binary.BigEndian.AppendUint16(append(dst, k.prefix...), uint16(p))
}

// appendKind appends what all keys of a kind in a partition begin with.
func (k keyspace) appendKind(dst []byte, p weburl.Partition, kind keyKind) []byte {
	return append(k.appendPartition(dst, p), byte(kind))
}

// span returns the bounds, from included and to excluded, of the keys that begin with prefix.
func span(prefix []byte) (from, to []byte) {
	to = append([]byte(nil), prefix...)
	for i := len(to) - 1; i >= 0; i-- {
		if to[i]++; to[i] != 0 {
			return prefix, to[:i+1]
		}
	}
	return prefix, nil // all bytes 255: no key of ours
}

func (k keyspace) partitionSpan(p weburl.Partition) (from, to []byte) {
	return span(k.appendPartition(nil, p))
}

func (k keyspace) kindSpan(p weburl.Partition, kind keyKind) (from, to []byte) {
	return span(k.appendKind(nil, p, kind))
}

func (k keyspace) appendText(dst []byte, p weburl.Partition, kind keyKind, text string) []byte {
	return append(k.appendKind(dst, p, kind), text...)
}

func (k keyspace) appendNumber(dst []byte, p weburl.Partition, kind keyKind, n uint64) []byte {
	return binary.BigEndian.AppendUint64(k.appendKind(dst, p, kind), n)
}

func (k keyspace) appendPage(dst []byte, p weburl.Partition, kind keyKind, fp weburl.Fingerprint) []byte {
	return k.appendNumber(dst, p, kind, uint64(fp))
}

// appendOfPage appends the key of a page's visit or version.
func (k keyspace) appendOfPage(dst []byte, p weburl.Partition, kind keyKind, fp weburl.Fingerprint, n uint32) []byte {
	return binary.BigEndian.AppendUint32(k.appendPage(dst, p, kind, fp), n)
}

// appendQueue appends what all keys of a site's queue begin with. Sites are told apart by a 64-bit
// hash: two of one partition that share it would share their queues.
func (k keyspace) appendQueue(dst []byte, p weburl.Partition, q Queue, site weburl.Site) []byte {
	return binary.BigEndian.AppendUint64(k.appendKind(dst, p, q.keyKind()), xxh3.HashString(string(site)))
}

func (k keyspace) appendEntry(dst []byte, p weburl.Partition, q Queue, site weburl.Site, key Key) []byte {
	dst = binary.BigEndian.AppendUint64(k.appendQueue(dst, p, q, site), key.Order)
	return binary.BigEndian.AppendUint64(dst, key.Arrival)
}

func (q Queue) keyKind() keyKind {
	switch q {
	case NewQueue:
		return keyNew
	case DueQueue:
		return keyDue
	}
	panic(fmt.Sprintf("store: queue %d has no keys", q))
}

// numberTail decodes a key that ends with a fingerprint or a record's number.
func numberTail(rest []byte) (uint64, error) {
	if len(rest) != 8 {
		return 0, fmt.Errorf("%w: key's end %x: want 8 bytes", ErrCorrupt, rest)
	}
	return binary.BigEndian.Uint64(rest), nil
}

// pageTail decodes the end of a visit's or version's key.
func pageTail(rest []byte) (weburl.Fingerprint, uint32, error) {
	if len(rest) != 12 {
		return 0, 0, fmt.Errorf("%w: key's end %x: want 12 bytes", ErrCorrupt, rest)
	}
	return weburl.Fingerprint(binary.BigEndian.Uint64(rest)), binary.BigEndian.Uint32(rest[8:]), nil
}

// queueTail decodes the end of a queue entry's key.
func queueTail(rest []byte) (site uint64, key Key, err error) {
	if len(rest) != 24 {
		return 0, Key{}, fmt.Errorf("%w: key's end %x: want 24 bytes", ErrCorrupt, rest)
	}
	return binary.BigEndian.Uint64(rest), Key{binary.BigEndian.Uint64(rest[8:]), binary.BigEndian.Uint64(rest[16:])}, nil
}

// appendEntryValue appends a queue entry's value: the page's fingerprint and, unless it is 0, its
// cash.
func appendEntryValue(dst []byte, fp weburl.Fingerprint, cash float64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(fp))
	if cash != 0 {
		dst = appendFloat(dst, cash)
	}
	return dst
}

func entryValue(value []byte) (weburl.Fingerprint, float64, error) {
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

// arrival returns the arrival number of the i-th page that record n puts into a queue.
func arrival(n uint64, i int) uint64 { return n<<16 | uint64(i) }
