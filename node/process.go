package node

import (
	"cmp"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"freshet/crawl"
	"freshet/crawl/discovery"
	"freshet/extract"
	"freshet/fetch"
	"freshet/memory"
	"freshet/store"
	"freshet/store/warc"
	"freshet/text"
	"freshet/weburl"
)

// worker turns one fetched page after another into what is stored: links and digests, the record, the WARC members.
type worker struct {
	*Node
	parser  *extract.Parser
	encoder *warc.Encoder
	scratch []byte          // for a decoded body
	hold    *memory.Holding // of the visit in processing
}

// process runs a worker on fetched visits, in one goroutine per processor. If many visits wait to be stored, the worker
// waits, and so do the fetches.
func (n *Node) process() {
	w := worker{Node: n}
	w.equip()
	for v := range n.fetched {
		if n.broken() {
			continue
		}
		done := w.work(v)
		select {
		case n.backlog <- struct{}{}:
			v.processed = true
		case <-n.life.Done():
		}
		n.fleet.processed()
		v.mail.put(letter{event: done})
	}
}

// equip gives the worker a new parser, encoder and buffers.
func (w *worker) equip() {
	w.parser = extract.NewParser(extract.Options{
		Agent: w.opt.Agent, MaxDocument: w.plan.document, MaxUnpacked: w.plan.unpacked,
		MaxLinkBytes: w.plan.links, Room: w.room,
	})
	w.encoder = warc.NewEncoder(*w.opt.WARCLevel)
}

// work makes the record, members and links of a visit. A crash leaves only the record.
func (w *worker) work(v *visit) crawl.Processed {
	p := &v.process
	done := crawl.Processed{Turn: p.Turn}
	w.hold = w.pages.Hold()
	v.hold = w.hold
	if p.Robots == nil {
		v.mark = w.inFlight.begin(w.life, crawl.Struck{PageKey: p.Page, Visits: p.Row.Visits}, p.Alone)
	}
	crash := contain(func() {
		if w.opt.BeforeProcess != nil {
			w.opt.BeforeProcess(v.fetch.Page)
		}
		if p.Robots != nil {
			w.captureRobots(v)
		} else {
			done.Page = w.learn(v)
		}
	})
	if crash != nil {
		w.crashed(v.result, crash)
		w.equip() // the old ones may be in an invalid state
		v.members, v.links = nil, nil
		if p.Robots == nil {
			done.Page = pageRecord(v)
		}
	}
	for _, member := range v.members {
		done.Bytes += len(member)
	}
	done.Links, done.Class = v.links, v.result.Class()
	w.keep(heldLinks(v, done.Page) + int64(done.Bytes))
	v.letGo()
	if cap(w.scratch) > keptScratch {
		w.scratch = nil
	}
	return done
}

// room waits until the page in processing may take bytes more memory. It waits only for pages that are being processed
// or stored, and those never wait for it.
func (w *worker) room(bytes int64) error { return w.hold.Grow(w.life, bytes) }

// keep sets how much memory the page in processing holds.
func (w *worker) keep(bytes int64) {
	if err := w.hold.Resize(w.life, bytes); err != nil {
		w.opt.Logger.Error("more than a page may hold", "error", err)
	}
}

// keptScratch is the maximum number of bytes of scratch that a worker keeps from one page to the next.
const keptScratch = 1 << 20

// letGo drops the bytes of the exchange, because the visit may wait for the committer. The captures have a copy.
func (v *visit) letGo() {
	r := v.result
	v.bytes = int64(len(r.ResponseBytes))
	r.Drop()
}

// learn reads a fetched page and makes its record and captures, without the fields that the shard decides.
func (w *worker) learn(v *visit) *store.Fetched {
	r := v.result
	record := pageRecord(v)
	var original *store.Version // that this answer confirms
	switch r.Outcome {
	case fetch.Unwanted:
		record.Reason = store.ReasonType
		return record
	case fetch.Crashed:
		return record
	}
	if r.Header != nil && r.Status >= 200 && r.Status < 300 {
		body, cut, err := r.Decode(w.plan.document, &w.scratch, w.room)
		switch {
		case err != nil && record.Truncated == "":
			record.Truncated, record.Reason = string(fetch.TruncatedUnspecified), err.Error()
		case cut && record.Truncated == "":
			record.Truncated = string(fetch.TruncatedLength)
		}
		content := w.parser.Extract(r.Header, body, v.process.URL)
		record.BodyDigest = warc.DigestOfPieces(r.Pieces())
		record.TextDigest, record.TextVersion = store.TextDigest(content.Text), extract.TextVersion
		w.signal(record, r.Header.Get("Content-Type"), body)
		describe(record, content)
		if record.Outcome == store.OutcomeStored && record.Truncated == "" && record.BodyDigest == v.process.Row.BodyDigest {
			original = w.lastVersion(v)
		}
		if original != nil && !extract.ReadsAlike(original.ContentType, record.ContentType, body) {
			record.Reread, original = true, nil
		}
		w.setLinks(v, record, outLinks(content.Links))
		w.keep(heldLinks(v, record))
	}
	if record.Outcome == store.OutcomeNotModified && v.process.Row.Versions > 0 {
		if original = w.lastVersion(v); original != nil {
			record.Reread = otherCharset(original, record.ContentType)
		}
		header := w.parser.Extract(r.Header, nil, v.process.URL)
		record.NoIndex, record.NoArchive = header.NoIndex, header.NoArchive
		record.PageSignals = header.Signals.Narrow(v.process.Row.PageSignals)
	}
	if target, permanent, ok := r.Redirect(); ok {
		record.Redirect, record.Permanent = target, permanent
		w.setLinks(v, record, []store.OutLink{{URL: target, Rel: weburl.RelRedirect}})
	} else if record.Outcome == store.OutcomeRedirected {
		record.Outcome = store.OutcomeClientError
	}
	stores := record.Outcome != store.OutcomeStored || v.process.Store.Has(record.ContentType)
	if r.Status != 0 && !record.NoArchive && stores {
		w.capture(v, record, original)
	}
	return record
}

