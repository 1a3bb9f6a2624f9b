package store

import (
	"cmp"
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

// Target names what a purge takes down: one page, or all pages of a site and its robots.txt.
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

// Of returns the site, or that of the page.
func (t Target) Of() weburl.Site {
	if t.URL.IsZero() {
		return t.Site
	}
	return t.URL.Site()
}

// BeginPurge takes pages and sites down in the database, in every crawl of the directory. Rows become tombstones,
// which neither fetches nor discoveries revive. Versions, visits and out-links are deleted, and the change log says
// purged. Fetches under way will not be stored. BeginPurge returns what it did to the queues of the open crawl. The
// bytes stay on disk until FinishPurges deletes them. BeginPurge first notes the purge durably, so that after a
// crash the next Open and the next FinishPurges continue it.
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

// Count returns how many pages of the open crawl a purge of target would take down.
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
	for page, err := range s.sitePages(keys, s.homes.of(site), site) {
		if err != nil {
			return pages, err
		}
		if page.State != StatePurged {
			pages++
		}
	}
	return pages, nil
}

// Purging is a purge that has begun. It is stored outside of every crawl until it is finished.
type Purging struct {
	Crawl string      `cbor:"1,keyasint,omitempty"` // in the key of a purge that an older program began
	URL   weburl.URL  `cbor:"2,keyasint,omitzero"`
	Site  weburl.Site `cbor:"3,keyasint,omitempty"`
	At    int64       `cbor:"4,keyasint,omitempty"`
}

// Target returns what is taken down.
func (p *Purging) Target() Target { return Target{URL: p.URL, Site: p.Site} }

// Hits returns a function that reports whether a record's target is being purged.
func Hits(all []Purging) func(target string) bool {
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

func (p *Purging) key() []byte {
	return append(purgePrefix(), p.Crawl+"\x00"+p.Target().String()...)
}

func purgePrefix() []byte { return format.Outside("purge/") }

// notePurges notes durably, in the orders and in the database, which pages and sites to take down.
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
		p := Purging{Crawl: o.Crawl, URL: o.URL, Site: o.Site, At: o.At}
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
func (s *Store) begun() ([]Purging, error) { return begunIn(s.db) }

func begunIn(db pebble.Reader) (all []Purging, err error) {
	from, to := format.Span(purgePrefix())
	err = database.Scan(db, from, to, func(_, value []byte) error {
		var p Purging
		err := format.DecodeValue(value, &p)
		all = append(all, p)
		return err
	})
	return all, err
}

// resumePurges repeats, at Open, what BeginPurge may not have finished.
func (s *Store) resumePurges() error {
	all, err := s.begun()
	for i := range all {
		if err == nil {
			_, err = s.takeDown(all[i].Target(), all[i].At)
		}
	}
	return err
}

// checkPurges returns ErrTakeDown if the rows show what an interrupted purge was to take down. noted are all orders.
func (s *Store) checkPurges(noted []order) error {
	all, err1 := s.begun()
	_, most, err2 := s.knownOrders()
	if err := errors.Join(err1, err2); err != nil || s.start.Fresh {
		return err
	}
	for _, o := range noted {
		if o.Do == orderPurge && o.Number > most { // no row has it
			all = append(all, Purging{URL: o.URL, Site: o.Site})
		}
	}
	for i := range all {
		if down, err := s.isDown(all[i].Target()); err != nil || !down {
			return cmp.Or(err, ErrTakeDown)
		}
	}
	return nil
}

// isDown reports whether a target is taken down in every crawl.
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

// everyCrawl returns the names of the open crawl and of all others with records.
func (s *Store) everyCrawl() ([]string, error) {
	names, err := s.Crawls()
	if !slices.Contains(names, s.options.Crawl) {
		names = append(names, s.options.Crawl)
	}
	return names, err
}

// takeDown applies the records of a purge to every crawl. It is idempotent. It returns the moves of the open crawl.
func (s *Store) takeDown(target Target, at int64) (moves []Move, err error) {
	names, err := s.everyCrawl()
	for _, crawl := range names {
		if err != nil {
			return moves, err
		}
		t := takedown{Store: s, crawl: crawl, keys: format.NewKeyspace(crawl), p: s.homes.of(target.Of()), at: at}
		if !target.URL.IsZero() {
			err = t.page(target.URL)
		} else {
			err = t.site(target.Site)
		}
		moves = append(moves, t.moves...)
	}
	return moves, err
}

// purgeBatch is how many pages of a site go in one batch.
const purgeBatch = 512

// takedown is the state of a purge in one crawl.
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
	for page, err := range t.sitePages(t.keys, t.p, site) {
		if err != nil {
			return err
		}
		if page.State == StatePurged {
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
