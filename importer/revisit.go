package importer

import (
	"bytes"
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"freshet/extract"
	"freshet/fetch"
	"freshet/store"
	"freshet/store/warc"
	"freshet/weburl"
)

// A revisit record says that an answer had the same body as an original, an earlier capture. If that is the page's own
// last version, a revisit is stored. Many crawlers write revisit records for any page with the same body: then the page
// gets a capture of its own, with the original's body. The original may come after the revisit, in another file.

const (
	mostLate    = 64 << 20 // bytes of the revisits that wait for their originals
	lateBytes   = 2 << 10  // of one, beside its header …
	lateHeaders = 4        // which takes so many times its size
	mostMissing = 3        // names of originals in Missing

	noOriginal = "revisit of a capture that is neither stored nor in these files"
)

// late is a revisit that waits for its original.
type late struct {
	file string
	*answer
}

func (l *late) bytes() int { return lateBytes + lateHeaders*len(l.record.Block) }

// Late imports the revisits in the WARC file with that name which came before their originals. Call it for each file,
// when all are read. It reports whether there were any.
func (i *Importer) Late(name string) (waited bool, err error) {
	all := i.late
	i.late = nil
	for _, l := range all {
		if l.file != name {
			i.late = append(i.late, l)
			continue
		}
		waited = true
		i.lateBytes -= l.bytes()
		if err := i.before(l.visit.URL); err != nil {
			return waited, err
		}
		if found, err := i.revisit(l.answer); err != nil {
			return waited, err
		} else if !found {
			i.missing(l.record)
		} else if err := i.take(l.answer); err != nil {
			return waited, err
		}
	}
	return waited, i.Flush()
}

// wait keeps a revisit for Late, or skips it if too many wait.
func (i *Importer) wait(l late) {
	if i.lateBytes+l.bytes() > mostLate {
		i.missing(l.record)
		return
	}
	i.lateBytes += l.bytes()
	i.late = append(i.late, l)
}

// missing counts and names a revisit without an original.
func (i *Importer) missing(record *warc.Record) {
	i.Skipped[noOriginal]++
	if name := cmp.Or(record.RefersToURI, record.TargetURI); len(i.Missing) < mostMissing && !slices.Contains(i.Missing, name) {
		i.Missing = append(i.Missing, name)
	}
}

