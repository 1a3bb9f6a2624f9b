package text_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"freshet/clock"
	"freshet/text"
)

// prose draws texts whose words are as common as those of a language.
type prose struct {
	*rand.Rand
	zipf *rand.Zipf
}

func newProse(seed uint64) prose {
	rng := rand.New(rand.NewPCG(seed, 28))
	return prose{rng, rand.NewZipf(rng, 1.07, 8, 300_000)}
}

func (p prose) words(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = name(int(p.zipf.Uint64()) + 1)
	}
	return all
}

// edited returns a copy of a text with n edits of a kind: words replaced here and there, other words at the end, a
// passage that is new, or one that is gone. With more edits of the same seed the copy says less of the same.
func edited(own []string, kind, n int, seed uint64) []string {
	p := newProse(seed)
	at := p.IntN(len(own) / 4)
	fresh := p.words(2 * len(own))
	switch kind {
	case 0:
		copied := slices.Clone(own)
		for i, at := range p.Perm(len(own))[:min(n, len(own))] {
			copied[at] = fresh[i]
		}
		return copied
	case 1:
		n = min(n, len(own))
		return slices.Concat(own[:len(own)-n], fresh[:n])
	case 2:
		return slices.Concat(own[:at], fresh[:min(n, len(fresh))], own[at:])
	default:
		return slices.Concat(own[:at], own[min(at+n, len(own)):])
	}
}

// jaccard returns the share of the runs of four words that two texts have in common.
func jaccard(a, b []string) float64 {
	runs := func(words []string) map[[4]string]bool {
		set := map[[4]string]bool{}
		for i := range len(words) - 3 {
			set[[4]string(words[i:])] = true
		}
		return set
	}
	in, of := runs(a), runs(b)
	both := 0
	for run := range in {
		if of[run] {
			both++
		}
	}
	return float64(both) / float64(len(in)+len(of)-both)
}

// copied returns a copy of a text that has at least a Jaccard similarity with it, and hardly more.
func (p prose) copied(own []string, least float64) []string {
	kind, seed := p.IntN(4), p.Uint64()
	n := sort.Search(2*len(own), func(n int) bool { return jaccard(own, edited(own, kind, n+1, seed)) < least })
	return edited(own, kind, n, seed)
}

