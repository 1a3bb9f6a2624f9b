package repair

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// gather makes a sound database in the new folder to, from all that it can read of the damaged one in the folder from.
// It reads every table and log that it finds, whatever the database's own list of files says. If a key has two entries,
// it takes the later one. It calls say for each file that has lost something. It needs as much memory as the largest
// table, and twice as much disk space as the rows.
func gather(ctx context.Context, fsys vfs.FS, from, to string, say func(file, what string)) error {
	sorted := to + ".sorted"
	if err := errors.Join(fsys.RemoveAll(sorted), fsys.RemoveAll(to)); err != nil {
		return err
	}
	g, err := newGathering(fsys, sorted)
	if err != nil {
		return err
	}
	err = g.read(ctx, from, say)
	if err == nil {
		err = g.write(ctx, to)
	}
	return errors.Join(err, g.db.Close(), fsys.RemoveAll(sorted))
}

// gathering is a database that holds all entries found, the later ones of a key first.
type gathering struct {
	fs      vfs.FS
	db      *pebble.DB
	batch   *pebble.Batch
	deleted []entry // ranges
}

func newGathering(fsys vfs.FS, dir string) (*gathering, error) {
	db, err := pebble.Open(dir, scratchOptions(fsys))
	if err != nil {
		return nil, err
	}
	return &gathering{fs: fsys, db: db, batch: db.NewBatch()}, nil
}

// scratchOptions are those of a database that is written once, and counts when it is complete.
func scratchOptions(fsys vfs.FS) *pebble.Options {
	return &pebble.Options{FS: fsys, FormatMajorVersion: pebble.FormatNewest, DisableWAL: true, Logger: quiet{}}
}

// quiet passes no message on; what the database calls fatal ends the repair with it.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("database: "+format, args...))
}

// read gathers what the files in a folder hold.
func (g *gathering) read(ctx context.Context, dir string, say func(file, what string)) error {
	names, err := g.fs.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		say(g.fs.PathBase(dir), "it is not there")
		return nil
	} else if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		number, kind, _ := strings.Cut(name, ".")
		n, numErr := strconv.ParseUint(number, 10, 64)
		path := g.fs.PathJoin(dir, name)
		var lost int64
		switch {
		case numErr != nil:
			continue
		case kind == "sst":
			lost, err = table(g.fs, path, g.add)
		case kind == "log":
			lost, err = logged(g.fs, path, n, g.add)
		default:
			continue
		}
		if err != nil {
			return err
		}
		if lost > 0 && kind == "sst" {
			say(name, fmt.Sprintf("%d bytes of rows cannot be read", lost))
		} else if lost > 0 {
			say(name, fmt.Sprintf("%d stretches of it cannot be read", lost))
		}
	}
	return g.flush()
}

const gatherBytes = 4 << 20

func (g *gathering) add(e entry) error {
	if e.end != nil {
		e.key, e.end = bytes.Clone(e.key), bytes.Clone(e.end)
		g.deleted = append(g.deleted, e)
		return nil
	}
	value := append([]byte{0}, e.value...)
	if e.deleted {
		value[0] = 1
	}
	if err := g.batch.Set(sortedKey(e.key, e.seq), value, nil); err != nil {
		return err
	}
	if g.batch.Len() < gatherBytes {
		return nil
	}
	return g.flush()
}

func (g *gathering) flush() error {
	err := g.batch.Commit(pebble.NoSync)
	g.batch = g.db.NewBatch()
	return err
}

// sortedKey makes keys follow one another as the keys that it is made of, the entries of one in falling order of their
// numbers.
func sortedKey(key []byte, seq uint64) []byte {
	dst := make([]byte, 0, len(key)+16)
	for _, b := range key {
		if dst = append(dst, b); b == 0 {
			dst = append(dst, 0xff)
		}
	}
	return binary.BigEndian.AppendUint64(append(dst, 0, 1), ^seq)
}

// sourceKey is the inverse of sortedKey.
func sourceKey(sorted []byte) (key []byte, seq uint64) {
	end := len(sorted) - 10
	for i := 0; i < end; i++ {
		key = append(key, sorted[i])
		if sorted[i] == 0 {
			i++
		}
	}
	return key, ^binary.BigEndian.Uint64(sorted[end+2:])
}

// write makes a database of the last entries of all keys.
func (g *gathering) write(ctx context.Context, to string) (err error) {
	db, err := pebble.Open(to, scratchOptions(g.fs))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	it, err := g.db.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	slices.SortFunc(g.deleted, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	batch := db.NewBatch()
	var last []byte
	var covering []entry
	next := 0
	for ok := it.First(); ok; ok = it.Next() {
		key, seq := sourceKey(it.Key())
		if last != nil && bytes.Equal(key, last) {
			continue
		}
		last = key
		for next < len(g.deleted) && bytes.Compare(g.deleted[next].key, key) <= 0 {
			covering = append(covering, g.deleted[next])
			next++
		}
		covering = slices.DeleteFunc(covering, func(e entry) bool { return bytes.Compare(e.end, key) <= 0 })
		value := it.Value()
		if value[0] == 1 || slices.ContainsFunc(covering, func(e entry) bool { return e.seq > seq }) {
			continue
		}
		if err := errors.Join(ctx.Err(), batch.Set(key, value[1:], nil)); err != nil {
			return errors.Join(err, batch.Close())
		}
		if batch.Len() >= gatherBytes {
			if err := batch.Commit(pebble.NoSync); err != nil {
				return err
			}
			batch = db.NewBatch()
		}
	}
	return errors.Join(it.Error(), batch.Commit(pebble.NoSync), db.Flush())
}
