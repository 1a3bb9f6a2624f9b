package discovery

import (
	"errors"
	"fmt"
	"time"

	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// batch collects what one Settle finds.
type batch struct {
	finder *Finder
	open   []*store.Discovered // the record being filled, by partition
	now    time.Time
	found  Found
}

// record returns a record of a partition that has room.
func (b *batch) record(p weburl.Partition) *store.Discovered {
	if r := b.open[p]; r != nil && len(r.New) < newPerRecord && len(r.Repeats) < newPerRecord {
		return r
	}
	b.open[p] = &store.Discovered{Partition: p, At: b.now.UnixNano()}
	b.found.Records = append(b.found.Records, b.open[p])
	return b.open[p]
}

// repeat adds a further link to a known page.
func (b *batch) repeat(link weburl.Link) {
	f := b.finder
	p := f.rows.Home(link.URL.Site())
	if f.ranked(p, link.Fingerprint) {
		link.Cash = 0
	}
	r := b.record(p)
	r.ByCash = f.byCash
	r.Repeats = append(r.Repeats, store.Repeat{Fingerprint: link.Fingerprint, Depth: link.Depth, Hops: link.Hops,
		Cash: link.Cash, Order: frontier.PageOrder(f.ordering, link)})
}

// page adds a new page, if the guards of its site admit it.
func (b *batch) page(link weburl.Link) error {
	f := b.finder
	site := link.URL.Site()
	size, err := b.sizeOf(site)
	if err != nil {
		return err
	}
	if reason, ok := f.bounds.Guard(site).Admit(link, size, b.now); !ok {
		f.refused[refusalKey{site, reason}]++
		return nil
	}
	if link.Rel == weburl.RelSeed {
		link.Cash += f.SeedCash()
	}
	f.siteSize[site]++
	b.found.Pages++
	r := b.record(f.rows.Home(site))
	r.New = append(r.New, store.NewPage{URL: link.URL, Depth: link.Depth, Hops: link.Hops, Rel: link.Rel, Via: link.Via,
		Cash: link.Cash, Order: frontier.PageOrder(f.ordering, link), Seed: isSeed(link), LastMod: link.LastMod})
	return nil
}

// sizeOf returns how many pages of a site are known, including those of this batch.
func (b *batch) sizeOf(site weburl.Site) (int, error) {
	f := b.finder
	if size, ok := f.siteSize[site]; ok {
		return size, nil
	}
	row, err := f.rows.Site(site)
	switch {
	case errors.Is(err, store.ErrNotFound):
		b.found.Sites++
	case err != nil:
		return 0, fmt.Errorf("crawl: site %s: %w", site, err)
	}
	f.siteSize[site] = int(row.Pages)
	return int(row.Pages), nil
}

// note appends records of a consumer's marks that have advanced.
func (b *batch) note(consumer string, marks []seen.Mark, noted []uint64) {
	for _, mark := range marks {
		if mark.Record > noted[mark.Partition] {
			noted[mark.Partition] = mark.Record
			b.found.Records = append(b.found.Records,
				&store.Mark{Partition: mark.Partition, Consumer: consumer, Record: mark.Record})
		}
	}
}

// noteNothingKept appends the seen set's first mark for partitions whose links are decided for the first time. Without
// it the store would delete records that the seen set still needs: it deletes those that all existing marks have
// passed.
func (b *batch) noteNothingKept(decided []seen.Mark) {
	f := b.finder
	for _, mark := range decided {
		if f.linked[mark.Partition] == 0 && f.kept[mark.Partition] == 0 {
			b.found.Records = append(b.found.Records, &store.Mark{Partition: mark.Partition, Consumer: store.SeenConsumer})
		}
	}
}
