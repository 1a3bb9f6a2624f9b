package seen

import (
	"freshet/weburl"
)

// recent remembers the links that were offered lately, at which depth and, if asked to, their cash.
type recent struct {
	policy *SetClock
	lowest []uint16       // depth of what each slot holds
	purses []weburl.Purse // of what each slot holds; nil: cash is of no account

	recalled map[weburl.Fingerprint]float32 // cash that no link of this run brought, of URLs not offered since
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

// recall notes which cash a URL has beside what links of this run bring, as long as there is room for it in the cache.
func (r *recent) recall(fp weburl.Fingerprint, cash float64) {
	if r.purses != nil && len(r.recalled) < len(r.purses) {
		r.recalled[fp] = float32(cash)
	}
}

// note notes a link, by its second hash. It reports whether the link is settled, its URL offered lately at
// no greater depth, and so known, and which cash is to be handed on now: the link's own, more or none. O(1).
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

// purse returns the purse of a URL that enters the cache: empty, except for what is recalled of it.
func (r *recent) purse(fp weburl.Fingerprint) (p weburl.Purse) {
	if told, ok := r.recalled[fp]; ok {
		delete(r.recalled, fp)
		p.Add(float64(told))
	}
	return p
}

// entriesPerFetcher is twice the upper end of what Broder, Najork and Wiener recommend, 100 to 500: on real sites
// the edge lies at some 70 entries for every host that takes its turn, and where an answer takes a tenth of the
// politeness interval a fetcher serves ten hosts. A miss costs fifty times what a hit does, and where links carry
// cash far more: a page that waits and has left the cache is moved in its queue by every link to it. An entry takes
// 10 bytes, with cash 18. fewestEntries are what the smallest crawl gets, 80 KiB.
const (
	entriesPerFetcher = 1000
	fewestEntries     = 8192
)

// CacheEntries returns the Options.CacheEntries of a crawl that makes at most so many fetches at once: the
// more hosts take turns, the more must be remembered of each.
func CacheEntries(fetchers int) int {
	return min(max(entriesPerFetcher*fetchers, fewestEntries), MaxCache)
}
