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

// linksConsumer marks the last record with decided links: the pages of these links have rows. Like store.SeenConsumer
// it keeps later records from being deleted.
const linksConsumer = "links"

// maxRefusals is the number of counted sites and reasons at which Finder is Full.
const maxRefusals = 10_000

// newPerRecord is the maximum number of pages in one Discovered record.
const newPerRecord = 1 << 14

// Rows are the stored rows that a Finder reads. If there is no row, the error is store.ErrNotFound.
type Rows interface {
	Site(weburl.Site) (store.SiteRow, error)
	PageOf(weburl.URL) (store.Page, weburl.Fingerprint, error)
	Home(weburl.Site) weburl.Partition
}

// Ranked reports whether a page was known when pages were last ranked. Such a page gets no cash until the next ranking.
type Ranked func(weburl.Partition, weburl.Fingerprint) bool

// Finder finds new pages among links. It is not safe for concurrent use.
type Finder struct {
	rows     Rows
	ordering frontier.Ordering
	byCash   bool // the ordering sorts pages by cash
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

// New returns a Finder for a crawl with that number of partitions.
func New(rows Rows, partitions int, ordering frontier.Ordering, ranked Ranked, bounds Bounds) *Finder {
	_, byCash := ordering.(frontier.Payer)
	return &Finder{rows: rows, ordering: ordering, byCash: byCash, ranked: ranked, bounds: bounds,
		refused: map[refusalKey]int64{}, siteSize: map[weburl.Site]int{},
		linked: make([]uint64, partitions), kept: make([]uint64, partitions)}
}

// ByCash reports whether the ordering sorts pages by the cash that links bring.
func (f *Finder) ByCash() bool { return f.byCash }

// Bounds returns the present bounds, which the caller must not change. Admit widens their scope.
func (f *Finder) Bounds() *Bounds { return &f.bounds }

// SetBounds replaces the bounds. It does not affect known pages: see Bounds.Readmit.
func (f *Finder) SetBounds(b Bounds) { f.bounds = b }

// Admit returns the links to offer to the seen test, each with its share of the cash that their page passes on. Other
// links get no share and are counted by site and reason. The result is valid until the next call.
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

// Full reports whether the counted refusals make a Settle due.
func (f *Finder) Full() bool { return len(f.refused) >= maxRefusals }

// Seed returns the link by which the seen test learns of a seed. If the page is known and no seed, known is a record
// that makes it one. A page gets the cash of a seed once, when it becomes a seed. If another link to the page is
// decided at the same time and makes it an ordinary page, a second call makes it a seed.
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

// SeedCash returns the cash that a page gets when it becomes a seed. If a record brings it and no link does, the caller
// must pass it to the seen test.
func (f *Finder) SeedCash() float64 { return frontier.Pay(f.ordering, 1, 1) }

func (f *Finder) knownSeed(link weburl.Link, row store.Page, now time.Time) store.Record {
	p := f.rows.Home(link.URL.Site())
	page := store.NewPage{URL: link.URL, Depth: row.Depth, Hops: row.Hops, Order: row.Key.Order, Seed: true}
	if !f.ranked(p, link.Fingerprint) {
		page.Cash = f.SeedCash()
	}
	return &store.Discovered{Partition: p, At: now.UnixNano(), ByCash: f.byCash, New: []store.NewPage{page}}
}

// Found is the result of the seen test's verdicts.
type Found struct {
	Records []store.Record
	Pages   int             // number of new pages
	Sites   int             // number of new sites
	Refused []store.Refusal // since the last Settle; Records has them too
}

// Settle turns the seen test's verdicts into records, with decided and kept as Test.Drain and Test.Marks return them.
// The records note what the set has kept one Settle later: their mark may be earlier than the set's, never later.
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
	b.note(store.SeenConsumer, kept, f.kept)
	b.noteNothingKept(decided)
	b.note(linksConsumer, decided, f.linked)
	return b.found, nil
}

// takeRefused returns the refusals since the last Settle, by site and reason, and clears them.
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

// Resume sets a partition's marks from the stored ones.
func (f *Finder) Resume(p weburl.Partition, marks []store.Mark) {
	for _, mark := range marks {
		switch mark.Consumer {
		case linksConsumer:
			f.linked[p] = mark.Record
		case store.SeenConsumer:
			f.kept[p] = mark.Record
		}
	}
}

// Linked returns the last record whose links are decided, by partition.
func (f *Finder) Linked() []uint64 { return slices.Clone(f.linked) }

// LinkedOf returns Linked for one partition.
func (f *Finder) LinkedOf(p weburl.Partition) uint64 { return f.linked[p] }

// Kept returns the recorded mark of what the seen test has kept, by partition.
func (f *Finder) Kept() []uint64 { return slices.Clone(f.kept) }
