package weburl

import (
	"math"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// TestCashOrder holds that more cash comes first, and that the order tells the cash.
func TestCashOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(0, 1e300).Draw(t, "a"), rapid.Float64Range(0, 1e300).Draw(t, "b")
		if a > b && CashOrder(a) >= CashOrder(b) || CashOrder(a) > math.MaxInt64 || OrderCash(CashOrder(a)) != a {
			t.Fatalf("orders of %v and %v are %x and %x", a, b, CashOrder(a), CashOrder(b))
		}
	})
	if CashOrder(math.NaN()) != CashOrder(0) || CashOrder(-1) != CashOrder(0) || OrderCash(1<<63) != 0 {
		t.Error("want what is no cash to count as none")
	}
}

// TestPurse holds that nothing is lost, that the greater part is always told, and how few lots it takes.
func TestPurse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Purse
		var came, told float64
		for _, cash := range rapid.SliceOf(rapid.IntRange(0, 1000)).Draw(t, "amounts") {
			came += float64(cash)
			told += p.Add(float64(cash))
			if told != p.Told() || 2*told < came || told > came || told+float64(p.held) != came {
				t.Fatalf("%v told and %v held of %v", told, p.held, came)
			}
		}
		if told += p.Empty(); told != came || p.Told() != came || p.held != 0 {
			t.Fatalf("%v told and %v held of %v after all", told, p.held, came)
		}
	})
	var p Purse
	for n, lots := 1, 0; n < 5000; n++ {
		if p.Add(0.125) > 0 {
			lots++
		}
		if lots != bits.Len(uint(n)) {
			t.Fatalf("%d lots of %d amounts, want %d", lots, n, bits.Len(uint(n)))
		}
	}
}
