package repair

import (
	"bytes"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// logBlock is the size of the blocks of a database's log. After a damaged record, logged goes on at the next block.
const logBlock = 32 << 10

// logged calls fn for all readable entries of a log file. It returns how many unreadable places lay before a readable
// record. A log that ends in the middle of a record, as after a crash, counts as whole: what follows may be
// left of the log that the file was before.
func logged(fsys vfs.FS, path string, number uint64, fn func(entry) error) (lost int64, err error) {
	raw, err := readAll(fsys, path)
	if err != nil {
		return 0, err
	}
	var passed int64 // over, since the last record that could be read
	for start := 0; start < len(raw); {
		r := reading(record.NewReader, bytes.NewReader(raw[start:]), number)
		for {
			at := r.Offset()
			var batch []byte
			next, err := r.Next()
			if err == nil {
				batch, err = io.ReadAll(next)
			}
			if err == nil {
				lost, passed = lost+passed, 0
				if err := batched(batch, fn); err != nil {
					return lost, err
				}
				continue
			}
			start += int(at/logBlock+1) * logBlock
			passed++
			break
		}
	}
	return lost, nil
}

// reading calls the library's newReader, whose type for a file's number has no name outside of it.
func reading[N ~uint64](newReader func(io.Reader, N) *record.Reader, r io.Reader, number uint64) *record.Reader {
	return newReader(r, N(number))
}

// batched calls fn for the entries of a batch.
func batched(batch []byte, fn func(entry) error) error {
	head, ok := batchrepr.ReadHeader(batch)
	if !ok {
		return nil
	}
	r := batchrepr.Read(batch)
	for seq := uint64(head.SeqNum); ; seq++ {
		kind, key, value, ok, err := r.Next()
		if !ok || err != nil {
			return nil // its checksum was right, so it is one of a kind that holds no rows
		}
		e := entry{key: key, seq: seq}
		switch kind {
		case pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
			e.value = value
		case pebble.InternalKeyKindDelete, pebble.InternalKeyKindSingleDelete, pebble.InternalKeyKindDeleteSized:
			e.deleted = true
		case pebble.InternalKeyKindRangeDelete:
			e.deleted, e.end = true, value
		case pebble.InternalKeyKindLogData:
			seq--
			continue
		default:
			continue
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}