// group groups texts.
func group(t testing.TB, texts []string) []int32 {
	t.Helper()
	var raw []byte
	for _, said := range texts {
		sig := text.Sign(said)
		raw = append(raw, sig[:]...)
	}
	cluster, err := text.Clusters(t.Context(), bytes.NewReader(raw), len(texts), func(i int32) (text.Runs, error) {
		return text.RunsOf(texts[i]), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// TestNearDuplicates plants edited copies of texts of 100 to 1,600 words, as many in each of the ranges of their
// Jaccard similarity. Half of the copies are near-duplicates, and a quarter is close to the bound.
func TestNearDuplicates(t *testing.T) {
	ranges := []float64{.4, .6, .7, .75, .78, .8, .82, .85, .9, .95, 1}
	const each = 50
	type pair struct {
		at   int // the text; its copy comes next
		same float64
	}
	p := newProse(1)
	var texts []string
	var pairs []pair
	for r := range len(ranges) - 1 {
		for range each {
			own := p.words(100 << p.IntN(5))
			other := p.copied(own, ranges[r]+p.Float64()*(ranges[r+1]-ranges[r]))
			pairs = append(pairs, pair{len(texts), jaccard(own, other)})
			texts = append(texts, strings.Join(own, " "), strings.Join(other, " "))
		}
	}
	cluster := group(t, texts)
	planted, found, told := 0, 0, 0
	in, of := make([]int, len(ranges)), make([]int, len(ranges))
	for _, pair := range pairs {
		r, exactly := slices.BinarySearch(ranges, pair.same)
		if !exactly {
			r--
		}
		of[r]++
		if pair.same >= .8 {
			planted++
		}
		if cluster[pair.at] != cluster[pair.at+1] {
			continue
		}
		in[r]++
		if pair.same >= .8 {
			found++
		}
	}
	for i, first := range cluster {
		if int(first) != i {
			told++
		}
	}
	for r := range ranges {
		if of[r] > 0 {
			t.Logf("Jaccard from %.2f: %d of %d", ranges[r], in[r], of[r])
		}
	}
	said := fmt.Sprintf("recall %.4f of %d, precision %.4f of %d", float64(found)/float64(planted), planted, float64(found)/float64(told), told)
	t.Log(said)
	if planted < len(pairs)/3 || float64(found) < .98*float64(planted) || float64(found) < .99*float64(told) {
		t.Error(said)
	}
}

// TestVersionsAndTemplates groups texts that are near to the one before. Of texts of which each shares much with all
// others, but not enough, it groups only the copies.
func TestVersionsAndTemplates(t *testing.T) {
	p := newProse(2)
	const versions, filled = 8, 200
	said := p.words(400)
	var texts []string
	want := make([]int32, 0, versions+filled)
	for range versions {
		texts, want = append(texts, strings.Join(said, " ")), append(want, 0)
		said = p.copied(said, .82)
	}
	frame := p.words(400)
	for i := range filled {
		if i%10 == 9 { // a copy with one word more
			texts, want = append(texts, texts[len(texts)-1]+" more"), append(want, want[len(want)-1])
			continue
		}
		// each two have a Jaccard of some 0.72
		texts, want = append(texts, strings.Join(append(slices.Clone(frame), p.words(75)...), " ")), append(want, int32(len(want)))
	}
	if got := group(t, texts); !slices.Equal(got, want) {
		t.Errorf("the groups are %v\nwant %v", got, want)
	}
}

var benchTexts = flag.Int("text.pages", 10_000, "of how many pages BenchmarkDuplicates compares the texts")

// planted are texts of 300 words. Each fifth is an edited copy of the one before it, with a Jaccard similarity between
// 0.4 and 1. A text is made again whenever it is asked for.
type planted struct {
	vocabulary []string
	drawn      []int32 // ranks of words, as common as in a text
}

func newPlanted() *planted {
	p := newProse(3)
	all := &planted{}
	for n := range 300_001 {
		all.vocabulary = append(all.vocabulary, name(n+1))
	}
	for range 1 << 20 {
		all.drawn = append(all.drawn, int32(p.zipf.Uint64()))
	}
	return all
}

func (p *planted) text(i int) []string {
	const words = 300
	rng := rand.New(rand.NewPCG(uint64(i), 29))
	draw := func() string { return p.vocabulary[p.drawn[rng.IntN(len(p.drawn))]] }
	if i%5 != 4 {
		own := make([]string, words)
		for i := range own {
			own[i] = draw()
		}
		return own
	}
	copied := p.text(i - 1)
	same := .4 + .6*rng.Float64()
	lost := (words - 3) * (1 - same) / (1 + same) // runs
	if rng.IntN(2) == 0 {
		for i := words - int(lost); i < words; i++ {
			copied[i] = draw()
		}
		return copied
	}
	for range int(lost / 4) {
		copied[rng.IntN(words)] = draw()
	}
	return copied
}

// BenchmarkDuplicates plants texts and groups them, with the signatures in a file as the program does. It reports the
// texts signed and grouped per second, how many texts are read again, recall and precision, and the most memory:
// heap-B/page is the heap of the grouping with its garbage, and peak-MiB the whole process with the benchmark's own.
func BenchmarkDuplicates(b *testing.B) {
	all, n := newPlanted(), *benchTexts
	for b.Loop() {
		c := clock.Real()
		begun := c.Now()
		file, err := os.Create(filepath.Join(b.TempDir(), "signatures"))
		if err != nil {
			b.Fatal(err)
		}
		out := bufio.NewWriter(file)
		for i := range n {
			sig := text.Sign(strings.Join(all.text(i), " "))
			if _, err := out.Write(sig[:]); err != nil {
				b.Fatal(err)
			}
		}
		if err := out.Flush(); err != nil {
			b.Fatal(err)
		}
		signed := c.Now()
		runtime.GC()
		before, most, again := heap(), uint64(0), 0
		ctx, stop := context.WithCancel(b.Context())
		var watching sync.WaitGroup
		watching.Go(func() {
			for c.Sleep(ctx, 10*time.Millisecond) == nil {
				most = max(most, heap())
			}
		})
		cluster, err := text.Clusters(b.Context(), file, n, func(i int32) (text.Runs, error) {
			again++
			return text.RunsOf(strings.Join(all.text(int(i)), " ")), nil
		})
		stop()
		watching.Wait()
		if err := errors.Join(err, file.Close()); err != nil {
			b.Fatal(err)
		}
		grouped := c.Now()
		alike, found, told := 0, 0, 0
		for i, first := range cluster {
			if int(first) != i {
				told++
			}
			if i%5 == 4 && jaccard(all.text(i-1), all.text(i)) >= .8 {
				alike++
				if cluster[i] == cluster[i-1] {
					found++
				}
			}
		}
		b.ReportMetric(float64(n)/signed.Sub(begun).Seconds(), "signed/s")
		b.ReportMetric(float64(n)/grouped.Sub(signed).Seconds(), "grouped/s")
		b.ReportMetric(float64(again)/float64(n), "read-again/page")
		b.ReportMetric(float64(found)/float64(alike), "recall")
		b.ReportMetric(float64(found)/float64(told), "precision")
		b.ReportMetric(float64(most-before)/float64(n), "heap-B/page")
		b.ReportMetric(float64(most-before)/(1<<20), "heap-MiB")
		b.ReportMetric(float64(peak(b))/(1<<20), "peak-MiB")
	}
}

// heap returns the bytes of the heap, with what is garbage.
func heap() uint64 {
	var of runtime.MemStats
	runtime.ReadMemStats(&of)
	return of.HeapAlloc
}

// peak returns the most memory that this process had, in bytes.
func peak(b *testing.B) uint64 {
	self, err := procfs.Self()
	if err != nil {
		return 0
	}
	status, err := self.NewStatus()
	if err != nil {
		b.Error(err)
	}
	return status.VmHWM
}
