package segments

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/objects"
	"freshet/store/internal/format"
)

// Identity names the directory that the objects at an address belong to.
type Identity struct {
	Address   string `json:"address"`
	Directory string `json:"directory"` // a random name; copies of the directory share it
	Writer    string `json:"writer"`    // a random name of one copy; empty: this copy changes no object

	CacheBytes int64 `json:"cache_bytes"` // of the cache on disk
}

// Segment is a closed WARC file that has been moved.
type Segment struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"` // in hexadecimal; empty: unknown
}

func segmentOf(name string, bytes int64, sum objects.Sum) Segment {
	return Segment{name, bytes, hex.EncodeToString(sum[:])}
}

// line is a line of the list: the identity, in the first line, or the state of a segment.
type line struct {
	*Identity `json:",omitempty"`
	*Segment  `json:",omitempty"`
	State     state `json:"state,omitempty"`
}

// state is the state of a segment.
type state string

const (
	moved    state = ""
	removing state = "removing" // it is deleted, and its object must be
	removed  state = "removed"
)

// list is the file of a directory that lists the moved segments: lines of format.AppendLine, appended durably.
type list struct {
	fs       vfs.FS
	path     string
	identity Identity
	moved    map[string]Segment
	removing map[string]bool
	dead     int  // lines that no longer count
	torn     bool // the last line has no end
	damaged  bool // lines could not be read
}

// readList reads the list of a directory, or of a snapshot. A missing list is empty.
func readList(fsys vfs.FS, dir string) (*list, error) {
	l := &list{fs: fsys, path: fsys.PathJoin(dir, format.SegmentsFile), moved: map[string]Segment{}, removing: map[string]bool{}}
	raw, err := format.ReadFile(fsys, l.path, 1<<30)
	if errors.Is(err, fs.ErrNotExist) {
		return l, l.readSnapshot(fsys.PathJoin(dir, format.SnapshotFile))
	} else if err != nil {
		return nil, fmt.Errorf("segments: %w", err)
	}
	for len(raw) > 0 {
		text, rest, whole := bytes.Cut(raw, []byte("\n"))
		var one line
		switch {
		case !whole: // it was being written when the power failed
			l.torn = true
		case !format.DecodeLine(text, &one):
			l.damaged = true
		default:
			l.take(one)
		}
		raw = rest
	}
	return l, nil
}

// readSnapshot takes the segments of a snapshot, which has no list of its own. A snapshot is only read, so it gets no
// cache.
func (l *list) readSnapshot(path string) error {
	raw, err := format.ReadFile(l.fs, path, 1<<28)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var snapshot struct {
		Segments Manifest `json:"segments"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &snapshot)
	}
	if err != nil {
		return fmt.Errorf("segments: %s: %w", path, err)
	}
	l.identity = snapshot.Segments.Identity
	l.identity.Writer, l.identity.CacheBytes = "", 0
	for _, s := range snapshot.Segments.Segments {
		l.moved[s.Name] = s
	}
	return nil
}

// take applies a line.
func (l *list) take(one line) {
	if one.Identity != nil {
		l.identity = *one.Identity
	}
	if one.Segment == nil {
		return
	}
	switch name := one.Name; one.State {
	case moved:
		l.moved[name] = *one.Segment
		delete(l.removing, name)
	case removing:
		delete(l.moved, name)
		l.removing[name] = true
		l.dead += 2
	case removed:
		delete(l.removing, name)
		l.dead += 2
	}
}

// note makes a line durable and applies it.
func (l *list) note(s Segment, as state) (err error) {
	if l.torn || l.dead > 1000+len(l.moved) {
		if err := l.write(); err != nil {
			return err
		}
	}
	f, err := l.fs.OpenReadWrite(l.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("segments: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("segments: %w", err)
	}
	one := line{Segment: &s, State: as}
	if _, err = f.WriteAt(format.AppendLine(nil, one), info.Size()); err == nil {
		err = f.Sync()
	}
	if err != nil {
		l.torn = true // the next line would be joined to a part of this one
		return fmt.Errorf("segments: %s: %w", l.path, err)
	}
	l.take(one)
	return nil
}

// write writes the list without lines that no longer count.
func (l *list) write() error {
	raw := format.AppendLine(nil, line{Identity: &l.identity})
	for _, name := range slices.Sorted(maps.Keys(l.moved)) {
		s := l.moved[name]
		raw = format.AppendLine(raw, line{Segment: &s})
	}
	for _, name := range slices.Sorted(maps.Keys(l.removing)) {
		raw = format.AppendLine(raw, line{Segment: &Segment{Name: name}, State: removing})
	}
	err := format.WriteFile(l.fs, l.path+".new", raw)
	if err == nil {
		err = errors.Join(l.fs.Rename(l.path+".new", l.path), format.SyncDir(l.fs, l.fs.PathDir(l.path)))
	}
	if err != nil {
		return fmt.Errorf("segments: %s: %w", l.path, err)
	}
	l.dead, l.torn, l.damaged = 0, false, false
	return nil
}

// Manifest is what a copy of a directory needs to know about the segments that it shares.
type Manifest struct {
	Identity
	Segments []Segment `json:"segments"`
}

// Write gives a directory the segments of a manifest. The directory must not be open. It changes no object until
// Take.
func (m Manifest) Write(fsys vfs.FS, dir string) error {
	l := &list{fs: fsys, path: fsys.PathJoin(dir, format.SegmentsFile), identity: m.Identity, moved: map[string]Segment{}}
	l.identity.Writer = ""
	for _, s := range m.Segments {
		if s.Name != fsys.PathBase(s.Name) || s.Bytes < 0 {
			return fmt.Errorf("segments: segment %q of %d bytes: want the name of a file", s.Name, s.Bytes)
		}
		l.moved[s.Name] = s
	}
	return l.write()
}

// Address returns where the segments of a directory are. It is empty if all are in the directory.
func Address(fsys vfs.FS, dir string) (string, error) {
	l, err := readList(fsys, dir)
	if err != nil {
		return "", err
	}
	return l.identity.Address, nil
}