// revisit completes the answer of a revisit record. It reports whether it found the original.
func (i *Importer) revisit(a *answer) (found bool, err error) {
	row, last, err := i.last(a.visit.URL)
	if err != nil {
		return false, err
	}
	original, at := last, a.visit.URL
	if last == nil || !refersTo(a.record, at, last) {
		if a.record.Profile == warc.ProfileNotModified {
			return false, nil
		}
		if original, at, err = i.original(a.record, at); err != nil || original == nil {
			return false, err
		}
	}
	if last != nil && last.BodyDigest == original.BodyDigest {
		other, err := i.readsOtherwise(a, last)
		if store.IsLost(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !other {
			i.confirm(a, &row, last)
			return true, nil
		}
	}
	captured, err := i.store.VersionBody(at, original)
	if store.IsLost(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	a.kept.Block = append(renamed(a.header(), transferEncoding), captured.Payload...)
	if a.message, err = warc.ParseResponse(a.kept.Block); err != nil {
		return false, err
	}
	a.kept.ID = warc.ID{} // it is another record
	return true, i.learn(a)
}

// last returns the row of a page and its last version. The version is nil if there is none or its body is not kept.
func (i *Importer) last(u weburl.URL) (row store.Page, last *store.Version, err error) {
	row, fp, err := i.store.PageOf(u)
	if errors.Is(err, store.ErrNotFound) {
		return row, nil, nil
	}
	if err != nil || row.Versions == 0 {
		return row, nil, err
	}
	v, err := i.store.Version(i.store.Home(u.Site()), fp, row.Versions)
	if err != nil || v.Capture.IsZero() {
		return row, nil, err
	}
	return row, &v, nil
}

// original returns the version that a revisit record of u refers to, and its page. It is nil if none with a body is
// stored.
func (i *Importer) original(record *warc.Record, u weburl.URL) (*store.Version, weburl.URL, error) {
	if record.RefersToURI != "" {
		target, err := weburl.Parse(bare(record.RefersToURI))
		if err != nil {
			return nil, u, nil
		}
		u = target
	}
	if _, waits := i.batch.pages[u]; waits {
		if err := i.Flush(); err != nil {
			return nil, u, err
		}
	}
	_, fp, err := i.store.PageOf(u)
	if errors.Is(err, store.ErrNotFound) {
		return nil, u, nil
	}
	if err != nil {
		return nil, u, err
	}
	versions, err := i.store.Versions(i.store.Home(u.Site()), fp)
	if err != nil {
		return nil, u, err
	}
	for _, v := range slices.Backward(versions) {
		if !v.Capture.IsZero() && refersTo(record, u, &v) {
			return &v, u, nil
		}
	}
	return nil, u, nil
}

// refersTo reports whether a revisit record refers to a version of the page at u: by its digest or its identity or,
// because other programs use other digests, by its URL and time.
func refersTo(record *warc.Record, u weburl.URL, v *store.Version) bool {
	if record.Profile == warc.ProfileNotModified || record.PayloadDigest == v.BodyDigest ||
		record.RefersTo == v.Capture.ID && v.Capture.ID != (warc.ID{}) {
		return true
	}
	target, err := weburl.Parse(bare(record.RefersToURI))
	return err == nil && target == u && record.RefersToDate.UnixNano() == v.At
}

// bare returns a URL without the <> in which wget encloses it.
func bare(uri string) string { return strings.TrimSuffix(strings.TrimPrefix(uri, "<"), ">") }

// confirm makes an answer a revisit of the page's last version.
func (i *Importer) confirm(a *answer, row *store.Page, last *store.Version) {
	f := a.visit
	profile := warc.ProfileIdentical
	if a.record.Profile == warc.ProfileNotModified {
		profile = warc.ProfileNotModified
		f.Outcome = store.OutcomeNotModified
	} else {
		a.kept.Block = a.header()
	}
	f.BodyDigest, f.TextDigest, f.TextVersion, f.Size = row.BodyDigest, row.TextDigest, row.TextVersion, row.Size
	f.NoFollow, f.Charset, f.Canonical = row.NoFollow, last.Charset, row.Canonical
	said := i.parser.Extract(a.message.Header, nil, f.URL)
	f.NoIndex, f.NoArchive = row.NoIndex || said.NoIndex, said.NoArchive
	f.PageSignals = cmp.Or(said.Signals.Narrow(row.PageSignals), row.PageSignals)
	f.Revisit = true
	last.Revisit(a.kept, profile, f.URL)
}

// readsOtherwise reports whether the header of an answer gives the body of a version another text.
func (i *Importer) readsOtherwise(a *answer, v *store.Version) (bool, error) {
	contentType := a.visit.ContentType
	if contentType == "" || contentType == v.ContentType || a.record.Profile == warc.ProfileNotModified {
		return false, nil
	}
	captured, err := i.store.VersionBody(a.visit.URL, v)
	if err != nil {
		return false, err
	}
	body, _, err := fetch.Decode(captured.Header, captured.Payload, maxBody)
	return err == nil && !extract.ReadsAlike(v.ContentType, contentType, body), nil
}

// header returns the bytes of the answer's header, to its end.
func (a *answer) header() []byte {
	header := a.record.Block[:len(a.record.Block)-len(a.message.Body)]
	return slices.Concat(bytes.TrimRight(header, "\r\n"), []byte("\r\n\r\n"))
}

var (
	contentEncoding  = regexp.MustCompile(`(?im)^(content-encoding[ \t]*:)`)
	transferEncoding = regexp.MustCompile(`(?im)^(transfer-encoding[ \t]*:)`)
)

// renamed returns a header with the name that Common Crawl gives a field whose coding was undone. So readers of the
// capture do not decode it again.
func renamed(header []byte, field *regexp.Regexp) []byte {
	return field.ReplaceAll(header, []byte("X-Crawler-$1"))
}
