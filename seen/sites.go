package seen

import (
	"strings"

	"freshet/weburl"
)

// sites remembers the partitions of sites: to look a site up in the list of public suffixes takes longer than all the
// rest of a link's test.
type sites struct {
	partitions int // of the store
	known      map[weburl.Site]weburl.Partition
}

// maxSites bounds the sites that are remembered.
const maxSites = 1 << 14

func newSites(partitions int) sites {
	return sites{partitions, map[weburl.Site]weburl.Partition{}}
}

// partition returns the partition of a site. O(1) for one that is remembered.
func (s sites) partition(site weburl.Site) weburl.Partition {
	p, ok := s.known[site]
	if !ok {
		if len(s.known) == maxSites {
			clear(s.known)
		}
		p = site.Partition(s.partitions)
		s.known[weburl.Site(strings.Clone(string(site)))] = p
	}
	return p
}
