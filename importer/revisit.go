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
	mostLate    = 64 << 20 // bytes of the answers that wait
	lateBytes   = 2 << 10  // of one, beside its body and its header …
	lateHeaders = 4        // which takes that many times its size
	mostMissing = 3        // names of originals in Missing

	noOriginal = "revisit of a capture that is neither stored nor in these files"
)

// late is an answer that waits: a revisit for its original, or a later answer of a page with such a revisit, because
// visits come in order of time.
type late struct {
	file string
	*answer
}

func (l *late) bytes() int {
	body := len(l.message.Body)
	return lateBytes + lateHeaders*(len(l.record.Block)-body) + body
}

// Late imports what waited in the WARC file with that name: the revisits that came before their originals, and what
// came after them of the same pages. Call it for each file, in the order in which they were read, when all are read. It
// reports whether anything waited.
func (i *Importer) Late(name string) (waited bool, err error) {
	waited, err = i.takeLate(func(l *late) bool { return l.file == name })
	return waited, errors.Join(err, i.Flush())
}

// takeLate imports some of what waits. It reports whether there was any.
func (i *Importer) takeLate(now func(*late) bool) (waited bool, err error) {
	all := i.late
	i.late = nil
	for n, l := range all {
		if !now(&l) {
			i.late = append(i.late, l)
			continue
		}
		waited = true
		i.lateBytes -= l.bytes()
		if i.lates[l.visit.URL]--; i.lates[l.visit.URL] == 0 {
			delete(i.lates, l.visit.URL)
		}
		if err := i.takeOne(l.answer); err != nil {
			i.late = append(i.late, all[n+1:]...)
			return waited, err
		}
	}
	return waited, nil
}

// takeOne imports an answer that waited. A revisit that still has no original is skipped.
func (i *Importer) takeOne(a *answer) error {
	if err := i.before(a.visit.URL); err != nil {
		return err
	}
	if found, err := i.complete(a); err != nil {
		return err
	} else if !found {
		i.missing(a.record)
		return nil
	}
	return i.take(a)
}

// wait keeps an answer for Late. If too much waits, it imports what waits of the page, and then the answer.
func (i *Importer) wait(l late) error {
	u := l.visit.URL
	if i.lateBytes+l.bytes() > mostLate {
		if i.lates[u] > 0 {
			if _, err := i.takeLate(func(l *late) bool { return l.visit.URL == u }); err != nil {
				return err
			}
		}
		return i.takeOne(l.answer)
	}
	i.late = append(i.late, l)
	i.lateBytes += l.bytes()
	i.lates[u]++
	return nil
}

// missing counts and names a revisit without an original.
func (i *Importer) missing(record *warc.Record) {
	i.Skipped[noOriginal]++
	if name := cmp.Or(record.RefersToURI, record.TargetURI); len(i.Missing) < mostMissing && !slices.Contains(i.Missing, name) {
		i.Missing = append(i.Missing, name)
	}
}

// complete fills in an answer. It reports false for a revisit whose original it does not find.
func (i *Importer) complete(a *answer) (found bool, err error) {
	if a.record.Type == warc.Revisit {
		return i.revisit(a)
	}
	return true, i.learn(a)
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
