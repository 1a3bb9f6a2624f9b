package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/clock"
	"freshet/consent"
	"freshet/crawl"
	"freshet/crawl/explain"
	"freshet/dashboard"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/node"
	"freshet/store"
	"freshet/weburl"
)

// reader reads a store for the dashboard.
type reader struct {
	store *store.Store
	sites *kept[[]siteNumbers] // of all sites
	// Of the running crawl; nil if none runs.
	status  func() node.Status
	explain func(url string, most time.Duration) (explain.Explanation, error)
	refresh func(u weburl.URL, fingerprint weburl.Fingerprint) (crawl.Refreshing, bool)
	waits   func(sites []weburl.Site) [][]frontier.Obstacle
	clock   *clock.Clock // nil: the machine's
}

// newReader returns a reader of a store in which no crawl runs.
func newReader(s *store.Store) reader {
	return reader{store: s, sites: &kept[[]siteNumbers]{make: func() ([]siteNumbers, error) { return readSites(s) }}}
}

// now returns the time of the crawl.
func (r reader) now() time.Time {
	if r.clock == nil {
		return clock.Real().Now()
	}
	return r.clock.Now()
}

// status is the status of a directory, or of the crawl that runs in it, with the same keys.
type status struct {
	node.Status
	CleanStop   bool             `json:"clean_stop"` // of the last run that has ended
	LastAlive   *time.Time       `json:"last_alive"` // when that run was last alive
	States      map[string]int64 `json:"pages_by_state"`
	PausedSince *time.Time       `json:"paused_since"`
	Requests    int64            `json:"requests"` // from the first run on
	Versions    int64            `json:"versions"`
	BodyBytes   int64            `json:"body_bytes"`
}

// Status implements dashboard.Reader.
func (r reader) Status() (any, error) {
	total, err := r.store.Total()
	if err != nil {
		return nil, err
	}
	start := r.store.Start()
	s := status{CleanStop: start.Clean, LastAlive: when(start.LastAlive), States: map[string]int64{}, PausedSince: whenNs(total.Paused),
		Requests: total.Visits + total.Robots, Versions: total.Versions, BodyBytes: total.BodyBytes}
	if r.status != nil {
		s.Status = r.status()
	} else {
		s.Status = node.Status{State: "stopped", Memory: node.NoMemory(), DiskFreeBytes: r.store.DiskFree(), QueuedNew: total.New, QueuedDue: total.Due,
			Errors: map[string]int64{}, Refused: map[string]int64{}, Background: map[string]int64{}}
		s.Sites, s.URLsDiscovered = total.Sites, total.Pages
	}
	for state, n := range total.States {
		if n > 0 {
			s.States[store.State(state).String()] = n
		}
	}
	return s, nil
}

func (r reader) Pages(filter dashboard.Filter) iter.Seq2[dashboard.Page, error] {
	return func(yield func(dashboard.Page, error) bool) {
		parts := []iter.Seq2[store.PageAt, error]{}
		if u, err := weburl.Parse(filter.Site); err == nil {
			parts = append(parts, r.store.PagesOf(u.Site()))
		} else {
			for p := range r.store.Partitions() {
				parts = append(parts, r.store.Pages(weburl.Partition(p)))
			}
		}
		for _, rows := range parts {
			for row, err := range rows {
				if err != nil {
					yield(dashboard.Page{}, err)
					return
				}
				page := pageOf(row.Page)
				if !filter.Wants(page) {
					continue
				}
				if err := r.believe(&page, row); err != nil {
					yield(dashboard.Page{}, err)
					return
				}
				if !yield(page, nil) {
					return
				}
			}
		}
	}
}

// believe adds the running crawl's beliefs about a page that it keeps fresh. Without a running crawl it adds an
// estimate from the page's visits.
func (r reader) believe(page *dashboard.Page, row store.PageAt) error {
	if row.State != store.StateLive {
		return nil
	}
	visits, err := r.store.Visits(r.store.Home(row.URL.Site()), row.Fingerprint)
	if err != nil {
		return err
	}
	if model, ok := node.FitVisits(visits); ok {
		page.Process, page.RatePerDay = model.Process, &model.RatePerDay
	}
	if r.refresh == nil {
		return nil
	}
	if p, ok := r.refresh(row.URL, row.Fingerprint); ok {
		page.RatePerDay, page.Weight, page.CrawlsPlanned = &p.RatePerDay, &p.Weight, &p.PerInterval
		if page.NextDue == nil {
			page.NextDue = p.NextDue
		}
	}
	return nil
}

