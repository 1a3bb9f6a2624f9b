package seen

import (
	"freshet/seen/cache"
	"freshet/weburl"
)

// recent remembers the links that were offered lately, and at which depth.
type recent struct {
	policy cache.Policy
	lowest []uint16 // depth of what each slot holds
}

func newRecent(entries int) recent {
	policy := cache.NewSetClock(entries)
	return recent{policy, make([]uint16, policy.Slots())}
}

// settles notes a link, and reports whether its URL was offered lately at no greater depth: then it is
// known, and the link tells nothing new. O(1).
func (r *recent) settles(fp weburl.Fingerprint, depth uint16) bool {
	slot, hit := r.policy.Touch(fp)
	lowest := &r.lowest[slot]
	if hit && depth >= *lowest {
		return true
	}
	*lowest = depth
	return false
}

// entriesPerFetcher is the upper end of what Broder, Najork and Wiener recommend, 100 to 500: a miss costs
// fifty times what an entry's 10 bytes make a hit dearer. On real sites the edge lies at some 70 entries for
// every host that takes its turn, and a fetcher serves several. fewestEntries are what the smallest crawl
// gets, 80 KiB.
const (
	entriesPerFetcher = 500
	fewestEntries     = 8192
)

// CacheEntries returns the Options.CacheEntries of a crawl that makes at most so many fetches at once: the
// more hosts take turns, the more must be remembered of each.
func CacheEntries(fetchers int) int {
	return min(max(entriesPerFetcher*fetchers, fewestEntries), cache.MaxSize)
}
