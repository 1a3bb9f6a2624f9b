package repair

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A table file of the database is a sequence of blocks, each with its own checksum, then an index of them and a
// footer. If the index is readable, it lists the blocks. If not, they are found by their checksums.
const (
	trailerBytes = 5       // after a block: how it is compressed, checksum
	longestBlock = 4 << 20 // that is looked for where the index is lost
	searchWindow = 64 << 10
	searchBudget = 1 << 29 // steps of the search for the first whole block after a damaged one
	dataColumns  = 7       // of a block of rows; blocks of other kinds have fewer
)

// entry is a key of the database as a table or a log has it.
type entry struct {
	key, value []byte
	end        []byte // of a deletion of the keys from key on: where it ends
	seq        uint64 // of two entries of a key the one with the higher number counts
	deleted    bool
}

// table calls fn for all readable entries of a table file. It returns how many bytes of blocks it could not read.
func table(fsys vfs.FS, path string, fn func(entry) error) (lost int64, err error) {
	raw, err := readAll(fsys, path)
	if err != nil {
		return 0, err
	}
	blocks, lost, ok := indexed(fsys, path, fn)
	if !ok {
		blocks, lost = searched(raw)
	}
	for _, b := range blocks {
		data, is := decompressed(raw, b)
		if !is {
			lost += int64(b.Length)
			continue
		}
		if !isData(data) {
			continue
		}
		if err := rowsOf(data, fn, &lost); err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// indexed returns the blocks of rows in a table's index, and passes on its range deletions. It reports whether the
// index is readable.
func indexed(fsys vfs.FS, path string, fn func(entry) error) (blocks []block.Handle, lost int64, ok bool) {
	defer func() {
		if recover() != nil { // the library's decoders panic at what they did not write
			ok = false
		}
	}()
	f, err := fsys.Open(path)
	if err != nil {
		return nil, 0, false
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		f.Close()
		return nil, 0, false
	}
	r, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{})
	if err != nil {
		readable.Close()
		return nil, 0, false
	}
	defer r.Close()
	layout, err := r.Layout()
	if err != nil {
		return nil, 0, false
	}
	for _, b := range layout.Data {
		blocks = append(blocks, b.Handle)
	}
	spans, err := r.NewRawRangeDelIter(context.Background(), sstable.NoFragmentTransforms, sstable.NoReadEnv)
	if err != nil || spans == nil {
		return blocks, int64(layout.RangeDel.Length), true
	}
	defer spans.Close()
	for span, err := spans.First(); span != nil && err == nil; span, err = spans.Next() {
		for _, k := range span.Keys {
			e := entry{key: append([]byte{}, span.Start...), end: append([]byte{}, span.End...), seq: uint64(k.SeqNum()), deleted: true}
			if fn(e) != nil {
				return nil, 0, false
			}
		}
	}
	return blocks, 0, true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// cooked is the form in which the database stores a CRC.
func cooked(c uint32) uint32 { return c>>15 | c<<17 + 0xa282ead8 }

// searched finds whole blocks by their checksums, one after another from the file's begin.
func searched(raw []byte) (blocks []block.Handle, lost int64) {
	budget := searchBudget
	for at := 0; at+trailerBytes < len(raw); {
		n, ok := blockAt(raw[at:], longestBlock)
		if ok {
			blocks = append(blocks, block.Handle{Offset: uint64(at), Length: uint64(n)})
			at += n + trailerBytes
			continue
		}
		from := at
		for at++; at+trailerBytes < len(raw) && budget > 0; at++ {
			budget -= searchWindow
			if n, ok := blockAt(raw[at:], searchWindow); ok && isWhole(raw, at, n) {
				break
			}
		}
		if budget <= 0 {
			at = len(raw)
		}
		lost += int64(at - from)
	}
	return blocks, lost
}

// isWhole reports whether bytes are a block and not only have a matching checksum by chance.
func isWhole(raw []byte, at, n int) bool {
	_, ok := decompressed(raw, block.Handle{Offset: uint64(at), Length: uint64(n)})
	return ok && n > 0
}

// blockAt returns the length of the block that raw begins with.
func blockAt(raw []byte, longest int) (n int, ok bool) {
	sum := ^uint32(0)
	for n = 0; n+trailerBytes <= len(raw) && n <= longest; n++ {
		sum = castagnoli[byte(sum)^raw[n]] ^ sum>>8 // of the block's n bytes and of how it is compressed
		if n > 0 && binary.LittleEndian.Uint32(raw[n+1:]) == cooked(^sum) {
			return n, true
		}
	}
	return 0, false
}

// decompressed returns a block's content if its checksum is right.
func decompressed(raw []byte, b block.Handle) (data []byte, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	end := b.Offset + b.Length
	if end+trailerBytes > uint64(len(raw)) || b.Offset > end {
		return nil, false
	}
	sum := crc32.Checksum(raw[b.Offset:end+1], castagnoli)
	if binary.LittleEndian.Uint32(raw[end+1:]) != cooked(sum) {
		return nil, false
	}
	how := block.CompressionIndicator(raw[end])
	if how == block.NoCompressionIndicator {
		return append([]byte{}, raw[b.Offset:end]...), true
	}
	n, err := block.DecompressedLen(how, raw[b.Offset:end])
	if err != nil || n > 1<<30 {
		return nil, false
	}
	data = make([]byte, n)
	return data, block.DecompressInto(how, raw[b.Offset:end], data) == nil
}

// isData reports whether a block has rows, by its number of columns.
func isData(data []byte) bool {
	return len(data) >= 11 && data[4] == 1 && binary.LittleEndian.Uint16(data[5:]) == dataColumns
}

var schema = colblk.DefaultKeySchema(pebble.DefaultComparer, 16)

// rowsOf calls fn for the rows of a block.
func rowsOf(data []byte, fn func(entry) error, lost *int64) (err error) {
	defer func() {
		if r := recover(); r != nil && err == nil {
			*lost += int64(len(data))
		}
	}()
	aligned := make([]byte, len(data)) // the decoder wants words on their bounds
	copy(aligned, data)
	var decoder colblk.DataBlockDecoder
	decoder.Init(&schema, aligned)
	var it colblk.DataBlockIter
	it.InitOnce(&schema, pebble.DefaultComparer, nil)
	if err := it.Init(&decoder, block.NoTransforms); err != nil {
		*lost += int64(len(data))
		return nil
	}
	for kv := it.First(); kv != nil; kv = it.Next() {
		e := entry{key: kv.K.UserKey, seq: uint64(kv.SeqNum())}
		switch kv.Kind() {
		case pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
			e.value = kv.InPlaceValue()
		case pebble.InternalKeyKindDelete, pebble.InternalKeyKindSingleDelete, pebble.InternalKeyKindDeleteSized:
			e.deleted = true
		default:
			continue
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads a file into memory: a table has at most 128 MiB, a log little more than a write buffer.
func readAll(fsys vfs.FS, path string) (raw []byte, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	raw = make([]byte, info.Size())
	if n, err := f.ReadAt(raw, 0); n < len(raw) {
		return nil, fmt.Errorf("repair: read %s: %w", path, err)
	}
	return raw, nil
}
