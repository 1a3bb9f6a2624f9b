package index

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"freshet/clock"
	"freshet/weburl"
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

// kinds are the searches that BenchmarkSearch times, by their names. Each is drawn from the words of the pages: some
// are rare, some on most pages.
func kinds(w *words) map[string]func() Query {
	some := func() string { return w.text(1 + w.rng.IntN(3)) }
	common := func() string {
		var all []string
		for range 2 + w.rng.IntN(7) {
			all = append(all, wordOf(w.rng.Uint64N(20)))
		}
		return strings.Join(all, " ")
	}
	return map[string]func() Query{
		"words": func() Query { return Query{Words: some()} },
		"site": func() Query {
			return Query{Words: some(), Site: weburl.Site(fmt.Sprintf("http://h%d.test", w.rng.IntN(1000)))}
		},
		"since":   func() Query { return Query{Words: some(), Since: time.Unix(w.rng.Int64N(int64(*benchPages)), 0)} },
		"without": func() Query { return Query{Words: some() + " -" + w.word()} },
		"phrase": func() Query { // that a page has
			all := strings.Fields(newWords(w.rng.Uint64N(uint64(*benchPages))).text(300))
			at := w.rng.IntN(len(all) - 4)
			return Query{Words: `"` + strings.Join(all[at:at+2+w.rng.IntN(3)], " ") + `"`}
		},
		"site-phrase": func() Query {
			return Query{Words: `"` + common() + `"`, Site: weburl.Site(fmt.Sprintf("http://h%d.test", w.rng.IntN(1000)))}
		},
		"common-phrase": func() Query { return Query{Words: `"` + common() + `"`} }, // few pages have it
	}
}

// BenchmarkSearch indexes the pages that the index lacks, and reports pages per second of processor time and their
// size. Then it times searches of several kinds. It does not read the store. If no page is missing, it only reads.
func BenchmarkSearch(b *testing.B) {
	dir := *benchDir
	if dir == "" {
		dir = b.TempDir()
	}
	o := Options{Dir: filepath.Join(dir, "index"), Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)}
	var indexing time.Duration
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
	drawn := kinds(newWords(1 << 40))
	for _, kind := range slices.Sorted(maps.Keys(drawn)) {
		b.Run(kind, func(b *testing.B) {
			var took, spent []time.Duration
			var searching time.Duration
			for b.Loop() {
				q := drawn[kind]()
				q.Limit = 10
				begun, before := x.o.Clock.Now(), processor()
				if err := x.timed(b.Context(), q); err != nil {
					b.Fatal(err)
				}
				cost := processor() - before
				took, spent, searching = append(took, x.o.Clock.Now().Sub(begun)), append(spent, cost), searching+cost
			}
			slices.Sort(took)
			slices.Sort(spent)
			if indexing > 0 {
				b.ReportMetric(float64(*benchPages-int(had))/indexing.Seconds(), "indexed/s")
			}
			b.ReportMetric(searching.Seconds()*1000/float64(len(took)), "processor-ms")
			b.ReportMetric(float64(spent[len(spent)*95/100].Microseconds())/1000, "p95-processor-ms")
			for _, of := range []int{50, 95, 99} {
				b.ReportMetric(float64(took[len(took)*of/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", of))
			}
			b.ReportMetric(float64(size)/float64(*benchPages), "disk-B/page")
			b.ReportMetric(float64(resident(b))/(1<<20), "resident-MiB")
		})
	}
}

// timed does what Search does, apart from reading the store.
func (x *Index) timed(ctx context.Context, q Query) error {
	terms, err := x.terms(q.Words)
	if err != nil {
		return err
	}
	found, err := x.ask(ctx, q, terms, q.Limit, 0, &Found{})
	if err != nil || len(found) == 0 {
		return err
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	_, err = x.snippets(ctx, terms, ids)
	return err
}

// resident returns the memory of this process in bytes, without pages of files.
func resident(b *testing.B) uint64 {
	self, err := procfs.Self()
	if err != nil {
		return 0
	}
	status, err := self.NewStatus()
	if err != nil {
		b.Error(err)
	}
	return status.RssAnon
}
