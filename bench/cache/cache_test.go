package cache

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/dgraph-io/ristretto/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/maypok86/otter/v2"

	"freshet/clock"
	"freshet/lab/broder/cache"
	"freshet/seen/trace"
	"freshet/weburl"
)

// size is what every cache holds.
const size = 1 << 16

// touch asks a cache for fp, makes it hold fp, and says whether it did before.
type touch func(fp weburl.Fingerprint) (hit bool)

// contestants are all caches, ours first; the map forgets nothing.
var contestants = []struct {
	name string
	new  func(b *testing.B) touch
}{
	{"freshet-clock-set", ours("clock-set")},
	{"freshet-clock", ours("clock")},
	{"freshet-sieve", ours("sieve")},
	{"freshet-s3-fifo", ours("s3-fifo")},
	{"freshet-lru", ours("lru")},
	{"freshet-w-tinylfu", ours("w-tinylfu")},
	{"go-map", goMap},
	{"hashicorp-simplelru", hashicorpSimple},
	{"hashicorp-lru", hashicorp},
	{"otter", otterCache},
	{"ristretto", ristrettoCache},
}

func ours(name string) func(*testing.B) touch {
	return func(b *testing.B) touch {
		p, err := cache.New(name, size, nil, rand.New(rand.NewPCG(1, 2)))
		if err != nil {
			b.Fatal(err)
		}
		return func(fp weburl.Fingerprint) bool {
			_, hit := p.Touch(fp)
			return hit
		}
	}
}

func goMap(*testing.B) touch {
	m := make(map[weburl.Fingerprint]struct{}, size)
	return func(fp weburl.Fingerprint) bool {
		_, hit := m[fp]
		if !hit {
			m[fp] = struct{}{}
		}
		return hit
	}
}

// hashicorpSimple is the LRU without a lock, as ours are.
func hashicorpSimple(b *testing.B) touch {
	c, err := simplelru.NewLRU[weburl.Fingerprint, struct{}](size, nil)
	if err != nil {
		b.Fatal(err)
	}
	return func(fp weburl.Fingerprint) bool {
		_, hit := c.Get(fp)
		if !hit {
			c.Add(fp, struct{}{})
		}
		return hit
	}
}

func hashicorp(b *testing.B) touch {
	c, err := lru.New[weburl.Fingerprint, struct{}](size)
	if err != nil {
		b.Fatal(err)
	}
	return func(fp weburl.Fingerprint) bool {
		_, hit := c.Get(fp)
		if !hit {
			c.Add(fp, struct{}{})
		}
		return hit
	}
}

func otterCache(b *testing.B) touch {
	c, err := otter.New(&otter.Options[weburl.Fingerprint, struct{}]{MaximumSize: size})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.StopAllGoroutines() })
	return func(fp weburl.Fingerprint) bool {
		_, hit := c.GetIfPresent(fp)
		if !hit {
			c.Set(fp, struct{}{})
		}
		return hit
	}
}

func ristrettoCache(b *testing.B) touch {
	c, err := ristretto.NewCache(&ristretto.Config[uint64, struct{}]{NumCounters: 10 * size, MaxCost: size, BufferItems: 64, IgnoreInternalCost: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	return func(fp weburl.Fingerprint) bool {
		_, hit := c.Get(uint64(fp))
		if !hit {
			c.Set(uint64(fp), struct{}{}, 1)
		}
		return hit
	}
}

// BenchmarkHit asks for half of what fits, all of which is held.
func BenchmarkHit(b *testing.B) {
	requests := make([]weburl.Fingerprint, 1<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range requests {
		requests[i] = spread(rng.IntN(size / 2))
	}
	measure(b, requests)
}

// BenchmarkTrace asks for what a trace asks for.
func BenchmarkTrace(b *testing.B) { measure(b, readTrace(b)) }

// measure gives every cache the same requests. times-ours is what one costs by what it costs the first.
func measure(b *testing.B, requests []weburl.Fingerprint) {
	var ours float64
	for _, c := range contestants {
		b.Run("cache="+c.name, func(b *testing.B) {
			ask := c.new(b)
			misses := 0
			for _, fp := range requests {
				if !ask(fp) {
					misses++
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := clock.Processor() // all threads: a cache may leave work to others
			for i := range b.N {        // not b.Loop: its own cost is that of a hit
				ask(requests[i%len(requests)])
			}
			after := clock.Processor()
			cost := float64((after - before).Nanoseconds()) / float64(b.N)
			if c.name == contestants[0].name {
				ours = cost
			}
			b.ReportMetric(cost, "cpu-ns/op")
			if ours > 0 {
				b.ReportMetric(cost/ours, "times-ours")
			}
			b.ReportMetric(float64(misses)/float64(len(requests)), "miss-ratio")
		})
	}
}

func readTrace(b *testing.B) []weburl.Fingerprint {
	file := os.Getenv("FRESHET_TRACE")
	if file == "" {
		return repeats(1 << 22)
	}
	r, err := trace.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	requests, err := r.All()
	if err != nil {
		b.Fatal(err)
	}
	return requests
}

// repeats is a trace of n requests of which some two thirds repeat one of the last, the nearer the likelier.
func repeats(n int) []weburl.Fingerprint {
	rng := rand.New(rand.NewPCG(3, 4))
	requests := make([]weburl.Fingerprint, n)
	for i := range requests {
		back := int(rng.ExpFloat64() * rng.ExpFloat64() * 50_000)
		if back == 0 || back > i || rng.IntN(3) == 0 {
			requests[i] = spread(i)
			continue
		}
		requests[i] = requests[i-back]
	}
	return requests
}

// spread makes a good hash of a small number, as fingerprints are.
func spread(n int) weburl.Fingerprint {
	return weburl.Fingerprint(rand.NewPCG(uint64(n), 1).Uint64() | 1)
}
