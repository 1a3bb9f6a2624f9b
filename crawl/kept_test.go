package crawl

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"freshet/clock"
	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

// everOpen lets every site be asked at any time.
type everOpen struct{}

func (everOpen) Opens(_ weburl.Site, now time.Time) (at, busy time.Time) { return now, time.Time{} }
func (everOpen) Rate(weburl.Site) float64                                { return 1e9 }

var (
	benchPages = flag.Int("kept.pages", 1_000_000, "how many pages BenchmarkKept keeps fresh")
	benchDays  = flag.Int("kept.days", 14, "for how many days it does")
	benchHeap  = flag.String("kept.heap", "", "the file that BenchmarkKept writes a profile of the heap to, at its end")
)

// BenchmarkKept keeps sites of a thousand pages fresh and visits a tenth of the pages a day. It reports the memory of a
// page, and the pages that it picks and visits a second of processor time. The clock moves to the next pick, as it does
// for a shard.
func BenchmarkKept(b *testing.B) {
	pages := *benchPages
	sites := max(1, pages/1000)
	for b.Loop() {
		before := inUse()
		start := time.Unix(1e9, 0)
		asked, err := Refresh{Budget: int64(pages / 10)}.WithDefaults()
		if err != nil {
			b.Fatal(err)
		}
		f, err := newFresh(asked, nil, everOpen{}, 0, time.Second, start)
		if err != nil {
			b.Fatal(err)
		}
		for i := range pages {
			u, err := weburl.Parse(fmt.Sprintf("http://s%d.test/%d/page-number-%d.html", i%sites, i/sites%20, i))
			if err != nil {
				b.Fatal(err)
			}
			f.enter(PageKey{weburl.Partition(i % 16), u.Fingerprint()}, u, false, keepfresh.Seconds(start))
		}
		b.ReportMetric(float64(inUse()-before)/float64(pages), "B/page-new")
		began, picks := clock.Processor(), 0
		for now, learned := start, start; now.Before(start.AddDate(0, 0, *benchDays)); {
			records, wake := f.pick(now)
			for _, r := range records {
				p := r.(*store.Planned)
				id, _ := f.table.find(PageKey{p.Partition, p.Fingerprint})
				f.keeper.Visited(id, refresh.Visit{At: keepfresh.Seconds(now), Outcome: refresh.Outcome(1 + int(id)%7/6)})
			}
			picks += len(records)
			if len(records) == 0 && !wake.After(now) || now.Sub(learned) >= restLooks {
				for learned = now; f.learn(now); {
				}
			}
			if wake.After(now) {
				now = wake
			}
		}
		b.ReportMetric(float64(picks)/(clock.Processor()-began).Seconds(), "picks/cpu-s")
		b.ReportMetric(float64(picks)/float64(pages), "visits/page")
		b.ReportMetric(float64(inUse()-before)/float64(pages), "B/page")
		writeHeap(b, *benchHeap)
		runtime.KeepAlive(f)
	}
}

// writeHeap writes a profile of the memory in use, if a flag asks for it.
func writeHeap(b *testing.B, name string) {
	if name == "" {
		return
	}
	file, err := os.Create(name)
	if err == nil {
		err = errors.Join(pprof.WriteHeapProfile(file), file.Close())
	}
	if err != nil {
		b.Fatal(err)
	}
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
