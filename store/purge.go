package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// Target is what a purge takes down: one page, or all pages of a site and its robots.txt.
type Target struct {
	URL  weburl.URL  // the page; zero: a site
	Site weburl.Site // the site
}

// String returns the page's URL or the site.
func (t Target) String() string {
	if t.URL.IsZero() {
		return string(t.Site)
	}
	return t.URL.String()
}

// Purge takes pages and sites down for good: BeginPurge and FinishPurges in one, for a directory in
// which no crawl runs.
func (s *Store) Purge(ctx context.Context, at time.Time, targets ...Target) (PurgeReport, error) {
	if _, err := s.BeginPurge(at, targets...); err != nil {
		return PurgeReport{}, err
	}
	return s.FinishPurges(ctx)
}

// BeginPurge takes pages and sites down in the database, in every crawl of the directory: a take-down is
// of what is stored, whichever crawl has stored it. Rows become tombstones, which neither fetches
// nor discoveries bring back; versions, visits and out-links go; the change log says purged; what is
// being fetched will not be stored. It returns what that did to the queues of the crawl that is open. The
// bytes are still on disk: FinishPurges takes them off it. That it has to is durable first, so that a purge
// that a crash cuts is taken up again by the next Open and the next FinishPurges.
//
// O(pages of the partition) for a site. Errors are as Apply's.
func (s *Store) BeginPurge(at time.Time, targets ...Target) (moves []Move, err error) {
	for _, target := range targets {
		if target.URL.IsZero() && target.Site.Host() == "" {
			return nil, fmt.Errorf("store: purge: %q: want a URL or a site", target)
		}
	}
	if err := s.notePurges(at.UnixNano(), targets); err != nil {
		return nil, err
	}
	for _, target := range targets {
		more, err := s.takeDown(target, at.UnixNano())
		moves = append(moves, more...)
		if err != nil {
			return moves, err
		}
	}
	return moves, nil
}

// Count returns how many pages of the crawl that is open a purge of target would take down.
func (s *Store) Count(target Target) (pages int64, err error) {
	if !target.URL.IsZero() {
		page, _, err := s.PageOf(target.URL)
		if err != nil || page.State == StatePurged {
			return 0, err
		}
		return 1, nil
	}
	return s.count(s.keys, target.Site)
}

// count returns how many pages of a site have not been taken down.
func (s *Store) count(keys format.Keyspace, site weburl.Site) (pages int64, err error) {
	for page, err := range s.pagesOf(keys, s.homes.of(site), 0) {
		if err != nil {
			return pages, err
		}
		if page.URL.Site() == site && page.State != StatePurged {
			pages++
		}
	}
	return pages, nil
}

// purge is a purge that has begun. It lies outside of every crawl until it is finished.
type purge struct {
	Crawl string      `cbor:"1,keyasint,omitempty"` // of the key of one that an older program began
	URL   weburl.URL  `cbor:"2,keyasint,omitzero"`
	Site  weburl.Site `cbor:"3,keyasint,omitempty"`
	At    int64       `cbor:"4,keyasint,omitempty"`
}

func (p *purge) target() Target { return Target{URL: p.URL, Site: p.Site} }

func (p *purge) key() []byte {
	return append(purgePrefix(), p.Crawl+"\x00"+p.target().String()...)
}

func purgePrefix() []byte { return format.Outside("purge/") }

// notePurges makes durable, beside the database and in it, that pages and sites are to be taken down.
func (s *Store) notePurges(at int64, targets []Target) error {
	if len(targets) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	var all []order
	for _, t := range targets {
		all = append(all, order{Do: orderPurge, Crawl: s.options.Crawl, URL: t.URL, Site: t.Site, At: at})
	}
	if err := s.orders.note(all...); err != nil {
		return s.fail(err)
	}
	batch := s.db.NewBatch()
	err := batch.Set(ordersKey(s.options.Crawl), format.AppendValue(nil, s.orders.last), nil)
	for _, o := range all {
		p := purge{Crawl: o.Crawl, URL: o.URL, Site: o.Site, At: o.At}
		err = errors.Join(err, batch.Set(p.key(), format.AppendValue(nil, &p), nil))
	}
	if err != nil {
		return errors.Join(err, batch.Close())
	}
	if err := database.Commit(batch, pebble.Sync); err != nil {
		return s.fail(err)
	}
	return nil
}

