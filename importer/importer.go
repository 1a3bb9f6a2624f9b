// Package importer adds to a data directory what other programs have collected: captures in WARC files, and lists and
// indexes of pages. Repair reads the captures of a damaged directory again.
package importer

import (
	"bytes"
	"io"
	"math"
	"net/http"
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
	Missing []string       // URLs of captures that skipped revisits refer to: the first few

	// Known learns of the imported pages when they are stored; nil: nobody does. Depth is at least that of the page.
	Known func([]weburl.Link) error

	late      []late             // answers that wait, in the order in which they were read
	lates     map[weburl.URL]int // their number, by page
	lateBytes int
}

// New returns an Importer into the store.
func New(s *store.Store) *Importer {
	return &Importer{store: s, parser: extract.NewParser(extract.Options{}), encoder: warc.NewEncoder(warc.FastLevel),
		batch: newBatch(), Skipped: map[string]int{}, lates: map[weburl.URL]int{}}
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

// Apart reports whether u is the address of a robots.txt or a tdmrep.json. A crawl keeps these files apart from pages.
func Apart(u weburl.URL) bool {
	path := u.RequestURI()
	return path == "/robots.txt" || path == "/.well-known/tdmrep.json"
}

// NoPage is why captures of such files are skipped.
const NoPage = "robots.txt and tdmrep.json are not pages"

// WARC imports the captures of a WARC file, compressed or not: responses with their bodies, and revisits, but no files
// that are kept Apart. A revisit of a capture that is not stored yet waits for Late, with what follows of its page. The
// next crawl follows their links. An error names the file and the offset of the record.
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
		if u, err := weburl.Parse(bare(record.TargetURI)); err == nil && Apart(u) {
			i.Skipped[NoPage]++
			continue
		}
		if err := i.capture(r, record, name); err != nil {
			return &warc.Error{File: name, Offset: r.Offset(), Err: err}
		}
	}
}

// An answer is what a record says of a visit.
type answer struct {
	record  *warc.Record
	message *warc.Message
	visit   *store.Fetched
	kept    *warc.Record // to be stored
}

// capture imports a record from its header on. It reads the block from r, whose file has that name.
func (i *Importer) capture(r *warc.Reader, record *warc.Record, name string) error {
	a, err := i.read(r, record)
	if err != nil || a == nil {
		return err
	}
	if i.lates[a.visit.URL] == 0 {
		if found, err := i.complete(a); err != nil {
			return err
		} else if found {
			return i.take(a)
		}
	}
	return i.wait(late{name, a})
}

// take adds a complete answer to the batch.
func (i *Importer) take(a *answer) error {
	f := store.Fetch{Record: a.visit}
	if !a.visit.NoArchive {
		a.kept.Seal()
		member, err := i.encoder.AppendMember(nil, a.kept)
		if err != nil {
			return err
		}
		f.Members, f.ID = [][]byte{member}, a.kept.ID
	}
	i.batch.visit(f, a.visit.URL)
	return nil
}

// read returns the answer of a record, without what its body says. It is nil if the record is skipped.
func (i *Importer) read(r *warc.Reader, record *warc.Record) (*answer, error) {
	skip := func(why string) (*answer, error) {
		i.Skipped[why]++
		return nil, nil
	}
	record.TargetURI = bare(record.TargetURI)
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
		return nil, err
	}
	if record.Block, err = io.ReadAll(r); err != nil {
		return nil, err
	}
	message, err := warc.ParseResponse(record.Block)
	if err != nil {
		return skip("no HTTP answer")
	}
	if record.Type == warc.Revisit {
		record.Truncated = "" // wget says that the body is cut, because it is left out
	}
	fetched := &store.Fetched{URL: u, At: record.Date.UnixNano(), End: record.Date.UnixNano(),
		Outcome: store.OutcomeOf(message.Status), Status: message.Status, Truncated: string(record.Truncated), ContentType: message.Header.Get("Content-Type"),
		ETag: message.Header.Get("ETag"), LastModified: message.Header.Get("Last-Modified"),
		WireBytes: int64(len(record.Block))}
	// Readers compare a capture's URL with that of its page.
	kept := &warc.Record{Type: warc.Response, ID: record.ID, Date: record.Date, TargetURI: u.String(),
		Address: record.Address, Truncated: record.Truncated, ContentType: warc.TypeResponse, Block: record.Block}
	return &answer{record, message, fetched, kept}, nil
}

// learn fills in a visit from the header and body of the answer.
func (i *Importer) learn(a *answer) error {
	f, kept, message := a.visit, a.kept, a.message
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
			kept.Block = append(renamed(kept.Block[:len(kept.Block)-len(message.Body)], contentEncoding), message.Body...)
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
		_, last, err := i.last(f.URL)
		if err != nil {
			return err
		}
		f.Reread = last != nil && last.BodyDigest == f.BodyDigest && !extract.ReadsAlike(last.ContentType, f.ContentType, body)
	}
	return nil
}

// decodedBefore reports whether a body that the header calls compressed with gzip is not. Some archives store decoded
// bodies with the original header.
func decodedBefore(header http.Header, payload []byte) bool {
	coding := strings.ToLower(strings.TrimSpace(header.Get("Content-Encoding")))
	return (coding == "gzip" || coding == "x-gzip") && !bytes.HasPrefix(payload, []byte("\x1f\x8b"))
}
