package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"freshet/store/internal/format"
	"freshet/weburl"
)

// apply applies record r, as number n of partition p, to the state. The result depends on nothing else: no clock,
// option or randomness. apply reads and writes keys of partition p only. It stores the encoded record, raw, beside
// its effects.
func (st *state) apply(p weburl.Partition, n uint64, r Record, raw []byte) {
	st.total(p).Records = n
	switch r := r.(type) {
	case *Discovered:
		st.discovered(p, n, r)
	case *Fetched:
		st.fetched(p, n, r)
	case *Robots:
		st.robots(p, r)
	case *Gated:
		st.gate(p, r.Host, &r.Gate)
	case *Planned:
		st.planned(p, n, r)
	case *Refused:
		st.refused(p, r)
	case *Withdrawn:
		st.withdrawn(p, n, r)
	case *Purged:
		st.purged(p, n, r)
	case *SitePurged:
		st.sitePurged(p, r)
	case *Scrubbed:
		st.scrubbed(p)
	case *Relocated:
		st.relocated(p, r)
	case *Pruned:
		st.pruned(p, r)
	case *Forgotten:
		st.forgotten(p, r)
	case *Ranked:
		st.ranked(p, r)
	case *Struck:
		st.struck(p, r)
	case *Obeyed:
		if st.peekSite(p, r.Site).exists {
			st.site(p, r.Site).Robots.Obeyed = r.Rules
		}
	case *Arrived:
		st.arrived(p, n, r)
	case *Parted:
		st.parted(p, r)
	case *Taken:
		st.total(p).Owner = Owner{r.By, n}
	case *Mark:
		st.mark(p, n, r)
	case *Paused:
		st.paused(p, r)
	case *Paced:
		if st.peekSite(p, r.Site).exists {
			st.site(p, r.Site).Pace = r.Pace
		}
	default:
		panic(fmt.Sprintf("store: apply: %T is no record", r))
	}
	st.key = st.keys.AppendNumber(st.key[:0], p, format.KeyRecord, n)
	st.setRaw(raw)
}

func (st *state) discovered(p weburl.Partition, n uint64, r *Discovered) {
	for i := range r.New {
		st.discover(p, n, i, r)
	}
	for i := range r.Repeats {
		d := &r.Repeats[i]
		if row := st.page(p, d.Fingerprint); row.exists {
			order := d.Order
			if r.ByCash {
				order = weburl.CashOrder(row.Cash + d.Cash)
			}
			st.repeat(row, d.Depth, d.Hops, d.Cash, order)
		}
	}
	if !r.Scoped.IsZero() {
		st.total(p).Scoped = r.Scoped
	}
	for _, d := range r.Refused {
		if st.peekSite(p, d.Site).exists {
			row := st.site(p, d.Site)
			row.Refused = count(row.Refused, d.Reason, d.Count)
		} else {
			total := st.total(p)
			total.Refused = count(total.Refused, d.Reason, d.Count)
		}
	}
}

// readAhead reads the rows of the pages that the records name.
func (st *state) readAhead(records []Record) {
	var ids []pageID
	for _, r := range records {
		r, ok := r.(*Discovered)
		if !ok {
			continue
		}
		for i := range r.New {
			ids = append(ids, pageID{r.Partition, r.New[i].URL.Fingerprint()})
		}
		for i := range r.Repeats {
			ids = append(ids, pageID{r.Partition, r.Repeats[i].Fingerprint})
		}
	}
	st.readRows(ids)
}

// readRows sorts pages by key and reads their rows in that order. So each block of the database or of its filters
// is read only once.
func (st *state) readRows(ids []pageID) {
	slices.SortFunc(ids, func(a, b pageID) int { return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.fp, b.fp)) })
	for _, id := range ids {
		st.page(id.p, id.fp)
	}
}

// discover makes the row of record n's new page i and queues it.
func (st *state) discover(p weburl.Partition, n uint64, i int, r *Discovered) {
	d := &r.New[i]
	row := st.resolve(p, d.URL)
	if row.exists {
		st.rediscover(row, d, r.ByCash)
		return
	}
	if site := st.peekSite(p, d.URL.Site()); site.Purged {
		st.site(p, d.URL.Site()).Refused = count(site.Refused, ReasonPurged, 1)
		return
	}
	st.create(row, Page{
		URL: d.URL, Depth: d.Depth, Hops: d.Hops, Rel: d.Rel, Via: d.Via,
		Seed: d.Seed, Cash: d.Cash, LastMod: d.LastMod, FirstSeen: r.At,
	})
	st.enqueue(row, NewQueue, Key{d.Order, arrival(n, i)})
}

// rediscover applies a discovery to a page that has a row already. A page that becomes a seed gets a seed's cash,
// once.
func (st *state) rediscover(row *pageRow, d *NewPage, byCash bool) {
	cash, order := 0.0, d.Order
	if d.Seed && !row.Seed {
		st.change(row)
		row.Seed = true
		st.site(row.id.p, d.URL.Site()).Seed = true
		cash = d.Cash
	}
	if byCash {
		order = weburl.CashOrder(row.Cash + cash)
	}
	st.repeat(row, d.Depth, d.Hops, cash, order)
}

