package crawl

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// countedRows count the sites that are read by host.
type countedRows struct {
	Rows
	read *int
}

func (r countedRows) SitesOf(site weburl.Site) iter.Seq2[store.SiteRow, error] {
	return func(yield func(store.SiteRow, error) bool) {
		for row, err := range r.Rows.SitesOf(site) {
			*r.read++
			if !yield(row, err) {
				return
			}
		}
	}
}

// TestHostOfManySites starts a crawl of a host that links to a thousand of its own ports. The start reads each of these
// sites once, and not once for every other.
func TestHostOfManySites(t *testing.T) {
	const sites, partitions = 1000, 4
	s, err := store.Open("data", store.Options{FS: vfs.NewMem(), Partitions: partitions, CacheBytes: 1 << 20})
	check(t, err)
	defer s.Close()
	found := &store.Discovered{At: 1}
	for n := range sites {
		u, err := weburl.Parse(fmt.Sprintf("http://many.test:%d/", 1000+n))
		check(t, err)
		found.Partition = s.Home(u.Site())
		found.New = append(found.New, store.NewPage{URL: u, Depth: 1, Order: 1 << 63})
	}
	_, err = s.Apply(found)
	check(t, err)
	links, err := seen.Open("seen", seen.Options{FS: vfs.NewMem(), Partitions: partitions, Home: s.Home, CacheEntries: 1000})
	check(t, err)
	defer links.Close()
	ordering, err := frontier.ParseOrdering("length")
	check(t, err)
	read := 0
	shard, err := New(countedRows{s, &read}, links, Settings{Scope: "site", Ordering: ordering, PerConnection: 1,
		Partitions: partitions, RobotsBytes: 1 << 20, OfferBytes: 1 << 20, GroupBytes: 1 << 20, Second: time.Second},
		time.Unix(1.8e9, 0))
	check(t, err)
	defer shard.Close()
	if held := shard.front.Stats().Hosts; held != 1 || read > sites {
		t.Errorf("%d hosts are held, %d sites were read: want 1, at most %d", held, read, sites)
	}
}
