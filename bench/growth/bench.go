package growth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"freshet/clock"
	"freshet/lab"
	"freshet/weburl"
)

// The ways to test.
const (
	byFreshet = "freshet"
	bySorted  = "pebble, sorted batches"
	byGet     = "pebble, a get a URL"
	byGetAll  = "pebble, a get a URL, no cache before it"
)

// bench is a run under way.
type bench struct {
	*parameters
	out     *lab.Result
	folder  string // of the sets
	freshet *freshet
	rival   rival
	links   []weburl.Link // reused
	known   uint64
	before  int64   // bytes of heap without the set
	chase   float64 // ns
	found   []finding
}

// finding is the result of one way of testing on one stream.
type finding struct {
	known       uint64
	way, stream string
	urls        int
	used, spent time.Duration // of the processor; by the wall clock
}

// rate returns URLs a second of the processor's time.
func (f finding) rate() float64 { return float64(f.urls) / f.used.Seconds() }

// measure adds URLs until that many are known, and tries all streams in all ways.
func (b *bench) measure(ctx context.Context, known uint64) error {
	if err := b.grow(ctx, known); err != nil {
		return err
	}
	for _, name := range []string{"recent", "uniform"} {
		reads := b.freshet.test.Stats().Reads
		f, err := b.try(ctx, byFreshet, name, b.urls, known, b.freshet.ask)
		if err != nil {
			return err
		}
		reads = b.freshet.test.Stats().Reads - reads
		b.add(f, "delay_p99_s", b.freshet.delay(), "reads_per_url", float64(reads)/float64(f.urls))
	}
	if !b.pebble {
		return nil
	}
	return b.measureRival(ctx, known)
}

// grow adds URLs to the test until that many are known, and records the size of the set.
func (b *bench) grow(ctx context.Context, known uint64) error {
	f := finding{known: known, way: byFreshet, stream: "new", urls: int(known - b.known)}
	if err := b.pass(ctx, &f, &inOrder{b.known}, b.freshet.ask); err != nil {
		return err
	}
	b.known = known
	stats := b.freshet.test.Stats()
	n := float64(stats.Known)
	b.add(f, "delay_p99_s", b.freshet.delay(),
		"filter_bytes_per_url", float64(stats.HeadBytes)/n,
		"memory_bytes_per_url", b.memory(),
		"disk_bytes_per_url", float64(stats.DiskBytes)/n,
		"peak_disk_bytes_per_url", float64(stats.PeakBytes)/n,
		"written_per_byte_kept", float64(stats.Written)/float64(stats.DiskBytes),
		"runs", stats.Runs)
	return nil
}

// memory returns the bytes of memory that the test takes for each URL that it knows, buffers included.
func (b *bench) memory() float64 {
	clear(b.links)
	b.freshet.verdicts = nil
	stats := b.freshet.test.Stats()
	return float64(heap()-b.before) / float64(stats.Known)
}

// slower is how many times shorter the streams of the database are, because it takes longer.
const slower = 8

// measureRival adds URLs to the database until that many are known, and tries all streams in all its ways. Each way
// has its own new URLs. The test is closed meanwhile, so that the database has all memory of the machine.
func (b *bench) measureRival(ctx context.Context, known uint64) (err error) {
	if err := b.freshet.close(); err != nil {
		return err
	}
	if err := b.rival.open(known); err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, b.rival.close()); err == nil {
			b.freshet, err = openFreshet(b.folder, defaultBuffer)
		}
	}()
	if err := b.rival.grow(ctx, known); err != nil {
		return err
	}
	fresh := known
	for _, way := range []struct {
		name    string
		entries int
		decide  func([]weburl.Fingerprint) error
	}{{bySorted, cacheEntries(), b.rival.sorted}, {byGet, cacheEntries(), b.rival.get}, {byGetAll, 1, b.rival.get}} {
		for _, name := range []string{"recent", "uniform"} {
			fresh += uint64(b.urls)
			f, err := b.try(ctx, way.name, name, b.urls/slower, fresh, batches(way.entries, drainLinks(known), way.decide))
			if err != nil {
				return err
			}
			b.add(f)
		}
	}
	return nil
}

// try asks about that many URLs of a stream. New URLs begin with number fresh. URLs that warm the cache up first do
// not count.
func (b *bench) try(ctx context.Context, way, name string, urls int, fresh uint64, ask func([]weburl.Link) error) (finding, error) {
	s := newStream(name, b.known, fresh, b.seed)
	warm := finding{known: b.known, way: way, stream: name, urls: 2 * recentURLs}
	if err := b.pass(ctx, &warm, s, ask); err != nil {
		return finding{}, err
	}
	b.freshet.delays = nil
	f := finding{known: b.known, way: way, stream: name, urls: urls}
	return f, b.pass(ctx, &f, s, ask)
}

// pass asks about the next URLs of a stream, and counts the time of that.
func (b *bench) pass(ctx context.Context, f *finding, s stream, ask func([]weburl.Link) error) error {
	real := clock.Real()
	for done := 0; done < f.urls; done += len(b.links) {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.out.Progress(fmt.Sprintf("%s, %d known, %s", f.way, f.known, f.stream), done, f.urls)
		b.links = b.links[:min(chunk, f.urls-done)]
		for i := range b.links {
			b.links[i] = madeUp(s.next())
		}
		began := real.Now()
		before := clock.Processor()
		if err := ask(b.links); err != nil {
			return err
		}
		used := clock.Processor()
		f.used += used - before
		f.spent += real.Now().Sub(began)
	}
	return nil
}

// add notes a finding, and makes a row of it and of what else is known.
func (b *bench) add(f finding, more ...any) {
	b.found = append(b.found, f)
	b.row(f, more...)
}

// row makes a row of a finding and of what else is known.
func (b *bench) row(f finding, more ...any) {
	b.out.Row(append([]any{"known", int(f.known), "by", f.way, "stream", f.stream,
		"urls_per_processor_s", f.rate(), "urls_per_s", float64(f.urls) / f.spent.Seconds(),
		"pointer_chases_per_url", 1e9 / f.rate() / b.chase}, more...)...)
}

// heap returns the bytes of live memory. It collects twice: pooled memory, such as the database's buffers after its
// end, survives one collection but not two.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// pointerChase returns the nanoseconds of a load from memory that must wait for the one before it, by
// the processor's time.
func pointerChase() float64 {
	const size, steps = 1 << 25, 1 << 21 // 128 MiB
	next := make([]uint32, size)
	for i := range next {
		next[i] = uint32(i)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for i := size - 1; i > 0; i-- { // one cycle through all (Sattolo)
		j := rng.IntN(i)
		next[i], next[j] = next[j], next[i]
	}
	before := clock.Processor()
	at := uint32(0)
	for range steps {
		at = next[at]
	}
	after := clock.Processor()
	runtime.KeepAlive(at)
	return float64((after - before).Nanoseconds()) / steps
}
