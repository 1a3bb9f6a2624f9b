package frontier

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"freshet/weburl"
)

// uniform are queues with the same number of pages for every site. Read makes the pages up.
type uniform struct{ pages uint64 }

func (u uniform) Read(dst []Entry, site weburl.Site, kind Kind, after Key, n int) ([]Entry, error) {
	for a := after.Arrival + 1; n > 0 && a <= u.pages; a++ {
		dst = append(dst, Entry{Key: Key{0, a}, Fingerprint: weburl.Fingerprint(a)})
		n--
	}
	return dst, nil
}

// BenchmarkNext measures a page's way through Next, Done and Committed, after every site of the crawl has had a turn.
// It also measures the memory of a site, which must not depend on the number of queued pages.
func BenchmarkNext(b *testing.B) {
	const sites = 50_000
	for _, pages := range []uint64{200, 2000} {
		b.Run(fmt.Sprintf("sites=%d/pages=%d", sites, pages), func(b *testing.B) {
			before := heapBytes()
			f, now := restored(b, sites, pages)
			for range 2 * sites {
				now = now.Add(cycle(b, f, now))
			}
			memory := float64(heapBytes()-before) / sites
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(cycle(b, f, now))
			}
			b.ReportMetric(memory, "bytes/site")
			runtime.KeepAlive(f)
		})
	}
}

func restored(b *testing.B, sites int, pages uint64) (*Frontier, time.Time) {
	now := time.Unix(1_000_000_000, 0)
	f, err := New(Options{Delay: 15 * time.Second}, uniform{pages})
	if err != nil {
		b.Fatal(err)
	}
	for i := range sites {
		f.Restore(SiteInfo{Site: weburl.Site(fmt.Sprintf("https://www.site-%05d.example", i)), New: int(pages), RobotsUntil: now.AddDate(100, 0, 0)}, now)
	}
	return f, now
}

// cycle has one page fetched if one may go. Otherwise it returns how long to wait.
func cycle(b *testing.B, f *Frontier, now time.Time) time.Duration {
	p, wake, ok := f.Next(now)
	if !ok {
		return wake.Sub(now)
	}
	f.Done(p, Answer{End: now}, now)
	f.Committed(p)
	return 0
}

func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