// otherCharset reports whether the header of a 304 names another character set than the version was read with. A 304
// with another media type names a default of the server.
func otherCharset(v *store.Version, contentType string) bool {
	name := extract.CharsetOf(contentType)
	return name != "" && name != cmp.Or(v.Charset, extract.CharsetOf(v.ContentType)) &&
		extract.MediaType(contentType) == extract.MediaType(v.ContentType)
}

const (
	signalBytes = 512 << 10 // maximum size of a document whose main text may be the signal
	signalTimes = 64        // parsing a document may take this many times its size in memory
)

// signal makes the main text of a document its change signal, if the options say so. Documents that are large or
// have no main text keep their visible text.
func (w *worker) signal(record *store.Fetched, contentType string, body []byte) {
	if !w.opt.MainText || record.TextDigest == (store.TextDigest{}) || len(body) > signalBytes || w.room(signalTimes*int64(len(body))) != nil {
		return
	}
	page, err := text.Parse(contentType, body, text.Limits{})
	if err != nil {
		return
	}
	if digest, ok := page.MainDigest(); ok {
		record.TextDigest, record.TextVersion = digest, text.MainVersion
	}
}

// describe copies what extraction found, except for the links, into the record.
func describe(record *store.Fetched, page extract.Page) {
	record.NoIndex, record.NoArchive, record.NoFollow = page.NoIndex, page.NoArchive, page.NoFollow
	record.SoftError, record.Charset = page.SoftError, page.Charset
	record.Canonical, record.PageSignals = page.Canonical, page.Signals.String()
}

// outLinks returns links in the form of the store.
func outLinks(found []extract.Link) []store.OutLink {
	links := make([]store.OutLink, len(found))
	for i, link := range found {
		links[i] = store.NewOutLink(link.URL, link.Rel, link.NoFollow, link.LastMod)
	}
	return links
}

// setLinks sets the record's links, and the visit's links that may be followed.
func (n *Node) setLinks(v *visit, record *store.Fetched, links []store.OutLink) {
	record.Links = store.EncodeLinks(links)
	if v.links = nil; !record.NoFollow {
		row := v.process.Row
		row.ContentType = record.ContentType
		v.links = discovery.PageLinks(links, row)
		discovery.Share(n.opt.ordering, row.URL, v.links)
	}
}

// pageRecord returns the record of a fetch without the fields from its content.
func pageRecord(v *visit) *store.Fetched {
	r := v.result
	record := &store.Fetched{
		URL: v.process.URL, At: r.Started.UnixNano(), End: r.Ended.UnixNano(),
		Outcome: outcomeOf(r), Status: r.Status, Truncated: string(r.Truncated), Unconditional: v.process.Audit,
		Size: int64(r.BodyLen), WireBytes: int64(len(r.ResponseBytes)),
		DNSNs: int64(r.DNS), ConnectNs: int64(r.Connect), TLSNs: int64(r.TLS),
		FirstByteNs: int64(r.FirstByte), TotalNs: int64(r.Total),
	}
	if r.Address.IsValid() {
		record.Address = r.Address.String()
	}
	if r.Err != nil {
		record.Reason = clipped(r.Err.Error(), maxReason)
	}
	if r.Header != nil {
		record.ContentType = clipped(r.Header.Get("Content-Type"), maxField)
		record.ETag, record.LastModified = validator(r.Header.Get("ETag")), validator(r.Header.Get("Last-Modified"))
	}
	return record
}

// robotsRecord returns the record of a fetch of a site's robots.txt, without its verdict.
func robotsRecord(site weburl.Site, r *fetch.Result) *store.Robots {
	record := &store.Robots{
		Site: site, At: r.Started.UnixNano(), End: r.Ended.UnixNano(), Outcome: outcomeOf(r), Status: r.Status,
	}
	if r.Address.IsValid() {
		record.Address = r.Address.String()
	}
	if r.Err != nil {
		record.Reason = r.Err.Error()
	}
	return record
}

// Bounds, in bytes, of the header fields and failure texts in a record.
const (
	maxField  = 4 << 10
	maxReason = 1 << 10
)