// begun returns the purges that are not finished, of all crawls.
func (s *Store) begun() (all []purge, err error) {
	from, to := format.Span(purgePrefix())
	err = database.Scan(s.db, from, to, func(_, value []byte) error {
		var p purge
		err := format.DecodeValue(value, &p)
		all = append(all, p)
		return err
	})
	return all, err
}

// resumePurges does again, at Open, what BeginPurge may not have come to.
func (s *Store) resumePurges() error {
	all, err := s.begun()
	for i := range all {
		if err == nil {
			_, err = s.takeDown(all[i].target(), all[i].At)
		}
	}
	return err
}

// isDown reports whether a target has been taken down in every crawl.
func (s *Store) isDown(target Target) (bool, error) {
	names, err := s.everyCrawl()
	for _, crawl := range names {
		keys := format.NewKeyspace(crawl)
		if !target.URL.IsZero() {
			page, _, pageErr := s.pageOf(keys, target.URL)
			if pageErr != nil || page.State != StatePurged {
				return false, ignoreMissing(pageErr)
			}
			continue
		}
		row, siteErr := s.siteOf(keys, target.Site)
		if siteErr != nil || !row.Purged {
			return false, ignoreMissing(siteErr)
		}
		if n, err := s.count(keys, target.Site); err != nil || n > 0 {
			return false, err
		}
	}
	return err == nil, err
}

func ignoreMissing(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// everyCrawl returns the names of the crawl that is open and of all others that have records.
func (s *Store) everyCrawl() ([]string, error) {
	names, err := s.Crawls()
	if !slices.Contains(names, s.options.Crawl) {
		names = append(names, s.options.Crawl)
	}
	return names, err
}

// takeDown applies the records of a purge to every crawl; doing it twice does no more. It returns the moves
// of the crawl that is open.
func (s *Store) takeDown(target Target, at int64) (moves []Move, err error) {
	names, err := s.everyCrawl()
	for _, crawl := range names {
		if err != nil {
			return moves, err
		}
		t := takedown{Store: s, crawl: crawl, keys: format.NewKeyspace(crawl), p: s.homes.ofTarget(target), at: at}
		if !target.URL.IsZero() {
			err = t.page(target.URL)
		} else {
			err = t.site(target.Site)
		}
		moves = append(moves, t.moves...)
	}
	return moves, err
}

// ofTarget returns the partition of what is taken down.
func (h *homes) ofTarget(t Target) weburl.Partition {
	if t.URL.IsZero() {
		return h.of(t.Site)
	}
	return h.of(t.URL.Site())
}

// purgeBatch is how many pages of a site go in one batch.
const purgeBatch = 512

// takedown is a purge on its way through one crawl.
type takedown struct {
	*Store
	crawl string
	keys  format.Keyspace
	p     weburl.Partition
	at    int64
	moves []Move
}

func (t *takedown) apply(records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	moves, err := t.applyTo(t.crawl, records...)
	t.moves = append(t.moves, moves...)
	return err
}

func (t *takedown) page(u weburl.URL) error {
	page, _, err := t.pageOf(t.keys, u)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	case page.State == StatePurged:
		return nil
	}
	return t.apply(&Purged{Partition: t.p, URL: u, At: t.at})
}

