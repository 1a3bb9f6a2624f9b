package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// No later fetch can restore some orders of an operator: take-downs, pauses, paces and blocks. They are stored a second
// time outside of the database, in two equal files with one order a line. A line is the CRC-32C of the rest, a
// space, and the order as JSON. Orders are numbered from 1, and the database notes the last one that it has. When
// the directory is opened, each side gets the orders that it lacks. This repairs a crash between the two writes, a
// database that was rolled back or salvaged, and lost files. The constants are the kinds of orders in the files.
const (
	orderPurge = "purge" // of URL, or of all of Site
	orderPause = "pause" // of Site, or of all of Partition; At: since when, 0: resumed
	orderPace  = "pace"  // of Site; Pace: zero ends it
	orderBlock = "block" // of Host; At: until when, 0: unblocked
)

// order is a line of the files.
type order struct {
	Number    uint64           `json:"n"`
	Do        string           `json:"do"`
	Crawl     string           `json:"crawl"`
	URL       weburl.URL       `json:"url,omitzero"`
	Site      weburl.Site      `json:"site,omitempty"`
	Host      string           `json:"host,omitempty"`
	Partition weburl.Partition `json:"partition,omitempty"`
	At        int64            `json:"at,omitempty"` // unix nanoseconds
	Pace      Pace             `json:"pace,omitzero"`
}

func (o *order) target() Target { return Target{URL: o.URL, Site: o.Site} }

// orders are the two files, open for appending.
type orders struct {
	fs    vfs.FS
	paths [2]string

	mu   sync.Mutex
	last uint64 // number of the last order
	// blocks is until when each host is blocked by its last order. The host's row may say so before the order is
	// stored: pages that were on their way are stored with its present gate.
	blocks map[blocked]int64

	faults []Problem // of the files, when they were opened
}

// blocked names a host that an order blocked or unblocked.
type blocked struct {
	crawl     string
	partition weburl.Partition
	host      string
}

func (l *orders) noted(o *order) {
	if o.Do == orderBlock {
		l.blocks[blocked{o.Crawl, o.Partition, o.Host}] = o.At
	}
}

// readOrders returns the orders of both files together, by number, and what is wrong with the files.
func readOrders(fsys vfs.FS, dir string) (all []order, faults []Problem, err error) {
	found := map[uint64]order{}
	var raws [2][]byte
	for i, name := range []string{format.OrdersFile, format.OrdersCopy} {
		raw, err := format.ReadFile(fsys, fsys.PathJoin(dir, name), 1<<30)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("store: orders: %w", err)
		}
		raws[i] = raw
		for line := range bytes.Lines(raw) {
			var o order
			if !format.DecodeLine(line, &o) || o.Number == 0 {
				faults = append(faults, Problem{name, "a line cannot be read"})
				continue
			}
			found[o.Number] = o
		}
	}
	for _, o := range found {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b order) int { return int(a.Number) - int(b.Number) })
	for i, o := range all {
		if o.Number != uint64(i)+1 {
			faults = append(faults, Problem{format.OrdersFile, fmt.Sprintf("order %d is lost", i+1)})
			break
		}
	}
	if len(faults) == 0 && !bytes.Equal(raws[0], raws[1]) {
		faults = append(faults, Problem{format.OrdersFile, "it differs from " + format.OrdersCopy})
	}
	return all, faults, nil
}

// openOrders reads the orders. Unless readOnly is set, it makes both files whole and equal.
func openOrders(fsys vfs.FS, dir string, readOnly bool) (*orders, []order, error) {
	l := &orders{fs: fsys, paths: [2]string{fsys.PathJoin(dir, format.OrdersFile), fsys.PathJoin(dir, format.OrdersCopy)}, blocks: map[blocked]int64{}}
	all, faults, err := readOrders(fsys, dir)
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		l.noted(&all[i])
	}
	l.faults = faults
	if len(all) > 0 {
		l.last = all[len(all)-1].Number
	}
	if readOnly || len(faults) == 0 {
		return l, all, nil
	}
	var raw []byte
	for i := range all {
		all[i].Number = uint64(i) + 1 // the database may have more, if one was lost
		raw = format.AppendLine(raw, &all[i])
	}
	l.last = uint64(len(all))
	for _, path := range l.paths {
		if err := errors.Join(format.WriteFile(fsys, path+".new", raw), fsys.Rename(path+".new", path)); err != nil {
			return nil, nil, fmt.Errorf("store: orders: %w", err)
		}
	}
	return l, all, format.SyncDir(fsys, dir)
}

// note numbers orders and puts them on disk, in both files.
func (l *orders) note(all ...order) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var raw []byte
	for i := range all {
		all[i].Number = l.last + uint64(i) + 1
		raw = format.AppendLine(raw, &all[i])
	}
	for _, path := range l.paths {
		if err := l.append(path, raw); err != nil {
			return fmt.Errorf("store: note order: %w", err)
		}
	}
	l.last += uint64(len(all))
	for i := range all {
		l.noted(&all[i])
	}
	return nil
}

