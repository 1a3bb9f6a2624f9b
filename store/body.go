package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// Body is a captured HTTP response.
type Body struct {
	URL       string
	At        time.Time // start of the capture
	Status    int
	Header    http.Header
	Payload   []byte // the entity body: transfer-decoded, still content-encoded
	Truncated string // as in WARC-Truncated
	Revisit   bool   // an earlier capture has the body; Payload is empty
}

// Body reads a captured response. Errors are ErrNotFound for the zero Pointer, ErrCorrupt, and those
// of the file system. A capture is readable as soon as a row names it.
func (s *Store) Body(at Pointer) (*Body, error) {
	if at.IsZero() {
		return nil, fmt.Errorf("%w: no capture", ErrNotFound)
	}
	pointer := warc.Pointer{File: at.File, Offset: at.Offset, Length: at.Length}
	r, err := warc.ReadAt(s.fs, s.dir.join(format.CapturesDir), pointer)
	for errors.Is(err, fs.ErrNotExist) {
		copied, found := s.moved.follow(pointer)
		if !found {
			break
		}
		pointer = copied
		r, err = warc.ReadAt(s.fs, s.dir.join(format.CapturesDir), pointer)
	}
	if err != nil {
		return nil, captureError(err)
	}
	b := &Body{URL: r.TargetURI, At: r.Date, Truncated: string(r.Truncated), Revisit: r.Type == warc.Revisit}
	if r.Type != warc.Response && r.Type != warc.Revisit {
		return nil, fmt.Errorf("%w: capture at %s:%d is a %s record: want a response", ErrCorrupt, at.File, at.Offset, r.Type)
	}
	m, err := warc.ParseResponse(r.Block)
	if err != nil {
		return nil, captureError(err)
	}
	b.Status, b.Header = m.Status, m.Header
	if b.Revisit {
		return b, nil
	}
	if b.Payload, err = m.Payload(); err != nil && b.Truncated == "" {
		return nil, captureError(err)
	}
	return b, nil
}

// VersionBody is Body for a version of u. It also returns ErrCorrupt if the capture is another page's, or if the
// payload does not match the version's digest.
func (s *Store) VersionBody(u weburl.URL, v *Version) (*Body, error) {
	b, err := s.Body(v.Capture)
	switch {
	case err != nil:
		return nil, err
	case b.URL != u.String():
		return nil, fmt.Errorf("%w: capture at %s:%d is of %s", ErrCorrupt, v.Capture.File, v.Capture.Offset, b.URL)
	case warc.DigestOf(b.Payload) != v.BodyDigest:
		return nil, fmt.Errorf("%w: version %d of %s: payload has digest %v: want %v", ErrCorrupt, v.Number, u, warc.DigestOf(b.Payload), v.BodyDigest)
	}
	return b, nil
}

// OnDisk reports whether a capture is in a file on this machine, and not in an object store.
func (s *Store) OnDisk(capture Pointer) bool {
	_, moved := s.Inside().Moved(capture.File)
	return !moved
}

func captureError(err error) error {
	if errors.Is(err, warc.ErrCorrupt) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return fmt.Errorf("store: read capture: %w", err)
}

// Files returns the paths of the WARC files, oldest first. The file that is being written ends in ".open".
func (s *Store) Files() ([]string, error) {
	dir := s.dir.join(format.CapturesDir)
	names, err := s.fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	slices.Sort(names)
	paths := names[:0]
	for _, name := range names {
		if strings.HasSuffix(strings.TrimSuffix(name, ".open"), ".warc.gz") {
			paths = append(paths, s.fs.PathJoin(dir, name))
		}
	}
	return paths, nil
}

// Revisit turns the record of an answer into a revisit record that refers to v, a version of the page at u with the
// same payload.
func (v Version) Revisit(answer *warc.Record, profile string, u weburl.URL) {
	answer.Type, answer.Profile = warc.Revisit, profile
	answer.PayloadDigest = v.BodyDigest
	answer.RefersTo = v.Capture.ID
	answer.RefersToURI = u.String()
	answer.RefersToDate = time.Unix(0, v.At)
}