// Skipped implements dashboard.Reader. The parts go through the pages of all partitions by fingerprint, then through
// the sites of one partition after another. A cursor is the next fingerprint, or a partition and the last site.
func (r reader) Skipped(after string, samples, rows int) (s dashboard.Skipped, err error) {
	s = dashboard.Skipped{Pages: []dashboard.SkippedPages{}, Refused: map[string]int64{}}
	place, site, inSites := strings.Cut(after, "/")
	base := 16
	if inSites {
		base = 10
	}
	at := uint64(0)
	if after != "" {
		at, err = strconv.ParseUint(place, base, 64)
	}
	switch {
	case err != nil || inSites && at >= uint64(r.store.Partitions()):
		return s, wrong(fmt.Errorf("after %.50q: want next of an earlier answer", after))
	case inSites:
		return s, r.addRefused(&s, int(at), site, rows)
	}
	left, err := r.addSkipped(&s, weburl.Fingerprint(at), samples, rows)
	if err != nil || s.Next != "" {
		return s, err
	}
	return s, r.addRefused(&s, 0, "", left)
}

// addSkipped adds the skipped ones of that many pages, in the order of their fingerprints, and returns how many rows
// are left.
func (r reader) addSkipped(s *dashboard.Skipped, first weburl.Fingerprint, samples, rows int) (left int, err error) {
	byReason := map[string]*dashboard.SkippedPages{}
	for row, err := range r.byFingerprint(first) {
		if err != nil {
			return 0, err
		}
		if s.Looked >= int64(rows) {
			s.Next = row.Fingerprint.String()
			break
		}
		s.Looked++
		reason := skipReason(row.Page)
		if reason == "" {
			continue
		}
		if byReason[reason] == nil {
			byReason[reason] = &dashboard.SkippedPages{Reason: reason, URLs: []string{}}
		}
		if of := byReason[reason]; len(of.URLs) < samples {
			of.URLs = append(of.URLs, row.URL.String())
		}
		byReason[reason].Count++
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		s.Pages = append(s.Pages, *byReason[reason])
	}
	return rows - int(s.Looked), nil
}

// byFingerprint iterates over the pages of all partitions in the order of their fingerprints.
func (r reader) byFingerprint(first weburl.Fingerprint) iter.Seq2[store.PageAt, error] {
	type head struct {
		row  store.PageAt
		err  error
		next func() (store.PageAt, error, bool)
	}
	return func(yield func(store.PageAt, error) bool) {
		var heads []*head
		for p := range r.store.Partitions() {
			next, stop := iter.Pull2(r.store.PagesFrom(weburl.Partition(p), first))
			defer stop()
			if row, err, ok := next(); ok {
				heads = append(heads, &head{row, err, next})
			}
		}
		for len(heads) > 0 {
			least := slices.MinFunc(heads, func(x, y *head) int { return cmp.Compare(x.row.Fingerprint, y.row.Fingerprint) })
			if !yield(least.row, least.err) {
				return
			}
			var ok bool
			if least.row, least.err, ok = least.next(); !ok {
				heads = slices.DeleteFunc(heads, func(h *head) bool { return h == least })
			}
		}
	}
}

// addRefused adds what that many sites refused, from a partition's sites after a name on. With an empty name it begins
// with the links to sites that have no row.
func (r reader) addRefused(s *dashboard.Skipped, p int, after string, rows int) error {
	for ; p < r.store.Partitions(); p++ {
		if after == "" {
			total, err := r.store.Counters(weburl.Partition(p))
			if err != nil {
				return err
			}
			addReasons(s.Refused, total.Refused)
		}
		for row, err := range r.store.SitesAfter(weburl.Partition(p), after) {
			if err != nil {
				return err
			}
			addReasons(s.Refused, row.Refused)
			if rows--; rows <= 0 {
				s.Next = fmt.Sprintf("%d/%s", p, row.Site)
				return nil
			}
		}
		after = ""
	}
	return nil
}

func addReasons(to map[string]int64, reasons []store.Reason) {
	for _, r := range reasons {
		to[r.Reason] += r.Count
	}
}

// skipReason returns the reason why no version of a page is kept, or "" if one is, or may be in future.
func skipReason(row store.Page) string {
	switch {
	case row.State == store.StatePurged:
		return store.ReasonPurged
	case row.Strikes >= crawl.MaxStrikes:
		return row.Reason
	case row.Versions > 0 || row.Queue != store.NoQueue || row.State == store.StatePending || row.State == store.StateRedirect:
		return ""
	case row.State == store.StateDenied:
		if row.Outcome == store.OutcomeDenied && strings.HasPrefix(row.Reason, "fetch: ") {
			return "private-address"
		}
		return row.Reason
	case row.Outcome == store.OutcomeCrash:
		return row.Outcome.String()
	case row.Status != 0:
		return fmt.Sprintf("%s %d", row.State, row.Status)
	}
	return row.State.String()
}

