package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"freshet/weburl"
)

// make returns a policy by its name.
func build(t testing.TB, name string, size int, trace []weburl.Fingerprint) Policy {
	t.Helper()
	p, err := New(name, size, trace, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// spread makes a good hash of a small number, as fingerprints are.
func spread(n int) weburl.Fingerprint {
	return weburl.Fingerprint(rand.NewPCG(uint64(n), 1).Uint64() | 1)
}

// online are the policies that admit everything and keep to their size.
func online() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return Offline(name) || name == "infinite" })
}

// drawTrace draws requests for few fingerprints, whose hashes meet in chains and sets, or for spread ones.
func drawTrace(t *rapid.T) []weburl.Fingerprint {
	hash := spread
	if rapid.Bool().Draw(t, "meet") {
		hash = func(n int) weburl.Fingerprint { return weburl.Fingerprint(n%3<<16 + n + 1) }
	}
	return rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 40), hash), 0, 400).Draw(t, "trace")
}

// The slots of every policy tell what it holds. A miss admits a fingerprint to a slot; it stays there until another
// miss returns the same slot. No item leaves while a slot is empty.
func TestSlotsTellWhatIsHeld(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				trace := drawTrace(t)
				p, err := New(name, rapid.IntRange(1, 30).Draw(t, "size"), trace, rand.New(rand.NewPCG(1, 2)))
				if err != nil {
					t.Fatal(err)
				}
				slots, tenants := map[weburl.Fingerprint]int{}, map[int]weburl.Fingerprint{}
				if name == "static" {
					for _, fp := range MostRequested(trace, p.Slots()) {
						slots[fp], _ = p.Touch(fp)
					}
				}
				for i, fp := range trace {
					slot, hit := p.Touch(fp)
					was, held := slots[fp]
					switch {
					case hit != held:
						t.Fatalf("request %d: Touch(%v): hit %v, held %v", i, fp, hit, held)
					case hit && slot != was:
						t.Fatalf("request %d: Touch(%v) = slot %d, it was in %d", i, fp, slot, was)
					case name == "static" && !hit && slot == -1:
						continue
					case slot < 0 || slot >= p.Slots():
						t.Fatalf("request %d: Touch(%v) = slot %d of %d", i, fp, slot, p.Slots())
					}
					if old, taken := tenants[slot]; taken && !hit {
						if len(tenants) < p.Slots() && name != "clock-set" {
							t.Fatalf("request %d: Touch(%v) replaces %v with %d of %d slots in use", i, fp, old, len(tenants), p.Slots())
						}
						delete(slots, old)
					}
					slots[fp], tenants[slot] = slot, fp
				}
			})
		})
	}
}

// The notes' trace, at two sizes and where all fit. CLOCK, LRU and MIN miss there as often as the notes
// say; for the others the counts were made by hand.
func TestSmallTrace(t *testing.T) {
	trace := []weburl.Fingerprint{1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5}
	want := map[string][3]int{ // at sizes 3, 4 and 5
		"clock": {10, 8, 5}, "lru": {10, 8, 5}, "min": {7, 6, 5}, "infinite": {5, 5, 5},
	}
	for name, counts := range want {
		for i, size := range []int{3, 4, 5} {
			if got := Misses(build(t, name, size, trace), trace); got != counts[i] {
				t.Errorf("%s of %d: %d misses, want %d", name, size, got, counts[i])
			}
		}
	}
	// 1 and 2 are asked for three times, the others twice: the first three are 1, 2, 3.
	if got := Misses(build(t, "static", 3, trace), trace); got != 4 {
		t.Errorf("static of 3: %d misses, want 4", got)
	}
}

// Where all fit, nothing is missed but what comes for the first time.
func TestAllFit(t *testing.T) {
	trace := make([]weburl.Fingerprint, 5000)
	for i := range trace {
		trace[i] = spread(i * i % 997)
	}
	distinct := Misses(NewInfinite(), trace)
	for _, name := range append(online(), "min") {
		size := distinct
		if name == "clock-set" {
			size *= 4 // so that no set overflows
		}
		if got := Misses(build(t, name, size, trace), trace); got != distinct {
			t.Errorf("%s of %d: %d misses, want %d", name, size, got, distinct)
		}
	}
	if got := Misses(build(t, "static", distinct, trace), trace); got != 0 {
		t.Errorf("static of %d: %d misses, want 0, as it starts full", distinct, got)
	}
}

// No policy that admits everything misses less than MIN, and MIN, LRU and STATIC never miss more for
// being larger.
func TestMinIsLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := drawTrace(t)
		count := func(name string, size int) int {
			p, err := New(name, size, trace, rand.New(rand.NewPCG(1, 2)))
			if err != nil {
				t.Fatal(err)
			}
			return Misses(p, trace)
		}
		size := rapid.IntRange(1, 30).Draw(t, "size")
		for _, name := range online() {
			own := size
			if name == "clock-set" {
				own = (size + 7) / 8 * 8
			}
			if got, least := count(name, own), count("min", own); got < least {
				t.Errorf("%s of %d misses %d times, min %d", name, own, got, least)
			}
		}
		for _, name := range []string{"min", "lru", "static"} {
			if small, large := count(name, size), count(name, size+1); large > small {
				t.Errorf("%s of %d misses %d times, of %d %d", name, size, small, size+1, large)
			}
		}
		if got, distinct := count("min", 42), count("infinite", 1); got != distinct {
			t.Errorf("min of 42 misses %d times for %d fingerprints", got, distinct)
		}
	})
}

