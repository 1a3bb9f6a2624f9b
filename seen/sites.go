package seen

import (
	"hash/maphash"

	"freshet/weburl"
)

// sites remembers the partitions of sites: to look a site up in the list of public suffixes takes longer than all the
// rest of a link's test. That one of a million sites is taken for another that is remembered has a probability of one
// in a billion; its URLs would be looked for in the other's partition, and be new again.
type sites struct {
	home  func(weburl.Site) weburl.Partition
	seed  maphash.Seed
	known map[uint64]weburl.Partition // by a hash of the site that nobody can foretell
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
