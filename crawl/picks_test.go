package crawl

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

var rewritePicks = flag.Bool("rewrite-picks", false, "write testdata/picks/default.txt again")

// TestPicks holds that the default policy picks the same pages in the same order as the stored picks. The layout of
// pages in memory must not change the picks. Each line of testdata/picks/default.txt is a day: the number of picks so
// far, the number of pages kept fresh, and a checksum of all picks. If a change is meant to change the picks,
// -rewrite-picks writes the file again.
func TestPicks(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors may round x*y + z once, and pick otherwise")
	}
	const name = "testdata/picks/default.txt"
	got := picks(t)
	if *rewritePicks {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(want), "\n")
	for i, line := range strings.SplitAfter(got, "\n") {
		if i >= len(lines) || line != lines[i] {
			t.Fatalf("day %d: %s\nwant\n%s", i, line, lines[min(i, len(lines)-1)])
		}
	}
}

// picks keeps some sites fresh for ten weeks, and returns a line for each day. Pages of a folder change together or on
// their own. Some pages come later, go or fail, and claims say that some have changed.
func picks(t *testing.T) string {
	random := rand.New(rand.NewPCG(7, 7))
	now := time.Unix(1e9, 0)
	asked, err := Refresh{Budget: 600}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFresh(asked, nil, everOpen{}, 0, time.Second, now)
	if err != nil {
		t.Fatal(err)
	}
	var all []keptPage
	byKey := map[PageKey]int{}
	add := func(site int) {
		n := len(all)
		u, err := weburl.Parse(fmt.Sprintf("http://s%d.test/%d/%d/%d.html", site, n%3, n%5*(site%2), n))
		if err != nil {
			t.Fatal(err)
		}
		page := keptPage{url: u, key: PageKey{weburl.Partition(site % 16), u.Fingerprint()}, changed: now, seen: now}
		page.every = time.Duration(float64(time.Hour) * float64(uint(6)<<random.IntN(9)))
		byKey[page.key] = n
		all = append(all, page)
		f.visited(visit{page: page.key, url: u, at: now, fresh: true}, now)
	}
	for site := range 30 {
		for range 1 + site*site/7 {
			add(site)
		}
	}
	var out strings.Builder
	sum, picked := fnv.New64a(), 0
	for hour := range 70 * 24 {
		now = now.Add(time.Hour)
		burst := random.IntN(6 * 30) // a folder of a site changes at once
		for n := range all {
			p := &all[n]
			if n%30 == burst && n%3 == 1 || random.Float64() < float64(time.Hour)/float64(p.every) {
				p.changed = now
				if random.IntN(8) == 0 {
					f.claimed(p.key, refresh.Sitemap, keepfresh.Seconds(now))
				}
			}
		}
		if hour%7 == 0 {
			add(random.IntN(35))
		}
		for f.learn(now) {
		}
		for slot := range 25 {
			records, _ := f.pick(now.Add(time.Duration(slot) * time.Hour / 25))
			for _, r := range records {
				p := r.(*store.Planned)
				if err := binary.Write(sum, binary.LittleEndian, []int64{int64(p.Fingerprint), p.Due}); err != nil {
					t.Fatal(err)
				}
				page := &all[byKey[PageKey{p.Partition, p.Fingerprint}]]
				at := now.Add(time.Duration(random.IntN(3000)) * time.Second)
				v := visit{page: page.key, url: page.url, at: at, outcome: refresh.Unchanged, fresh: true}
				switch n := random.IntN(100); {
				case n == 0:
					v.gone = true
				case n < 4:
					v.outcome, v.fresh, v.again = refresh.Unknown, false, n == 3
				case page.changed.After(page.seen):
					v.outcome, page.seen = refresh.Changed, at
				default:
					page.seen = at
				}
				f.visited(v, at)
				if v.again {
					v.again = false
					f.visited(v, at.Add(time.Minute))
				}
			}
			picked += len(records)
		}
		if hour%24 == 23 {
			fmt.Fprintf(&out, "%d %d %016x\n", picked, f.table.len(), sum.Sum64())
		}
	}
	return out.String()
}

// keptPage is a page that the crawl keeps fresh.
type keptPage struct {
	key           PageKey
	url           weburl.URL
	changed, seen time.Time
	every         time.Duration
}
