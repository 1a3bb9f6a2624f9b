package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// The consumers whose marks the records wait for. linksConsumer's mark is the last record whose links
// are decided: their pages have rows. seenConsumer's is the last one that the set has kept; it may lag
// behind, never lead.
const (
	linksConsumer = "links"
	seenConsumer  = "seen"
)

// maxRefusals is how many sites and reasons refusals are counted for before Finder.Full.
const maxRefusals = 10_000

// newPerRecord bounds the pages of one Discovered record.
const newPerRecord = 1 << 14

// Rows are what a Finder reads of what is stored. Without a row the error is store.ErrNotFound.
type Rows interface {
	Site(weburl.Site) (store.SiteRow, error)
	PageOf(weburl.URL) (store.Page, weburl.Fingerprint, error)
	Home(weburl.Site) weburl.Partition
}

// Ranked reports whether a page was known when pages were last ranked. No cash comes to it until the next time.
type Ranked func(weburl.Partition, weburl.Fingerprint) bool

// Finder finds new pages among links. It is not safe for concurrent use.
type Finder struct {
	rows     Rows
	ordering frontier.Ordering
	byCash   bool // the ordering's place of a page is by its cash
	ranked   Ranked
	bounds   Bounds

	admitted []weburl.Link        // reused
	refused  map[refusalKey]int64 // since the last Settle
	siteSize map[weburl.Site]int  // pages of sites that one Settle touches; reused

	linked, kept []uint64 // the consumers' marks as the records have them, by partition
}

type refusalKey struct {
	site   weburl.Site
	reason frontier.Reason
}

// New returns a Finder of a crawl with so many partitions.
func New(rows Rows, partitions int, ordering frontier.Ordering, ranked Ranked, bounds Bounds) *Finder {
	_, byCash := ordering.(frontier.Payer)
	return &Finder{rows: rows, ordering: ordering, byCash: byCash, ranked: ranked, bounds: bounds,
		refused: map[refusalKey]int64{}, siteSize: map[weburl.Site]int{},
		linked: make([]uint64, partitions), kept: make([]uint64, partitions)}
}

// ByCash reports whether links bring cash by which pages are ordered.
func (f *Finder) ByCash() bool { return f.byCash }

// Bounds returns the bounds in force, not to be changed. Admit widens their scope.
func (f *Finder) Bounds() *Bounds { return &f.bounds }

// SetBounds puts other bounds in force. It does nothing about pages that are known: see Bounds.Readmit.
func (f *Finder) SetBounds(b Bounds) { f.bounds = b }

// Admit returns the links that are to be offered to the seen test, each with its part of the cash that their page
// hands on. Links that nobody will crawl have no part in it. The others are counted by site and reason. The answer
// holds until the next call.
func (f *Finder) Admit(links []weburl.Link, cash float64) []weburl.Link {
	return f.admit(links, cash, func(link weburl.Link, reason frontier.Reason) {
		f.refused[refusalKey{link.URL.Site(), reason}]++
	})
}

// AdmitAgain is Admit for links that were offered before: their cash is paid, their refusals are counted.
func (f *Finder) AdmitAgain(links []weburl.Link) []weburl.Link {
	return f.admit(links, 0, func(weburl.Link, frontier.Reason) {})
}

func (f *Finder) admit(links []weburl.Link, cash float64, refuse func(weburl.Link, frontier.Reason)) []weburl.Link {
	f.admitted = f.admitted[:0]
	for _, link := range links {
		if reason, ok := f.bounds.admitLink(link); !ok {
			refuse(link, reason)
			continue
		}
		f.admitted = append(f.admitted, link)
	}
	pay(f.ordering, f.admitted, cash)
	return f.admitted
}

// Full says that refusals of so many sites are counted that it is time for a Settle.
func (f *Finder) Full() bool { return len(f.refused) >= maxRefusals }

