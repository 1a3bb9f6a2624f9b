package repair

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// Verify checks the crawl, as it is when it begins, against itself and against its captures, and
// calls report for every fault. It holds that
//
//   - every file of the directory is one of ours;
//   - every WARC file can be read to its end, and those that were moved are in the object store as they were uploaded;
//   - the captures of versions and visits are there and are those of their page, and the payload of
//     a version's capture has its digest;
//   - a page's queue entry is there, and every entry is its page's;
//   - visits, versions and change entries are complete and belong to a page;
//   - the totals of sites and partitions are true;
//   - records follow one another from after the last trimmed one.
//
// Its error is one that kept it from checking: ctx's, or the file system's. Memory is by site and
// partition; time is that of reading every byte once, captures at random.
func Verify(ctx context.Context, s *store.Store, report func(store.Problem)) error {
	in := s.Inside()
	defer in.HoldFiles()()
	snapshot := in.DB.NewSnapshot()
	err := errors.Join(verifyNames(in, report), in.CheckMoved(ctx, report), verifyFiles(ctx, in, report))
	for p := 0; p < in.Partitions() && err == nil; p++ {
		v := &verifier{Inside: in, db: snapshot, ctx: ctx, report: report, p: weburl.Partition(p), sites: map[weburl.Site]*store.SiteRow{}}
		err = v.verify()
	}
	return errors.Join(err, snapshot.Close())
}

// verifyNames names what is in the directory and does not belong there: no purge looks into it.
func verifyNames(in store.Inside, report func(store.Problem)) error {
	names, err := in.Strangers()
	for _, name := range names {
		report(store.Problem{Place: name, Text: "is no file of a data directory, and no purge looks into it: move it elsewhere"})
	}
	return err
}

// verifyFiles reads all WARC files.
func verifyFiles(ctx context.Context, in store.Inside, report func(store.Problem)) error {
	paths, err := in.Files()
	if err != nil {
		return err
	}
	for _, path := range paths {
		err := verifyFile(ctx, in, path)
		if strings.HasSuffix(path, ".open") && errors.Is(err, io.ErrUnexpectedEOF) {
			continue // its end is being written
		}
		if store.IsLost(err) {
			report(store.Problem{Place: in.FS.PathBase(path), Text: err.Error()})
		} else if err != nil {
			return err
		}
	}
	return nil
}

func verifyFile(ctx context.Context, in store.Inside, path string) (err error) {
	r, err := in.OpenFile(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := r.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := r.Finish(); err != nil {
			return err
		}
	}
}

// verifier checks one partition.
type verifier struct {
	store.Inside
	db     pebble.Reader
	ctx    context.Context // of the one call of Verify
	report func(store.Problem)
	p      weburl.Partition

	stored store.Counters // as they are stored
	found  store.Counters // as the rows make them
	sites  map[weburl.Site]*store.SiteRow
	page   store.PageAt // the one last looked up by a visit or version
	known  bool         // … and it exists
	next   uint32       // … and the number expected
}

