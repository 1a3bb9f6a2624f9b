package segments

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/objects"
	"freshet/store/internal/format"
)

// ErrOther means that the objects at an address belong to another directory, or are changed by another copy of it.
var ErrOther = errors.New("the object store belongs to another data directory")

// DefaultCache is the default size of the cache on disk, in bytes.
const DefaultCache = 1 << 30

// Options configure Segments. Store and Clock are required.
type Options struct {
	Store      objects.Store
	CacheBytes int64 // of the cache on disk; 0: none; negative: as last set for the directory
	Publish    bool  // upload closed files between Open and Close
	Clock      *clock.Clock
	Logger     *slog.Logger // default: none
}

// Segments are the closed WARC files of one open directory. Between Open and Close its methods are safe for
// concurrent use.
type Segments struct {
	options Options
	fs      vfs.FS // below
	dir     string // of captures
	cache   *cache
	ctx     context.Context // from Open to Close
	cancel  context.CancelFunc
	wake    chan struct{} // a file was closed
	ending  chan struct{} // closed: upload what waits, then stop
	running sync.WaitGroup

	owning sync.Mutex // one call of own at a time; locked before mu

	mu        sync.Mutex // never held during a request to the store
	list      *list
	uploading *upload         // nil: none
	held      map[string]int  // files that must not be uploaded now
	finish    context.Context // of the uploads in Close; nil: none
	fault     error           // why the last upload failed
}

// New returns the segments of a directory that will be opened.
func New(o Options) *Segments {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Segments{options: o}
}

// markerName is the object that names the directory of the others. Its content is a marker.
const markerName = "freshet.json"

type marker struct {
	Format    int    `json:"format"`
	Directory string `json:"directory"`
	Writer    string `json:"writer"`
}

// markerFormat is the version of the format of the objects.
const markerFormat = 1

// objectName returns the name of the object of a segment.
func objectName(segment string) string { return path.Join(format.CapturesDir, segment) }

// Open reads the list of moved files and returns a file system that shows them. The caller holds the directory's
// lock. The error matches ErrOther if the store belongs to another directory. A store that does not answer is an
// error only if the directory has never used it.
func (s *Segments) Open(fsys vfs.FS, dir string, readOnly bool) (_ vfs.FS, err error) {
	s.fs, s.dir = fsys, fsys.PathJoin(dir, format.CapturesDir)
	s.wake, s.ending, s.held = make(chan struct{}, 1), make(chan struct{}), map[string]int{}
	s.uploading, s.fault = nil, nil
	if s.list, err = readList(fsys, dir); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			s.cancel()
		}
	}()
	if err := s.begin(readOnly); err != nil {
		return nil, err
	}
	known := func(segment string) bool { _, ok := s.list.moved[segment]; return ok }
	bound := s.options.CacheBytes
	if bound < 0 {
		bound = s.list.identity.CacheBytes
	}
	s.cache, err = openCache(fsys, dir, bound, known)
	if err != nil && readOnly { // the disk may be read-only
		s.cache, err = openCache(fsys, dir, 0, known)
	}
	if err != nil {
		return nil, fmt.Errorf("segments: cache: %w", err)
	}
	if !readOnly {
		if err := s.dropMoved(); err != nil {
			return nil, err
		}
	}
	if !readOnly && s.options.Publish {
		s.running.Go(s.publish)
	}
	return overlay{fsys, s}, nil
}

// openTime is how long Open waits for the store.
const openTime = 20 * time.Second

// begin checks which directory the objects belong to.
func (s *Segments) begin(readOnly bool) error {
	ctx, cancel := context.WithTimeout(s.ctx, openTime)
	defer cancel()
	known := s.list.identity.Directory != ""
	var err error
	if s.options.Publish && !readOnly {
		err = s.own(ctx)
	} else {
		err = s.checkMarker(ctx, s.Identity().Directory)
	}
	switch {
	case err == nil && s.list.damaged:
		return s.listAgain(ctx)
	case err == nil:
		return nil
	case errors.Is(err, ErrOther) || !known || s.list.damaged:
		return err
	}
	s.options.Logger.Warn("the object store does not answer: segments wait on this disk", "error", err)
	return nil
}

// own makes sure that the objects belong to this directory and that it may change them. It asks the store each
// time, because another copy of the directory may have taken them over.
func (s *Segments) own(ctx context.Context) error {
	s.owning.Lock()
	defer s.owning.Unlock()
	if err := s.identify(ctx); err != nil {
		return err
	}
	id := s.Identity()
	found, err := s.marker(ctx)
	if errors.Is(err, fs.ErrNotExist) && s.count() == 0 {
		raw, _ := json.Marshal(marker{markerFormat, id.Directory, id.Writer}) // texts and a number
		if err = s.options.Store.Create(ctx, markerName, raw); err == nil || errors.Is(err, fs.ErrExist) {
			found, err = s.marker(ctx)
		}
	}
	if err == nil {
		err = s.mine(found)
	}
	if err == nil && found.Writer != id.Writer {
		err = fmt.Errorf("%w: only another copy of it, such as the one that it was restored from, may change %s: "+
			"if that copy is gone, give the objects to this one: freshet segments take", ErrOther, id.Address)
	}
	return err
}