// isNoted reports whether an order to block a host says nothing else than the last one.
func (l *orders) isNoted(o order) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.blocks[blocked{o.Crawl, o.Partition, o.Host}] == o.At
}

func (l *orders) append(path string, raw []byte) (err error) {
	_, err = l.fs.Stat(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	f, err := l.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.WriteAt(raw, info.Size())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && fresh {
		err = format.SyncDir(l.fs, l.fs.PathDir(path))
	}
	return err
}

// ordersKey is outside of every crawl. Its value is the number of the last order that is in the crawl's rows.
func ordersKey(crawl string) []byte {
	return format.Outside("orders/" + crawl)
}

// orderOf returns the order that a record carries out, if it carries out one. Take-downs are not among them:
// BeginPurge notes those.
func (s *Store) orderOf(r Record) (order, bool) {
	switch r := r.(type) {
	case *Paused:
		return order{Do: orderPause, Crawl: s.options.Crawl, Partition: r.Partition, Site: r.Site, At: r.Since}, true
	case *Paced:
		return order{Do: orderPace, Crawl: s.options.Crawl, Partition: r.Partition, Site: r.Site, Pace: r.Pace}, true
	case *Gated:
		o := order{Do: orderBlock, Crawl: s.options.Crawl, Partition: r.Partition, Host: r.Host, At: r.Gate.Blocked}
		return o, !s.orders.isNoted(o)
	}
	return order{}, false
}

// ordersOf returns the orders that records carry out.
func (s *Store) ordersOf(records []Record) (all []order) {
	for _, r := range records {
		if o, is := s.orderOf(r); is {
			all = append(all, o)
		}
	}
	return all
}

// knownOrders returns the number of the last order that is in the rows of the open crawl, and in those of any
// crawl.
func (s *Store) knownOrders() (known, most uint64, err error) {
	from, to := format.Span(ordersKey(""))
	err = database.Scan(s.db, from, to, func(key, value []byte) error {
		var n uint64
		if err := format.DecodeValue(value, &n); err != nil {
			return nil // the order counts as unknown
		}
		if most = max(most, n); string(key[len(from):]) == s.options.Crawl {
			known = n
		}
		return nil
	})
	return known, most, err
}

// resumeOrders carries out the crawl's orders that its rows do not have, and the take-downs of all crawls: a new
// crawl gets all earlier ones. If the rows have orders that the files lack, it adds them to the files.
func (s *Store) resumeOrders(all []order) error {
	known, most, err := s.knownOrders()
	if err != nil {
		return err
	}
	if most > s.orders.last {
		s.options.Logger.Warn("orders noted again from the rows that they changed", "file", s.orders.paths[0])
		if err := s.completeOrders(all); err != nil {
			return err
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(o order) bool {
		return o.Number <= known || o.Crawl != s.options.Crawl && o.Do != orderPurge
	})
	if err := s.obey(all); err != nil || known == s.orders.last {
		return err
	}
	return s.put(ordersKey(s.options.Crawl), s.orders.last, pebble.Sync)
}

// completeOrders adds to the files the orders that the rows of all crawls show and the files lack. O(pages + sites
// + hosts).
func (s *Store) completeOrders(have []order) error {
	state := map[order]bool{}
	for _, o := range have {
		o.Number, o.At, o.Pace = 0, 0, Pace{}
		state[o] = true
	}
	var all []order
	add := func(o order) {
		named := o
		named.At, named.Pace = 0, Pace{}
		covered := !o.URL.IsZero() && state[order{Do: orderPurge, Crawl: o.Crawl, Site: o.URL.Site()}]
		if !state[named] && !covered {
			all = append(all, o)
		}
	}
	names, err := s.Crawls()
	if err != nil {
		return err
	}
	for _, crawl := range names {
		for p := range s.dir.partitions {
			if err := s.orderedIn(crawl, weburl.Partition(p), add); err != nil {
				return err
			}
		}
	}
	if err := s.orders.note(all...); err != nil {
		return err
	}
	for _, crawl := range names {
		if err := s.put(ordersKey(crawl), s.orders.last, pebble.Sync); err != nil {
			return err
		}
	}
	return nil
}

// orderedIn calls add for each order that the rows of a partition of a crawl show. It skips rows that cannot be
// read.
func (s *Store) orderedIn(crawl string, p weburl.Partition, add func(order)) error {
	keys := format.NewKeyspace(crawl)
	of := func(kind format.Kind, fn func(rest, value []byte)) error {
		from, to := keys.KindSpan(p, kind)
		return database.Scan(s.db, from, to, func(key, value []byte) error { fn(key[len(from):], value); return nil })
	}
	return errors.Join(
		of(format.KeyCounters, func(_, value []byte) {
			var total Counters
			if format.DecodeValue(value, &total) == nil && total.Paused != 0 {
				add(order{Do: orderPause, Crawl: crawl, Partition: p, At: total.Paused})
			}
		}),
		of(format.KeySite, func(rest, value []byte) {
			var row SiteRow
			if format.DecodeValue(value, &row) != nil {
				return
			}
			if row.Paused != 0 {
				add(order{Do: orderPause, Crawl: crawl, Partition: p, Site: weburl.Site(rest), At: row.Paused})
			}
			if row.Pace != (Pace{}) {
				add(order{Do: orderPace, Crawl: crawl, Partition: p, Site: weburl.Site(rest), Pace: row.Pace})
			}
			if row.Purged {
				add(order{Do: orderPurge, Crawl: crawl, Site: weburl.Site(rest), At: 1})
			}
		}),
		of(format.KeyGate, func(rest, value []byte) {
			var gate Gate
			if format.DecodeValue(value, &gate) == nil && gate.Blocked != 0 {
				add(order{Do: orderBlock, Crawl: crawl, Partition: p, Host: string(rest), At: gate.Blocked})
			}
		}),
		of(format.KeyPage, func(_, value []byte) {
			var page Page
			if format.DecodeValue(value, &page) == nil && page.State == StatePurged {
				add(order{Do: orderPurge, Crawl: crawl, URL: page.URL, At: page.LastFetched})
			}
		}))
}

// obey carries out orders that are noted already. It is idempotent. The last pause and the last pace of a
// site and the last block of a host count.
func (s *Store) obey(all []order) error {
	type thing struct {
		do   string
		p    weburl.Partition
		name string
	}
	last := map[thing]uint64{}
	for _, o := range all {
		last[thing{o.Do, o.Partition, string(o.Site) + o.Host}] = o.Number
	}
	var records []Record
	for _, o := range all {
		if int(o.Partition) >= s.dir.partitions {
			continue
		}
		counts := last[thing{o.Do, o.Partition, string(o.Site) + o.Host}] == o.Number
		switch {
		case o.Do == orderPurge:
			if down, err := s.isDown(o.target()); err != nil || down {
				if err != nil {
					return err
				}
				continue
			}
			if err := s.put(purgeKey(o), &Purging{Crawl: o.Crawl, URL: o.URL, Site: o.Site, At: o.At}, pebble.NoSync); err != nil {
				return err
			}
			if _, err := s.takeDown(o.target(), o.At); err != nil {
				return err
			}
		case o.Do == orderPause && counts:
			records = append(records, &Paused{Partition: o.Partition, Site: o.Site, Since: o.At})
		case o.Do == orderPace && counts:
			records = append(records, &Paced{Partition: o.Partition, Site: o.Site, Pace: o.Pace})
		case o.Do == orderBlock && counts:
			gate, err := s.Gate(o.Partition, o.Host)
			if err != nil {
				return err
			}
			gate.Blocked = o.At
			records = append(records, &Gated{Partition: o.Partition, Host: o.Host, Gate: gate})
		}
	}
	if len(records) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	_, err := s.applyAll(records, nil)
	return err
}

func purgeKey(o order) []byte {
	return (&Purging{Crawl: o.Crawl, URL: o.URL, Site: o.Site}).key()
}

// TakenDown returns all that was ever ordered to be taken down.
func (in Inside) TakenDown() (down []Purging, err error) {
	all, _, err := readOrders(in.fs, in.dir.path)
	for _, o := range all {
		if o.Do == orderPurge {
			down = append(down, Purging{Crawl: o.Crawl, URL: o.URL, Site: o.Site, At: o.At})
		}
	}
	return down, err
}

// OrderAgain carries out the orders of the open crawl again, after rows were lost. It calls report for each order.
func (in Inside) OrderAgain(report func(Problem)) error {
	all, _, err := readOrders(in.fs, in.dir.path)
	if err != nil {
		return err
	}
	if err := in.completeOrders(all); err != nil {
		return err
	}
	if all, _, err = readOrders(in.fs, in.dir.path); err != nil {
		return err
	}
	mine := slices.DeleteFunc(all, func(o order) bool { return o.Crawl != in.Crawl })
	for _, o := range mine {
		place := cmp.Or(o.target().String(), o.Host, fmt.Sprintf("partition %d", o.Partition))
		report(Problem{place, o.Do + " ordered by an operator: done again"})
	}
	if err := in.withRows(mine); err != nil {
		return err
	}
	return in.obey(mine)
}

// withRows creates rows for sites that lost theirs and that an order paused or paced. Only a site with a row can be.
func (in Inside) withRows(all []order) error {
	batch := in.db.NewBatch()
	for _, o := range all {
		if o.Do != orderPause && o.Do != orderPace || o.Site == "" || int(o.Partition) >= in.dir.partitions {
			continue
		}
		key := in.keys.AppendText(nil, o.Partition, format.KeySite, string(o.Site))
		found, err := database.Get(in.db, key, func([]byte) error { return nil })
		if err == nil && !found {
			err = batch.Set(key, format.AppendValue(nil, &SiteRow{}), nil)
		}
		if err != nil {
			return errors.Join(err, batch.Close())
		}
	}
	return in.Commit(batch)
}
