package seen

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"freshet/clock"
	"freshet/weburl"
)

// The benchmarks ask about made-up URLs, as many as FRESHET_SEEN_KNOWN says being known (default 1
// million), in two streams:
//
//	recent   70 % repeat one of the last 16,384 URLs of the stream; of the others six in ten are known
//	         and four are new
//	uniform  all are known, drawn uniformly
//
// For 100 million, which takes some minutes and 2 GB of disk below TMPDIR:
//
//	FRESHET_SEEN_KNOWN=100000000 go test ./seen -run '^$' -bench Test/ -benchtime 4000000x -timeout 1h
const (
	pageLinks  = 50
	chunk      = 4000 * pageLinks // links that are made before the clock runs
	recentURLs = 1 << 14
)

func benchKnown(b *testing.B) uint64 {
	text, set := os.LookupEnv("FRESHET_SEEN_KNOWN")
	if !set {
		return 1_000_000
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		b.Fatal("FRESHET_SEEN_KNOWN: ", err)
	}
	return n
}

// madeUp returns a link to the n-th URL of a web of 4,096 sites.
func madeUp(n uint64) weburl.Link {
	path := rand.NewPCG(n, 3).Uint64()
	text := make([]byte, 0, 80)
	text = strconv.AppendUint(append(text, "https://www.site"...), n%4096, 10)
	text = strconv.AppendUint(append(text, ".test/section/"...), path%97, 10)
	text = strconv.AppendUint(append(text, "/an-article-about-something-"...), n, 36)
	u, err := weburl.Parse(string(append(text, ".html"...)))
	if err != nil {
		panic(err)
	}
	return weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Depth: uint16(path>>32%12) + 1}
}

// stream makes the links of a stream.
type stream struct {
	name   string
	rng    *rand.Rand
	known  uint64   // URLs below this are known
	recent []uint64 // the last of the stream
	n      int
}

func newStream(name string, known uint64) *stream {
	return &stream{name: name, rng: rand.New(rand.NewPCG(1, 2)), known: known, recent: make([]uint64, 0, recentURLs)}
}

func (s *stream) next() uint64 {
	if s.name == "uniform" {
		return s.rng.Uint64N(s.known)
	}
	if len(s.recent) == recentURLs && s.rng.IntN(10) < 7 {
		return s.recent[s.rng.IntN(recentURLs)]
	}
	url := s.rng.Uint64N(s.known)
	if s.rng.IntN(10) < 4 {
		url = s.known
		s.known++
	}
	if len(s.recent) < recentURLs {
		s.recent = append(s.recent, url)
	} else {
		s.recent[s.n%recentURLs] = url
	}
	s.n++
	return url
}

func (s *stream) fill(links []weburl.Link) {
	for i := range links {
		links[i] = madeUp(s.next())
	}
}

