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

// ErrOther says that the objects at an address belong to another directory, or are changed by another copy of it.
var ErrOther = errors.New("the object store belongs to another data directory")

// DefaultCache is how many bytes of what was read are kept on disk unless somebody says otherwise.
const DefaultCache = 1 << 30

// Options say where segments are kept. Store and Clock are required.
type Options struct {
	Store      objects.Store
	CacheBytes int64 // of what was read, on disk; 0: none; negative: as the directory was last told
	Publish    bool  // upload closed files from the opening to the end
	Clock      *clock.Clock
	Logger     *slog.Logger // default: none
}

// Segments are the closed WARC files of one open directory. Between Open and Close its methods may be called at the
// same time.
type Segments struct {
	options Options
	fs      vfs.FS // below
	dir     string // of captures
	cache   *cache
	ctx     context.Context // from Open to Close
	cancel  context.CancelFunc
	wake    chan struct{} // a file was closed
	ending  chan struct{} // closed: what waits is uploaded, and that is all
	running sync.WaitGroup

	claiming sync.Mutex // one claim at a time; taken before mu

	mu        sync.Mutex // nobody holds it while the store is asked
	list      *list
	uploading *upload         // nil: none
	held      map[string]int  // files that are not to be uploaded now
	finish    context.Context // of what Close uploads; nil: nothing
	fault     error           // why the last upload failed
}

// New returns the segments of a directory that is to be opened.
func New(o Options) *Segments {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Segments{options: o}
}

// markerName is of the object that says to whom the others belong; its content is a marker.
const markerName = "freshet.json"

type marker struct {
	Format    int    `json:"format"`
	Directory string `json:"directory"`
	Writer    string `json:"writer"`
}

// markerFormat is the version of what the objects at an address are.
const markerFormat = 1

// objectName returns the name of the object of a segment.
func objectName(segment string) string { return path.Join(format.CapturesDir, segment) }

// Open reads which files were moved and returns the file system in which they are seen. The caller has the lock of the
// directory. The error matches ErrOther if the store is another directory's. That a store does not answer is an error
// only if the directory has never used it.
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
	if err != nil && readOnly { // of a disk that nothing can be written to
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

// openTime is how long an opening waits for the store.
const openTime = 20 * time.Second

// begin finds out whose the objects are.
func (s *Segments) begin(readOnly bool) error {
	ctx, cancel := context.WithTimeout(s.ctx, openTime)
	defer cancel()
	known := s.list.identity.Directory != ""
	var err error
	if s.options.Publish && !readOnly {
		err = s.claim(ctx)
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

// claim sees to it that the objects are this directory's and that it may change them. It asks each time, since another
// copy of the directory may have taken them.
func (s *Segments) claim(ctx context.Context) error {
	s.claiming.Lock()
	defer s.claiming.Unlock()
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
		err = fmt.Errorf("%w: %s is changed by another copy of this one, such as the one of which this is restored: "+
			"if that one is gone, let this one change it: freshet segments take", ErrOther, id.Address)
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
		return m, fmt.Errorf("segments: %s/%s: %w: format %d: this program knows up to %d", s.options.Store, markerName, ErrOther, m.Format, markerFormat)
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

// checkMarker returns ErrOther if the objects are another directory's, and where there are none though files were
// moved.
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

// Take lets the directory, which is not open, change the objects of a store, whoever did before. It takes in all
// segments that are there.
// The caller has the lock of the directory.
func Take(ctx context.Context, fsys vfs.FS, dir string, store objects.Store) (st Status, err error) {
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

// listAgain completes the list of what the store has.
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

// dropMoved removes files that were moved and are here still, from a crash after their upload.
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

// Close ends the uploads. Where Finish was called it first uploads what waits.
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

// Finish has Close upload all files that wait, until ctx ends or an upload fails.
func (s *Segments) Finish(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish = ctx
}

// Moved returns a segment that has been moved.
func (s *Segments) Moved(name string) (Segment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.list.moved[name]
	return found, ok
}

// Identity returns to whom the objects belong.
func (s *Segments) Identity() Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list.identity
}
