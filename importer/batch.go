package importer

import (
	"math"
	"time"

	"freshet/store"
	"freshet/weburl"
)

// A batch holds records that were read and are not in the store yet. It has each page at most once, so the order of its
// entries makes no difference.
type batch struct {
	pages  map[weburl.URL]uint16 // depth of each, or more
	found  []store.Record
	open   map[moment]*store.Discovered // records of found that take more pages
	visits []store.Fetch
	bytes  int // of captures and links
}

// A moment is what the pages of one Discovered record have in common.
type moment struct {
	partition weburl.Partition
	at        int64
}

// A batch is written when it has this many pages, or this many bytes of captures and links.
const (
	mostPages = 2048
	mostBytes = 4 << 20
)

func newBatch() batch {
	return batch{pages: map[weburl.URL]uint16{}, open: map[moment]*store.Discovered{}}
}

// full reports whether a batch should be written before more is added.
func (b *batch) full() bool { return len(b.pages) >= mostPages || b.bytes >= mostBytes }

// add adds a new page that was discovered at the given time; zero: the time is not known.
func (b *batch) add(p weburl.Partition, at time.Time, page store.NewPage) {
	when := moment{p, 0}
	if !at.IsZero() {
		when.at = at.UnixNano()
	}
	record := b.open[when]
	if record == nil {
		record = &store.Discovered{Partition: p, At: when.at}
		b.open[when] = record
		b.found = append(b.found, record)
	}
	record.New = append(record.New, page)
	b.pages[page.URL] = page.Depth
}

// visit adds a visit.
func (b *batch) visit(f store.Fetch, u weburl.URL) {
	b.visits = append(b.visits, f)
	b.bytes += len(f.Record.(*store.Fetched).Links)
	for _, member := range f.Members {
		b.bytes += len(member)
	}
	b.pages[u] = math.MaxUint16 // a page that was known keeps its depth
}

// Flush makes everything durable that was imported so far. Without a call at the end, the last imports are lost.
func (i *Importer) Flush() error {
	b := i.batch
	i.batch = newBatch()
	if len(b.found) > 0 {
		if _, err := i.store.Apply(b.found...); err != nil {
			return err
		}
	}
	if len(b.visits) > 0 {
		later, err := i.store.Later(b.visits)
		if err != nil {
			return err
		}
		if passed := len(b.visits) - len(later); passed > 0 {
			i.Skipped["not later than what is stored"] += passed
		}
		i.Visits += len(later)
		if _, err = i.store.CommitPages(later); err != nil {
			return err
		}
	}
	if i.Known == nil || len(b.pages) == 0 {
		return nil
	}
	links := make([]weburl.Link, 0, len(b.pages))
	for u, depth := range b.pages {
		links = append(links, weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Depth: depth})
	}
	return i.Known(links)
}

// before makes room for an entry of a page: it writes the batch if the batch is full or already has the page.
func (i *Importer) before(u weburl.URL) error {
	if _, waits := i.batch.pages[u]; waits || i.batch.full() {
		return i.Flush()
	}
	return nil
}