// identify notes durably where the objects are, before the marker names the directory.
func (s *Segments) identify(ctx context.Context) error {
	was := s.Identity()
	now := was
	now.Address = s.options.Store.String()
	if s.options.CacheBytes >= 0 {
		now.CacheBytes = s.options.CacheBytes
	}
	if was.Directory != "" && was == now {
		return nil
	}
	if now.Directory == "" {
		now.Directory, now.Writer = rand.Text(), rand.Text()
	}
	if err := s.checkMarker(ctx, now.Directory); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.identity = now
	err := s.list.write()
	if err != nil {
		s.list.identity = was
	}
	return err
}

// count returns how many segments were moved.
func (s *Segments) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list.moved)
}

func (s *Segments) marker(ctx context.Context) (m marker, err error) {
	raw, err := objects.ReadAll(ctx, s.options.Store, markerName, 1<<16)
	if err != nil {
		return m, fmt.Errorf("segments: %w", err)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("segments: %s/%s: %w: %w", s.options.Store, markerName, ErrOther, err)
	}
	if m.Format > markerFormat {
		return m, fmt.Errorf("segments: %s/%s: %w: format %d: this program reads up to format %d", s.options.Store, markerName, ErrOther, m.Format, markerFormat)
	}
	return m, nil
}

// mine returns ErrOther for the marker of another directory.
func (s *Segments) mine(m marker) error { return s.of(m, s.Identity().Directory) }

func (s *Segments) of(m marker, directory string) error {
	if m.Directory == directory {
		return nil
	}
	return fmt.Errorf("%w: %s: give each directory a prefix of its own (--segments s3://BUCKET/PREFIX)", ErrOther, s.options.Store)
}

// checkMarker returns ErrOther if the objects belong to another directory, or if there is no marker although files
// were moved.
func (s *Segments) checkMarker(ctx context.Context, directory string) error {
	m, err := s.marker(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.count() > 0:
		return fmt.Errorf("%w: %s has none of the segments of this one: copy them there, with %s", ErrOther, s.options.Store, markerName)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return s.of(m, directory)
}

// Take makes the directory the one that may change the objects of a store, in place of any other copy. It lists all
// segments in the store. The directory must not be open, and the caller holds its lock. A snapshot is refused.
func Take(ctx context.Context, fsys vfs.FS, dir string, store objects.Store) (st Status, err error) {
	if err := format.RefuseSnapshot(fsys, dir); err != nil {
		return st, err
	}
	l, err := readList(fsys, dir)
	if err != nil {
		return st, err
	}
	s := New(Options{Store: store})
	s.list = l
	m, err := s.marker(ctx)
	if err != nil {
		return st, err
	}
	l.identity.Address, l.identity.Directory, l.identity.Writer = store.String(), m.Directory, rand.Text()
	if err := s.listAgain(ctx); err != nil {
		return st, err
	}
	raw, err := json.Marshal(marker{markerFormat, m.Directory, l.identity.Writer})
	if err == nil {
		_, err = store.Put(ctx, markerName, bytes.NewReader(raw), int64(len(raw)))
	}
	return s.moves(), err
}

// listAgain adds segments in the store that the list lacks.
func (s *Segments) listAgain(ctx context.Context) error {
	for o, err := range s.options.Store.List(ctx, format.CapturesDir+"/") {
		if err != nil {
			return fmt.Errorf("segments: %s cannot be read, and the object store cannot be listed: %w", s.list.path, err)
		}
		name := path.Base(o.Name)
		if _, known := s.list.moved[name]; !known && !s.list.removing[name] && isSegment(name) {
			s.list.moved[name] = Segment{Name: name, Bytes: o.Bytes}
		}
	}
	return s.list.write()
}

func isSegment(name string) bool { return strings.HasSuffix(name, ".warc.gz") }

// dropMoved removes local files that were moved: a crash after their upload may leave them.
func (s *Segments) dropMoved() error {
	names, err := s.fs.List(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := s.list.moved[name]; ok {
			if err := s.fs.Remove(s.fs.PathJoin(s.dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close ends the uploads. If Finish was called, it first uploads what waits.
func (s *Segments) Close() {
	if s.ctx == nil { // it was never opened
		return
	}
	s.mu.Lock()
	finish := s.finish
	s.mu.Unlock()
	if finish == nil {
		s.cancel()
	} else {
		defer context.AfterFunc(finish, s.cancel)()
	}
	close(s.ending)
	s.running.Wait()
	s.cancel()
	s.options.Store.Close()
}

// Finish makes Close upload all waiting files, until ctx ends or an upload fails.
func (s *Segments) Finish(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish = ctx
}

// Moved returns a moved segment.
func (s *Segments) Moved(name string) (Segment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.list.moved[name]
	return found, ok
}

// Identity returns which directory the objects belong to.
func (s *Segments) Identity() Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list.identity
}
