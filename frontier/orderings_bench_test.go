package frontier

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"freshet/clock"
	"freshet/weburl"
)

// places are queues with the same number of pages for every site. Read makes the pages up: page a of a site has rank a
// in the ordering's queue.
type places struct {
	ordering Ordering
	pages    uint64
}

func (q places) Read(dst []Entry, site weburl.Site, kind Kind, after Key, n int) ([]Entry, error) {
	for a := after.Arrival + 1; n > 0 && a <= q.pages; a++ {
		dst = append(dst, q.entry(a))
		n--
	}
	return dst, nil
}

func (q places) entry(a uint64) Entry {
	cash := 1 / float64(a)
	order := q.ordering.PageOrder(weburl.Link{Depth: uint16(math.Log2(float64(a))), Cash: cash})
	if ranked, ok := q.ordering.(Ranked); ok {
		order = ranked.RankOrder(cash, int(a), 1<<30)
	}
	return Entry{Key: Key{order, a}, Fingerprint: weburl.Fingerprint(a), Cash: cash}
}

// BenchmarkOrderings has ten million pages wait on 100,000 sites. For each ordering it measures a page's way through
// Next, Done and Committed, with four pages discovered, and the cost of cash that comes to a page.
func BenchmarkOrderings(b *testing.B) {
	const sites, pages = 100_000, 100
	names, all := simple()
	names, all = append(names, "batch", "partial", "optimal"), append(all, Batch{Every{Pages: 1}}, Partial{Every{Pages: 1}},
		Optimal{func(f weburl.Fingerprint) float64 { return 1 / float64(f+1) }})
	for i, o := range all {
		b.Run("order="+names[i], func(b *testing.B) {
			q := places{o, pages}
			f, err := New(Options{Ordering: o, Delay: 15 * time.Second}, q)
			if err != nil {
				b.Fatal(err)
			}
			now, rng := time.Unix(1_000_000_000, 0), rand.New(rand.NewPCG(1, 2))
			names := make([]weburl.Site, sites)
			for i := range names {
				names[i] = weburl.Site(fmt.Sprintf("https://www.site-%06d.example", i))
				f.Restore(SiteInfo{Site: names[i], New: pages, Cash: 5 * rng.Float64(), RobotsUntil: now.AddDate(100, 0, 0)}, now)
			}
			for range 2 * sites { // until every site has had a turn
				now = now.Add(cycle(b, f, now))
			}
			arrival, before := uint64(pages), clock.Processor()
			for b.Loop() {
				now = now.Add(cycle(b, f, now))
				for range 4 {
					arrival++
					f.Discovered(names[rng.IntN(sites)], []Entry{q.entry(arrival)}, now)
				}
				site, old := names[rng.IntN(sites)], q.entry(pages/2)
				paid := old
				paid.Cash += 0.001
				f.Moved(site, KindNew, old, paid, now)
			}
			b.ReportMetric(6*float64(b.N)/b.Elapsed().Seconds(), "operations/s")
			b.ReportMetric(6*float64(b.N)/(clock.Processor()-before).Seconds(), "operations/cpu-s")
		})
	}
}
