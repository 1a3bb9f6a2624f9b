package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/weburl"
)

// state is the state of the set apart from its entries, at one Keep.
type state struct {
	Known   int64                       `json:"known"`
	Marks   map[weburl.Partition]uint64 `json:"marks"`
	Journal uint32                      `json:"journal"` // number of the first journal whose entries are in no run
}

func (s state) clone() state {
	s.Marks = maps.Clone(s.Marks)
	return s
}

// manifest lists the files of the set. It is replaced as a whole; without one there is no set.
type manifest struct {
	Format     int `json:"format"`
	Partitions int `json:"partitions"`
	state
	Next uint32     `json:"next"` // the number of the next file
	Runs [][]uint32 `json:"runs"` // segments in order, the newest run first
}

const (
	manifestName   = "manifest"
	manifestFormat = 2 // 1 was a database
	maxManifest    = 64 << 20
)

// writeManifest makes m the set, in one step: it is on disk when writeManifest returns.
func writeManifest(fs vfs.FS, dir string, m manifest) (size int, err error) {
	content, err := json.Marshal(m)
	if err != nil {
		return 0, fmt.Errorf("seen: encode manifest: %w", err)
	}
	content = fmt.Appendf(content, "\n%08x\n", crc32.Checksum(content, castagnoli()))
	temporary := fs.PathJoin(dir, manifestName+".new")
	if err := writeFile(fs, temporary, content); err != nil {
		return 0, fmt.Errorf("seen: write manifest: %w", err)
	}
	if err := fs.Rename(temporary, fs.PathJoin(dir, manifestName)); err != nil {
		return 0, fmt.Errorf("seen: replace manifest: %w", err)
	}
	return len(content), syncDir(fs, dir)
}

// readManifest returns the manifest of dir. One that is not there is fs.ErrNotExist, one that is not as
// it was written ErrDamaged.
func readManifest(fs vfs.FS, dir string) (m manifest, err error) {
	path := fs.PathJoin(dir, manifestName)
	content, err := readFile(fs, path, maxManifest)
	if err != nil {
		return m, fmt.Errorf("seen: read manifest: %w", err)
	}
	text, sum, _ := bytes.Cut(content, []byte("\n"))
	if want := fmt.Sprintf("%08x\n", crc32.Checksum(text, castagnoli())); string(sum) != want {
		return m, fmt.Errorf("%w: %s: checksum differs", ErrDamaged, path)
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Format != manifestFormat {
		return m, fmt.Errorf("%w: %s: format %d: want %d", ErrDamaged, path, m.Format, manifestFormat)
	}
	if m.Marks == nil {
		m.Marks = map[weburl.Partition]uint64{}
	}
	return m, nil
}

func writeFile(fs vfs.FS, path string, content []byte) error {
	file, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// readFile returns a file of at most limit bytes.
func readFile(fs vfs.FS, path string, limit int64) ([]byte, error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%w: %s: more than %d bytes", ErrDamaged, path, limit)
	}
	return content, errors.Join(err, file.Close())
}

func syncDir(fs vfs.FS, dir string) error {
	file, err := fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("seen: open directory %s: %w", dir, err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("seen: sync directory %s: %w", dir, err)
	}
	return nil
}