// create fills a row that did not exist.
func (st *state) create(row *pageRow, page Page) {
	row.Page, row.exists = page, true
	st.change(row)
	total := st.total(row.id.p)
	total.Pages++
	total.States[page.State]++
	if row.id.fp != page.URL.Fingerprint() {
		total.Collisions++
	}
	site := st.site(row.id.p, page.URL.Site())
	site.Pages++
	site.Seed = site.Seed || page.Seed
}

// repeat adds the depth, hops and cash of a further link to a known page.
func (st *state) repeat(row *pageRow, depth uint16, hops uint8, cash float64, order uint64) {
	earlier := row.Queue == NewQueue && order < row.Key.Order
	if depth >= row.Depth && hops >= row.Hops && cash == 0 && !earlier {
		return
	}
	st.change(row)
	row.Depth, row.Hops = min(row.Depth, depth), min(row.Hops, hops)
	switch {
	case earlier:
		st.pay(row, cash, Key{order, row.Key.Arrival})
	case cash != 0 && row.Queue != NoQueue:
		st.pay(row, cash, row.Key)
	case cash != 0:
		st.moves = append(st.moves, Move{Site: row.URL.Site(), Fingerprint: row.id.fp, FromCash: row.Cash, Cash: row.Cash + cash})
		row.Cash += cash
	}
}

// arrival returns the arrival number of the i-th page that record n puts into a queue.
func arrival(n uint64, i int) uint64 { return n<<16 | uint64(i) }

// setState changes the state of a page.
func (st *state) setState(row *pageRow, to State) {
	states := &st.total(row.id.p).States
	states[row.State]--
	states[to]++
	row.State = to
}

// enqueue puts a page into a queue, or moves it there from where it waits.
func (st *state) enqueue(row *pageRow, to Queue, key Key) { st.place(row, to, key, row.Cash) }

// pay adds to the cash of a queued page, and moves the page to key in its queue.
func (st *state) pay(row *pageRow, cash float64, key Key) {
	st.place(row, row.Queue, key, row.Cash+cash)
}

// place puts a page into a queue and sets its cash.
func (st *state) place(row *pageRow, to Queue, key Key, cash float64) {
	st.move(row, to, key, cash)
	if to == NoQueue {
		return
	}
	st.key = st.keys.AppendEntry(st.key[:0], row.id.p, to.KeyKind(), row.URL.Site(), key.Order, key.Arrival)
	st.value = format.AppendEntryValue(st.value[:0], row.id.fp, row.Cash)
	st.setRaw(st.value)
}

// dequeue takes a page out of its queue, if it is in one.
func (st *state) dequeue(row *pageRow) {
	if row.Queue != NoQueue {
		st.move(row, NoQueue, Key{}, row.Cash)
	}
}

// requeue takes a visited page out of its queue and updates its cash from the visit. It puts the page into the due
// queue if it is to be retried.
func (st *state) requeue(row *pageRow, n uint64, r *Fetched) {
	cash := row.Cash + r.Collected
	switch {
	case r.RetryAt != 0:
		st.place(row, DueQueue, Key{uint64(r.RetryAt), arrival(n, 0)}, cash)
	case row.Queue != NoQueue:
		st.move(row, NoQueue, Key{}, cash)
	}
	row.Cash = cash
	row.Paid += r.Paid
}

// move does everything for a change of queues or cash except writing the new entry.
func (st *state) move(row *pageRow, to Queue, key Key, cash float64) {
	st.change(row)
	p, name := row.id.p, row.URL.Site()
	site, total := st.site(p, name), st.total(p)
	if row.Queue != NoQueue {
		st.key = st.keys.AppendEntry(st.key[:0], p, row.Queue.KeyKind(), name, row.Key.Order, row.Key.Arrival)
		st.delete()
	}
	queued := func(q Queue, n int64, cash float64) {
		switch q {
		case NewQueue:
			site.New += n
			site.Cash += CashUnits(n) * UnitsOf(cash)
			total.New += n
		case DueQueue:
			site.Due += n
			total.Due += n
		}
	}
	queued(row.Queue, -1, row.Cash)
	queued(to, +1, cash)
	st.moves = append(st.moves, Move{
		Site: name, Fingerprint: row.id.fp, FromCash: row.Cash, Cash: cash,
		From: row.Queue, FromKey: row.Key, To: to, ToKey: key,
	})
	row.Queue, row.Key, row.Cash = to, key, cash
}

func (st *state) gate(p weburl.Partition, host string, g *Gate) {
	st.key = st.keys.AppendText(st.key[:0], p, format.KeyGate, weburl.HostName(host))
	st.set(g)
}