// fillTest makes a test know the first n URLs.
func fillTest(b *testing.B, test *Test, n uint64) {
	err := test.Rebuild(func(yield func(weburl.Link) bool) {
		for i := range n {
			if !yield(madeUp(i)) {
				return
			}
		}
	}, nil)
	if err == nil {
		err = test.set.Settle()
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkTest is the whole test, with what it writes, on one processor. An op is a URL. cpu-urls/s
// counts the process's time on the processor, that of merges included, and not the time it waits for a
// machine that has other work. delay-ms is how long an answer takes at the 99th percentile, at full
// load.
func BenchmarkTest(b *testing.B) {
	known := benchKnown(b)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	before := heap()
	test, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer test.Close()
	fillTest(b, test, known)
	filled := test.Stats()
	memory := heap() - before
	chase := pointerChase(b)
	runtime.GOMAXPROCS(1)
	for _, name := range []string{"recent", "uniform"} {
		b.Run(fmt.Sprintf("known=%d/stream=%s", known, name), func(b *testing.B) {
			s := newStream(name, known)
			links := make([]weburl.Link, chunk)
			run := benchRun{test: test, clock: clock.Real()}
			start := test.Stats()
			run.offer(b, s, links[:min(chunk, 2*recentURLs)]) // the cache is warm
			run.used, run.spent, run.delays = 0, 0, nil
			for done := 0; done < b.N; done += len(links) {
				links = links[:min(chunk, b.N-done)]
				run.offer(b, s, links)
			}
			stats := test.Stats()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(b.N)/run.spent.Seconds(), "urls/s")
			b.ReportMetric(float64(b.N)/run.used.Seconds(), "cpu-urls/s")
			b.ReportMetric(run.used.Seconds()*1e9/float64(b.N)/chase, "pointer-chases/url")
			b.ReportMetric(float64(memory)/float64(known), "bytes/url")
			b.ReportMetric(float64(filled.HeadBytes)/float64(filled.Known), "filter-bytes/url")
			b.ReportMetric(float64(stats.DiskBytes)/float64(stats.Known), "disk-bytes/url")
			b.ReportMetric(float64(stats.PeakBytes)/float64(stats.Known), "peak-disk-bytes/url")
			b.ReportMetric(float64(filled.Written)/float64(filled.DiskBytes), "write-amplification")
			b.ReportMetric(float64(stats.Reads-start.Reads)/float64(b.N), "reads/url")
			slices.Sort(run.delays)
			b.ReportMetric(float64(run.delays[len(run.delays)*99/100].Microseconds())/1e3, "delay-ms")
		})
	}
	b.Logf("pointer chase %.0f ns; %s%+v", chase, test.set, test.Stats())
}

// benchRun offers links as a crawler does, page by page, and drains whenever that is due.
type benchRun struct {
	test        *Test
	clock       *clock.Clock
	verdicts    []Verdict
	offered     uint64
	waiting     []time.Time // when the pages that wait for a Drain were offered
	delays      []time.Duration
	spent, used time.Duration // wall clock, processor
}

func (r *benchRun) offer(b *testing.B, s *stream, links []weburl.Link) {
	s.fill(links)
	began, before := r.clock.Now(), processorTime(b)
	for len(links) > 0 {
		page := links[:min(pageLinks, len(links))]
		links = links[len(page):]
		now := r.clock.Now()
		err := r.test.Offer(Mark{}, page, now)
		r.waiting = append(r.waiting, now)
		if err != nil || r.test.Due(now) || len(links) == 0 {
			err = r.drain()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	r.spent += r.clock.Now().Sub(began)
	r.used += processorTime(b) - before
}

func (r *benchRun) drain() (err error) {
	if r.verdicts, _, err = r.test.Drain(r.verdicts[:0]); err != nil {
		return err
	}
	now := r.clock.Now()
	for _, offered := range r.waiting {
		r.delays = append(r.delays, now.Sub(offered))
	}
	r.waiting = r.waiting[:0]
	return r.test.Keep()
}

// heap returns the bytes of live memory.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// pointerChase returns the nanoseconds of a load from memory that must wait for the one before it, by
// the processor's time.
func pointerChase(b testing.TB) float64 {
	const size, steps = 1 << 26, 1 << 22 // 256 MiB
	next := make([]uint32, size)
	for i := range next {
		next[i] = uint32(i)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for i := size - 1; i > 0; i-- { // one cycle through all (Sattolo)
		j := rng.IntN(i)
		next[i], next[j] = next[j], next[i]
	}
	before := processorTime(b)
	at := uint32(0)
	for range steps {
		at = next[at]
	}
	used := processorTime(b) - before
	runtime.KeepAlive(at)
	return float64(used.Nanoseconds()) / steps
}

// processorTime returns the processor time that this process has used.
func processorTime(b testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkPebble is the same work done by a Pebble database behind the same cache: by sorted batches
// and a filter, and by one Get a URL. Its cache of blocks has two bytes a known URL, and its memtables.
func BenchmarkPebble(b *testing.B) {
	known := benchKnown(b)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const memtable = 16 << 20
	db, err := pebble.Open(b.TempDir(), &pebble.Options{
		CacheSize: 2*int64(known) + 2*memtable, MemTableSize: memtable,
		Levels: func() (levels [7]pebble.LevelOptions) {
			for i := range levels {
				levels[i].FilterPolicy = bloom.FilterPolicy(10)
			}
			return levels
		}(),
		Comparer: wholeKeys(),
		Logger:   quiet{},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	peer := pebblePeer{db: db}
	for n := uint64(0); n < known; n += 1 << 16 {
		peer.fresh = peer.fresh[:0]
		for i := n; i < min(known, n+1<<16); i++ {
			peer.fresh = append(peer.fresh, madeUp(i).Fingerprint)
		}
		if err := peer.insert(); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Compact(b.Context(), []byte{}, slices.Repeat([]byte{255}, 9), true); err != nil {
		b.Fatal(err)
	}
	runtime.GOMAXPROCS(1)
	for _, way := range []struct {
		name   string
		decide func([]weburl.Fingerprint) error
	}{{"sorted", peer.sorted}, {"get", peer.get}} {
		for _, name := range []string{"recent", "uniform"} {
			b.Run(fmt.Sprintf("known=%d/stream=%s/by=%s", known, name, way.name), func(b *testing.B) {
				s := newStream(name, known)
				links := make([]weburl.Link, min(chunk, b.N))
				cache := newRecent(1 << 16)
				var batch []weburl.Fingerprint
				var used time.Duration
				for done := 0; done < b.N; done += len(links) {
					links = links[:min(len(links), b.N-done)]
					s.fill(links)
					before := processorTime(b)
					for i := range links {
						if !cache.settles(links[i].Fingerprint, links[i].Depth) {
							batch = append(batch, links[i].Fingerprint)
						}
						if len(batch) == 1<<16 || i == len(links)-1 {
							if err := way.decide(batch); err != nil {
								b.Fatal(err)
							}
							batch = batch[:0]
						}
					}
					used += processorTime(b) - before
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(b.N)/used.Seconds(), "cpu-urls/s")
			})
		}
	}
	size, err := db.EstimateDiskUsage([]byte{0}, slices.Repeat([]byte{255}, 9))
	b.Logf("%.1f bytes of disk a URL, %v; cache %+v", float64(size)/float64(known), err, db.Metrics().BlockCache)
}

// pebblePeer is a set of fingerprints in a Pebble database.
type pebblePeer struct {
	db    *pebble.DB
	fresh []weburl.Fingerprint
	key   [8]byte
}

func (p *pebblePeer) set(fp weburl.Fingerprint) []byte {
	for i := range p.key {
		p.key[i] = byte(fp >> (56 - 8*i))
	}
	return p.key[:]
}

// sorted looks a batch up by one iterator, in order.
func (p *pebblePeer) sorted(batch []weburl.Fingerprint) error {
	slices.Sort(batch)
	batch = slices.Compact(batch)
	it, err := p.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return err
	}
	p.fresh = p.fresh[:0]
	for _, fp := range batch {
		if !it.SeekPrefixGE(p.set(fp)) {
			p.fresh = append(p.fresh, fp)
		}
	}
	return errors.Join(it.Close(), p.insert())
}

// get looks a batch up one by one.
func (p *pebblePeer) get(batch []weburl.Fingerprint) error {
	p.fresh = p.fresh[:0]
	for _, fp := range batch {
		_, closer, err := p.db.Get(p.set(fp))
		switch {
		case errors.Is(err, pebble.ErrNotFound):
			p.fresh = append(p.fresh, fp)
		case err != nil:
			return err
		default:
			if err := closer.Close(); err != nil {
				return err
			}
		}
	}
	return p.insert()
}

func (p *pebblePeer) insert() error {
	b := p.db.NewBatch()
	slices.Sort(p.fresh)
	for _, fp := range p.fresh {
		if err := b.Set(p.set(fp), nil, nil); err != nil {
			return err
		}
	}
	return b.Commit(pebble.Sync)
}

// wholeKeys makes every key its own prefix, as filters and SeekPrefixGE want it.
func wholeKeys() *pebble.Comparer {
	c := *pebble.DefaultComparer
	c.Name = "freshet.bench"
	c.Split = func(key []byte) int { return len(key) }
	return &c
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(strings.TrimSpace(format), args...))
}
