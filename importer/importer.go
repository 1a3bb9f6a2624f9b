// Package importer adds to a data directory what other programs have collected: captures in WARC files, and lists and
// indexes of pages. Repair reads the captures of a damaged directory again.
package importer

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"net/http"
	"regexp"
	"strings"
	"time"

	"freshet/extract"
	"freshet/fetch"
	"freshet/store"
	"freshet/store/warc"
	"freshet/weburl"
)

// An Importer adds what other programs know about pages to a crawl, so that histories do not begin empty. While it
// is used, no crawl may run in the store. Import the visits of a page in order of time. A visit that is not later
// than the page's last one is skipped, so an interrupted import can be repeated. Flush makes the imports durable. Not
// for concurrent use.
type Importer struct {
	store   *store.Store
	parser  *extract.Parser
	encoder *warc.Encoder
	batch   batch

	Visits  int            // visits imported
	Pages   int            // sightings imported as new pages
	Skipped map[string]int // what was not imported, by reason
}

// New returns an Importer into the store.
func New(s *store.Store) *Importer {
	return &Importer{store: s, parser: extract.NewParser(extract.Options{}), encoder: warc.NewEncoder(warc.FastLevel),
		batch: newBatch(), Skipped: map[string]int{}}
}

// maxBody is how many bytes of a decoded body are read for links and text. A crawl reads as many by default.
const maxBody = 16 << 20

// Sighting is what a list or an index of another program says about a page.
type Sighting struct {
	URL         weburl.URL
	At          time.Time // when it was seen; zero, or a time that cannot be stored: never
	Status      int
	ContentType string
	Digest      store.BodyDigest // zero: the content is not known
	Weight      float64          // the cash that a new page begins with
}

// Sight imports a sighting. If it has a time and a digest, it becomes a visit without a body, and the page is due at
// once. Otherwise the page is queued as a new page, discovered at that time.
func (i *Importer) Sight(s Sighting) error {
	if err := i.before(s.URL); err != nil {
		return err
	}
	if !dated(s.At) {
		s.At = time.Time{}
	}
	if s.At.IsZero() || s.Digest == (store.BodyDigest{}) {
		i.batch.add(i.store.Home(s.URL.Site()), s.At, store.NewPage{URL: s.URL, Seed: true, Cash: s.Weight})
		i.Pages++
		return nil
	}
	at := s.At.UnixNano()
	i.batch.visit(store.Fetch{Record: &store.Fetched{URL: s.URL, At: at, End: at,
		Outcome: store.OutcomeOf(s.Status), Status: s.Status,
		ContentType: s.ContentType, BodyDigest: s.Digest, Reason: "imported", RetryAt: at + 1}}, s.URL)
	return nil
}

// dated reports whether a time can be stored. It can if it is after 1970 and before 2262.
func dated(at time.Time) bool {
	return at.After(time.Unix(0, 0)) && at.Before(time.Unix(0, math.MaxInt64))
}

// WARC imports the captures of a WARC file, compressed or not: responses with their bodies, and revisits of stored
// captures. The next crawl follows their links. An error names the file and the offset of the record.
func (i *Importer) WARC(in io.Reader, name string) error {
	r := warc.NewReader(in, name)
	for {
		record, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch record.Type {
		case warc.Response, warc.Revisit:
		case "resource", "conversion", "continuation":
			i.Skipped["record of type "+string(record.Type)]++
			continue
		default:
			continue
		}
		if err := i.capture(r, record); err != nil {
			return &warc.Error{File: name, Offset: r.Offset(), Err: err}
		}
	}
}

// capture imports a record from its header on. It reads the block from r.
func (i *Importer) capture(r *warc.Reader, record *warc.Record) error {
	fetched, kept, err := i.seen(r, record)
	if err != nil || fetched == nil {
		return err
	}
	f := store.Fetch{Record: fetched}
	if !fetched.NoArchive {
		kept.Seal()
		member, err := i.encoder.AppendMember(nil, kept)
		if err != nil {
			return err
		}
		f.Members, f.ID = [][]byte{member}, kept.ID
	}
	i.batch.visit(f, fetched.URL)
	return nil
}

// seen returns the visit of a record, and the record to store for it. Both are nil if the record is skipped.
func (i *Importer) seen(r *warc.Reader, record *warc.Record) (*store.Fetched, *warc.Record, error) {
	skip := func(why string) (*store.Fetched, *warc.Record, error) {
		i.Skipped[why]++
		return nil, nil, nil
	}
	record.TargetURI = strings.TrimSuffix(strings.TrimPrefix(record.TargetURI, "<"), ">") // wget encloses the URL in <>
	u, err := weburl.Parse(record.TargetURI)
	switch {
	case err != nil:
		return skip("no http or https URL")
	case record.Length > warc.MaxBlock:
		return skip("too long")
	case !dated(record.Date):
		return skip("no date")
	}
	if err := i.before(u); err != nil {
		return nil, nil, err
	}
	if record.Block, err = io.ReadAll(r); err != nil {
		return nil, nil, err
	}
	message, err := warc.ParseResponse(record.Block)
	if err != nil {
		return skip("no HTTP answer")
	}
	fetched := &store.Fetched{URL: u, At: record.Date.UnixNano(), End: record.Date.UnixNano(),
		Outcome: store.OutcomeOf(message.Status), Status: message.Status, Truncated: string(record.Truncated), ContentType: message.Header.Get("Content-Type"),
		ETag: message.Header.Get("ETag"), LastModified: message.Header.Get("Last-Modified"),
		WireBytes: int64(len(record.Block))}
	// Readers compare a capture's URL with that of its page.
	kept := &warc.Record{Type: warc.Response, ID: record.ID, Date: record.Date, TargetURI: u.String(),
		Address: record.Address, Truncated: record.Truncated, ContentType: warc.TypeResponse, Block: record.Block}
	if record.Type == warc.Revisit {
		if !i.revisited(fetched, kept, record, message.Header) {
			return nil, nil, nil
		}
	} else {
		i.learn(fetched, kept, message)
	}
	return fetched, kept, nil
}