// Seed returns the link by which the seen test learns of a seed. If the page is known as something else, known is the
// record that makes a seed of it. The cash of a seed comes to a page when it becomes one: once, however often it is
// given. Another link to the page may be decided with this one, and make it a page that is none: then asking again
// makes a seed of it.
func (f *Finder) Seed(u weburl.URL, now time.Time) (link weburl.Link, known store.Record, err error) {
	link = weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Rel: weburl.RelSeed}
	row, _, err := f.rows.PageOf(u)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return link, nil, fmt.Errorf("crawl: seed %s: %w", u, err)
	case !row.Seed && row.State != store.StatePurged:
		known = f.knownSeed(link, row, now)
	}
	return link, known, nil
}

// SeedCash returns the cash that comes to a page when it becomes a seed. The record that makes it one brings it, and no
// link: the seen test is to be told of it.
func (f *Finder) SeedCash() float64 { return frontier.Pay(f.ordering, 1, 1) }

func (f *Finder) knownSeed(link weburl.Link, row store.Page, now time.Time) store.Record {
	p := f.rows.Home(link.URL.Site())
	page := store.NewPage{URL: link.URL, Depth: row.Depth, Hops: row.Hops, Order: row.Key.Order, Seed: true}
	if !f.ranked(p, link.Fingerprint) {
		page.Cash = f.SeedCash()
	}
	return &store.Discovered{Partition: p, At: now.UnixNano(), ByCash: f.byCash, New: []store.NewPage{page}}
}

// Found is what the verdicts of the seen test come to.
type Found struct {
	Records []store.Record
	Pages   int             // how many are new
	Sites   int             // how many had no row
	Refused []store.Refusal // of the links since the last time; the records have them too
}

// Settle makes records of the seen test's verdicts, with decided and kept as Test.Drain and Test.Marks return them.
// What the set has kept is noted a Settle later than that: it may lag behind the records, never lead.
func (f *Finder) Settle(verdicts []seen.Verdict, decided, kept []seen.Mark, now time.Time) (Found, error) {
	clear(f.siteSize)
	b := batch{finder: f, open: make([]*store.Discovered, len(f.linked)), now: now}
	for _, v := range verdicts {
		if !v.New {
			b.repeat(v.Link)
		} else if err := b.page(v.Link); err != nil {
			return Found{}, err
		}
	}
	b.found.Refused = f.takeRefused()
	for _, refusal := range b.found.Refused {
		r := b.record(f.rows.Home(refusal.Site))
		r.Refused = append(r.Refused, refusal)
	}
	b.note(seenConsumer, kept, f.kept)
	b.noteNothingKept(decided)
	b.note(linksConsumer, decided, f.linked)
	return b.found, nil
}

// takeRefused returns what was refused since the last Settle, by site and reason, and forgets it.
func (f *Finder) takeRefused() []store.Refusal {
	refused := make([]store.Refusal, 0, len(f.refused))
	for key, count := range f.refused {
		refused = append(refused, store.Refusal{Site: key.site, Reason: key.reason.String(), Count: count})
	}
	clear(f.refused)
	slices.SortFunc(refused, func(a, b store.Refusal) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Reason, b.Reason))
	})
	return refused
}

// Resume takes note of a partition's marks as they are stored.
func (f *Finder) Resume(p weburl.Partition, marks []store.Mark) {
	for _, mark := range marks {
		switch mark.Consumer {
		case linksConsumer:
			f.linked[p] = mark.Record
		case seenConsumer:
			f.kept[p] = mark.Record
		}
	}
}

// Linked returns, by partition, the last record whose links are decided.
func (f *Finder) Linked() []uint64 { return slices.Clone(f.linked) }

// LinkedOf is Linked of one partition.
func (f *Finder) LinkedOf(p weburl.Partition) uint64 { return f.linked[p] }

// Kept returns, by partition, the last record that the seen test had kept when that was noted.
func (f *Finder) Kept() []uint64 { return slices.Clone(f.kept) }
