package crawl

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"freshet/clock"
	"freshet/store"
	"freshet/weburl"
)

// memorySites is how many sites the known pages of BenchmarkMemory are spread over.
const memorySites = 50_000

// BenchmarkMemory makes data directories of ten million known pages, of which one million or all ten
// million are queued, crawls on in each with a process of its own, and reports that process's peak
// memory. It takes some minutes and 5 GB of disk:
//
//	go test ./crawl -run '^$' -bench Memory -benchtime 1x -timeout 2h
func BenchmarkMemory(b *testing.B) {
	for _, size := range []struct{ known, queued int }{{1_000_000, 1_000_000}, {10_000_000, 1_000_000}, {10_000_000, 10_000_000}} {
		b.Run(fmt.Sprintf("known=%d/queued=%d", size.known, size.queued), func(b *testing.B) {
			for b.Loop() {
				dir := b.TempDir()
				fillDirectory(b, dir, size.known, size.queued)
				child := exec.Command(os.Args[0], "-test.run", "^TestMemoryProcess$", "-test.v")
				child.Env = append(os.Environ(), "FRESHET_MEMORY_DIR="+dir)
				out, err := child.CombinedOutput()
				if err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				b.Logf("%s", out)
				b.ReportMetric(float64(peakKiB(b, out))/1024, "peak-MiB")
				b.ReportMetric(float64(peakKiB(b, out))*1024/float64(size.known), "bytes/known-url")
			}
		})
	}
}

func memorySite(i int) weburl.Site {
	return weburl.Site(fmt.Sprintf("http://site%d.example%d.test", i%3, i))
}

// fillDirectory makes a crawl that knows pages and has the first of them queued.
func fillDirectory(b *testing.B, dir string, known, queued int) {
	s, err := store.Open(dir, store.Options{Crawl: "main", Partitions: 16})
	if err != nil {
		b.Fatal(err)
	}
	const perSite, perBatch = 20, 5000
	now := clock.Real().Now().UnixNano()
	var records []store.Record
	apply := func() {
		if _, err := s.Apply(records...); err != nil {
			b.Fatal(err)
		}
		records = records[:0]
	}
	for from := 0; from < known; from += memorySites * perSite {
		for site := range memorySites {
			at := memorySite(site)
			discovered := &store.Discovered{Partition: at.Partition(s.Partitions()), At: now}
			records = append(records, discovered)
			for page := range perSite {
				u, err := at.Root().Parse(fmt.Sprintf("/section-%d/an-article-about-something-%d.html", page%7, from/memorySites+page))
				if err != nil {
					b.Fatal(err)
				}
				discovered.New = append(discovered.New, store.NewPage{URL: u, Depth: 3, Rel: weburl.RelAnchor, Seed: from == 0 && page == 0})
				if from >= queued {
					records = append(records, &store.Refused{URL: u, At: now, Reason: "test"})
				}
			}
			if len(records) > perBatch || site%(perBatch/perSite) == 0 {
				apply()
			}
		}
	}
	apply()
	total, err := s.Total()
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d pages known, %d queued, %d sites", total.Pages, total.New, total.Sites)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// TestMemoryProcess is the process that BenchmarkMemory measures; by itself it does nothing.
func TestMemoryProcess(t *testing.T) {
	dir := os.Getenv("FRESHET_MEMORY_DIR")
	if dir == "" {
		return
	}
	web := newTestWeb(t, 1, 1000)
	address := netip.MustParseAddrPort(web.server.Listener.Addr().String())
	resolve := map[string]netip.AddrPort{}
	for i := range memorySites {
		resolve[memorySite(i).Host()] = address
	}
	e, err := Open(Options{Dir: dir, AllowPrivate: true, Resolve: resolve, For: 30 * time.Second, Delay: time.Second, UserAgent: "freshet-test"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("opened: peak %d KiB\n", processPeak(t))
	summary, err := e.Run(t.Context(), t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%+v\npeak %d KiB\n", summary, processPeak(t))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// processPeak returns the most memory this process has held, in KiB.
func processPeak(t *testing.T) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc/self/status here: ", err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatal("no VmHWM in /proc/self/status")
	}
	peak, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return peak
}

// peakKiB returns the last peak that a process printed.
func peakKiB(b *testing.B, out []byte) int64 {
	all := regexp.MustCompile(`peak (\d+) KiB`).FindAllSubmatch(bytes.TrimSpace(out), -1)
	if len(all) == 0 {
		b.Fatalf("no peak in:\n%s", out)
	}
	peak, _ := strconv.ParseInt(string(all[len(all)-1][1]), 10, 64)
	return peak
}
