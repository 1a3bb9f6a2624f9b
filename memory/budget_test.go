package memory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func open(t *testing.T, share, most int64) *Account {
	t.Helper()
	a, err := New(share).Open("bodies", share, most)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestShares(t *testing.T) {
	b := New(100)
	if _, err := b.Open("bodies", 60, 20); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open("pages", 60, 20); !errors.Is(err, ErrShare) {
		t.Errorf("a share of 60 beside one of 60 in 100: %v", err)
	}
	if _, err := b.Open("pages", 10, 20); !errors.Is(err, ErrShare) {
		t.Errorf("a share smaller than one holding: %v", err)
	}
	if err := b.Bound("cache", 40, func() int64 { return 7 }); err != nil {
		t.Fatal(err)
	}
	b.Count("beliefs", func() int64 { return 5 })
	u := b.Usage()
	if b.Left() != 0 || u.BudgetBytes != 100 || u.UsedBytes != 12 || fmt.Sprint(u.Names(), u.By["cache"]) != "[beliefs bodies cache] 7" {
		t.Errorf("%d left, usage %+v", b.Left(), u)
	}
}

// A large holding that waits is not passed by small ones, and gets the reserve.
func TestLargeDoesNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, 100, 60)
		small, other, large := a.Hold(), a.Hold(), a.Hold()
		if !small.TryGrow(40) || other.TryGrow(1) {
			t.Fatal("the common part is 40 bytes")
		}
		if err := large.Grow(t.Context(), 60); err != nil { // the reserve
			t.Fatal(err)
		}
		second := a.Hold()
		var order []string
		var wg sync.WaitGroup
		wg.Go(func() {
			if second.Grow(t.Context(), 50) == nil {
				order = append(order, "second")
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if other.Grow(t.Context(), 1) == nil {
				order = append(order, "other")
			}
		})
		synctest.Wait()
		small.Shrink(1)
		synctest.Wait()
		if len(order) != 0 || !a.Contended() {
			t.Errorf("%v were served before the large one that waited first", order)
		}
		large.Release()
		wg.Wait()
		if fmt.Sprint(order) != "[second other]" && fmt.Sprint(order) != "[other second]" || a.Used() != 39+50+1 {
			t.Errorf("served %v, used %d", order, a.Used())
		}
	})
}

func TestGrowBeyondMost(t *testing.T) {
	h := open(t, 100, 60).Hold()
	if err := h.Grow(t.Context(), 61); !errors.Is(err, ErrShare) || h.Bytes() != 0 {
		t.Errorf("61 of 60: %v, %d held", err, h.Bytes())
	}
}

// Who gives up waiting holds what it held, and those behind it go on.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, 100, 60)
		first, second, third := a.Hold(), a.Hold(), a.Hold()
		_ = first.Grow(t.Context(), 60) // the reserve
		_ = second.Grow(t.Context(), 10)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done := make(chan error)
		go func() { done <- second.Grow(ctx, 50) }()
		synctest.Wait()
		go func() { done <- third.Grow(t.Context(), 20) }()
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) || second.Bytes() != 10 {
			t.Errorf("gave up with %v, holds %d", err, second.Bytes())
		}
		if err := <-done; err != nil {
			t.Errorf("the one behind: %v", err)
		}
	})
}

// Whatever many holdings ask for, step by step, all come to their end, and the account is never overdrawn.
// FRESHET_SEEDS raises the number of seeds.
func TestNobodyWaitsForEver(t *testing.T) {
	seeds, _ := strconv.Atoi(os.Getenv("FRESHET_SEEDS"))
	for seed := range uint64(max(seeds, 50)) {
		synctest.Test(t, func(t *testing.T) { holdings(t, seed) })
	}
}

// holdings runs some holdings of two accounts, as a page holds of the first while it asks for the second.
func holdings(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	b := New(2000)
	first, _ := b.Open("first", 1000, 1+r.Int64N(1000))
	second, _ := b.Open("second", 1000, 1+r.Int64N(1000))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i+2)))
			for range 20 {
				one, two := first.Hold(), second.Hold()
				for _, h := range []*Holding{one, two} {
					grow(t, r, h)
				}
				one.Release()
				time.Sleep(time.Duration(r.IntN(1000)))
				two.Release()
			}
		})
	}
	wg.Wait()
	if u := b.Usage(); u.UsedBytes != 0 {
		t.Errorf("seed %d: %v are held in the end", seed, u.By)
	}
}

// grow lets a holding grow in steps, some of which are given up, up to the most it may reach.
func grow(t *testing.T, r *rand.Rand, h *Holding) {
	for range r.IntN(6) {
		n := r.Int64N(h.a.most - h.Bytes() + 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+r.IntN(100000)))
		if r.IntN(4) > 0 {
			ctx = t.Context()
		}
		_ = h.Grow(ctx, n)
		cancel()
		if used := h.a.Used(); used > h.a.share {
			t.Errorf("%d of %d bytes are used", used, h.a.share)
		}
		time.Sleep(time.Duration(r.IntN(1000)))
		if r.IntN(3) == 0 {
			h.Shrink(r.Int64N(h.Bytes() + 1))
		}
	}
}

func BenchmarkGrow(b *testing.B) {
	a, _ := New(1<<30).Open("bodies", 1<<30, 1<<20)
	for b.Loop() {
		h := a.Hold()
		h.TryGrow(1 << 19)
		h.Release()
	}
}
