package crawl

import "testing"

// TestEmbarrassment holds the expected embarrassment in queries a day, of one shard and of two.
func TestEmbarrassment(t *testing.T) {
	of := func(weight, embarrassment float64, forecast ...BudgetFreshness) *Freshness {
		return &Freshness{Pages: 1, weight: weight, embarrassment: embarrassment, Forecast: forecast}
	}
	forecast := []BudgetFreshness{{25, 0, 0}, {50, 0, 0}, {100, 0.5, 0.25}, {200, 0.75, 0.5}, {400, 1, 1}}
	one := of(8, 2, forecast...)
	if got, want := one.Embarrassment(), (Embarrassment{Expected: 8, Uniform: 12, Double: 4}); got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := one.And(of(24, 2, forecast...)).Embarrassment(), (Embarrassment{Expected: 32, Uniform: 48, Double: 16}); got == nil || *got != want {
		t.Errorf("two shards: %+v, want %+v", got, want)
	}
	for name, f := range map[string]*Freshness{"nothing is kept fresh": nil, "no log": of(8, 0, forecast...), "no forecast yet": of(8, 2)} {
		if got := f.Embarrassment(); got != nil {
			t.Errorf("%s: %+v, want none", name, got)
		}
	}
}
