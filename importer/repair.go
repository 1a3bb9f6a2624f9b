package importer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/repair"
	"freshet/store/retain"
	"freshet/store/warc"
	"freshet/weburl"
)

// Repair makes a damaged data directory usable again, and calls report for everything that it did. It keeps what can be
// read of the database and makes its rows consistent. If the rows of a visit are lost, it reads the visit again from
// its capture. What an operator took down stays down: if damage brought bytes of it back, Repair deletes them again.
// The options are those for opening the store. The next crawl fetches what Repair cannot restore.
func Repair(ctx context.Context, dir string, o store.Options, report func(store.Problem)) error {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	o.Repairing = true
	lost, err := repair.Directory(ctx, o.FS, dir, report)
	if err != nil {
		return err
	}
	s, err := store.Open(dir, o)
	if err != nil {
		return err
	}
	if err := errors.Join(repair.Repair(ctx, s, lost, report), s.Close()); err != nil {
		return err
	}
	if s, err = store.Open(dir, o); err != nil { // its decoded rows are out of date
		return err
	}
	_, err = retain.FinishPurges(ctx, s)
	if err == nil {
		err = New(s).reread(ctx, s.FS(), report)
	}
	return errors.Join(err, s.Close())
}

// reread imports visits from the directory's own captures: those of pages without a row, and those later than the
// last visit in the page's row. If the directory has several crawls, pages without a row in this crawl are left out.
func (i *Importer) reread(ctx context.Context, fs vfs.FS, report func(store.Problem)) error {
	paths, err := i.store.Files()
	if err != nil {
		return err
	}
	crawls, err := i.store.Crawls()
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := i.rereadFile(ctx, fs, path, len(crawls) > 1, report); err != nil {
			return fmt.Errorf("importer: read %s again: %w", path, err)
		}
	}
	return nil
}

func (i *Importer) rereadFile(ctx context.Context, fs vfs.FS, path string, known bool,
	report func(store.Problem)) (err error) {
	r, err := warc.Open(fs, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		record, err := r.Next()
		if err == io.EOF {
			return ctx.Err()
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		unread, err := i.unread(record, known)
		if err != nil {
			return err
		}
		if !unread {
			continue
		}
		fetched, err := i.seen(r, record)
		if err != nil {
			return err
		}
		length, err := r.Finish()
		if err != nil {
			return err
		}
		if fetched == nil || length == 0 {
			continue
		}
		if !fetched.NoArchive {
			fetched.Capture = store.Pointer{File: fs.PathBase(path), Offset: r.Offset(), Length: length, ID: record.ID}
		}
		if fetched.Outcome == store.OutcomeServerError || fetched.Truncated != "" {
			fetched.RetryAt = fetched.At + 1
		}
		i.batch.visit(store.Fetch{Record: fetched}, fetched.URL)
		if err := i.Flush(); err != nil {
			return err
		}
		report(store.Problem{Place: fetched.URL.String(), Text: fmt.Sprintf("its visit at %s is read again from its capture",
			record.Date.Format("2006-01-02T15:04:05.000Z"))})
	}
}

// seen returns the visit of a record, nil if the record is skipped.
func (i *Importer) seen(r *warc.Reader, record *warc.Record) (*store.Fetched, error) {
	a, err := i.read(r, record)
	if err != nil || a == nil {
		return nil, err
	}
	if record.Type != warc.Revisit {
		return a.visit, i.learn(a)
	}
	row, last, err := i.last(a.visit.URL)
	if err != nil || last == nil || !refersTo(record, a.visit.URL, last) {
		return nil, err
	}
	i.confirm(a, &row, last)
	return a.visit, nil
}

// unread reports whether a record is of a visit that the page's row lacks. With known, a page without a row lacks
// nothing.
func (i *Importer) unread(record *warc.Record, known bool) (bool, error) {
	if record.Type != warc.Response && record.Type != warc.Revisit {
		return false, nil
	}
	u, err := weburl.Parse(record.TargetURI)
	if err != nil {
		return false, nil
	}
	site, err := i.store.Site(u.Site())
	if err != nil && !errors.Is(err, store.ErrNotFound) || site.Purged {
		return false, err
	}
	row, _, err := i.store.PageOf(u)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return !known && !Apart(u), nil
	case err != nil:
		return false, err
	}
	return row.State != store.StatePurged && record.Date.UnixNano() > row.LastFetched, nil
}
