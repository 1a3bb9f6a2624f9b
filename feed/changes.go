package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/clock"
	"freshet/store"
	"freshet/weburl"
)

// Change is a line of the change feed. For a page, Kind is new, changed, moved, gone, withdrawn or purged. A
// heartbeat has only a cursor. A line of kind resynchronise has an error, and is the last of a stream that cannot go
// on.
type Change struct {
	Cursor      string     `json:"cursor"` // a client that has read this line goes on from here
	Kind        string     `json:"kind"`
	URL         string     `json:"url,omitempty"`
	At          *time.Time `json:"at,omitempty"`
	Version     uint32     `json:"version,omitempty"`
	Digest      string     `json:"digest,omitempty"` // SHA-1 of the body, hexadecimal
	ContentType string     `json:"content_type,omitempty"`
	SizeBytes   int64      `json:"size_bytes,omitempty"`
	MovedTo     string     `json:"moved_to,omitempty"`
	Error       string     `json:"error,omitempty"`
}

// Kinds of lines that are about no page.
const (
	KindHeartbeat     = "heartbeat"
	KindResynchronise = "resynchronise"
)

const (
	heartbeat    = 15 * time.Second // between signs of life
	linesAtOnce  = 256              // read from the log, and held in memory, for a client
	pauseToBatch = 50 * time.Millisecond
)

// Changes serves the change feed: GET with the query's since, site and follow; NDJSON, or Server-Sent Events if the
// request accepts text/event-stream. The stream goes on, with a heartbeat every 15 s, until the client or the server
// ends it; with follow=false it ends at the present, with a heartbeat that has the cursor. A cursor that is too old
// gets the code 410. Each client reads the log at its own pace, with at most 256 lines in memory. A client that reads
// nothing for 30 s is dropped, and goes on from its cursor when it comes back.
type Changes struct {
	Store *store.Store
	Bell  *Bell // rung when the log has grown
	Clock *clock.Clock
	Done  <-chan struct{} // ends all streams; nil: never

	mu   sync.Mutex
	open map[*streamed]bool
}

// streamed is a stream that is open.
type streamed struct {
	mu sync.Mutex
	Standing
}

// note notes what the client has taken.
func (s *streamed) note(lines int, taken Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Handed, s.Taken = s.Handed+int64(lines), taken
}

// Streams returns how many streams are open, and the state of at most that many of them, about the furthest behind
// first. Of readers that come and go with a cursor, nothing is known.
func (f *Changes) Streams(most int) (open int, some []Standing) {
	f.mu.Lock()
	for s := range f.open {
		s.mu.Lock()
		some = append(some, s.Standing)
		s.mu.Unlock()
	}
	f.mu.Unlock()
	slices.SortFunc(some, func(x, y Standing) int {
		return cmp.Or(cmp.Compare(x.position(), y.position()), cmp.Compare(x.Name, y.Name))
	})
	return len(some), some[:min(len(some), most)]
}

// begun notes an open stream until ended is called.
func (f *Changes) begun(of Standing) (s *streamed, ended func()) {
	s = &streamed{Standing: of}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[*streamed]bool{}
	}
	f.open[s] = true
	return s, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, s)
	}
}

// ServeHTTP implements http.Handler.
func (f *Changes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	since, follow := query.Get("since"), query.Get("follow") != "false"
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		since = id // a browser that connects again
	}
	site, err := parseSite(query.Get("site"))
	if err != nil {
		Refuse(w, http.StatusBadRequest, err)
		return
	}
	reader, err := f.reader(r.Context(), since, site)
	if err != nil {
		code := CodeOf(err)
		if errors.Is(err, ErrCursor) {
			err = fmt.Errorf("since: %w: want the cursor of a change, start for all changes, or nothing for those from now on", err)
		}
		Refuse(w, code, err)
		return
	}
	out := begin(w, f.Clock, strings.Contains(r.Header.Get("Accept"), "text/event-stream"))
	_ = f.stream(r, reader, out, follow) // the client has gone
}

// The longest wait for a node of a cluster to follow the others up to a cursor, and the time between checks, in
// machine time.
const (
	followed  = 10 * time.Second
	lookAgain = 100 * time.Millisecond
)

