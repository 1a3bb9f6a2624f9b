package weburl

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestRelNeverChanges holds the numbers, which are kept on disk.
func TestRelNeverChanges(t *testing.T) {
	want := []string{"none", "seed", "anchor", "redirect", "embed", "frame", "canonical", "sitemap", "feed",
		"alternate", "refresh", "header", "link", "form"}
	for i, name := range want {
		if rel := Rel(i); rel.String() != name || !rel.Valid() {
			t.Errorf("relation %d is %q, valid %v; want %q", i, rel, rel.Valid(), name)
		}
	}
	if rel := Rel(len(want)); rel.Valid() || rel.String() != "rel(14)" {
		t.Errorf("relation %d is %q, valid %v", len(want), rel, rel.Valid())
	}
}

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