func TestTouchDoesNotAllocate(t *testing.T) {
	for _, name := range online() {
		p := build(t, name, 100, nil)
		n := 0
		if allocs := testing.AllocsPerRun(1000, func() {
			n = n%300 + 1
			p.Touch(weburl.Fingerprint(n) << 14)
			p.Touch(weburl.Fingerprint(n) << 14)
		}); allocs != 0 {
			t.Errorf("%s: Touch allocates %v times", name, allocs)
		}
	}
}

func TestMostRequested(t *testing.T) {
	trace := []weburl.Fingerprint{7, 9, 9, 3, 3, 8}
	for n, want := range map[int][]weburl.Fingerprint{0: {}, 1: {3}, 3: {3, 9, 7}, 9: {3, 9, 7, 8}} {
		if got := MostRequested(trace, n); !slices.Equal(got, want) {
			t.Errorf("MostRequested(%d) = %v, want %v", n, got, want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for _, test := range []struct {
		name string
		size int
		want string
	}{
		{"lru", 0, "cache: size 0: want 1 to 2147483647"},
		{"lru", MaxSize + 1, "cache: size 2147483648: want 1 to 2147483647"},
		{"fifo", 5, `cache: policy "fifo": want one of clock, clock-set, lru, random, sieve, s3-fifo, w-tinylfu, static, min, infinite`},
	} {
		if _, err := New(test.name, test.size, nil, nil); err == nil || err.Error() != test.want {
			t.Errorf("New(%q, %d): %v, want %s", test.name, test.size, err, test.want)
		}
	}
}

func TestMinPanicsOffItsTrace(t *testing.T) {
	m := NewMin(1, Foresee([]weburl.Fingerprint{1, 2}))
	m.Touch(1)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	m.Touch(3)
}

// MIN misses as often as the best of all ways to choose whom to evict.
func TestMinIsExhaustive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fp := rapid.Map(rapid.IntRange(1, 6), func(n int) weburl.Fingerprint { return weburl.Fingerprint(n) })
		trace := rapid.SliceOfN(fp, 0, 12).Draw(t, "trace")
		size := rapid.IntRange(1, 4).Draw(t, "size")
		if got, want := Misses(NewMin(size, Foresee(trace)), trace), fewest(nil, size, trace); got != want {
			t.Errorf("%d misses, the best way has %d", got, want)
		}
	})
}

// fewest tries every victim of every miss.
func fewest(held []weburl.Fingerprint, size int, trace []weburl.Fingerprint) int {
	if len(trace) == 0 {
		return 0
	}
	fp, rest := trace[0], trace[1:]
	switch {
	case slices.Contains(held, fp):
		return fewest(held, size, rest)
	case len(held) < size:
		return 1 + fewest(append(slices.Clone(held), fp), size, rest)
	}
	best := len(trace)
	for i := range held {
		with := slices.Clone(held)
		with[i] = fp
		best = min(best, 1+fewest(with, size, rest))
	}
	return best
}

func BenchmarkTouch(b *testing.B) {
	const size = 1 << 16
	trace := repeats(4 << 20)
	for _, name := range online() {
		b.Run(fmt.Sprintf("policy=%s/size=%d", name, size), func(b *testing.B) {
			p := build(b, name, size, nil)
			missed := 0
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				if _, hit := p.Touch(trace[i&(len(trace)-1)]); !hit {
					missed++
				}
				i++
			}
			b.ReportMetric(float64(missed)/float64(i), "miss-ratio")
		})
	}
}

// BenchmarkHit requests only items that are held.
func BenchmarkHit(b *testing.B) {
	const size = 1 << 16
	trace := make([]weburl.Fingerprint, 1<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range trace {
		trace[i] = spread(rng.IntN(size / 2))
	}
	for _, name := range online() {
		b.Run(fmt.Sprintf("policy=%s/size=%d", name, size), func(b *testing.B) {
			p := build(b, name, size, nil)
			Misses(p, trace)
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				p.Touch(trace[i&(len(trace)-1)])
				i++
			}
		})
	}
}

// repeats returns a trace of n requests. About two thirds repeat a recent one, more often a nearer one.
func repeats(n int) []weburl.Fingerprint {
	rng := rand.New(rand.NewPCG(3, 4))
	trace := make([]weburl.Fingerprint, n)
	for i := range trace {
		back := int(rng.ExpFloat64() * rng.ExpFloat64() * 50_000)
		if back == 0 || back > i || rng.IntN(8) == 0 {
			trace[i] = spread(i)
			continue
		}
		trace[i] = trace[i-back]
	}
	return trace
}
