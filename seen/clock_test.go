package seen

import (
	"testing"

	"pgregory.net/rapid"

	"freshet/weburl"
)

// policies are all cache policies, by the name of their command-line form.
var policies = []struct {
	name string
	make func(size int) Policy
}{
	{"clock", func(size int) Policy { return NewClock(size) }},
}

func misses(p Policy, trace []weburl.Fingerprint) (n int) {
	for _, fp := range trace {
		if _, hit := p.Touch(fp, 0); !hit {
			n++
		}
	}
	return n
}

// The classic trace: LRU and CLOCK miss 10 times at k = 3 and 8 times at k = 4; with room for all,
// once for each of the five.
func TestClockTrace(t *testing.T) {
	trace := []weburl.Fingerprint{1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5}
	for size, want := range map[int]int{1: 12, 3: 10, 4: 8, 5: 5, 9: 5} {
		if got := misses(NewClock(size), trace); got != want {
			t.Errorf("size %d: %d misses, want %d", size, got, want)
		}
	}
}

// A ring of three, walked by hand: the mark of a new item is clear, a hit sets it, the hand clears
// marks on its way and rests behind the slot it filled.
func TestClockHand(t *testing.T) {
	c := NewClock(3)
	steps := []struct {
		fp  weburl.Fingerprint
		hit bool
	}{
		{1, false}, {2, false}, {3, false}, // [1 2 3], hand at 1
		{1, true},  // marks 1
		{4, false}, // clears 1, replaces 2: [1 4 3], hand at 3
		{4, true},  // marks 4
		{5, false}, // replaces 3: [1 4 5], hand at 1
		{6, false}, // replaces 1: [6 4 5], hand at 4
		{7, false}, // clears 4, replaces 5: [6 4 7], hand at 6
		{4, true},
		{8, false}, // replaces 6: [8 4 7]
		{6, false}, // clears 4, replaces 7
		{4, true},
	}
	for i, s := range steps {
		if _, hit := c.Touch(s.fp, 0); hit != s.hit {
			t.Fatalf("step %d: Touch(%d): hit %v, want %v", i, s.fp, hit, s.hit)
		}
	}
}

// slowClock is CLOCK as the paper says it, by linear search.
type slowClock struct {
	size  int
	items []weburl.Fingerprint
	marks []bool
	hand  int
}

func (c *slowClock) touch(fp weburl.Fingerprint) bool {
	for i, item := range c.items {
		if item == fp {
			c.marks[i] = true
			return true
		}
	}
	if len(c.items) < c.size {
		c.items, c.marks = append(c.items, fp), append(c.marks, false)
		return false
	}
	for c.marks[c.hand] {
		c.marks[c.hand] = false
		c.hand = (c.hand + 1) % c.size
	}
	c.items[c.hand] = fp
	c.hand = (c.hand + 1) % c.size
	return false
}

func TestClockIsTextbook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 12).Draw(t, "size")
		fast, slow := NewClock(size), &slowClock{size: size}
		// Few high bits and few low ones, so that chains get long and cross.
		fp := rapid.Custom(func(t *rapid.T) weburl.Fingerprint {
			return weburl.Fingerprint(rapid.IntRange(0, 5).Draw(t, "high")<<16 + rapid.IntRange(1, 4).Draw(t, "low"))
		})
		for i, fp := range rapid.SliceOfN(fp, 0, 300).Draw(t, "trace") {
			if _, hit := fast.Touch(fp, 0); hit != slow.touch(fp) {
				t.Fatalf("request %d: Touch(%v): hit %v", i, fp, hit)
			}
		}
	})
}

// What every policy must hold, whatever it forgets.
func TestPolicies(t *testing.T) {
	for _, p := range policies {
		t.Run(p.name, func(t *testing.T) {
			t.Run("never invents", func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					policy := p.make(rapid.IntRange(1, 20).Draw(t, "size"))
					lowest := map[weburl.Fingerprint]uint16{}
					for range rapid.IntRange(0, 200).Draw(t, "requests") {
						fp := weburl.Fingerprint(rapid.IntRange(1, 30).Draw(t, "fp"))
						depth := uint16(rapid.IntRange(0, 5).Draw(t, "depth"))
						before, known := lowest[fp]
						got, hit := policy.Touch(fp, depth)
						switch {
						case hit && !known:
							t.Fatalf("Touch(%v) hits what was never touched", fp)
						case hit && got < before:
							t.Fatalf("Touch(%v) = depth %d, lowest touched %d", fp, got, before)
						case !hit && got != depth:
							t.Fatalf("Touch(%v, %d) = depth %d on a miss", fp, depth, got)
						}
						if !known || depth < before {
							lowest[fp] = depth
						}
					}
				})
			})
			t.Run("holds what it was just given", func(t *testing.T) {
				policy := p.make(64)
				for fp := weburl.Fingerprint(1); fp < 1000; fp++ {
					policy.Touch(fp, 3)
					if lowest, hit := policy.Touch(fp, 1); !hit || lowest != 3 {
						t.Fatalf("Touch(%v) again = %d, %v; want 3, true", fp, lowest, hit)
					}
					if lowest, hit := policy.Touch(fp, 2); !hit || lowest != 1 {
						t.Fatalf("Touch(%v) a third time = %d, %v; want 1, true", fp, lowest, hit)
					}
				}
			})
			t.Run("misses each once where all fit", func(t *testing.T) {
				policy := p.make(1000)
				var trace []weburl.Fingerprint
				for i := range 5000 {
					trace = append(trace, weburl.Fingerprint(i*i%997+1))
				}
				distinct := map[weburl.Fingerprint]bool{}
				for _, fp := range trace {
					distinct[fp] = true
				}
				if got := misses(policy, trace); got != len(distinct) {
					t.Errorf("%d misses, want %d", got, len(distinct))
				}
			})
			t.Run("does not allocate", func(t *testing.T) {
				policy := p.make(100)
				fp := weburl.Fingerprint(0)
				if n := testing.AllocsPerRun(1000, func() {
					fp = fp%300 + 1
					policy.Touch(fp, 0)
				}); n != 0 {
					t.Errorf("Touch allocates %v times", n)
				}
			})
		})
	}
}

func TestNewClockPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("NewClock(0) does not panic")
		}
	}()
	NewClock(0)
}
