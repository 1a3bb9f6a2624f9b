// Package log is the replicated log of a cluster. For each partition it is a sequence of entries, kept on several
// machines.
//
// An entry is a group of a partition's records, or records that a node takes the partition. Each entry names the place
// that it follows. An append behind any place but the end is refused. So a node that was deposed cannot write, even if
// it does not know of it and whatever its clock says.
//
// Entries are chained: each carries a digest of all before it. So a reader notices a hole, a fork or a changed byte.
package log

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/fxamacker/cbor/v2"

	"freshet/weburl"
)

// ErrDeposed means that the log has further entries behind the given place: another node has taken the partition.
var ErrDeposed = errors.New("log: another owner has written")

// ErrBroken means that an entry does not follow the one before it.
var ErrBroken = errors.New("log: broken chain")

// ErrTruncated means that entries behind a place were dropped from the log. A snapshot of the partition includes them.
var ErrTruncated = errors.New("log: it begins later")

// MaxEntry is the largest size of an encoded entry, in bytes.
const MaxEntry = 1 << 20

// Chain is the digest of all entries up to a place.
type Chain [sha256.Size]byte

// Place is the position behind an entry of a partition's log. The zero value is the beginning.
type Place struct {
	Seq   uint64 `cbor:"1,keyasint"` // number of the entry; numbers rise, with gaps
	Chain Chain  `cbor:"2,keyasint"`
}

// Entry is what a node appends.
type Entry struct {
	Owner string `cbor:"1,keyasint"`           // the node that wrote it
	Taken bool   `cbor:"2,keyasint,omitempty"` // Owner takes the partition
	Data  []byte `cbor:"3,keyasint,omitempty"` // records; if Taken, random text that makes the entry unique
	More  bool   `cbor:"4,keyasint,omitempty"` // Data goes on in the next entry
}

// Log is the log of all partitions. Its methods may be called at the same time.
type Log interface {
	// Append appends an entry behind a place and returns the entry's own place. It returns ErrDeposed if the given
	// place is not the end. It returns the context's error if no answer came in time; the entry may then be stored or
	// not.
	Append(ctx context.Context, p weburl.Partition, after Place, e Entry) (Place, error)
	// Read returns the entries behind a place, in order. The last ones may be missing. It returns ErrTruncated if the
	// first ones are.
	Read(ctx context.Context, p weburl.Partition, after Place) iter.Seq2[Read, error]
	// Truncate drops the entries before a place. The one at the place stays.
	Truncate(ctx context.Context, p weburl.Partition, at Place) error
	// Late says why an entry of a partition waits to be stored, and what to do, if it has waited for LateAfter
	// or longer. It returns nil if none does.
	Late(p weburl.Partition) error
}

// LateAfter is how long an entry may wait before Log.Late tells of it. Servers that elect a leader need some seconds.
const LateAfter = 10 * time.Second

// Read is an entry with its place.
type Read struct {
	At Place
	Entry
}

// sealed is an entry as it is stored.
type sealed struct {
	Chain []byte          `cbor:"1,keyasint"`
	Entry cbor.RawMessage `cbor:"2,keyasint"`
}

// Seal encodes an entry that follows a place, and returns it with its chain.
func Seal(after Place, e Entry) ([]byte, Chain, error) {
	raw, err := cbor.Marshal(e)
	if err != nil {
		return nil, Chain{}, fmt.Errorf("log: %w", err)
	}
	chain := after.Chain.next(raw)
	data, err := cbor.Marshal(sealed{chain[:], raw})
	if err == nil && len(data) > MaxEntry {
		err = fmt.Errorf("an entry of %d bytes, want at most %d", len(data), MaxEntry)
	}
	if err != nil {
		return nil, Chain{}, fmt.Errorf("log: %w", err)
	}
	return data, chain, nil
}

// Open decodes an entry and checks that it follows a place. It returns ErrBroken if it follows another.
func Open(after Place, seq uint64, data []byte) (Read, error) {
	var s sealed
	var r Read
	if err := cbor.Unmarshal(data, &s); err != nil {
		return r, fmt.Errorf("%w: entry %d: %w", ErrBroken, seq, err)
	}
	if err := cbor.Unmarshal(s.Entry, &r.Entry); err != nil {
		return r, fmt.Errorf("%w: entry %d: %w", ErrBroken, seq, err)
	}
	r.At = Place{seq, after.Chain.next(s.Entry)}
	if string(s.Chain) != string(r.At.Chain[:]) {
		return r, fmt.Errorf("%w: entry %d does not follow entry %d", ErrBroken, seq, after.Seq)
	}
	return r, nil
}

func (c Chain) next(raw []byte) Chain {
	h := sha256.New()
	h.Write(c[:])
	h.Write(raw)
	return Chain(h.Sum(nil))
}

// MaxData is the most data of an entry, in bytes. The rest of MaxEntry is for the other fields.
const MaxData = MaxEntry - 4<<10

// AppendData appends an owner's data of any length, in as many entries of at most that many bytes as needed. The errors
// are Append's. After an error the log may have a part of the data; readers ignore it.
func AppendData(ctx context.Context, l Log, p weburl.Partition, after Place, owner string, data []byte, most int) (Place, error) {
	for len(data) > most {
		var err error
		if after, err = l.Append(ctx, p, after, Entry{Owner: owner, Data: data[:most], More: true}); err != nil {
			return after, err
		}
		data = data[most:]
	}
	return l.Append(ctx, p, after, Entry{Owner: owner, Data: data})
}

// Joined joins data that is spread over several entries. The zero value is ready, at the beginning of a log or where
// the previous data ended.
type Joined struct {
	parts []byte
}

// Add takes the next entry, and returns the data that ends with it. Whole is false if the data goes on in the next
// entry, and for an entry without data. A part is dropped if its owner was deposed before the rest came.
func (j *Joined) Add(e Entry) (data []byte, whole bool) {
	switch {
	case e.Taken:
		j.parts = nil
		return nil, false
	case e.More || j.parts != nil:
		j.parts = append(j.parts, e.Data...)
	default:
		return e.Data, true
	}
	if e.More {
		return nil, false
	}
	data, j.parts = j.parts, nil
	return data, true
}

// Take makes a node the owner of a partition. It reads the entries behind a place, calls apply for each, and appends an
// entry that records that the node takes the partition. It returns the place behind this entry. If others write at the
// same time, it reads on until ctx ends.
func Take(ctx context.Context, l Log, p weburl.Partition, node string, from Place, apply func(Read) error) (Place, error) {
	taken := Entry{Owner: node, Taken: true, Data: []byte(rand.Text())} // unlike that of a run that lost its disk
	for {
		for r, err := range l.Read(ctx, p, from) {
			if err != nil {
				return from, err
			}
			if err := apply(r); err != nil {
				return from, err
			}
			from = r.At
		}
		at, err := l.Append(ctx, p, from, taken)
		if !errors.Is(err, ErrDeposed) {
			return at, err
		}
	}
}