// reader returns a reader. In a cluster it waits a while for this node to follow the others up to the cursor.
func (f *Changes) reader(ctx context.Context, since string, site weburl.Site) (*Reader, error) {
	for waited := time.Duration(0); ; waited += lookAgain {
		reader, err := NewReader(f.Store, since, site)
		if !errors.Is(err, ErrNotYet) || waited >= followed {
			return reader, err
		}
		if f.Clock.Sleep(ctx, f.Clock.Span(lookAgain)) != nil {
			return nil, err
		}
	}
}

// stream writes changes until the request ends; its error is the client's.
func (f *Changes) stream(r *http.Request, reader *Reader, out *lines, follow bool) error {
	timer := f.Clock.NewTimer(f.Clock.Span(heartbeat))
	defer timer.Stop()
	told, ended := f.begun(Standing{Name: r.RemoteAddr, Site: reader.site, Since: f.Clock.Now(), Taken: reader.Cursor()})
	defer ended()
	for {
		news := f.Bell.Wait()
		before := reader.Place()
		entries, err := reader.Next(linesAtOnce)
		for c := range Lines(f.Store, before, entries) {
			if err := out.line(c); err != nil {
				return err
			}
		}
		switch {
		case err != nil:
			kind := ""
			if errors.Is(err, ErrBehind) {
				kind = KindResynchronise
			}
			return errors.Join(out.line(Change{Kind: kind, Error: err.Error()}), out.to.Flush())
		case len(entries) > 0:
			if err := out.to.Flush(); err != nil {
				return err
			}
			told.note(len(entries), reader.Cursor())
			continue
		case !follow:
			return errors.Join(out.line(Change{Kind: KindHeartbeat, Cursor: reader.Place().String()}), out.to.Flush())
		}
		told.note(0, reader.Cursor())
		select {
		case <-news:
			if f.Clock.Sleep(r.Context(), f.Clock.Span(pauseToBatch)) != nil {
				return nil
			}
		case <-timer.C:
			f.Clock.Reset(timer, f.Clock.Span(heartbeat))
			if err := errors.Join(out.line(Change{Kind: KindHeartbeat, Cursor: reader.Place().String()}), out.to.Flush()); err != nil {
				return err
			}
		case <-r.Context().Done():
			return nil
		case <-f.Done:
			return nil
		}
	}
}

// lines writes changes in one of the two formats.
type lines struct {
	to     *Writer
	events bool
}

// begin begins an answer: of events, or of JSON.
func begin(w http.ResponseWriter, c *clock.Clock, events bool) *lines {
	kind := "application/x-ndjson"
	if events {
		kind = "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy is not to collect lines
	w.WriteHeader(http.StatusOK)
	l := &lines{NewWriter(w, c), events}
	_ = l.to.Flush() // the next write tells
	return l
}

func (l *lines) line(c Change) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if l.events {
		if c.Cursor != "" {
			text = fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n", c.Cursor, c.Kind, text)
		} else {
			text = fmt.Appendf(nil, "event: %s\ndata: %s\n", c.Kind, text)
		}
	}
	_, err = l.to.Write(append(text, '\n'))
	return err
}

// Lines returns consecutive entries as lines of the change feed. since is the reader's place before the first of
// them.
func Lines(s *store.Store, since Place, entries []Entry) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		at := Place{slices.Clone(since.At), since.floor}
		for _, e := range entries {
			at.At[e.Partition] = e.Record
			c := describe(s, e)
			c.Cursor = at.String()
			if !yield(c) {
				return
			}
		}
	}
}

// describe returns an entry as a line, without its cursor. For a version that is no longer kept it gives only the
// number.
func describe(s *store.Store, e Entry) Change {
	at := time.Unix(0, e.At).UTC()
	c := Change{Kind: e.Kind.String(), URL: e.URL.String(), At: &at, Version: e.Version}
	if !e.MovedTo.IsZero() {
		c.MovedTo = e.MovedTo.String()
	}
	if v, err := s.Version(e.Partition, e.Fingerprint, e.Version); err == nil && !e.Kind.Ended() {
		c.Digest, c.ContentType, c.SizeBytes = fmt.Sprintf("%x", v.BodyDigest[:]), v.ContentType, v.Size
	}
	return c
}

// parseSite reads a site as a user types it; "" is none.
func parseSite(text string) (weburl.Site, error) {
	if text == "" {
		return "", nil
	}
	u, err := weburl.Parse(text)
	if err != nil {
		return "", err
	}
	return u.Site(), nil
}
