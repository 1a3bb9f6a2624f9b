package index

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"freshet/clock"
)

var (
	benchPages = flag.Int("index.pages", 2_000, "how many pages BenchmarkSearch indexes")
	benchDir   = flag.String("index.dir", "", "folder of the index of BenchmarkSearch; one with fewer pages grows, also after a kill")
)

// words draws words as texts have them, few of them often.
type words struct {
	rng  *rand.Rand
	zipf *rand.Zipf
}

func newWords(seed uint64) *words {
	rng := rand.New(rand.NewPCG(seed, 45))
	return &words{rng, rand.NewZipf(rng, 1.07, 8, 300_000)}
}

func (w *words) word() string {
	return wordOf(w.zipf.Uint64())
}

// wordOf returns the word of a rank; the lower, the more common.
func wordOf(rank uint64) string {
	n := rank + 26
	var b strings.Builder
	for ; n > 0; n /= 26 {
		b.WriteByte(byte('a' + n%26))
	}
	return b.String()
}

func (w *words) text(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.word())
	}
	return b.String()
}

// fill adds synthetic pages of 300 words in batches as take does, from a number of pages to another.
func fill(b *testing.B, x *Index, at, pages int) {
	b.Helper()
	for at < pages {
		batch := x.bleve.NewBatch()
		for range min(pagesAtOnce, pages-at) {
			w := newWords(uint64(at))
			site := fmt.Sprintf("http://h%d.test", at%1000)
			page, err := x.document(fmt.Sprintf("%s/%d", site, at), entry{w.text(300), w.text(6), site, "en", time.Unix(int64(at), 0).UTC()})
			if err == nil {
				err = batch.IndexAdvanced(page)
			}
			if err != nil {
				b.Fatal(err)
			}
			at++
		}
		if err := x.bleve.Batch(batch); err != nil {
			b.Fatal(err)
		}
	}
}

// processor returns the processor time of this process.
func processor() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkSearch indexes the pages that the index lacks, and reports pages per second of processor time and their
// size. Then it searches for one to three words, some rare, some on most pages, and once each for phrases of two and
// eight of the most common words. It does not read the store. If no page is missing, it only reads.
func BenchmarkSearch(b *testing.B) {
	dir := *benchDir
	if dir == "" {
		dir = b.TempDir()
	}
	o := Options{Dir: filepath.Join(dir, "index"), Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)}
	var indexing, searching time.Duration
	had := uint64(0)
	x, err := OpenToSearch(o)
	if err == nil {
		had, err = x.bleve.DocCount()
	}
	if int(had) < *benchPages {
		if x != nil {
			err = x.Close()
		}
		if err == nil || errors.Is(err, ErrNone) {
			x, err = Open(o)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	if int(had) < *benchPages {
		begun := processor()
		fill(b, x, int(had), *benchPages)
		indexing = processor() - begun
	}
	var size int64
	err = filepath.WalkDir(x.o.Dir, func(_ string, file fs.DirEntry, err error) error {
		if err == nil {
			if info, err := file.Info(); err == nil {
				size += info.Size()
			}
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	w := newWords(1 << 40)
	var took, spent []time.Duration
	for b.Loop() {
		q := Query{Words: w.text(1 + w.rng.IntN(3)), Limit: 10}
		terms, err := x.terms(q.Words)
		if err != nil {
			b.Fatal(err)
		}
		begun, before := x.o.Clock.Now(), processor()
		found, err := x.ask(b.Context(), q.build(terms), q.Limit, 0)
		if err != nil {
			b.Fatal(err)
		}
		ids := make([]string, len(found))
		for i := range found {
			ids[i] = found[i].ID
		}
		if _, err := x.snippets(b.Context(), terms, ids); err != nil {
			b.Fatal(err)
		}
		cost := processor() - before
		took, spent, searching = append(took, x.o.Clock.Now().Sub(begun)), append(spent, cost), searching+cost
	}
	for _, words := range []int{2, 8} {
		var phrase []string
		for n := range words { // the most common ones, in an order that hardly a text has
			phrase = append(phrase, wordOf(uint64(words-n)))
		}
		terms, err := x.terms(`"` + strings.Join(phrase, " ") + `"`)
		if err != nil {
			b.Fatal(err)
		}
		before := processor()
		if _, err := x.ask(b.Context(), Query{}.build(terms), 10, 0); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64((processor()-before).Microseconds())/1000, fmt.Sprintf("phrase-%d-processor-ms", words))
	}
	slices.Sort(took)
	slices.Sort(spent)
	if indexing > 0 {
		b.ReportMetric(float64(*benchPages-int(had))/indexing.Seconds(), "indexed/s")
	}
	b.ReportMetric(searching.Seconds()*1000/float64(len(took)), "processor-ms")
	b.ReportMetric(float64(spent[len(spent)*95/100].Microseconds())/1000, "p95-processor-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(size)/float64(*benchPages), "disk-B/page")
	b.ReportMetric(float64(resident(b))/(1<<20), "resident-MiB")
}

// resident returns the memory of this process in bytes, without pages of files.
func resident(b *testing.B) (bytes int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if kib := int64(0); strings.HasPrefix(line, "RssAnon:") {
			if _, err := fmt.Sscanf(line, "RssAnon: %d kB", &kib); err != nil {
				b.Error(err)
			}
			bytes = kib << 10
		}
	}
	return bytes
}
