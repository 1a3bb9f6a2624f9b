package crawl

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

// How many stored visits are read at the start: the last visits of each page, fewer if there are many pages.
const (
	rememberedVisits = 4 << 20 // of all pages
	leastRemembered  = 2       // of a page
)

// How much one step reads or replays, at most.
const (
	rowsRemembered = 128
	visitsRetold   = 512
)

// A remembered visit waits to be replayed in order of time.
type remembered struct {
	at      float64
	page    int32 // in the list
	outcome refresh.Outcome
	claimed refresh.Source
	gone    bool // since then the page is not kept fresh
}

// A past is the stored visits to the pages of some partitions. It is replayed partition by partition, because the
// beliefs about a page depend on its site, which is in one partition. The visits to a partition's pages are read, then
// replayed to the keeper in order of time. Each takes some microseconds a page or visit, so both go in bounded pieces
// while the crawl goes on. After each partition, its pages may be picked, see picksEarly.
//
// Visits to pages that are gone are replayed too, because they taught about the other pages of their site.
type past struct {
	partitions []weburl.Partition // that are to be told
	each       int                // last visits of a page that are told

	// Of the first partition:
	from  weburl.Fingerprint // of the next page to be read
	read  bool               // all are
	pages []pastPage
	ids   []refresh.ID // of the pages; -1: not entered yet
	runs  runs
}

// pastPage is a page with a past.
type pastPage struct {
	key PageKey
	url weburl.URL

	apart bool
}

// runs are several lists of visits, each in order of time. They are a heap by the time of each list's first visit.
type runs [][]remembered

func (r runs) Len() int           { return len(r) }
func (r runs) Less(i, j int) bool { return r[i][0].before(r[j][0]) }
func (r runs) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *runs) Push(run any)      { *r = append(*r, run.([]remembered)) }
func (r *runs) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

// next removes and returns the earliest visit.
func (r *runs) next() remembered {
	first := (*r)[0][0]
	if (*r)[0] = (*r)[0][1:]; len((*r)[0]) == 0 {
		heap.Pop(r)
	} else {
		heap.Fix(r, 0)
	}
	return first
}

// before orders visits by time, and visits of one time by page.
func (v remembered) before(o remembered) bool {
	return v.at < o.at || v.at == o.at && v.page < o.page
}

// remember starts replaying the stored visits to the pages of partitions.
func (s *Shard) remember(partitions ...weburl.Partition) error {
	if len(partitions) == 0 {
		return nil
	}
	pages := int64(0)
	for _, p := range partitions {
		total, err := s.rows.Counters(p)
		if err != nil {
			return fmt.Errorf("crawl: refresh: %w", err)
		}
		for _, state := range []store.State{store.StateLive, store.StateGone, store.StateMoved, store.StateWithdrawn} {
			pages += total.States[state]
		}
	}
	each := max(leastRemembered, int(rememberedVisits/max(1, pages)))
	s.fresh.then(func() {
		s.fresh.close() // learning must not go on between visits of the past
		s.fresh.past = &past{partitions: partitions, each: each}
	})
	return nil
}

// Remembers reports whether stored visits are still being read and replayed, a piece at each Step. Until that is over,
// there are no beliefs about some pages, and no page of their partitions is picked.
func (s *Shard) Remembers() bool { return s.fresh != nil && s.fresh.past != nil }

// rememberSome continues with the past.
func (s *Shard) rememberSome() error {
	f, k := s.fresh, s.fresh.past
	switch {
	case !k.read:
		return s.readPast(k)
	case len(k.runs) > 0:
		f.tellPast(k, s.now)
	case f.learn(s.now):
	default:
		f.nextPast()
		if f.picksEarly() {
			_, err := s.pick()
			return err
		}
	}
	return nil
}

// nextPast continues with the next partition or, after the last, with the waiting functions.
func (f *fresh) nextPast() {
	k := f.past
	if *k = (past{partitions: k.partitions[1:], each: k.each}); len(k.partitions) == 0 {
		f.past = nil
		f.goOn()
	}
}

// picksEarly reports whether pages are picked before all visits are replayed. That holds while no outcome waits, for
// example that a page is gone. A policy that plans must wait, because it spends its budget on the pages that it knows.
func (f *fresh) picksEarly() bool {
	return len(f.waiting) == 0 && f.policy == refresh.Policy(f.belief)
}

// readPast reads the visits to some more pages.
func (s *Shard) readPast(k *past) error {
	p := k.partitions[0]
	var visits []remembered
	rows := 0
	for row, err := range s.rows.VisitsFrom(p, k.from) {
		if err != nil {
			return fmt.Errorf("crawl: refresh: pages and their visits: %w", err)
		}
		if rows == rowsRemembered {
			k.from = row.Fingerprint
			k.gather(visits)
			return nil
		}
		rows++
		kept := s.refreshes(&row.Page)
		if !kept && !s.taught(&row.Page) {
			continue
		}
		before := len(visits)
		visits = appendRemembered(visits, int32(len(k.pages)), &row.Page, row.Kept, k.each, s.now.UnixNano())
		if !kept && len(visits) > before {
			visits[len(visits)-1].gone = true
		}
		k.pages = append(k.pages, pastPage{PageKey{p, row.Fingerprint}, row.URL, apart(&row.Page)})
		k.ids = append(k.ids, -1)
	}
	k.gather(visits)
	if k.read = true; len(k.pages) == 0 {
		s.fresh.nextPast()
	}
	return nil
}

