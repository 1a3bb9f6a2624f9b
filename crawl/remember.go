package crawl

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

// Of what is stored, so much goes into the memory of a refresher at its start: the last visits of each
// page, fewer where pages are many.
const (
	rememberedVisits = 4 << 20 // of all pages
	leastRemembered  = 2       // of a page
)

// A remembered visit waits to be told in order of time.
type remembered struct {
	at      float64
	id      int32 // of the page in the list
	outcome refresh.Outcome
	claimed refresh.Source
}

// remember tells the policy all that the store knows of visits, in order of time. It takes some
// microseconds a page and a visit.
func (r *refresher) remember() error {
	total, err := r.engine.store.Total()
	if err != nil {
		return fmt.Errorf("crawl: refresh: %w", err)
	}
	each := max(leastRemembered, int(rememberedVisits/max(1, total.States[store.StateLive])))
	type page struct {
		key pageKey
		url weburl.URL
	}
	var pages []page
	var visits []remembered
	for p := range r.engine.store.Partitions() {
		for row, err := range r.engine.store.Pages(weburl.Partition(p)) {
			if err != nil {
				return fmt.Errorf("crawl: refresh: page table: %w", err)
			}
			if !r.engine.refreshes(&row.Page) {
				continue
			}
			seen, err := r.engine.store.Visits(weburl.Partition(p), row.Fingerprint)
			if err != nil {
				return fmt.Errorf("crawl: refresh: visits of %s: %w", row.URL, err)
			}
			visits = appendRemembered(visits, int32(len(pages)), seen, each)
			pages = append(pages, page{pageKey{weburl.Partition(p), row.Fingerprint}, row.URL})
		}
	}
	slices.SortStableFunc(visits, func(a, b remembered) int { return cmp.Compare(a.at, b.at) })
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := make([]refresh.ID, len(pages))
	for i := range ids {
		ids[i] = -1
	}
	for _, v := range visits {
		if ids[v.id] < 0 {
			if v.outcome != refresh.Unknown {
				ids[v.id] = r.enter(pages[v.id].key, pages[v.id].url, v.at)
			}
			continue
		}
		if v.claimed != 0 && v.outcome != refresh.Unknown {
			r.belief.Claim(ids[v.id], v.claimed, v.at)
		}
		r.keeper.Visited(ids[v.id], refresh.Visit{At: v.at, Outcome: v.outcome})
		r.belief.Learn(v.at)
	}
	return nil
}

// appendRemembered appends the last visits of a page. The first of them that saw the page whole says only
// when the copy was fresh.
func appendRemembered(dst []remembered, id int32, visits []store.Visit, most int) []remembered {
	for _, v := range visits[max(0, len(visits)-most):] {
		told := remembered{at: keepfresh.Seconds(time.Unix(0, v.At)), id: id, claimed: refresh.Source(v.Claimed)}
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