// clipped returns a copy of the beginning of text, so that a long original can be freed.
func clipped(text string, most int) string {
	return strings.ToValidUTF8(strings.Clone(text[:min(len(text), most)]), "")
}

// validator returns a copy of a validator, or none if it is too long to be sent back.
func validator(text string) string {
	if len(text) > maxField {
		return ""
	}
	return strings.Clone(text)
}

// outcomeOf maps the result of a fetch to an outcome.
func outcomeOf(r *fetch.Result) store.Outcome {
	switch r.Outcome {
	case fetch.Answered, fetch.Cut:
		return store.OutcomeOf(r.Status)
	case fetch.Refused, fetch.Unwanted:
		return store.OutcomeDenied
	case fetch.Crashed:
		return store.OutcomeCrash
	}
	return store.OutcomeFailed
}

// capture makes the WARC records of an exchange: the request, the response (or a revisit if the answer confirms a
// stored version, its original), and metadata.
func (w *worker) capture(v *visit, record *store.Fetched, original *store.Version) {
	r := v.result
	response := w.response(v, record.BodyDigest)
	switch {
	case original == nil:
	case record.Outcome == store.OutcomeNotModified:
		original.Revisit(response, warc.ProfileNotModified, v.process.URL)
		record.Revisit = true
	default:
		response.Block = r.ResponseBytes[r.Interim:r.HeaderLen]
		original.Revisit(response, warc.ProfileIdentical, v.process.URL)
		record.Revisit = true
	}
	metadata := []warc.Field{
		{Name: "hopsFromSeed", Value: strconv.Itoa(int(v.process.Row.Depth))},
		{Name: "fetchTimeMs", Value: strconv.FormatInt(r.Total.Milliseconds(), 10)},
		{Name: "dnsTimeMs", Value: strconv.FormatInt(r.DNS.Milliseconds(), 10)},
		{Name: "connectTimeMs", Value: strconv.FormatInt(r.Connect.Milliseconds(), 10)},
		{Name: "firstByteTimeMs", Value: strconv.FormatInt(r.FirstByte.Milliseconds(), 10)},
	}
	if record.Charset != "" {
		metadata = append(metadata, warc.Field{Name: "charset", Value: record.Charset})
	}
	w.seal(v, response, metadata)
}

// captureRobots makes the WARC records of a fetch of robots.txt.
func (w *worker) captureRobots(v *visit) {
	if v.result.Status != 0 {
		w.seal(v, w.response(v, warc.Digest{}), nil)
	}
}

// response returns the response record of an exchange. The digest of its body may be known.
func (n *Node) response(v *visit, body warc.Digest) *warc.Record {
	r := v.result
	response := &warc.Record{
		Type: warc.Response, Date: r.Started, TargetURI: r.URL.String(), Address: addressOf(r.Address),
		ContentType: warc.TypeResponse, Block: r.ResponseBytes[r.Interim:], // readers would take a 1xx for the answer
	}
	switch r.Truncated {
	case "":
	case fetch.TruncatedUnspecified:
		response.Truncated = warc.TruncatedDisconnect
	default:
		response.Truncated = warc.Truncation(r.Truncated)
	}
	if r.HeaderLen > 0 && r.BodyLen > 0 || r.Status == http.StatusOK {
		if response.PayloadDigest = body; body == (warc.Digest{}) {
			response.PayloadDigest = warc.DigestOfPieces(r.Pieces())
		}
	}
	return response
}

// lastVersion returns the last version of the page, nil if it has none or its capture is not kept.
func (n *Node) lastVersion(v *visit) *store.Version {
	at := v.process.Page
	last, err := n.store.Version(at.Partition, at.Fingerprint, v.process.Row.Versions)
	if v.process.Row.Versions == 0 || err != nil || last.Capture.IsZero() {
		return nil
	}
	return &last
}

// seal compresses an exchange's records: request, response, metadata.
func (w *worker) seal(v *visit, response *warc.Record, metadata []warc.Field) {
	if err := w.room(membersPerByte * int64(len(response.Block))); err != nil {
		w.opt.Logger.Warn("no capture", "url", v.process.URL.String(), "error", err)
		return
	}
	response.Seal()
	records := []*warc.Record{
		{Type: warc.Request, Date: response.Date, TargetURI: response.TargetURI, Address: response.Address,
			ConcurrentTo: response.ID, ContentType: warc.TypeRequest, Block: v.result.RequestBytes},
		response,
	}
	if block, err := warc.AppendFields(nil, metadata); err == nil && len(block) > 0 {
		records = append(records, &warc.Record{Type: warc.Metadata, Date: response.Date, TargetURI: response.TargetURI,
			ConcurrentTo: response.ID, ContentType: warc.TypeFields, Block: block})
	}
	for _, record := range records {
		member, err := w.encoder.AppendMember(nil, record)
		if err != nil { // a field that cannot be written: the page is stored without a capture
			w.opt.Logger.Warn("no capture", "url", v.process.URL.String(), "error", err)
			v.members = nil
			return
		}
		v.members = append(v.members, member)
	}
	v.main, v.id = 1, response.ID
}

func addressOf(a netip.AddrPort) netip.Addr { return a.Addr().Unmap() }
