package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/consent"
	"freshet/feed"
	"freshet/store"
	"freshet/text/stored"
)

const (
	pagesAtOnce = 64 // read from the log, and held in memory
	bytesAtOnce = 4 << 20
	gathering   = time.Second // how long changes gather after the first
	looking     = time.Minute // between calls of Put without documents
)

// A Target receives documents. One goroutine uses it.
type Target interface {
	// Put delivers documents in order. For a page, a document with a smaller position than the target has changes
	// nothing. Put returns those that the target will never accept. After an error the same pages are put again, as
	// they are then. Without documents Put does periodic work, such as to complete a file.
	Put(ctx context.Context, documents []Document) ([]Refusal, error)
	// Clear announces that all documents come again, since ends of pages may have been missed. After an error that is
	// not a *Fault it is called again.
	Clear(ctx context.Context) error
	Close() error
}

// A Fault is an error of a Target that another attempt does not repair: an operator must act.
type Fault struct{ Cause, Remedy string }

// Error returns the cause and the remedy.
func (f *Fault) Error() string { return "sink: " + f.Cause + ": " + f.Remedy }

// A Refusal is a document that a target will never accept, and the reason.
type Refusal struct {
	Document Document
	Why      string
}

// Options are what a Sink needs.
type Options struct {
	Name   string // for people and metrics: the address without secrets
	Target Target
	Store  *store.Store
	Bell   *feed.Bell // rung when the log has grown
	Clock  *clock.Clock
	Logger *slog.Logger
	FS     vfs.FS
	Dir    string // of the mark and the refused documents; made if absent
	Uses   []consent.Use

	// Rest is called after Run has read texts for a time, with the number of records that it has not read. It returns
	// when the machine has time for more. If nil, Run does not rest.
	Rest func(ctx context.Context, worked time.Duration, queue uint64)
}

// A Sink delivers documents to a target. A new one begins with all stored pages. It holds one batch in memory: at
// most 64 pages, and no further page once it has 4 MiB.
type Sink struct {
	o      Options
	rng    *rand.Rand
	log    *feed.Reader
	reader *Reader

	put, refused, failures atomic.Int64 // documents accepted and refused; failed attempts since the last success
	oldest                 atomic.Int64 // unix nanoseconds of the first change that is being put; 0: none
	taken                  atomic.Pointer[feed.Cursor]
}

// New returns a sink that continues from its mark.
func New(o Options) (*Sink, error) {
	if err := o.FS.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	return &Sink{o: o, rng: rand.New(rand.NewPCG(uint64(o.Clock.Now().UnixNano()), 0))}, nil
}

// Name returns the sink's name.
func (s *Sink) Name() string { return s.o.Name }

// Standing returns what the sink has taken.
func (s *Sink) Standing() feed.Standing {
	state := feed.Standing{Name: s.o.Name, Handed: s.put.Load(), Failures: s.failures.Load()}
	if taken := s.taken.Load(); taken != nil {
		state.Taken = *taken
	}
	return state
}

// reached notes that everything up to the reader's place is taken.
func (s *Sink) reached() {
	taken := s.log.Cursor()
	s.taken.Store(&taken)
}

// Run puts documents until ctx ends. Its error is that of the directory, a *Fault, or a panic with its stack.
func (s *Sink) Run(ctx context.Context) error { return s.contained(ctx, true) }

// CatchUp puts the remaining documents, unless ctx ends first. Call it after Run, when the crawl has ended.
func (s *Sink) CatchUp(ctx context.Context) error { return s.contained(ctx, false) }