func (st *state) robots(p weburl.Partition, r *Robots) {
	if r.Gate != nil {
		st.gate(p, r.Site.Host(), r.Gate)
	}
	if r.Aside {
		return
	}
	st.total(p).Robots++
	if st.peekSite(p, r.Site).Purged {
		return
	}
	site := st.site(p, r.Site)
	row := &site.Robots
	if r.Expires != 0 { // else another answer is needed, which may be stored already
		row.Expires = r.Expires
	}
	if r.TDMRep {
		st.key = st.keys.AppendText(st.key[:0], p, format.KeyTDMRep, string(r.Site))
		switch {
		case r.KeepTDMRep:
			st.setRaw(r.Body)
		case len(r.Reserves) > 0:
			st.setRaw(r.Reserves)
		}
		return
	}
	row.Fetched, row.Ended, row.Outcome, row.Status = r.At, r.End, r.Outcome, r.Status
	row.Reason, row.Capture = r.Reason, r.Capture
	if r.Keep {
		row.Kept, row.Rules = r.At, r.Rules
		if site.Fetched == 0 && len(site.Refused) == 0 {
			row.Obeyed = r.Rules // its pages are fetched under these rules
		}
		st.key = st.keys.AppendText(st.key[:0], p, format.KeyRobots, string(r.Site))
		st.setRaw(r.Body)
	}
}

func (st *state) planned(p weburl.Partition, n uint64, r *Planned) {
	if row := st.page(p, r.Fingerprint); row.exists && row.State != StatePurged {
		st.enqueue(row, DueQueue, Key{uint64(r.Due), arrival(n, 0)})
		if r.Lift {
			row.Strikes = 0
		}
	}
}

func (st *state) struck(p weburl.Partition, r *Struck) {
	if row := st.page(p, r.Fingerprint); row.exists && row.State != StatePurged {
		st.change(row)
		row.Strikes = r.Strikes
	}
}

func (st *state) ranked(p weburl.Partition, r *Ranked) {
	for i := range r.Pages {
		rank := &r.Pages[i]
		if row := st.page(p, rank.Fingerprint); row.exists && row.Queue == NewQueue {
			st.place(row, NewQueue, Key{rank.Order, row.Key.Arrival}, rank.Cash)
		}
	}
}

func (st *state) refused(p weburl.Partition, r *Refused) {
	row := st.resolve(p, r.URL)
	if !row.exists || row.State == StatePurged {
		return
	}
	st.change(row)
	st.dequeue(row)
	row.Reason = r.Reason
	if row.Versions == 0 {
		st.setState(row, StateDenied)
	}
	site := st.site(p, r.URL.Site())
	site.Refused = count(site.Refused, r.Reason, 1)
}

func (st *state) withdrawn(p weburl.Partition, n uint64, r *Withdrawn) {
	row := st.page(p, r.Fingerprint)
	if !row.exists || row.Versions == 0 || row.State == StateWithdrawn || row.State == StatePurged {
		return
	}
	st.change(row)
	st.setState(row, StateWithdrawn)
	row.Reason = r.Reason
	st.log(row, n, ChangeWithdrawn, r.At)
}

// paused notes the start or the end of a pause of a site or of the whole partition.
func (st *state) paused(p weburl.Partition, r *Paused) {
	switch {
	case r.Site == "":
		st.total(p).Paused = r.Since
	case st.peekSite(p, r.Site).exists:
		st.site(p, r.Site).Paused = r.Since
	}
}

// log makes record n the page's entry in the change log. It replaces the page's former entry.
func (st *state) log(row *pageRow, n uint64, kind ChangeKind, at int64) {
	if row.LastChange != 0 {
		st.key = st.keys.AppendNumber(st.key[:0], row.id.p, format.KeyChange, row.LastChange)
		st.delete()
	}
	row.LastChange = n
	st.key = st.keys.AppendNumber(st.key[:0], row.id.p, format.KeyChange, n)
	st.set(&Change{
		Kind: kind, Fingerprint: row.id.fp, URL: row.URL, At: at,
		Version: row.Versions, MovedTo: row.MovedTo,
	})
}

// mark advances a consumer's mark and deletes the records that every consumer has passed. It deletes each record by
// its key: a record that is deleted before the database writes its buffer to disk is never written there.
func (st *state) mark(p weburl.Partition, n uint64, r *Mark) {
	total := st.total(p)
	i, found := slices.BinarySearchFunc(total.marks, r.Consumer, func(m Mark, name string) int { return strings.Compare(m.Consumer, name) })
	if !found {
		total.marks = slices.Insert(total.marks, i, Mark{Partition: p, Consumer: r.Consumer})
	}
	m := &total.marks[i]
	m.Record = max(m.Record, min(r.Record, n-1))
	st.key = st.keys.AppendText(st.key[:0], p, format.KeyMark, r.Consumer)
	st.set(m.Record)

	passed := n
	for _, m := range total.marks {
		passed = min(passed, m.Record)
	}
	for total.Trimmed < passed {
		total.Trimmed++
		st.key = st.keys.AppendNumber(st.key[:0], p, format.KeyRecord, total.Trimmed)
		st.delete()
	}
}
