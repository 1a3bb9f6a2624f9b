package crawl

import (
	"cmp"
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

// A remembered visit waits to be told in order of time.
type remembered struct {
	at      float64
	page    int32 // in the list
	outcome refresh.Outcome
	claimed refresh.Source
}

// remember tells what keeps pages fresh all that is stored of visits of partitions, in order of time. It takes some
// microseconds a page and a visit.
func (s *Shard) remember(partitions ...weburl.Partition) error {
	live := int64(0)
	for _, p := range partitions {
		total, err := s.rows.Counters(p)
		if err != nil {
			return fmt.Errorf("crawl: refresh: %w", err)
		}
		live += total.States[store.StateLive]
	}
	each := max(leastRemembered, int(rememberedVisits/max(1, live)))
	var pages []kept
	var visits []remembered
	for _, p := range partitions {
		for row, err := range s.rows.PagesFrom(p, 0) {
			if err != nil {
				return fmt.Errorf("crawl: refresh: page table: %w", err)
			}
			if !s.refreshes(&row.Page) {
				continue
			}
			seen, err := s.rows.Visits(p, row.Fingerprint)
			if err != nil {
				return fmt.Errorf("crawl: refresh: visits of %s: %w", row.URL, err)
			}
			visits = appendRemembered(visits, int32(len(pages)), &row.Page, seen, each)
			pages = append(pages, kept{key: PageKey{p, row.Fingerprint}, url: row.URL})
		}
	}
	slices.SortStableFunc(visits, func(a, b remembered) int { return cmp.Compare(a.at, b.at) })
	s.fresh.close() // what is being learned does not go on beside visits of the past
	s.fresh.remember(pages, visits)
	return nil
}

// remember takes in visits, in order of time.
func (f *fresh) remember(pages []kept, visits []remembered) {
	ids := make([]refresh.ID, len(pages))
	for i := range ids {
		ids[i] = -1
	}
	for _, v := range visits {
		if ids[v.page] < 0 {
			if v.outcome != refresh.Unknown {
				ids[v.page] = f.enter(pages[v.page].key, pages[v.page].url, v.at)
			}
			continue
		}
		if v.claimed != 0 && v.outcome != refresh.Unknown {
			f.belief.Claim(ids[v.page], v.claimed, v.at)
		}
		f.keeper.Visited(ids[v.page], refresh.Visit{At: v.at, Outcome: v.outcome})
		f.belief.Learn(v.at)
	}
}

// appendRemembered appends the last visits of a page. The first of them that saw the page whole says only
// when the copy was fresh. Where none of them did, a visit before them is told in its place. After the clock was set
// back nothing is learned from a page's visits until they are later than those before: so they are left out. A page that
// was gone starts again.
func appendRemembered(dst []remembered, page int32, row *store.Page, visits []store.Visit, most int) []remembered {
	cut := max(0, len(visits)-most)
	latest := int64(math.MinInt64)
	if !slices.ContainsFunc(visits[cut:], isComplete) {
		at := cmp.Or(row.Folded.Last, row.LastChanged)
		if i := lastComplete(visits[:cut]); i >= 0 {
			at = visits[i].At
		}
		latest = at
		dst = append(dst, remembered{at: keepfresh.Seconds(time.Unix(0, at)), page: page, outcome: refresh.Unchanged})
	}
	begin, missing := len(dst), 0
	for _, v := range visits[cut:] {
		switch {
		case v.Complete:
			missing = 0
		case v.Outcome == store.OutcomeMissing:
			if missing++; missing == 2 {
				dst, latest = dst[:begin], math.MinInt64
			}
		}
		if v.At <= latest {
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

func isComplete(v store.Visit) bool { return v.Complete }

// lastComplete returns the place of the last visit that saw the page whole, -1 if none did.
func lastComplete(visits []store.Visit) int {
	for i, v := range slices.Backward(visits) {
		if v.Complete {
			return i
		}
	}
	return -1
}
