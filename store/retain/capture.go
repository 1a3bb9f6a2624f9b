package retain

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// A place is a row that points at a capture.
type place struct {
	crawl  string
	p      weburl.Partition
	kind   format.Kind        // keySite, keyVisit or keyVersion
	site   weburl.Site        // of a keySite
	page   weburl.Fingerprint // of the others
	number uint32             // of the visit or version
}

// pointing is what captures reads of a row apart from its pointer.
type pointing struct {
	place
	capture store.Pointer
	at      int64 // of the visit or version
	shared  bool  // a visit and a version have this capture
}

// captures calls fn for every row in db that points to a capture, of all crawls. Visits of a page come in the order
// of their numbers, and so do versions. It stops at fn's or ctx's error and returns it.
func (s directory) captures(ctx context.Context, db pebble.Reader, fn func(pointing) error) error {
	names, err := format.Crawls(db)
	if err != nil {
		return err
	}
	for _, crawl := range names {
		for p := range s.Partitions() {
			at := place{crawl: crawl, p: weburl.Partition(p)}
			for _, at.kind = range []format.Kind{format.KeySite, format.KeyVisit, format.KeyVersion} {
				if err := capturesOf(ctx, db, at, fn); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// capturesOf is captures for the rows of one kind in one partition.
func capturesOf(ctx context.Context, db pebble.Reader, at place, fn func(pointing) error) error {
	from, to := format.NewKeyspace(at.crawl).KindSpan(at.p, at.kind)
	return database.Scan(db, from, to, func(key, value []byte) error {
		found, err := pointingOf(at, key[len(from):], value)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case found.capture.IsZero():
			return nil
		}
		return fn(found)
	})
}

// pointingOf decodes a row of at's kind from the end of its key and its value.
func pointingOf(at place, rest, value []byte) (pointing, error) {
	if at.kind == format.KeySite {
		var row store.SiteRow
		err := format.DecodeValue(value, &row)
		at.site = weburl.Site(rest)
		return pointing{place: at, capture: row.Robots.Capture, at: row.Robots.Fetched}, err
	}
	var err1, err2 error
	at.page, at.number, err1 = format.PageTail(rest)
	if at.kind == format.KeyVisit {
		var visit store.Visit
		err2 = format.DecodeValue(value, &visit)
		return pointing{place: at, capture: visit.Capture, at: visit.At, shared: visit.Changed || visit.Noise}, errors.Join(err1, err2)
	}
	var version store.Version
	err2 = format.DecodeValue(value, &version)
	return pointing{place: at, capture: version.Capture, at: version.At}, errors.Join(err1, err2)
}