func (t *takedown) site(site weburl.Site) error {
	row, err := t.siteOf(t.keys, site)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	if err == nil && !row.Purged {
		err = t.apply(&SitePurged{Site: site, At: t.at})
	}
	if err != nil {
		return err
	}
	var group []Record
	for page, err := range t.pagesOf(t.keys, t.p, 0) {
		if err != nil {
			return err
		}
		if page.URL.Site() != site || page.State == StatePurged {
			continue
		}
		group = append(group, &Purged{Partition: t.p, Fingerprint: page.Fingerprint, At: t.at})
		if len(group) == purgeBatch {
			if err := t.apply(group...); err != nil {
				return err
			}
			group = nil
		}
	}
	return t.apply(group...)
}

// PurgeReport is what FinishPurges did.
type PurgeReport struct {
	Targets    []string // what is now gone
	Files      int      // WARC files rewritten
	FreedBytes int64    // of them
}

// FinishPurges takes the bytes of everything whose purge has begun off the disk. The WARC files that hold any
// of it are rewritten without it, whoever recorded it, and so are the database's tables and log files.
// Snapshots on their way out of the directory are cut off. What a repair has set aside goes whole: nobody can
// tell what of it is not of the page. It may be called while a crawl runs; it then ends the WARC file being
// written. It reads every WARC file once. After an error, or ctx's end, the next call does it again.
//
// Copies that were made of the directory (snapshots, exports) are not its to change.
func (s *Store) FinishPurges(ctx context.Context) (report PurgeReport, err error) {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	all, err := s.begun()
	if err != nil || len(all) == 0 {
		return report, err
	}
	if err := s.endFile(); err != nil {
		return report, err
	}
	if err := s.dropCopies(); err != nil {
		return report, err
	}
	hit := searchFor(all)
	files, err := s.filesWith(ctx, hit)
	if err != nil {
		return report, err
	}
	if report.Files, report.FreedBytes, err = s.rewrite(ctx, files, hit, 0); err != nil {
		return report, err
	}
	if err := s.scrub(ctx, s.partitionsOf(all)); err != nil {
		return report, err
	}
	if s.options.OnPurge != nil {
		if err := s.options.OnPurge(ctx, hit); err != nil {
			return report, fmt.Errorf("store: purge: %w", err)
		}
	}
	for i := range all {
		report.Targets = append(report.Targets, all[i].target().String())
		if err := s.endPurge(&all[i]); err != nil {
			return report, err
		}
	}
	return report, nil
}

// partitionsOf returns where the targets of purges are.
func (s *Store) partitionsOf(all []purge) (places []weburl.Partition) {
	for i := range all {
		places = append(places, s.homes.ofTarget(all[i].target()))
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// endFile ends the WARC file being written, so that it can be rewritten.
func (s *Store) endFile() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	if err := s.warc.Close(); err != nil {
		return s.fail(fmt.Errorf("store: end captures: %w", err))
	}
	return nil
}

// searchFor returns what tells a record's target that is being purged.
func searchFor(all []purge) func(target string) bool {
	urls, sites := map[weburl.URL]bool{}, map[weburl.Site]bool{}
	for _, p := range all {
		if p.URL.IsZero() {
			sites[p.Site] = true
		} else {
			urls[p.URL] = true
		}
	}
	return func(target string) bool {
		u, err := weburl.Parse(strings.TrimSpace(target))
		return err == nil && (urls[u] || sites[u.Site()])
	}
}

// filesWith returns the closed files that hold a record with such a target.
func (s *Store) filesWith(ctx context.Context, hit func(target string) bool) (with []string, err error) {
	files, err := s.closedFiles()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		members, err := s.members(ctx, s.fs.PathJoin(s.dir.join(format.CapturesDir), file), hit)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(members, func(m member) bool { return m.hit }) {
			with = append(with, file)
		}
	}
	return with, nil
}

func (s *Store) endPurge(p *purge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	batch := s.db.NewBatch()
	if err := batch.Delete(p.key(), nil); err != nil {
		return errors.Join(err, batch.Close())
	}
	if err := database.Commit(batch, pebble.Sync); err != nil {
		return s.fail(err)
	}
	return nil
}