func (r reader) History(raw string) (h dashboard.History, err error) {
	row, p, fp, err := r.find(raw)
	if err != nil {
		return h, err
	}
	visits, err := r.store.Visits(p, fp)
	if err != nil {
		return h, err
	}
	versions, err := r.store.Versions(p, fp)
	if err != nil {
		return h, err
	}
	if model, ok := node.FitVisits(visits); ok {
		h.Model = &dashboard.Model{Process: model.Process, RatePerDay: model.RatePerDay, Visits: model.Visits, Changed: model.Changed,
			PeriodS: model.Rhythm.Period, PhaseS: model.Rhythm.Phase, Chance: model.Anytime}
	}
	h.Page = pageOf(row)
	if err := r.believe(&h.Page, store.PageAt{Page: row, Fingerprint: fp}); err != nil {
		return h, err
	}
	h.Visits, h.Versions = make([]dashboard.Visit, len(visits)), make([]dashboard.Version, len(versions))
	for i, v := range visits {
		h.Visits[i] = dashboard.Visit{At: time.Unix(0, v.At).UTC(), TookS: time.Duration(v.TookNs).Seconds(), Outcome: v.Outcome.String(), Status: v.Status,
			Reason: v.Reason, Changed: v.Changed, Noise: v.Noise, Version: v.Version, WireBytes: v.WireBytes, Truncated: v.Truncated}
	}
	for i, v := range versions {
		h.Versions[i] = versionOf(v, row)
	}
	return h, nil
}

func (r reader) Content(raw string, number uint32, at time.Time) (c dashboard.Content, err error) {
	row, version, err := r.version(raw, number, at)
	if err != nil {
		return c, err
	}
	if version.Capture.IsZero() {
		return c, fmt.Errorf("%w: the body of version %d of %s is not kept", dashboard.ErrNotFound, version.Number, raw)
	}
	body, err := r.store.VersionBody(row.URL, &version)
	if err != nil {
		return c, err
	}
	stream, err := fetch.Reader(body.Header, body.Payload)
	return dashboard.Content{Version: versionOf(version, row), Header: body.Header, Body: stream}, err
}

// find returns the row of a URL as a user types it.
func (r reader) find(raw string) (row store.Page, p weburl.Partition, fp weburl.Fingerprint, err error) {
	u, err := weburl.Parse(raw)
	if err != nil {
		return row, 0, 0, wrong(err)
	}
	row, fp, err = r.store.PageOf(u)
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("%w: page %s (freshet pages lists what is known)", dashboard.ErrNotFound, u)
	}
	return row, r.store.Home(u.Site()), fp, err
}

// version returns a page and a version of it. raw is the URL as typed. A number of 0 stands for the version that was
// current at a time (zero: now).
func (r reader) version(raw string, number uint32, at time.Time) (row store.Page, v store.Version, err error) {
	row, p, fp, err := r.find(raw)
	if err != nil {
		return row, v, err
	}
	versions, err := r.store.Versions(p, fp)
	if err != nil {
		return row, v, err
	}
	for _, candidate := range slices.Backward(versions) {
		if (number == 0 || candidate.Number == number) && (at.IsZero() || !time.Unix(0, candidate.At).After(at)) {
			return row, candidate, nil
		}
	}
	if len(versions) == 0 {
		return row, v, fmt.Errorf("%w: any version of %s (freshet explain says why)", dashboard.ErrNotFound, raw)
	}
	return row, v, fmt.Errorf("%w: that version of %s (freshet history lists them)", dashboard.ErrNotFound, raw)
}

func pageOf(row store.Page) dashboard.Page {
	page := dashboard.Page{URL: row.URL.String(), Site: string(row.URL.Site()), State: row.State.String(), Status: row.Status,
		ContentType: row.ContentType, Version: row.Versions, Depth: int(row.Depth), Reason: row.Reason, RedirectsTo: row.Redirect.String(),
		FirstSeen: whenNs(row.FirstSeen), LastFetched: whenNs(row.LastFetched), LastChanged: whenNs(row.LastChanged)}
	if row.Versions > 0 {
		page.Digest = fmt.Sprintf("%x", row.BodyDigest[:])
	}
	if row.Cash > 0 {
		page.Importance = &row.Cash
	}
	if row.Queue == store.DueQueue {
		page.NextDue = whenNs(int64(row.Key.Order))
	}
	return page
}

// versionOf returns a version of a page. What is said about the use of the last one may have changed since it was
// stored.
func versionOf(v store.Version, page store.Page) dashboard.Version {
	if v.Number == page.Versions {
		v.SiteSignals, v.PageSignals = page.SiteSignals, page.PageSignals
	}
	return dashboard.Version{Version: v.Number, At: time.Unix(0, v.At).UTC(), Noise: v.Noise, Status: v.Status, ContentType: v.ContentType,
		SizeBytes: v.Size, Digest: fmt.Sprintf("%x", v.BodyDigest[:]), WARC: v.Capture.File, OffsetBytes: v.Capture.Offset, LengthBytes: v.Capture.Length,
		Signals: consent.Of(v.SiteSignals, v.PageSignals).Lines()}
}

func whenNs(ns int64) *time.Time {
	if ns == 0 {
		return nil
	}
	return when(time.Unix(0, ns))
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
