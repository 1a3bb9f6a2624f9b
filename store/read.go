package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// PageAt is a page's row with its key. The key is the URL's fingerprint, unless another URL had that.
type PageAt struct {
	Fingerprint weburl.Fingerprint
	Page
}

// row decodes the value at key into v; ErrNotFound if there is none.
func (s *Store) row(key []byte, v any) error { return format.Read(s.db, key, v) }

// Crawls returns the names of the crawls that have records in the directory, sorted. It costs one lookup a crawl,
// whatever their sizes.
func (s *Store) Crawls() (names []string, err error) { return format.Crawls(s.db) }

// Page returns the row at fp; ErrNotFound if there is none.
func (s *Store) Page(p weburl.Partition, fp weburl.Fingerprint) (page Page, err error) {
	err = s.row(s.keys.AppendPage(nil, p, format.KeyPage, fp), &page)
	return page, err
}

// PageOf returns the row of u and its key; ErrNotFound if u has none.
func (s *Store) PageOf(u weburl.URL) (Page, weburl.Fingerprint, error) { return s.pageOf(s.keys, u) }

func (s *Store) pageOf(keys format.Keyspace, u weburl.URL) (page Page, fp weburl.Fingerprint, err error) {
	p := s.homes.of(u.Site())
	for fp = u.Fingerprint(); ; fp = format.Probe(fp) {
		page = Page{}
		err = s.row(keys.AppendPage(nil, p, format.KeyPage, fp), &page)
		if err != nil || page.URL == u {
			return page, fp, err
		}
	}
}

// Pages iterates over a partition's rows by key, as they are when the iteration begins. It ends after an error.
func (s *Store) Pages(p weburl.Partition) iter.Seq2[PageAt, error] { return s.PagesFrom(p, 0) }

// PagesOf is Pages for the pages of a site.
func (s *Store) PagesOf(site weburl.Site) iter.Seq2[PageAt, error] {
	return s.sitePages(s.keys, s.homes.of(site), site)
}

// sitePages iterates over the rows of a site's pages in a partition. It decodes only rows that name the site, so it
// costs far less than to choose among all.
func (s *Store) sitePages(keys format.Keyspace, p weburl.Partition, site weburl.Site) iter.Seq2[PageAt, error] {
	return func(yield func(PageAt, error) bool) {
		for page, err := range s.pagesNaming(keys, p, 0, site) {
			if err == nil && page.URL.Site() != site {
				continue
			}
			if !yield(page, err) {
				return
			}
		}
	}
}

// PagesFrom is Pages for the rows whose keys are not below fp.
func (s *Store) PagesFrom(p weburl.Partition, fp weburl.Fingerprint) iter.Seq2[PageAt, error] {
	return s.pagesNaming(s.keys, p, fp, "")
}

// pagesNaming iterates over the rows of pages that have a site's name anywhere; "": all.
func (s *Store) pagesNaming(keys format.Keyspace, p weburl.Partition, first weburl.Fingerprint, site weburl.Site) iter.Seq2[PageAt, error] {
	from, to := keys.AppendPage(nil, p, format.KeyPage, first), keys.AppendKind(nil, p, format.KeyPage+1)
	name := []byte(site)
	return rows(s.db, from, to, func(key, value []byte, page *PageAt) (wanted bool, err error) {
		if !bytes.Contains(value, name) {
			return false, nil
		}
		n, err := format.NumberTail(key[len(from)-8:])
		page.Fingerprint = weburl.Fingerprint(n)
		return true, errors.Join(err, format.DecodeValue(value, &page.Page))
	})
}

// PageVisits is a page's row with its key and its kept visits, oldest first.
type PageVisits struct {
	PageAt
	Kept []Visit
}