func (v *verifier) verify() (err error) {
	if err := format.Read(v.db, v.key(format.KeyCounters), &v.stored); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	for kind := format.KeyCounters; kind <= format.LastKind; kind++ {
		check := v.checker(kind)
		if check == nil {
			continue
		}
		v.page = store.PageAt{}
		from, to := v.Keys.KindSpan(v.p, kind)
		err := database.Scan(v.db, from, to, func(key, value []byte) error {
			if err := v.ctx.Err(); err != nil {
				return err
			}
			if err := check(key[len(from):], value); errors.Is(err, store.ErrCorrupt) {
				v.fault("partition %d, key %x: %v", v.p, key, err)
			} else if err != nil {
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	v.checkRecords()
	v.checkSites()
	v.checkTotals()
	return nil
}

func (v *verifier) key(kind format.Kind) []byte { return v.Keys.AppendKind(nil, v.p, kind) }

func (v *verifier) fault(format string, args ...any) {
	place, text, _ := strings.Cut(fmt.Sprintf(format, args...), ": ")
	v.report(store.Problem{Place: place, Text: text})
}

// checker returns the check of a kind's keys, given their ends and values.
func (v *verifier) checker(kind format.Kind) func(rest, value []byte) error {
	switch kind {
	case format.KeyPage:
		return v.checkPage
	case format.KeyNew:
		return func(rest, value []byte) error { return v.checkEntry(store.NewQueue, rest, value) }
	case format.KeyDue:
		return func(rest, value []byte) error { return v.checkEntry(store.DueQueue, rest, value) }
	case format.KeyVisit:
		return v.checkVisit
	case format.KeyVersion:
		return v.checkVersion
	case format.KeyLinks:
		return v.checkLinks
	case format.KeyChange:
		return v.checkChange
	case format.KeyRecord:
		return v.checkRecord
	case format.KeyArrived, format.KeyParted:
		return checkPeer
	}
	return nil
}

func (v *verifier) checkPage(rest, value []byte) error {
	n, err := format.NumberTail(rest)
	if err != nil {
		return err
	}
	page := store.PageAt{Fingerprint: weburl.Fingerprint(n)}
	if err := format.DecodeValue(value, &page.Page); err != nil {
		return err
	}
	if !page.State.Known() {
		return fmt.Errorf("%w: state %d", store.ErrCorrupt, page.State)
	}
	if home := v.Home(page.URL.Site()); home != v.p {
		v.fault("%s: in partition %d: want %d", page.URL, v.p, home)
	}
	if err := v.checkPlace(&page); err != nil {
		return err
	}
	if err := v.checkQueued(&page); err != nil {
		return err
	}
	v.found.Pages++
	v.found.States[page.State]++
	site := v.sites[page.URL.Site()]
	if site == nil {
		site = &store.SiteRow{}
		v.sites[page.URL.Site()] = site
	}
	site.Pages++
	if page.Visited {
		site.Fetched++
	}
	return v.checkHistory(&page)
}

// checkPlace checks that a page is where a look-up of its URL finds it.
func (v *verifier) checkPlace(page *store.PageAt) error {
	for fp := page.URL.Fingerprint(); fp != page.Fingerprint; fp = format.Probe(fp) {
		var other store.Page
		if err := format.Read(v.db, v.Keys.AppendPage(nil, v.p, format.KeyPage, fp), &other); errors.Is(err, store.ErrNotFound) {
			v.fault("%s: stored at %v, where no look-up finds it", page.URL, page.Fingerprint)
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) checkQueued(page *store.PageAt) error {
	if page.Queue == store.NoQueue {
		return nil
	}
	key := v.Keys.AppendEntry(nil, v.p, page.Queue.KeyKind(), page.URL.Site(), page.Key.Order, page.Key.Arrival)
	found, err := database.Get(v.db, key, func(value []byte) error {
		fp, _, err := format.EntryValue(value)
		if err == nil && fp != page.Fingerprint {
			v.fault("%s: its entry in the %v queue is of %v", page.URL, page.Queue, fp)
		}
		return err
	})
	if err == nil && !found {
		v.fault("%s: not in the %v queue, where its row says it is", page.URL, page.Queue)
	}
	return err
}

// checkHistory checks that a page's last visits, its versions and its change entry are there.
func (v *verifier) checkHistory(page *store.PageAt) error {
	exists := func(key []byte, what string, n uint64) error {
		found, err := database.Get(v.db, key, func([]byte) error { return nil })
		if err == nil && !found {
			v.fault("%s: %s %d is missing", page.URL, what, n)
		}
		return err
	}
	var errs []error
	if page.Visits > 0 {
		errs = append(errs, exists(v.Keys.AppendOfPage(nil, v.p, format.KeyVisit, page.Fingerprint, page.Visits), "visit", uint64(page.Visits)))
	}
	if page.Versions > 0 {
		errs = append(errs, exists(v.Keys.AppendOfPage(nil, v.p, format.KeyVersion, page.Fingerprint, page.Versions), "version", uint64(page.Versions)))
	}
	if page.LastChange > 0 {
		errs = append(errs, exists(v.Keys.AppendNumber(nil, v.p, format.KeyChange, page.LastChange), "change entry", page.LastChange))
	}
	return errors.Join(errs...)
}

func (v *verifier) checkEntry(q store.Queue, rest, value []byte) error {
	_, order, arrival, err := format.QueueTail(rest)
	if err != nil {
		return err
	}
	key := store.Key{Order: order, Arrival: arrival}
	fp, _, err := format.EntryValue(value)
	if err != nil {
		return err
	}
	var page store.Page
	err = format.Read(v.db, v.Keys.AppendPage(nil, v.p, format.KeyPage, fp), &page)
	switch {
	case errors.Is(err, store.ErrNotFound):
		v.fault("partition %d: entry of the %v queue for %v, which has no row", v.p, q, fp)
		return nil
	case err != nil:
		return err
	}
	if want := v.Keys.AppendEntry(nil, v.p, q.KeyKind(), page.URL.Site(), key.Order, key.Arrival); page.Queue != q || page.Key != key || string(want[len(want)-len(rest):]) != string(rest) {
		v.fault("%s: in the %v queue at %d, %d: its row says %v at %d, %d", page.URL, q, key.Order, key.Arrival, page.Queue, page.Key.Order, page.Key.Arrival)
	}
	site := v.sites[page.URL.Site()]
	if site == nil {
		return nil // the row could not be read and has been reported
	}
	if q == store.NewQueue {
		site.New++
		site.Cash += store.UnitsOf(page.Cash)
		v.found.New++
	} else {
		site.Due++
		v.found.Due++
	}
	return nil
}

// of looks up the page of a visit or version and checks that these are numbered without a gap, from
// the page's first.
func (v *verifier) of(rest []byte, what string, first func(*store.Page) uint32) (bool, error) {
	fp, number, err := format.PageTail(rest)
	if err != nil {
		return false, err
	}
	if fp != v.page.Fingerprint {
		v.page = store.PageAt{Fingerprint: fp}
		err := format.Read(v.db, v.Keys.AppendPage(nil, v.p, format.KeyPage, fp), &v.page.Page)
		v.known = err == nil
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
		v.next = first(&v.page.Page)
	}
	if !v.known {
		v.fault("partition %d: %s %d of %v, which has no row", v.p, what, number, fp)
		return false, nil
	}
	if number != v.next {
		v.fault("%s: %s %d: want %d", v.page.URL, what, number, v.next)
	}
	v.next = number + 1
	return true, nil
}

func (v *verifier) checkVisit(rest, value []byte) error {
	known, err := v.of(rest, "visit", (*store.Page).FirstVisit)
	if !known || err != nil {
		return err
	}
	var visit store.Visit
	if err := format.DecodeValue(value, &visit); err != nil {
		return err
	}
	if visit.Capture.IsZero() {
		return nil
	}
	return v.checkCapture(v.page.URL, visit.Capture, nil)
}

func (v *verifier) checkVersion(rest, value []byte) error {
	known, err := v.of(rest, "version", func(p *store.Page) uint32 { return p.Pruned + 1 })
	if !known || err != nil {
		return err
	}
	var version store.Version
	if err := format.DecodeValue(value, &version); err != nil {
		return err
	}
	if version.Capture.IsZero() {
		return nil
	}
	return v.checkCapture(v.page.URL, version.Capture, &version)
}

// checkCapture reads a capture of u and, for a version, its payload.
func (v *verifier) checkCapture(u weburl.URL, at store.Pointer, version *store.Version) error {
	body, err := v.Body(at)
	switch {
	case store.IsLost(err):
		v.fault("%s: capture at %s:%d: %v", u, at.File, at.Offset, err)
		return nil
	case err != nil:
		return err
	case body.URL != u.String():
		v.fault("%s: capture at %s:%d is of %s", u, at.File, at.Offset, body.URL)
	case version != nil && warc.DigestOf(body.Payload) != version.BodyDigest:
		v.fault("%s: version %d: payload has digest %v: want %v", u, version.Number, warc.DigestOf(body.Payload), version.BodyDigest)
	}
	return nil
}

func (v *verifier) checkLinks(rest, value []byte) error {
	n, err := format.NumberTail(rest)
	if err != nil {
		return err
	}
	var page store.Page
	if err := format.Read(v.db, v.Keys.AppendPage(nil, v.p, format.KeyPage, weburl.Fingerprint(n)), &page); errors.Is(err, store.ErrNotFound) {
		v.fault("partition %d: out-links of %v, which has no row", v.p, weburl.Fingerprint(n))
	} else if err != nil {
		return err
	}
	_, err = store.DecodeLinks(value)
	return err
}

func (v *verifier) checkChange(rest, value []byte) error {
	n, err := format.NumberTail(rest)
	if err != nil {
		return err
	}
	var change store.Change
	if err := format.DecodeValue(value, &change); err != nil {
		return err
	}
	var page store.Page
	if err := format.Read(v.db, v.Keys.AppendPage(nil, v.p, format.KeyPage, change.Fingerprint), &page); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if page.LastChange != n {
		v.fault("%s: change entry %d: its row names %d", change.URL, n, page.LastChange)
	}
	return nil
}

func (v *verifier) checkRecord(rest, value []byte) error {
	n, err := format.NumberTail(rest)
	if err != nil {
		return err
	}
	v.found.Records++
	if want := v.stored.Trimmed + v.found.Records; n != want {
		v.fault("partition %d: record %d: want %d", v.p, n, want)
	}
	_, err = store.DecodeRecord(value)
	return err
}

func (v *verifier) checkRecords() {
	if v.stored.Trimmed+v.found.Records != v.stored.Records {
		v.fault("partition %d: %d records kept after %d: want %d in all", v.p, v.found.Records, v.stored.Trimmed, v.stored.Records)
	}
	from, to := v.Keys.KindSpan(v.p, format.KeyMark)
	err := database.Scan(v.db, from, to, func(key, value []byte) error {
		var at uint64
		if err := format.DecodeValue(value, &at); err != nil {
			return err
		}
		if at < v.stored.Trimmed || at > v.stored.Records {
			v.fault("partition %d: mark of %s at %d: want one from %d to %d", v.p, key[len(from):], at, v.stored.Trimmed, v.stored.Records)
		}
		return nil
	})
	if err != nil {
		v.fault("partition %d: %v", v.p, err)
	}
}

// checkSites compares the stored sites with what their pages make of them.
func (v *verifier) checkSites() {
	from, to := v.Keys.KindSpan(v.p, format.KeySite)
	err := database.Scan(v.db, from, to, func(key, value []byte) error {
		row := store.SiteRow{Site: weburl.Site(key[len(from):])}
		if err := format.DecodeValue(value, &row); err != nil {
			return err
		}
		v.checkSite(&row)
		return nil
	})
	if err != nil {
		v.fault("partition %d: sites: %v", v.p, err)
	} else if len(v.sites) > 0 {
		v.fault("partition %d: %d sites with pages have no row", v.p, len(v.sites))
	}
}

func (v *verifier) checkSite(row *store.SiteRow) {
	v.found.Sites++
	found := v.sites[row.Site]
	if found == nil {
		found = &store.SiteRow{}
	}
	if row.Pages != found.Pages || row.Fetched != found.Fetched || row.New != found.New || row.Due != found.Due || row.Cash != found.Cash {
		v.fault("%s: row counts %d pages, %d fetched, %d new with cash of %g, %d due: found %d, %d, %d with %g, %d", row.Site,
			row.Pages, row.Fetched, row.New, row.Cash.Cash(), row.Due, found.Pages, found.Fetched, found.New, found.Cash.Cash(), found.Due)
	}
	delete(v.sites, row.Site)
}

func (v *verifier) checkTotals() {
	a, b := &v.stored, &v.found
	if a.Pages != b.Pages || a.Sites != b.Sites || a.New != b.New || a.Due != b.Due || a.States != b.States {
		v.fault("partition %d: totals of %d pages %v, %d sites, %d new, %d due: found %d %v, %d, %d, %d",
			v.p, a.Pages, a.States, a.Sites, a.New, a.Due, b.Pages, b.States, b.Sites, b.New, b.Due)
	}
}

// checkPeer checks a key of a Peer, given its end and value.
func checkPeer(rest, value []byte) error {
	if _, err := format.PeerTail(rest); err != nil {
		return err
	}
	return format.DecodeValue(value, new(uint64))
}
