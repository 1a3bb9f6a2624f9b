package scheduler_test

import (
	"math"
	"testing"

	"freshet/feed/broadcast/scheduler"
)

// TestWorkedExample is the paper's: four items for ten slots. One item is stale from half-time.
func TestWorkedExample(t *testing.T) {
	d := scheduler.NewDemand(scheduler.NewPopularity(), scheduler.Options{})
	d.AddChunk(scheduler.Chunk{Pages: 4, Bytes: 1}, 0)
	k := d.Join(scheduler.Client{}, []scheduler.Want{{Chunk: 0}}, 0)
	var mean scheduler.Reading
	for slot := 1; slot <= 10; slot++ {
		if slot == 6 {
			d.Change(0, 2, 5)
		}
		mean = mean.Add(d.Read(float64(slot)).Scale(0.1))
	}
	end := d.Read(10)
	freshness, age := d.Client(k, 10)
	for _, test := range []struct {
		what      string
		got, want float64
	}{
		{"time-averaged freshness", mean.FreshnessOverClients, 7. / 8},
		{"time-averaged age", mean.AgeOverClients, 0.375},
		{"freshness", end.FreshnessOverClients, 3. / 4},
		{"age", end.AgeOverClients, 5. / 4},
		{"freshness over data", end.FreshnessOverData, 3. / 4},
		{"freshness of the client", freshness, 3. / 4},
		{"age of the client", age, 5. / 4},
	} {
		if math.Abs(test.got-test.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", test.what, test.got, test.want)
		}
	}
	d.Sent(0, 12)
	if items, images := d.ItemLag(20), d.ImageLag(20); items.Total() != 1 || images.Total() != 1 || math.Abs(items.Quantile(0.5)/7-1) > 0.05 || math.Abs(images.Quantile(1)/7-1) > 0.05 {
		t.Errorf("lags %v, %v, want 7 s", items.Quantile(0.5), images.Quantile(1))
	}
}

func TestHistogram(t *testing.T) {
	var h scheduler.Histogram
	if h.Quantile(0.5) != 0 || h.Total() != 0 {
		t.Errorf("an empty histogram: %v of %d", h.Quantile(0.5), h.Total())
	}
	for second := range 1000 {
		h.Add(float64(second+1), 2)
	}
	for _, q := range []float64{0.001, 0.1, 0.5, 0.95, 1} {
		if got := h.Quantile(q); math.Abs(got/(1000*q)-1) > 0.06 {
			t.Errorf("quantile %v: %v, want %v", q, got, 1000*q)
		}
	}
	h.Add(0, 2000)
	h.Add(1e300, 1)
	if h.Quantile(0.4) != 0 || h.Total() != 4001 || h.Quantile(1) < 1e9 {
		t.Errorf("quantiles %v, %v of %d", h.Quantile(0.4), h.Quantile(1), h.Total())
	}
}