// VisitsFrom is PagesFrom with the visits of each page. For many pages it costs far less than a call of Visits for
// each.
func (s *Store) VisitsFrom(p weburl.Partition, fp weburl.Fingerprint) iter.Seq2[PageVisits, error] {
	type visitOf struct {
		page  weburl.Fingerprint
		visit Visit
	}
	from, to := s.keys.AppendPage(nil, p, format.KeyVisit, fp), s.keys.AppendKind(nil, p, format.KeyVisit+1)
	visits := rows(s.db, from, to, func(key, value []byte, v *visitOf) (wanted bool, err error) {
		v.page, _, err = format.PageTail(key[len(from)-8:])
		return true, errors.Join(err, format.DecodeValue(value, &v.visit))
	})
	return func(yield func(PageVisits, error) bool) {
		next, stop := iter.Pull2(visits)
		defer stop()
		v, broken, more := next()
		for page, err := range s.PagesFrom(p, fp) {
			row := PageVisits{PageAt: page}
			for err == nil && more && v.page <= page.Fingerprint {
				if err = broken; err == nil && v.page == page.Fingerprint {
					row.Kept = append(row.Kept, v.visit)
				}
				v, broken, more = next()
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// rows iterates over the pairs with from ≤ key < to that decode wants, decoded.
func rows[T any](db pebble.Reader, from, to []byte, decode func(key, value []byte, row *T) (wanted bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := database.Scan(db, from, to, func(key, value []byte) error {
			var row T
			if wanted, err := decode(key, value, &row); err != nil || !wanted {
				return err
			}
			if !yield(row, nil) {
				return database.ErrStop
			}
			return nil
		})
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// Site returns a site's row; ErrNotFound if there is none.
func (s *Store) Site(site weburl.Site) (SiteRow, error) { return s.siteOf(s.keys, site) }

func (s *Store) siteOf(keys format.Keyspace, site weburl.Site) (SiteRow, error) {
	row := SiteRow{Site: site}
	err := s.row(keys.AppendText(nil, s.homes.of(site), format.KeySite, string(site)), &row)
	return row, err
}

// Sites iterates over a partition's sites by name, as they are when the iteration begins. It ends
// after an error.
func (s *Store) Sites(p weburl.Partition) iter.Seq2[SiteRow, error] { return s.SitesFrom(p, "") }

// SitesFrom is Sites for the sites whose names begin with a text.
func (s *Store) SitesFrom(p weburl.Partition, begins string) iter.Seq2[SiteRow, error] {
	from, to := format.Span(s.keys.AppendText(nil, p, format.KeySite, begins))
	return s.sitesIn(p, from, to)
}

// SitesOf iterates over the sites of a site's host: those with the same name and another scheme or port. It ends after
// an error. O(log sites + sites of the host).
func (s *Store) SitesOf(site weburl.Site) iter.Seq2[SiteRow, error] {
	return func(yield func(SiteRow, error) bool) {
		p, name := s.homes.of(site), site.Name()
		for _, scheme := range []string{"http://", "https://"} {
			begins := s.keys.AppendText(nil, p, format.KeySite, scheme+name)
			_, to := format.Span(append(bytes.Clone(begins), ':'))
			for row, err := range s.sitesIn(p, begins, to) { // also of hosts whose names are longer
				if err == nil && row.Site.Name() != name {
					continue
				}
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// SitesAfter is Sites for the sites whose names come after a name.
func (s *Store) SitesAfter(p weburl.Partition, name string) iter.Seq2[SiteRow, error] {
	_, to := s.keys.KindSpan(p, format.KeySite)
	return s.sitesIn(p, append(s.keys.AppendText(nil, p, format.KeySite, name), 0), to)
}

func (s *Store) sitesIn(p weburl.Partition, from, to []byte) iter.Seq2[SiteRow, error] {
	kind := s.keys.AppendKind(nil, p, format.KeySite)
	return rows(s.db, from, to, func(key, value []byte, row *SiteRow) (wanted bool, err error) {
		row.Site = weburl.Site(key[len(kind):])
		return true, format.DecodeValue(value, row)
	})
}

// SiteNames iterates over the names of a partition's sites, in order or backward, and reads no rows. It ends after an
// error.
func (s *Store) SiteNames(p weburl.Partition, backward bool) iter.Seq2[weburl.Site, error] {
	scan := database.Scan
	if backward {
		scan = database.ScanBack
	}
	return func(yield func(weburl.Site, error) bool) {
		from, to := s.keys.KindSpan(p, format.KeySite)
		err := scan(s.db, from, to, func(key, _ []byte) error {
			if !yield(weburl.Site(key[len(from):]), nil) {
				return database.ErrStop
			}
			return nil
		})
		if err != nil {
			yield("", err)
		}
	}
}

// RobotsBody returns the robots.txt kept for a site; ErrNotFound if none is.
func (s *Store) RobotsBody(site weburl.Site) (body []byte, err error) {
	key := s.keys.AppendText(nil, s.homes.of(site), format.KeyRobots, string(site))
	return format.ReadRaw(s.db, key)
}

// TDMRepBody returns the stored tdmrep.json of a site, empty if the site has none; what an older program stored ends in
// a line feed. Its error is ErrNotFound if it was never asked for.
func (s *Store) TDMRepBody(site weburl.Site) (body []byte, err error) {
	return format.ReadRaw(s.db, s.keys.AppendText(nil, s.homes.of(site), format.KeyTDMRep, string(site)))
}

// Gate returns the stored gate of a host of partition p, zero if there is none. A final dot of the host makes no
// difference, except for a gate that only an older program stored.
func (s *Store) Gate(p weburl.Partition, host string) (gate Gate, err error) {
	name := weburl.HostName(host)
	err = s.row(s.keys.AppendText(nil, p, format.KeyGate, name), &gate)
	if errors.Is(err, ErrNotFound) && name != host {
		err = s.row(s.keys.AppendText(nil, p, format.KeyGate, host), &gate)
	}
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return gate, err
}

// ReadQueue appends to dst up to n entries of a site's queue, in order, after the given key. The zero Key is before
// every entry.
func (s *Store) ReadQueue(dst []Entry, site weburl.Site, q Queue, after Key, n int) ([]Entry, error) {
	if n <= 0 {
		return dst, nil
	}
	p := s.homes.of(site)
	from, to := format.Span(s.keys.AppendQueue(nil, p, q.KeyKind(), site))
	prefix := len(from)
	if after != (Key{}) {
		from = append(s.keys.AppendEntry(nil, p, q.KeyKind(), site, after.Order, after.Arrival), 0)
	}
	err := database.Scan(s.db, from, to, func(key, value []byte) (err error) {
		var e Entry
		if len(key) != prefix+16 {
			return fmt.Errorf("%w: queue key %x", ErrCorrupt, key)
		}
		e.Key = Key{binary.BigEndian.Uint64(key[prefix:]), binary.BigEndian.Uint64(key[prefix+8:])}
		if e.Fingerprint, e.Cash, err = format.EntryValue(value); err != nil {
			return err
		}
		dst = append(dst, e)
		if n--; n == 0 {
			return database.ErrStop
		}
		return nil
	})
	return dst, err
}

// Visits returns the kept visits of a page, oldest first: the last 64. Page.Folded sums up the
// others.
func (s *Store) Visits(p weburl.Partition, fp weburl.Fingerprint) ([]Visit, error) {
	return rowsOf[Visit](s, p, format.KeyVisit, fp)
}

// Versions returns the versions of a page, oldest first.
func (s *Store) Versions(p weburl.Partition, fp weburl.Fingerprint) ([]Version, error) {
	return rowsOf[Version](s, p, format.KeyVersion, fp)
}

// rowsOf returns all rows of a kind that a page has, by their numbers.
func rowsOf[Row any](s *Store, p weburl.Partition, kind format.Kind, fp weburl.Fingerprint) (rows []Row, err error) {
	from, to := format.Span(s.keys.AppendPage(nil, p, kind, fp))
	err = database.Scan(s.db, from, to, func(_, value []byte) error {
		var row Row
		if err := format.DecodeValue(value, &row); err != nil {
			return err
		}
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

// Version returns a version of a page by its number; ErrNotFound if there is none.
func (s *Store) Version(p weburl.Partition, fp weburl.Fingerprint, number uint32) (v Version, err error) {
	err = s.row(s.keys.AppendOfPage(nil, p, format.KeyVersion, fp, number), &v)
	return v, err
}

// OutLinks returns the links of a page's last complete capture.
func (s *Store) OutLinks(p weburl.Partition, fp weburl.Fingerprint) ([]OutLink, error) {
	raw, err := s.rawLinks(p, fp)
	if err != nil {
		return nil, err
	}
	return DecodeLinks(raw)
}

// OutLinksTo is OutLinks for a search for links to u. It returns none if no link can lead there, which is faster.
func (s *Store) OutLinksTo(p weburl.Partition, fp weburl.Fingerprint, u weburl.URL) ([]OutLink, error) {
	raw, err := s.rawLinks(p, fp)
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	if raw, err = unpackLinks(raw); err != nil || !bytes.Contains(raw, []byte(u.String())) {
		return nil, err
	}
	return DecodeLinks(raw)
}

// rawLinks returns the encoded links of a page, nil without any.
func (s *Store) rawLinks(p weburl.Partition, fp weburl.Fingerprint) ([]byte, error) {
	raw, err := format.ReadRaw(s.db, s.keys.AppendPage(nil, p, format.KeyLinks, fp))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return raw, err
}

// Changes returns up to n entries of a partition's change log, in order, from after record number
// after.
func (s *Store) Changes(p weburl.Partition, after uint64, n int) (changes []Change, err error) {
	if n <= 0 {
		return nil, nil
	}
	prefix, to := s.keys.KindSpan(p, format.KeyChange)
	from := s.keys.AppendNumber(nil, p, format.KeyChange, after+1)
	err = database.Scan(s.db, from, to, func(key, value []byte) (err error) {
		var c Change
		if c.Record, err = format.NumberTail(key[len(prefix):]); err != nil {
			return err
		}
		if err := format.DecodeValue(value, &c); err != nil {
			return err
		}
		changes = append(changes, c)
		if len(changes) == n {
			return database.ErrStop
		}
		return nil
	})
	return changes, err
}

// LastChanges iterates over the entries of a partition's change log, newest first. It ends after an error.
func (s *Store) LastChanges(p weburl.Partition) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		from, to := s.keys.KindSpan(p, format.KeyChange)
		err := database.ScanBack(s.db, from, to, func(key, value []byte) (err error) {
			var c Change
			if c.Record, err = format.NumberTail(key[len(from):]); err != nil {
				return err
			}
			if err := format.DecodeValue(value, &c); err != nil {
				return err
			}
			if !yield(c, nil) {
				return database.ErrStop
			}
			return nil
		})
		if err != nil {
			yield(Change{}, err)
		}
	}
}

// Records calls fn for the kept records of p after number after, in order. It stops at fn's first error and returns
// it. Records up to Counters.Trimmed are deleted. A consumer that must begin before is rebuilt from rows, visits,
// out-links and the change log.
func (s *Store) Records(p weburl.Partition, after uint64, fn func(n uint64, r Record) error) error {
	prefix, to := s.keys.KindSpan(p, format.KeyRecord)
	from := s.keys.AppendNumber(nil, p, format.KeyRecord, after+1)
	return database.Scan(s.db, from, to, func(key, value []byte) error {
		n, err := format.NumberTail(key[len(prefix):])
		if err != nil {
			return err
		}
		r, err := DecodeRecord(value)
		if err != nil {
			return err
		}
		r.settle(p)
		return fn(n, r)
	})
}

// Marks returns the marks of p's consumers, sorted by consumer.
func (s *Store) Marks(p weburl.Partition) ([]Mark, error) { return readMarks(s.db, s.keys, p) }

// Counters returns a partition's totals.
func (s *Store) Counters(p weburl.Partition) (c Counters, err error) {
	err = s.row(s.keys.AppendKind(nil, p, format.KeyCounters), &c)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return c, err
}

// Total returns the sum of all partitions' totals; Records, Trimmed and Horizon are sums too, and
// Paused is the latest. O(partitions).
func (s *Store) Total() (sum Counters, err error) {
	for p := range s.dir.partitions {
		c, err := s.Counters(weburl.Partition(p))
		if err != nil {
			return sum, err
		}
		sum.add(&c)
	}
	return sum, nil
}

func (c *Counters) add(d *Counters) {
	c.Records += d.Records
	c.Trimmed += d.Trimmed
	c.Sites += d.Sites
	c.Pages += d.Pages
	for i, n := range d.States {
		c.States[i] += n
	}
	c.New += d.New
	c.Due += d.Due
	c.Visits += d.Visits
	c.Robots += d.Robots
	for i, n := range d.Outcomes {
		c.Outcomes[i] += n
	}
	c.Versions += d.Versions
	c.Noise += d.Noise
	c.BodyBytes += d.BodyBytes
	c.WireBytes += d.WireBytes
	c.Truncated += d.Truncated
	c.Collisions += d.Collisions
	c.Paused = max(c.Paused, d.Paused)
	c.Pruned += d.Pruned
	c.Horizon += d.Horizon
	c.Forgotten += d.Forgotten
	for _, r := range d.Refused {
		c.Refused = count(c.Refused, r.Reason, r.Count)
	}
}
