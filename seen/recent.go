package seen

import (
	"freshet/weburl"
)

// recent remembers the links offered recently, with their depth and, if wanted, their cash.
type recent struct {
	policy *SetClock
	lowest []uint16       // depth of the link in each slot
	purses []weburl.Purse // purse of the link in each slot; nil: without cash

	recalled map[weburl.Fingerprint]float32 // cash of URLs from before this run, until they are offered
}

func newRecent(entries int, cash bool) recent {
	r := recent{policy: NewSetClock(entries)}
	r.lowest = make([]uint16, r.policy.Slots())
	if cash {
		r.purses = make([]weburl.Purse, r.policy.Slots())
		r.recalled = map[weburl.Fingerprint]float32{}
	}
	return r
}

// recall stores the cash that a URL has from before this run, if there is room in the cache.
func (r *recent) recall(fp weburl.Fingerprint, cash float64) {
	if r.purses != nil && len(r.recalled) < len(r.purses) {
		r.recalled[fp] = float32(cash)
	}
}

// note records a link, by its second hash. settled means that the URL was offered recently at no greater depth, and so
// is known. note also returns the cash to pass on now: the link's own, more or none. O(1).
func (r *recent) note(second weburl.Fingerprint, link *weburl.Link) (settled bool, lot float64) {
	slot, hit := r.policy.Touch(second)
	lowest := &r.lowest[slot]
	settled = hit && link.Depth >= *lowest
	if !settled {
		*lowest = link.Depth
	}
	if r.purses != nil {
		if !hit {
			r.purses[slot] = r.purse(link.Fingerprint)
		}
		lot = r.purses[slot].Add(link.Cash)
	}
	return settled, lot
}

// collect empties the purse of a page, by its second hash. O(1).
func (r *recent) collect(second weburl.Fingerprint, page *weburl.Link) (held float64) {
	if r.purses == nil {
		return 0
	}
	slot, hit := r.policy.Touch(second)
	if !hit {
		r.lowest[slot], r.purses[slot] = page.Depth, r.purse(page.Fingerprint)
	}
	return r.purses[slot].Empty()
}

// purse returns the purse of a URL that enters the cache: empty, except for recalled cash.
func (r *recent) purse(fp weburl.Fingerprint) (p weburl.Purse) {
	if told, ok := r.recalled[fp]; ok {
		delete(r.recalled, fp)
		p.Add(float64(told))
	}
	return p
}

// entriesPerFetcher is twice the upper end of what Broder, Najork and Wiener recommend, 100 to 500: on real sites
// some 70 entries are needed for every host in turn, and a fetcher serves ten hosts if an answer takes a tenth of the
// politeness interval. A miss costs fifty times as much as a hit, and far more if links carry cash: every link to a
// waiting page that has left the cache moves the page in its queue. An entry takes 10 bytes, with cash 18.
// fewestEntries are what the smallest crawl gets, 80 KiB.
const (
	entriesPerFetcher = 1000
	fewestEntries     = 8192
)

// CacheEntries returns the Options.CacheEntries for a crawl with at most this many fetches at once. More hosts in
// turn need more entries.
func CacheEntries(fetchers int) int {
	return min(max(entriesPerFetcher*fetchers, fewestEntries), MaxCache)
}
