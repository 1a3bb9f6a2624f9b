package node

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/zeebo/xxh3"

	"freshet/clock"
	"freshet/store"
	"freshet/weburl"
)

// BenchmarkMemory spreads the known pages over memorySites and fetches memoryPages of them in a crawl. Nine crawls of
// a directory of a hundred thousand do not reach its end. A site of that directory has twenty pages. So the
// memoryOwnLinks of a page on its own site, of memoryLinks, differ however many pages the crawl knows.
const (
	memorySites    = 5_000
	memoryPages    = 10_000
	memoryLinks    = 40
	memoryOwnLinks = 15
)

// memoryCrawls are the crawls that BenchmarkMemory measures in each directory, in this order. The first also settles
// the directory like a real one: the database merges what one step wrote.
var memoryCrawls = []struct{ name, order string }{
	{"first, set rebuilt", "depth"},
	{"later", "depth"},
	{"later, with cash", DefaultOrder},
}

// BenchmarkMemory makes data directories of a hundred thousand, a million and ten million known pages, all queued. It
// continues the crawl in each with a process of its own, and reports the peak memory of the process. The first crawl
// finds no set of seen URLs; the later ones find the set of the crawl before. The first two order by depth, which
// needs no importance. The third has the default ordering.
//
// growth-bytes/url is the peak above that of the smallest directory, per further known URL. Peaks are medians of as
// many crawls as -benchtime asks for. The benchmark takes half an hour, most of it to make the largest directory, and
// 1 GB of disk:
//
//	CGO_ENABLED=0 go test ./node -run '^$' -bench Memory -benchtime 3x -timeout 2h
//
// Without C the database's buffers lie on the collector's heap, as in the released program.
func BenchmarkMemory(b *testing.B) {
	const fewest = 100_000
	least := map[string]int64{} // peak with the fewest pages, by crawl
	for _, known := range []int{fewest, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("known=%d", known), func(b *testing.B) {
			dir := b.TempDir()
			fillDirectory(b, dir, known)
			for i, crawl := range memoryCrawls {
				b.Run("crawl="+crawl.name, func(b *testing.B) {
					var peaks []int64
					for b.Loop() {
						if i == 0 {
							loseSeen(b, dir)
						}
						peaks = append(peaks, crawlOn(b, dir, crawl.order, known))
					}
					slices.Sort(peaks)
					peak := peaks[len(peaks)/2]
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(float64(peak)/1024, "peak-MiB")
					if known == fewest {
						least[crawl.name] = peak
					} else if from, ran := least[crawl.name]; ran {
						b.ReportMetric(float64(peak-from)*1024/float64(known-fewest), "growth-bytes/url")
					}
				})
			}
		})
	}
}

// loseSeen takes away the set of seen URLs.
func loseSeen(b *testing.B, dir string) {
	if err := os.RemoveAll(filepath.Join(dir, "seen")); err != nil {
		b.Fatal(err)
	}
}

// crawlOn crawls in a process of its own, and returns that process's peak in KiB.
func crawlOn(b *testing.B, dir, order string, known int) int64 {
	child := exec.Command(os.Args[0], "-test.run", "^TestMemoryProcess$", "-test.v")
	child.Env = append(os.Environ(), "FRESHET_MEMORY_DIR="+dir, "FRESHET_MEMORY_ORDER="+order, fmt.Sprintf("FRESHET_MEMORY_KNOWN=%d", known))
	out, err := child.CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	b.Logf("%s", out)
	return peakKiB(b, out)
}

func memorySite(i int) weburl.Site {
	return weburl.Site(fmt.Sprintf("http://site%d.example%d.test", i%3, i))
}

func memoryPath(page int) string {
	return fmt.Sprintf("/section-%d/an-article-about-something-%d.html", page%7, page)
}

// memoryWeb answers for every site: a page is 18 KB with memoryLinks to known pages, which differ from page to page.
func memoryWeb(t *testing.T, known int) *httptest.Server {
	text := strings.Repeat("<p>what a page has to say is the same everywhere, as only its links count here.</p>\n", 180)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(out, r)
			return
		}
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		rng := rand.New(rand.NewPCG(xxh3.HashString(r.Host), xxh3.HashString(r.URL.Path)))
		perSite := known / memorySites
		own := rng.IntN(perSite)
		for i := range memoryOwnLinks {
			fmt.Fprintf(out, "<a href=%q>%d</a>\n", memoryPath((own+i)%perSite), i)
		}
		for i := memoryOwnLinks; i < memoryLinks; i++ {
			fmt.Fprintf(out, "<a href=%q>%d</a>\n", string(memorySite(rng.IntN(memorySites)))+memoryPath(rng.IntN(perSite)), i)
		}
		fmt.Fprintf(out, "<h1>%s%s</h1>\n%s", r.Host, r.URL.Path, text)
	}))
	t.Cleanup(server.Close)
	return server
}

// fillDirectory makes a crawl with that many known pages, all queued.
func fillDirectory(b *testing.B, dir string, known int) {
	s, err := store.Open(dir, store.Options{Crawl: "main", Partitions: 16})
	if err != nil {
		b.Fatal(err)
	}
	const perBatch = 5000
	perSite := min(20, known/memorySites)
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
				u, err := at.Root().Parse(memoryPath(from/memorySites + page))
				if err != nil {
					b.Fatal(err)
				}
				discovered.New = append(discovered.New, store.NewPage{URL: u, Depth: 3, Rel: weburl.RelAnchor, Seed: from == 0 && page == 0})
			}
			if len(records) > perBatch || site%250 == 0 {
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
	known, err := strconv.Atoi(os.Getenv("FRESHET_MEMORY_KNOWN"))
	if err != nil {
		t.Fatal(err)
	}
	address := addressOfServer(memoryWeb(t, known))
	resolve := map[string]netip.AddrPort{}
	for i := range memorySites {
		resolve[memorySite(i).Host()] = address
	}
	e, err := Open(Options{Dir: dir, AllowPrivate: true, Resolve: resolve, MaxPages: memoryPages, Order: os.Getenv("FRESHET_MEMORY_ORDER"), Delay: time.Second, UserAgent: "freshet-test"})
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
func processPeak(t *testing.T) uint64 {
	self, err := procfs.Self()
	if err != nil {
		t.Skip("no /proc here: ", err)
	}
	status, err := self.NewStatus()
	if err != nil {
		t.Fatal(err)
	}
	return status.VmHWM >> 10
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
