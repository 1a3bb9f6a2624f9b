package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/gzip"
)

// filesWith returns the files of a folder that have a text. It looks at the plain content, in gzip members, and in
// bodies there that the server had sent zipped. It looks in the keys and values of a database's tables, whose blocks
// are compressed. It skips files that vanish meanwhile.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		if err == nil && filepath.Ext(name) == ".sst" {
			var pairs []byte
			await(t, name+", whole", func() bool { // a running crawl may be writing it
				pairs, err = tablePairs(t, name)
				return err == nil || errors.Is(err, fs.ErrNotExist)
			})
			content = append(content, pairs...)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if holds(content, []byte(text), 2) {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// holds looks for a text in some bytes and in whatever in them is gzip, that many layers deep.
func holds(content, text []byte, layers int) bool {
	if bytes.Contains(content, text) {
		return true
	}
	for rest := content; layers > 0; rest = rest[1:] {
		at := bytes.Index(rest, []byte("\x1f\x8b\x08"))
		if at < 0 {
			return false
		}
		rest = rest[at:]
		unzipped, err := gzip.NewReader(bytes.NewReader(rest))
		if err != nil {
			continue // it only looked like one
		}
		unzipped.Multistream(false)
		var member bytes.Buffer
		_, _ = member.ReadFrom(unzipped) // as far as it goes: it may be half written
		if holds(member.Bytes(), text, layers-1) {
			return true
		}
	}
	return false
}

// tablePairs returns all keys and values of a table, those that are deleted in a later one too.
func tablePairs(t testing.TB, name string) (pairs []byte, err error) {
	t.Helper()
	file, err := vfs.Default.Open(name)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	reader, err := sstable.NewReader(t.Context(), readable, sstable.ReaderOptions{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), readable.Close())
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	it, err := reader.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for pair := it.First(); pair != nil; pair = it.Next() {
		value, _, err := pair.Value(nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		pairs = append(append(pairs, pair.K.UserKey...), value...)
	}
	return pairs, nil
}

// TestFilesWith holds that filesWith finds a text in a plain file, in the second gzip member of a file, and in a
// table's compressed block after its deletion.
func TestFilesWith(t *testing.T) {
	const text = "a needle, of some length"
	dir := t.TempDir()
	var zipped bytes.Buffer
	for _, part := range []string{"hay", "more hay and " + text} {
		w := gzip.NewWriter(&zipped)
		_, err := w.Write(bytes.Repeat([]byte(part), 10))
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string][]byte{"none": []byte("hay"), "plain": []byte("hay " + text), "zipped": zipped.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options := &pebble.Options{FormatMajorVersion: pebble.FormatNewest, DisableAutomaticCompactions: true}
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionBalanced })
	db, err := pebble.Open(filepath.Join(dir, "db"), options)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 { // what was written before is written as a reference to it
		err = errors.Join(err, db.Set(fmt.Appendf(nil, "a%d", i), []byte(text[:12]+"?"+text[12:]), nil))
	}
	err = errors.Join(err, db.Set([]byte("b"), []byte(text), nil), db.Flush(), db.Delete([]byte("b"), nil), db.Flush(), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "db", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range logs {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	tables, err := filepath.Glob(filepath.Join(dir, "db", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	if raw := read(t, tables[0]); bytes.Contains(raw, []byte(text)) {
		t.Error("the table holds the text in one piece: this does not test what it is to")
	}
	found := map[string]bool{}
	for _, name := range filesWith(t, dir, text) {
		found[filepath.Base(name)] = true
	}
	if len(found) != 3 || !found["plain"] || !found["zipped"] || !found[filepath.Base(tables[0])] {
		t.Errorf("found in %v", found)
	}
}
