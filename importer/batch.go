package importer

import (
	"time"

	"freshet/store"
	"freshet/weburl"
)

// A batch is what was read and is not in the store yet. It has each page once, so its effect on the rows does not
// depend on its order.
type batch struct {
	pages  map[weburl.URL]struct{}
	found  []store.Record
	open   map[moment]*store.Discovered // of found
	visits []store.Fetch
	bytes  int // of captures
}

// A moment is what the pages of one record have in common.
type moment struct {
	partition weburl.Partition
	at        int64
}

// The bounds of a batch: how many pages share a sync, and how much memory may wait for it.
const (
	mostPages = 2048
	mostBytes = 4 << 20
)

func newBatch() batch {
	return batch{pages: map[weburl.URL]struct{}{}, open: map[moment]*store.Discovered{}}
}

// full reports whether a batch should be written before more is added.
func (b *batch) full() bool { return len(b.pages) >= mostPages || b.bytes >= mostBytes }

// add puts a new page into the batch, as known since a time.
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
	b.pages[page.URL] = struct{}{}
}

// visit puts a visit into the batch.
func (b *batch) visit(f store.Fetch, u weburl.URL) {
	b.visits = append(b.visits, f)
	for _, member := range f.Members {
		b.bytes += len(member)
	}
	b.pages[u] = struct{}{}
}

// Flush makes durable what was imported. Call it at the end: what was imported since the last Flush is otherwise
// lost.
func (i *Importer) Flush() error {
	b := i.batch
	i.batch = newBatch()
	if len(b.found) > 0 {
		if _, err := i.store.Apply(b.found...); err != nil {
			return err
		}
	}
	if len(b.visits) == 0 {
		return nil
	}
	later, err := i.store.Later(b.visits)
	if err != nil {
		return err
	}
	if passed := len(b.visits) - len(later); passed > 0 {
		i.Skipped["not later than what is stored"] += passed
	}
	i.Visits += len(later)
	_, err = i.store.CommitPages(later)
	return err
}

// before makes room for one more entry of a page. It writes the batch if it is full or already has the page.
func (i *Importer) before(u weburl.URL) error {
	if _, waits := i.batch.pages[u]; waits || i.batch.full() {
		return i.Flush()
	}
	return nil
}