func (s *Sink) contained(ctx context.Context, on bool) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("sink: crash: %v\n%s", cause, debug.Stack())
		}
	}()
	s.reader = NewReader(s.o.Store, s.o.Uses, false)
	defer s.reader.Close()
	err = s.open(ctx)
	for err == nil {
		var more bool
		if more, err = s.step(ctx, on); !more {
			break
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// open brings the reader of the log to the mark.
func (s *Sink) open(ctx context.Context) error {
	since, err := feed.ReadKept(s.o.FS, s.mark())
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	if since == "" {
		since = feed.Start
	}
	var fault error
	err = s.insist(ctx, func() (err error) {
		s.log, fault = feed.NewReader(s.o.Store, since, "")
		if errors.Is(fault, feed.ErrNotYet) { // the node reads what it lost from the cluster's log
			err, fault = fault, nil
		}
		return err
	})
	return s.orAgain(ctx, errors.Join(fault, err))
}

// orAgain starts again with all pages if err means that the log no longer has all changes since the mark.
func (s *Sink) orAgain(ctx context.Context, err error) error {
	if !errors.Is(err, feed.ErrBehind) && !errors.Is(err, feed.ErrCursor) {
		return err
	}
	s.o.Logger.Warn("a sink was away for too long: all pages are handed on again", "sink", s.o.Name, "error", err)
	if err := s.insist(ctx, func() error { return s.o.Target.Clear(ctx) }); err != nil {
		return err
	}
	s.log, err = feed.NewReader(s.o.Store, feed.Start, "")
	return err
}

func (s *Sink) mark() string { return s.o.FS.PathJoin(s.o.Dir, "mark") }

// step puts the documents of the next entries. If there are none it waits for some, or, unless on, returns false.
func (s *Sink) step(ctx context.Context, on bool) (more bool, err error) {
	news := s.o.Bell.Wait()
	s.reached()
	entries, err := s.log.Next(pagesAtOnce)
	if err != nil {
		return true, s.orAgain(ctx, err)
	}
	if len(entries) > 0 {
		s.oldest.Store(entries[0].At)
		read, err := s.hand(ctx, entries)
		if err != nil {
			return true, err
		}
		s.oldest.Store(0)
		if err := feed.WriteKept(s.o.FS, s.mark(), s.log.Place().String()); err != nil {
			return true, err
		}
		if on && s.o.Rest != nil {
			queue, err := s.log.Behind()
			if err != nil {
				return true, err
			}
			s.o.Rest(ctx, read, queue)
		}
		return true, nil
	}
	if !on {
		return false, nil
	}
	look := s.o.Clock.NewTimer(looking)
	defer look.Stop()
	select {
	case <-news:
		return true, s.o.Clock.Sleep(ctx, gathering)
	case <-look.C:
		return true, s.insist(ctx, func() error { _, err := s.o.Target.Put(ctx, nil); return err })
	case <-ctx.Done():
		return false, nil
	}
}

// hand puts the documents of entries in batches, and lays refused ones aside. Before it puts a batch again it reads
// it again, because its pages may have ended meanwhile. It returns the time that it took to read texts.
func (s *Sink) hand(ctx context.Context, entries []feed.Entry) (read time.Duration, err error) {
	for len(entries) > 0 {
		var batch []Document
		var lost map[string]error
		var refusals []Refusal
		var fault error // the store's
		err := s.insist(ctx, func() (err error) {
			began := s.o.Clock.Now()
			batch, lost, fault = s.batch(ctx, entries)
			read += s.o.Clock.Now().Sub(began)
			switch {
			case errors.Is(fault, stored.ErrNotNow):
				err, fault = fault, nil
			case fault == nil:
				refusals, err = s.o.Target.Put(ctx, batch)
			}
			return err
		})
		if err = errors.Join(fault, err); err != nil {
			return read, err
		}
		for at, cause := range lost {
			what := "a page cannot be handed on"
			if store.IsLost(cause) {
				what += ": " + store.LostRemedy
			}
			s.o.Logger.Warn(what, "sink", s.o.Name, "url", at, "error", cause)
		}
		s.put.Add(int64(len(batch) - len(refusals)))
		if err := s.layAside(refusals); err != nil {
			return read, err
		}
		entries = entries[len(batch):]
	}
	return read, nil
}

// batch returns the documents of as many first entries as make one batch, and by URL why some of them have no text.
func (s *Sink) batch(ctx context.Context, entries []feed.Entry) (batch []Document, lost map[string]error, err error) {
	lost = map[string]error{}
	for bytes := 0; len(batch) < len(entries) && bytes <= bytesAtOnce; {
		d, err := s.reader.Changed(ctx, entries[len(batch)])
		switch {
		case OfPage(err) && ctx.Err() == nil: // it counts as ended, like a page without text
			lost[d.URL] = err
		case err != nil:
			return nil, nil, err
		}
		batch = append(batch, d)
		bytes += len(d.Text) + len(d.Diff)
	}
	return batch, lost, nil
}

// OfPage reports whether an error of a Reader concerns one page and would recur: damage, an invalid coding, a version
// that is no longer kept.
func OfPage(err error) bool {
	return store.IsDamage(err) || errors.Is(err, store.ErrNotFound) || errors.Is(err, errContent) && !errors.Is(err, stored.ErrNotNow)
}

// insist calls try until it succeeds. Its error is that of ctx or a *Fault.
func (s *Sink) insist(ctx context.Context, try func() error) error {
	for failures := 0; ; failures++ {
		err := try()
		if err == nil {
			s.failures.Store(0)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.failures.Add(1)
		if fault := (*Fault)(nil); errors.As(err, &fault) {
			return err
		}
		wait := feed.Backoff(failures, s.rng)
		s.o.Logger.Warn("a delivery to a sink failed", "sink", s.o.Name, "error", err, "again_in", wait)
		if err := s.o.Clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// mostRefused bounds the file of refused documents, in bytes. One earlier file is kept too.
const mostRefused = 16 << 20

// layAside writes refused documents to a file beside the mark, one line of JSON each, for people to read.
func (s *Sink) layAside(refusals []Refusal) error {
	if len(refusals) == 0 {
		return nil
	}
	name := s.o.FS.PathJoin(s.o.Dir, "refused.jsonl")
	s.refused.Add(int64(len(refusals)))
	s.o.Logger.Warn("a sink refuses documents", "sink", s.o.Name, "documents", len(refusals), "why", refusals[0].Why, "file", name)
	if info, err := s.o.FS.Stat(name); err == nil && info.Size() > mostRefused {
		if err := s.o.FS.Rename(name, name+".old"); err != nil {
			return fmt.Errorf("sink: %w", err)
		}
	}
	f, err := s.o.FS.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	info, err := f.Stat()
	for at := int64(0); err == nil && len(refusals) > 0; refusals = refusals[1:] {
		var line []byte
		r := refusals[0]
		line, err = json.Marshal(struct {
			URL  string    `json:"url"`
			Time time.Time `json:"time"`
			Why  string    `json:"why"`
		}{r.Document.URL, r.Document.Time, r.Why})
		if err == nil {
			_, err = f.WriteAt(append(line, '\n'), info.Size()+at)
			at += int64(len(line)) + 1
		}
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return nil
}
