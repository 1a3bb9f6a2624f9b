// Package log is the replicated log of a cluster: for each partition a sequence of entries that several machines keep.
//
// An entry is a group of a partition's records as one owner has written them, or says that a node takes the partition.
// Each names the place it follows. Who appends behind a place that is not the end is refused: so a node that was
// deposed, and does not know it, writes nothing any more, whatever its clock says.
//
// Entries are chained: each carries a digest of all before it. A hole, a fork or a changed byte shows itself to whoever
// reads.
package log

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"

	"github.com/fxamacker/cbor/v2"

	"freshet/weburl"
)

// ErrDeposed says that the log goes on behind the place that an entry was to follow: another node has taken the
// partition.
var ErrDeposed = errors.New("log: another owner has written")

// ErrBroken says that an entry does not follow the one before it.
var ErrBroken = errors.New("log: broken chain")

// ErrTruncated says that entries behind a place are in the log no more. A snapshot of the partition has what they said.
var ErrTruncated = errors.New("log: it begins later")

// MaxEntry is how many bytes an entry may have, encoded.
const MaxEntry = 1 << 20

// Chain is the digest of all entries up to a place.
type Chain [sha256.Size]byte

// Place is behind an entry of a partition's log. The zero value is the beginning.
type Place struct {
	Seq   uint64 `cbor:"1,keyasint"` // number of the entry; numbers rise, with gaps
	Chain Chain  `cbor:"2,keyasint"`
}

// Entry is what a node appends.
type Entry struct {
	Owner string `cbor:"1,keyasint"`           // the node that wrote it
	Taken bool   `cbor:"2,keyasint,omitempty"` // Owner takes the partition
	Data  []byte `cbor:"3,keyasint,omitempty"` // records; if it is taken, what no other entry says
	More  bool   `cbor:"4,keyasint,omitempty"` // Data goes on in the next entry
}

// Log is the log of all partitions. Its methods may be called at the same time.
type Log interface {
	// Append appends an entry behind a place and returns its own. It returns ErrDeposed if that place is not the end,
	// and the context's error if nobody said in time whether the entry is stored: it may be.
	Append(ctx context.Context, p weburl.Partition, after Place, e Entry) (Place, error)
	// Read returns the entries behind a place, in order. The last ones may be missing. It returns ErrTruncated if the
	// first ones are.
	Read(ctx context.Context, p weburl.Partition, after Place) iter.Seq2[Read, error]
	// Truncate drops the entries before a place. The one at the place stays.
	Truncate(ctx context.Context, p weburl.Partition, at Place) error
}

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

// Open decodes the entry with that number, which follows a place. It returns ErrBroken if it follows another.
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

// maxData is how many bytes of data an entry has at most: the rest is for what stands beside them.
const maxData = MaxEntry - 4<<10

// AppendData appends data of any length as an owner's, in as many entries as that takes. The errors are Append's. After
// one the log may have a part of the data, which nobody takes for the whole.
func AppendData(ctx context.Context, l Log, p weburl.Partition, after Place, owner string, data []byte) (Place, error) {
	for len(data) > maxData {
		var err error
		if after, err = l.Append(ctx, p, after, Entry{Owner: owner, Data: data[:maxData], More: true}); err != nil {
			return after, err
		}
		data = data[maxData:]
	}
	return l.Append(ctx, p, after, Entry{Owner: owner, Data: data})
}

// Joined joins data that go over several entries. The zero value is for the beginning of a log, or for behind data.
type Joined struct {
	parts []byte
}

// Add takes the next entry, and returns the data that end with it. Whole is false where they go on, and for an entry
// without data. A part whose owner was deposed before the rest came is dropped.
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

// Take makes a node the owner of a partition: it reads what is behind a place, tells apply of each entry, and appends
// that the node takes the partition. It returns the place behind that. Where others write meanwhile it reads on, until
// ctx ends.
func Take(ctx context.Context, l Log, p weburl.Partition, node string, from Place, apply func(Read) error) (Place, error) {
	taken := Entry{Owner: node, Taken: true, Data: []byte(rand.Text())} // not that of a run which lost its disk
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
