package crawl

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/frontier"
	"freshet/weburl"
)

// TestFullTestTakesNoMore fills the seen test of a shard and sends it more links. The shard sends no receipt until the
// test has room again, so the sender holds further links back.
func TestFullTestTakesNoMore(t *testing.T) {
	c := newCrew(t, "b")
	b := c.members[0]
	c.set.Scope = "any"
	c.openStore()
	const from, to = 0, 1
	for p := range c.owner {
		if p != from {
			c.owner[p] = b
		}
	}
	c.start(b, false)
	c.run(time.Second)

	receipts, drains := 0, 0
	step := func(mayDrain bool, events ...Event) {
		c.now = c.now.Add(10 * time.Millisecond)
		b.now = c.now
		for len(b.later) > 0 && !b.later[0].at.After(c.now) {
			events = append(events, b.later[0].event())
			b.later = b.later[1:]
		}
		work, err := b.shard.Step(c.now, events...)
		check(c.t, err)
		receipts += len(work.Receipts)
		if work.Drain {
			drains++
		}
		if work.Drain = drains > 0 && mayDrain; work.Drain {
			drains--
		}
		b.do(work)
	}
	parcel := func(record uint64) Parcel {
		p := Parcel{From: from, To: to, Parts: []Part{{Record: record}}}
		for i := 0; len(p.Parts[0].Links) < 20; i++ {
			u := parse(t, fmt.Sprintf("http://h%d-%d.test/", record, i))
			if c.store.Home(u.Site()) == to {
				p.Parts[0].Links = append(p.Parts[0].Links, weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Depth: 1})
			}
		}
		return p
	}
	for record := range uint64(3) {
		step(false, Arriving{parcel(record + 1)})
		for range 100 {
			step(false)
		}
	}
	if receipts != 1 {
		t.Errorf("%d receipts for 3 parcels of 20 links, where 30 have room", receipts)
	}
	for range 200 {
		step(true)
	}
	if receipts != 3 {
		t.Errorf("%d receipts for 3 parcels, when the test has decided", receipts)
	}
}

// TestNobodyAnswers sends links to a partition that no node has. The shard sends them again after a second, then less
// and less often. It starts again from a second when a receipt comes or another node takes the partition.
func TestNobodyAnswers(t *testing.T) {
	l := &lane{noted: true, parts: []Part{{Record: 1}, {Record: 2}}}
	s := &Shard{
		settings: Settings{Second: time.Second, OfferBytes: 1 << 20}, tenures: []tenure{serving, elsewhere},
		exchange: exchange{out: []*outbox{{lanes: map[weburl.Partition]*lane{1: l}}, nil}, due: []pair{{0, 1}}},
	}
	sent := func(seconds int) (parcels int) {
		for range seconds {
			s.now = s.now.Add(time.Second)
			s.resendLost(1)
			check(t, s.ship())
			parcels += len(s.out.Parcels)
			s.out.Parcels = nil
		}
		return parcels
	}
	if n := sent(100); n < 8 || n > 11 {
		t.Errorf("%d parcels in 100 s, want the first, those after 1, 2, 4 and 8 s, and one each 16 s", n)
	}
	s.received(Receipt{From: 0, To: 1, Record: 1})
	if n := sent(4); n != 3 {
		t.Errorf("%d parcels in the 4 s after a receipt, want the next, and those after 1 and 2 s", n)
	}
	sent(100)
	s.resend(1)
	if n := sent(4); n != 3 {
		t.Errorf("%d parcels in the 4 s after another node took the partition, want one at once, and those after 1 and 2 s", n)
	}
}

// TestLinksHeldBack has two shards crawl a web in which most links go to a few favourite pages. It runs the crawl with
// and without a cache of sent links, and cuts one shard off now and then. With the cache the shards find the same pages
// and send far fewer links.
func TestLinksHeldBack(t *testing.T) {
	const sites, pages = 24, 25
	var found []map[string]string
	sent := map[int]int64{}
	for _, entries := range []int{0, 64, 1 << 14} {
		c := newCrew(t, "a", "b")
		c.set.Ordering, c.set.Scope, c.exact, c.set.SentEntries = frontier.Length{}, "any", true, entries*c.set.Partitions
		rng := rand.New(rand.NewPCG(30, 2))
		favourites := rand.NewZipf(rng, 1.2, 2, sites*pages-1)
		name := func(n uint64) string { return fmt.Sprintf("http://s%d.test/%d", n%sites, n/sites) }
		for n := range uint64(sites * pages) {
			at := &page{status: 200, body: name(n), links: []string{name((n + sites) % (sites * pages))}}
			for range 10 {
				at.links = append(at.links, name(favourites.Uint64()))
			}
			c.web[name(n)] = at
		}
		for site := range uint64(sites) {
			c.set.Seeds = append(c.set.Seeds, parse(t, name(site)))
		}
		for p := range c.owner {
			c.owner[p] = c.members[p%2]
		}
		c.openStore()
		for _, w := range c.members {
			c.start(w, false)
		}
		cuts := rand.New(rand.NewPCG(30, 3))
		for range 5 {
			c.run(20 * time.Second)
			c.cutOff(c.members[cuts.IntN(2)], cuts)
			for p := range c.owner {
				c.resend(weburl.Partition(p))
			}
		}
		for range 20 {
			for p := range c.owner {
				c.resend(weburl.Partition(p))
			}
			c.run(quietEnough / 100)
		}
		c.settled()
		found = append(found, c.found())
		c.close()
		sent[entries] = c.sent
		t.Logf("%d entries for each partition: %d links sent, %d held back, %d parcels", entries, c.sent, c.held, c.parcels)
	}
	for _, pages := range found[1:] {
		if diff := cmp.Diff(found[0], pages); diff != "" {
			t.Errorf("pages (-without +with the cache):\n%s", diff)
		}
	}
	if len(found[0]) != sites*pages {
		t.Errorf("%d pages are found of %d", len(found[0]), sites*pages)
	}
	if sent[1<<14] > sent[0]/2 || sent[64] > sent[0] || sent[64] < sent[1<<14] {
		t.Errorf("links sent by entries of the cache: %v", sent)
	}
}
