// Package refreshtest tests that a policy obeys the contract of refresh.Policy. Every policy and rival runs it.
package refreshtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"freshet/refresh"
)

const day = 86400.0

// slot is the time between two calls of Next.
const slot = day / 8

// Run tests the policy that make returns. make returns a new one each time, for a budget of eight crawls a day.
func Run(t *testing.T, make func() refresh.Policy) {
	t.Run("empty", func(t *testing.T) { empty(t, make()) })
	t.Run("early", func(t *testing.T) { early(t, make()) })
	t.Run("programming mistakes", func(t *testing.T) { mistakes(t, make()) })
	t.Run("a page that is out", func(t *testing.T) { out(t, make()) })
	t.Run("failures", func(t *testing.T) { failures(t, make()) })
	for seed := range uint64(5) {
		t.Run(fmt.Sprintf("a life of seed %d", seed), func(t *testing.T) {
			a, b := live(t, make(), seed), live(t, make(), seed)
			if !slices.Equal(a, b) {
				t.Error("two runs with the same seed differ")
			}
		})
	}
}

func page(i int, now float64) refresh.Page {
	return refresh.Page{Site: fmt.Sprintf("https://%d.example", i%3), Path: fmt.Sprintf("/%d/%d.html", i%7, i),
		Weight: 1 + float64(i%5), Fresh: now}
}

func empty(t *testing.T, p refresh.Policy) {
	if id, wake, ok := p.Next(5 * day); ok || !(wake > 5*day) {
		t.Errorf("without pages, page %d (%v), ask again at %v", id, ok, wake)
	}
	p.Add(3, page(3, 5*day))
	p.Remove(3)
	if id, _, ok := p.Next(100 * day); ok {
		t.Errorf("page %d, which is removed", id)
	}
	p.Add(3, page(3, 100*day)) // the number again
	p.Weigh(3, 0)
	p.Weigh(3, 2)
}

// early calls Next like a new crawl: before any page is known, and again at the moments when pages are added.
func early(t *testing.T, p refresh.Policy) {
	p.Next(0)
	const pages = 40
	for i := range pages {
		now := float64(i) * slot
		p.Add(refresh.ID(i), page(i, now))
		if id, _, ok := p.Next(now); ok {
			p.Visited(id, refresh.Visit{At: now, Outcome: refresh.Unchanged})
		}
	}
	visits := 0
	for now := pages * slot; now < 100*day; now += slot {
		if id, _, ok := p.Next(now); ok {
			p.Visited(id, refresh.Visit{At: now, Outcome: refresh.Unchanged})
			visits++
		}
	}
	if visits < pages {
		t.Errorf("%d visits to %d pages in 100 days", visits, pages)
	}
}

func mistakes(t *testing.T, p refresh.Policy) {
	p.Add(1, page(1, 0))
	for name, f := range map[string]func(){
		"added twice":     func() { p.Add(1, page(1, 0)) },
		"removed unknown": func() { p.Remove(7) },
		"weighed unknown": func() { p.Weigh(0, 1) },
		"visited unknown": func() { p.Visited(2, refresh.Visit{At: 1, Outcome: refresh.Changed}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// out holds pages out: none is handed out twice, and all that return are ranked.
func out(t *testing.T, p refresh.Policy) {
	const pages = 40
	for i := range pages {
		p.Add(refresh.ID(i), page(i, 0))
	}
	held := make(map[refresh.ID]bool)
	now := 100 * day
	for range 3 * pages {
		id, _, ok := p.Next(now)
		if now += slot; !ok {
			continue
		}
		if held[id] {
			t.Fatalf("page %d is out and handed out again", id)
		}
		held[id] = true
	}
	if len(held) == 0 {
		t.Fatal("no page is due after 100 days")
	}
	for id := range refresh.ID(pages) {
		if held[id] && id%2 == 0 {
			p.Remove(id)
		} else if held[id] {
			p.Visited(id, refresh.Visit{At: now, Outcome: refresh.Unchanged})
		}
	}
	for range 3 * pages {
		if id, _, ok := p.Next(now); ok && id%2 == 0 && held[id] {
			t.Fatalf("page %d, which was removed while it was out", id)
		}
		now += slot
	}
}

// failures fails every visit to one page. The other pages must still get their visits.
func failures(t *testing.T, p refresh.Policy) {
	const pages = 20
	for i := range pages {
		p.Add(refresh.ID(i), page(i, 0))
	}
	visits := make([]int, pages)
	first := refresh.ID(-1)
	for k := range 100 * 8 {
		now := 50*day + float64(k)*slot
		id, _, ok := p.Next(now)
		if !ok {
			continue
		}
		if first < 0 {
			first = id
		}
		outcome := refresh.Unchanged
		if id == first {
			outcome = refresh.Unknown
		}
		visits[id]++
		p.Visited(id, refresh.Visit{At: now, Outcome: outcome})
	}
	total := 0
	for _, n := range visits {
		total += n
	}
	if total-visits[first] < pages {
		t.Errorf("%d of %d visits went to a page that always fails", visits[first], total)
	}
}

// live runs pages that are added, removed and changed at random. It returns the visited pages.
func live(t *testing.T, p refresh.Policy, seed uint64) []refresh.ID {
	const pages = 200
	rng := rand.New(rand.NewPCG(seed, 1))
	alive := make([]bool, pages)
	visited := make([]float64, pages)
	var visits []refresh.ID
	begin := 1e9 * float64(seed%2) // since whenever
	for k := range 400 * 8 {
		now := begin + float64(k)*slot
		if i := rng.IntN(pages); k < pages || rng.IntN(40) == 0 {
			if alive[i] {
				p.Remove(refresh.ID(i))
			} else {
				p.Add(refresh.ID(i), page(i, now))
				visited[i] = now
			}
			alive[i] = !alive[i]
		}
		if i := rng.IntN(pages); alive[i] && rng.IntN(20) == 0 {
			p.Weigh(refresh.ID(i), rng.Float64())
		}
		id, wake, ok := p.Next(now)
		if !ok {
			if !(wake > now) {
				t.Fatalf("at %v: no page, and ask again at %v", now, wake)
			}
			continue
		}
		if id < 0 || int(id) >= pages || !alive[id] {
			t.Fatalf("at %v: page %d, which is not there", now, id)
		}
		visits = append(visits, id)
		rate := math.Exp2(float64(id%10)) / 512 / day
		v := refresh.Visit{At: now, Outcome: refresh.Unchanged}
		switch {
		case rng.IntN(20) == 0:
			v.Outcome = refresh.Unknown
		case rng.Float64() < -math.Expm1(-rate*(now-visited[id])):
			v.Outcome, v.Modified = refresh.Changed, visited[id]+rng.Float64()*(now-visited[id])
			visited[id] = now
		default:
			visited[id] = now
		}
		p.Visited(id, v)
	}
	if len(visits) < 100 {
		t.Errorf("%d visits in %d slots", len(visits), 400*8)
	}
	return visits
}