// learn fills in a visit from the header and body of the answer.
func (i *Importer) learn(f *store.Fetched, kept *warc.Record, message *warc.Message) {
	payload, err := message.Payload()
	if err != nil && f.Truncated == "" {
		f.Truncated, f.Reason = string(warc.TruncatedDisconnect), err.Error()
		kept.Truncated = warc.TruncatedDisconnect
	}
	f.Size, f.BodyDigest = int64(len(payload)), warc.DigestOf(payload)
	kept.PayloadDigest = f.BodyDigest
	result := fetch.Result{URL: f.URL, Status: message.Status, Header: message.Header}
	target, permanent, redirects := result.Redirect()
	switch {
	case redirects:
		f.Redirect, f.Permanent = target, permanent
		f.Links = store.EncodeLinks([]store.OutLink{{URL: target, Rel: weburl.RelRedirect}})
	case f.Outcome == store.OutcomeRedirected:
		f.Outcome = store.OutcomeClientError
	case message.Status/100 == http.StatusOK/100:
		body, cut, err := fetch.Decode(message.Header, payload, maxBody)
		if err != nil && decodedBefore(message.Header, payload) {
			kept.Block = renameEncoding(kept.Block, message)
			body, cut, err = fetch.Decode(nil, payload, maxBody)
		}
		if (cut || err != nil) && f.Truncated == "" {
			f.Truncated = string(warc.TruncatedLength)
		}
		page := i.parser.Extract(message.Header, body, f.URL)
		f.TextDigest, f.TextVersion = store.TextDigest(page.Text), extract.TextVersion
		f.NoIndex, f.NoArchive, f.NoFollow = page.NoIndex, page.NoArchive, page.NoFollow
		f.SoftError, f.Charset, f.Canonical, f.PageSignals = page.SoftError, page.Charset, page.Canonical, page.Signals.String()
		links := make([]store.OutLink, len(page.Links))
		for n, link := range page.Links {
			links[n] = store.NewOutLink(link.URL, link.Rel, link.NoFollow, link.LastMod)
		}
		f.Links = store.EncodeLinks(links)
	}
}

// decodedBefore reports whether a body that the header calls compressed with gzip is not. Some archives store decoded
// bodies with the original header.
func decodedBefore(header http.Header, payload []byte) bool {
	coding := strings.ToLower(strings.TrimSpace(header.Get("Content-Encoding")))
	return (coding == "gzip" || coding == "x-gzip") && !bytes.HasPrefix(payload, []byte("\x1f\x8b"))
}

var contentEncoding = regexp.MustCompile(`(?im)^content-encoding[ \t]*:`)

// renameEncoding returns the block of a message whose body was decoded, with the name that Common Crawl gives the
// header field in this case. So readers of the capture do not decode it again.
func renameEncoding(block []byte, message *warc.Message) []byte {
	header := block[:len(block)-len(message.Body)]
	return append(contentEncoding.ReplaceAll(header, []byte("X-Crawler-Content-Encoding:")), message.Body...)
}

// revisited fills in a visit from a revisit record. It returns false, and counts the record as skipped, if the page's
// last version is not the one that the record refers to.
func (i *Importer) revisited(f *store.Fetched, kept, record *warc.Record, header http.Header) bool {
	row, fp, err := i.store.PageOf(f.URL)
	var original store.Version
	if err == nil && row.Versions > 0 {
		original, err = i.store.Version(i.store.Home(f.URL.Site()), fp, row.Versions)
	}
	if err != nil || original.Capture.IsZero() || !refersTo(record, f.URL, &original) {
		i.Skipped["revisit of what is not stored"]++
		return false
	}
	profile := warc.ProfileNotModified
	if record.Profile != warc.ProfileNotModified {
		profile = warc.ProfileIdentical
		if end := bytes.Index(kept.Block, []byte("\r\n\r\n")); end >= 0 {
			kept.Block = kept.Block[:end+4]
		}
	} else {
		f.Outcome = store.OutcomeNotModified
	}
	f.BodyDigest, f.TextDigest, f.TextVersion, f.Size = row.BodyDigest, row.TextDigest, row.TextVersion, row.Size
	f.NoFollow, f.Charset, f.Canonical = row.NoFollow, original.Charset, row.Canonical
	said := i.parser.Extract(header, nil, f.URL)
	f.NoIndex, f.NoArchive = row.NoIndex || said.NoIndex, said.NoArchive
	f.PageSignals = cmp.Or(said.Signals.Narrow(row.PageSignals), row.PageSignals)
	f.Revisit = true
	original.Revisit(kept, profile, f.URL)
	return true
}

// refersTo reports whether a revisit record refers to a version of a page: by its digest or, because other programs use
// other digests, by its URL and time.
func refersTo(record *warc.Record, u weburl.URL, v *store.Version) bool {
	if record.Profile == warc.ProfileNotModified || record.PayloadDigest == v.BodyDigest {
		return true
	}
	target, err := weburl.Parse(record.RefersToURI)
	return err == nil && target == u && record.RefersToDate.UnixNano() == v.At
}
