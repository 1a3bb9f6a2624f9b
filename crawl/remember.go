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

// Of what is stored, so much goes into memory at the start: the last visits of each page, fewer where pages are many.
const (
	rememberedVisits = 4 << 20 // of all pages
	leastRemembered  = 2       // of a page
)

// What one step remembers, at most.
const (
	rowsRemembered = 128
	visitsRetold   = 512
)

// A remembered visit waits to be told in order of time.
type remembered struct {
	at      float64
	page    int32 // in the list
	outcome refresh.Outcome
	claimed refresh.Source
}

// A past is what is stored of the visits to the pages of some partitions, one after another: what is believed of a page
// rests on its site, which is in one partition. The visits to a partition's pages are read, then they are told to what
// keeps pages fresh, in order of time. Both take some microseconds a page and a visit, so both go in bounded pieces:
// the crawl goes on meanwhile. After each partition pages of those that were told may be picked, see picksEarly.
type past struct {
	partitions []weburl.Partition // that are to be told
	each       int                // last visits of a page that are told

	// Of the first of them:
	from  weburl.Fingerprint // of the next page to be read
	read  bool               // all are
	pages []pastPage
	ids   []refresh.ID // of the pages; -1: not told yet
	runs  runs
}

// pastPage is a page with a past.
type pastPage struct {
	key PageKey
	url weburl.URL

	apart bool
}

// runs are visits in order of time, in several lists. They are a heap by the time of each list's first.
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

// next takes out the earliest visit.
func (r *runs) next() remembered {
	first := (*r)[0][0]
	if (*r)[0] = (*r)[0][1:]; len((*r)[0]) == 0 {
		heap.Pop(r)
	} else {
		heap.Fix(r, 0)
	}
	return first
}

// before orders visits by time, those of one time by page.
func (v remembered) before(o remembered) bool {
	return v.at < o.at || v.at == o.at && v.page < o.page
}

// remember has what keeps pages fresh told all that is stored of visits to pages of partitions.
func (s *Shard) remember(partitions ...weburl.Partition) error {
	if len(partitions) == 0 {
		return nil
	}
	live := int64(0)
	for _, p := range partitions {
		total, err := s.rows.Counters(p)
		if err != nil {
			return fmt.Errorf("crawl: refresh: %w", err)
		}
		live += total.States[store.StateLive]
	}
	each := max(leastRemembered, int(rememberedVisits/max(1, live)))
	s.fresh.then(func() {
		s.fresh.close() // what is being learned does not go on beside visits of the past
		s.fresh.past = &past{partitions: partitions, each: each}
	})
	return nil
}

// Remembers reports whether what is stored of visits is still being read and told, a piece at each Step. Until that is
// over nothing is believed of some pages, and none of their partition is picked.
func (s *Shard) Remembers() bool { return s.fresh != nil && s.fresh.past != nil }

// rememberSome goes on with the past.
func (s *Shard) rememberSome() error {
	f, k := s.fresh, s.fresh.past
	switch {
	case !k.read:
		return s.readPast(k)
	case len(k.runs) > 0:
		f.tellPast(k)
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

// nextPast goes on to the next partition, or to what waits.
func (f *fresh) nextPast() {
	k := f.past
	if *k = (past{partitions: k.partitions[1:], each: k.each}); len(k.partitions) == 0 {
		f.past = nil
		f.goOn()
	}
}

// picksEarly reports whether pages are picked before something is believed of all: as long as nothing waits to be told,
// such as that a page is gone. A policy that plans waits: it spends its budget on the pages that it knows.
func (f *fresh) picksEarly() bool {
	return len(f.waiting) == 0 && f.policy == refresh.Policy(f.belief)
}

// readPast reads the visits to some further pages.
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
		if !s.refreshes(&row.Page) {
			continue
		}
		visits = appendRemembered(visits, int32(len(k.pages)), &row.Page, row.Kept, k.each, s.now.UnixNano())
		k.pages = append(k.pages, pastPage{PageKey{p, row.Fingerprint}, row.URL, apart(&row.Page)})
		k.ids = append(k.ids, -1)
	}
	k.gather(visits)
	if k.read = true; len(k.pages) == 0 {
		s.fresh.nextPast()
	}
	return nil
}

// gather takes in visits of one piece.
func (k *past) gather(visits []remembered) {
	if len(visits) == 0 {
		return
	}
	slices.SortStableFunc(visits, func(a, b remembered) int { return cmp.Compare(a.at, b.at) })
	heap.Push(&k.runs, visits)
}

// tellPast tells some further visits.
func (f *fresh) tellPast(k *past) {
	for range visitsRetold {
		if len(k.runs) == 0 {
			return
		}
		v := k.runs.next()
		if k.ids[v.page] < 0 {
			if v.outcome != refresh.Unknown {
				page := &k.pages[v.page]
				k.ids[v.page] = f.enter(page.key, page.url, page.apart, v.at)
			}
			continue
		}
		if v.claimed != 0 && v.outcome != refresh.Unknown {
			f.belief.Claim(k.ids[v.page], v.claimed, v.at)
		}
		f.keeper.Visited(k.ids[v.page], refresh.Visit{At: v.at, Outcome: v.outcome})
		f.belief.Learn(v.at)
	}
}

// then tells something now, or when the past is told: what is told is told in order of time.
func (f *fresh) then(tell func()) {
	f.waiting = append(f.waiting, tell)
	f.goOn()
}

// goOn tells what waits, up to the next past.
func (f *fresh) goOn() {
	for f.past == nil && len(f.waiting) > 0 {
		tell := f.waiting[0]
		f.waiting[0] = nil
		f.waiting = f.waiting[1:]
		tell()
	}
}

// appendRemembered appends the last visits of a page. The first of them that saw the page whole says only
// when the copy was fresh. Where none of them did, a visit before them is told in its place. A visit that lies ahead
// is left out: the clock was set back since, or the partition's last owner had another clock. A page that was gone
// starts again.
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
	begin, missing := len(dst), 0
	for i, v := range recent {
		switch {
		case v.Complete:
			missing = 0
		case v.Outcome == store.OutcomeMissing:
			if missing++; missing == 2 {
				dst, latest = dst[:begin], math.MinInt64
			}
		}
		if ahead[i] || v.At <= latest {
			continue
		}
		if v.Complete {
			latest = v.At
		}
		told := remembered{at: keepfresh.Seconds(time.Unix(0, v.At)), page: page, claimed: refresh.Source(v.Claimed)}
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

// liesAhead tells of each visit whether it is later than now or than one that was made after it.
func liesAhead(visits []store.Visit, now int64) []bool {
	ahead := make([]bool, len(visits))
	for i, v := range slices.Backward(visits) {
		ahead[i] = v.At > now
		now = min(now, v.At)
	}
	return ahead
}

// anyWhole reports whether one of the visits, except for those ahead, saw the page whole.
func anyWhole(visits []store.Visit, ahead []bool) bool {
	for i, v := range visits {
		if v.Complete && !ahead[i] {
			return true
		}
	}
	return false
}

// lastComplete returns the place of the last visit that saw the page whole, -1 if none did.
func lastComplete(visits []store.Visit) int {
	for i, v := range slices.Backward(visits) {
		if v.Complete {
			return i
		}
	}
	return -1
}
