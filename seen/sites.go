package seen

import (
	"hash/maphash"

	"freshet/weburl"
)

// sites remembers the partitions of sites, because a look-up in the list of public suffixes takes longer than the
// rest of a link's test. With a million sites, the probability that one is mistaken for a remembered one is one in a
// billion. Its URLs would then be looked up in the wrong partition, and be new again.
type sites struct {
	home  func(weburl.Site) weburl.Partition
	seed  maphash.Seed
	known map[uint64]weburl.Partition // by a hash of the site with a random seed
}

// maxSites bounds the sites that are remembered.
const maxSites = 1 << 14

func newSites(home func(weburl.Site) weburl.Partition) sites {
	return sites{home, maphash.MakeSeed(), map[uint64]weburl.Partition{}}
}

// partition returns the partition of a site. O(1) for one that is remembered.
func (s sites) partition(site weburl.Site) weburl.Partition {
	hash := maphash.String(s.seed, string(site))
	p, ok := s.known[hash]
	if !ok {
		if len(s.known) == maxSites {
			clear(s.known)
		}
		p = s.home(site)
		s.known[hash] = p
	}
	return p
}
