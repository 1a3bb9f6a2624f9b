package cache

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"freshet/seen"
	"freshet/weburl"
)

// The policies as their papers say them, by linear search in short slices; each reports a hit.
var textbook = map[string]func(size int) func(fp weburl.Fingerprint) bool{
	"clock":   textbookClock,
	"lru":     textbookLRU,
	"sieve":   textbookSieve,
	"s3-fifo": textbookS3FIFO,
}

func TestTextbook(t *testing.T) {
	for _, name := range Names() {
		slow := textbook[name]
		if slow == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				size := rapid.IntRange(1, 25).Draw(t, "size")
				fast, err := New(name, size, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				touch := slow(size)
				for i, fp := range drawTrace(t) {
					if _, hit := fast.Touch(fp); hit != touch(fp) {
						t.Fatalf("request %d: Touch(%v): hit %v", i, fp, hit)
					}
				}
			})
		})
	}
}

func textbookClock(size int) func(weburl.Fingerprint) bool {
	var items []weburl.Fingerprint
	marks := make([]bool, size)
	hand := 0
	return func(fp weburl.Fingerprint) bool {
		if i := slices.Index(items, fp); i >= 0 {
			marks[i] = true
			return true
		}
		if len(items) < size {
			items = append(items, fp)
			return false
		}
		for marks[hand] {
			marks[hand] = false
			hand = (hand + 1) % size
		}
		items[hand] = fp
		hand = (hand + 1) % size
		return false
	}
}

func textbookLRU(size int) func(weburl.Fingerprint) bool {
	var items []weburl.Fingerprint // newest last
	return func(fp weburl.Fingerprint) bool {
		i := slices.Index(items, fp)
		if i >= 0 {
			items = slices.Delete(items, i, i+1)
		} else if len(items) == size {
			items = items[1:]
		}
		items = append(items, fp)
		return i >= 0
	}
}

func textbookSieve(size int) func(weburl.Fingerprint) bool {
	var items []weburl.Fingerprint // newest last
	marked := map[weburl.Fingerprint]bool{}
	hand := 0
	return func(fp weburl.Fingerprint) bool {
		if slices.Contains(items, fp) {
			marked[fp] = true
			return true
		}
		if len(items) == size {
			for marked[items[hand]] {
				marked[items[hand]] = false
				hand = (hand + 1) % size
			}
			items = slices.Delete(items, hand, hand+1)
			if hand == len(items) {
				hand = 0
			}
			// The new item lies beyond the hand that passed the newest: it starts at the oldest again.
		}
		items = append(items, fp)
		return false
	}
}

// The notes' S3-FIFO: small a tenth, ghost as many as main, out of small into main with a count above 1.
func textbookS3FIFO(size int) func(weburl.Fingerprint) bool {
	smallSize := max(size/10, 1)
	ghostSize := max(size-smallSize, 1)
	var small, main, ghost []weburl.Fingerprint // newest last
	counts := map[weburl.Fingerprint]int{}
	pop := func(q *[]weburl.Fingerprint) weburl.Fingerprint {
		fp := (*q)[0]
		*q = (*q)[1:]
		return fp
	}
	remember := func(fp weburl.Fingerprint) {
		ghost = append(ghost, fp)
		if len(ghost) > ghostSize {
			pop(&ghost)
		}
	}
	evict := func() {
		for len(small) >= smallSize {
			fp := pop(&small)
			if counts[fp] <= 1 {
				remember(fp)
				return
			}
			counts[fp] = 0
			main = append(main, fp)
		}
		for {
			fp := pop(&main)
			if counts[fp] == 0 {
				return
			}
			counts[fp]--
			main = append(main, fp)
		}
	}
	return func(fp weburl.Fingerprint) bool {
		if slices.Contains(small, fp) || slices.Contains(main, fp) {
			counts[fp] = min(counts[fp]+1, 3)
			return true
		}
		again := slices.Contains(ghost, fp)
		if again {
			ghost[slices.Index(ghost, fp)] = 0 // recalled; its place in the queue stays
		}
		if len(small)+len(main) == size {
			evict()
		}
		counts[fp] = 0
		if again {
			main = append(main, fp)
		} else {
			small = append(small, fp)
		}
		return false
	}
}

// A ring of three, walked by hand: the mark of a new item is clear, a hit sets it, the hand clears
// marks on its way and rests behind the slot it filled.
func TestClockHand(t *testing.T) {
	c := NewClock(3)
	for i, step := range []struct {
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
	} {
		if _, hit := c.Touch(step.fp); hit != step.hit {
			t.Fatalf("step %d: Touch(%v): hit %v, want %v", i, step.fp, hit, step.hit)
		}
	}
}

// A set is a CLOCK of eight; and what other sets are asked for does not concern it.
func TestSetIsClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := rapid.IntRange(1, 5).Draw(t, "sets")
		fast, slow := seen.NewSetClock(8*sets), make([]func(weburl.Fingerprint) bool, sets)
		for i := range slow {
			slow[i] = textbookClock(8)
		}
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 60), 0, 600).Draw(t, "trace") {
			fp := spread(n)
			slot, hit := fast.Touch(fp)
			if hit != slow[slot/8](fp) {
				t.Fatalf("request %d: Touch(%v): hit %v", i, fp, hit)
			}
		}
	})
}

// Items that are requested often stay during a scan of items that are requested once.
func TestTinyLFUResistsScans(t *testing.T) {
	c := NewTinyLFU(100)
	for range 5 {
		for n := range 90 {
			c.Touch(spread(n))
		}
	}
	for n := range 1000 {
		c.Touch(spread(1000 + n))
	}
	kept := 0
	for n := range 90 {
		if _, hit := c.Touch(spread(n)); hit {
			kept++
		}
	}
	if kept < 60 {
		t.Errorf("%d of 90 are left after a scan", kept)
	}
}

// Estimates are never too low before the first halving, and halve then.
func TestSketch(t *testing.T) {
	s := newSketch(64)
	for n := range 20 {
		for range n {
			s.count(spread(n))
		}
	}
	for n := range 20 {
		if got := s.estimate(spread(n)); int(got) < min(n, maxCount) || got > maxCount {
			t.Errorf("estimate of what was counted %d times: %d", n, got)
		}
	}
	for s.until > 1 {
		s.count(spread(19))
	}
	s.count(spread(19))
	if got := s.estimate(spread(19)); got != maxCount/2 {
		t.Errorf("halved from %d: %d", maxCount, got)
	}
}