// taught reports whether visits to a page that is no longer kept fresh still teach about others.
func (s *Shard) taught(row *store.Page) bool {
	ended := keepfresh.Seconds(time.Unix(0, row.LastFetched))
	return row.Versions > 0 && keepfresh.Seconds(s.now)-ended < refresh.Memory &&
		s.rules.of(row.URL.Site()).Refresh.Has(row.ContentType)
}

// gather adds the visits of one piece.
func (k *past) gather(visits []remembered) {
	if len(visits) == 0 {
		return
	}
	slices.SortStableFunc(visits, func(a, b remembered) int { return cmp.Compare(a.at, b.at) })
	heap.Push(&k.runs, visits)
}

// tellPast replays some more visits.
func (f *fresh) tellPast(k *past, now time.Time) {
	for range visitsRetold {
		if len(k.runs) == 0 {
			return
		}
		v := k.runs.next()
		id, page := &k.ids[v.page], &k.pages[v.page]
		switch {
		case *id >= 0 && v.gone:
			f.forget(*id, now)
			*id = -1
		case *id >= 0:
			if v.claimed != 0 && v.outcome != refresh.Unknown {
				f.belief.Claim(*id, v.claimed, v.at)
			}
			f.keeper.Visited(*id, refresh.Visit{At: v.at, Outcome: v.outcome})
			f.belief.Learn(v.at)
		case v.outcome != refresh.Unknown && !v.gone:
			*id = f.enter(page.key, page.url, page.apart, v.at)
		}
	}
}

// then calls tell now or, if a past is being replayed, after it, so that the keeper learns in order of time.
func (f *fresh) then(tell func()) {
	f.waiting = append(f.waiting, tell)
	f.goOn()
}

// goOn calls the waiting functions, until one starts another past.
func (f *fresh) goOn() {
	for f.past == nil && len(f.waiting) > 0 {
		tell := f.waiting[0]
		f.waiting[0] = nil
		f.waiting = f.waiting[1:]
		tell()
	}
}

// appendRemembered appends the last visits of a page. The first of them that saw the whole page shows only when the
// copy was fresh. If none did, an earlier visit takes its place. Visits in the future are left out: the clock was set
// back since, or the partition's last owner had another clock. At the second missing in a row the page is gone. If it
// comes back, it starts again.
func appendRemembered(dst []remembered, page int32, row *store.Page, visits []store.Visit, most int, now int64) []remembered {
	recent := visits[max(0, len(visits)-most):]
	ahead := liesAhead(recent, now)
	latest := int64(math.MinInt64)
	if !anyWhole(recent, ahead) {
		at := cmp.Or(row.Folded.Last, row.LastChanged)
		if i := lastComplete(visits); i >= 0 {
			at = visits[i].At
		}
		latest = min(at, now)
		dst = append(dst, remembered{at: keepfresh.Seconds(time.Unix(0, latest)), page: page, outcome: refresh.Unchanged})
	}
	missing := 0
	for i, v := range recent {
		switch {
		case v.Complete:
			missing = 0
		case v.Outcome == store.OutcomeMissing:
			missing++
		}
		if ahead[i] || v.At <= latest {
			continue
		}
		if v.Complete {
			latest = v.At
		}
		told := remembered{at: keepfresh.Seconds(time.Unix(0, v.At)), page: page,
			claimed: refresh.Source(v.Claimed), gone: missing == 2}
		switch {
		case v.Complete && v.Changed:
			told.outcome = refresh.Changed
		case v.Complete:
			told.outcome = refresh.Unchanged
		}
		dst = append(dst, told)
	}
	return dst
}

// liesAhead reports, for each visit, whether its time is after now or after that of a later visit.
func liesAhead(visits []store.Visit, now int64) []bool {
	ahead := make([]bool, len(visits))
	for i, v := range slices.Backward(visits) {
		ahead[i] = v.At > now
		now = min(now, v.At)
	}
	return ahead
}

// anyWhole reports whether a visit that is not ahead saw the whole page.
func anyWhole(visits []store.Visit, ahead []bool) bool {
	for i, v := range visits {
		if v.Complete && !ahead[i] {
			return true
		}
	}
	return false
}

// lastComplete returns the index of the last visit that saw the whole page, or -1.
func lastComplete(visits []store.Visit) int {
	for i, v := range slices.Backward(visits) {
		if v.Complete {
			return i
		}
	}
	return -1
}
