package fleet

import (
	"math"
	"math/rand/v2"
	"testing"
)

// within fails unless the mean of independent runs is within four standard errors of want.
func within(t *testing.T, what string, runs []float64, want float64) {
	t.Helper()
	var sum, square float64
	for _, x := range runs {
		sum += x
	}
	n := float64(len(runs))
	mean := sum / n
	for _, x := range runs {
		square += (x - mean) * (x - mean)
	}
	if spread := 4 * math.Sqrt(square/(n-1)/n); math.Abs(mean-want) > spread {
		t.Errorf("%s: %v ± %v simulated, %v computed", what, mean, spread, want)
	}
}

const (
	runs = 20
	span = 20_000 // of each, in mean service times
	seed = 11
)

// TestDynamicSimulated holds the cost of the switched fleet to an event simulation that knows only the
// switching curves.
func TestDynamicSimulated(t *testing.T) {
	for _, m := range []Model{{0.1, 1, 5, 1.4}, {0.05, 1, 10, 2.4}, {1.5, 2, 4, 0.5}} {
		d, err := m.Dynamic(0)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(seed, 1))
		var starvation, loss, active []float64
		for range runs {
			q, r := m.Queue/2, int(math.Round(d.MeanActive)) // not far from where it will be
			var now, empty, lost, area float64
			for now < span/m.ServiceRate {
				arrival, service := m.ArrivalRate*float64(r), 0.0
				if q > 0 {
					service = m.ServiceRate
				}
				step := random.ExpFloat64() / (arrival + service)
				now += step
				area += step * float64(r)
				if q == 0 {
					empty += step
				}
				if random.Float64()*(arrival+service) < service {
					if r < d.Fetchers && q <= d.Departure[r] {
						r++
					}
					q--
					continue
				}
				if q == m.Queue {
					lost++
				}
				if q > d.Arrival[r-1] {
					r--
				}
				q = min(q+1, m.Queue)
			}
			starvation, loss, active = append(starvation, empty/now), append(loss, lost/now), append(active, area/now)
		}
		within(t, "starvation", starvation, d.Starvation)
		within(t, "loss", loss, d.Loss)
		within(t, "active", active, d.MeanActive)
	}
}

// TestStaticSimulated holds the cost of a fixed fleet to an event simulation, for exponential and for
// fixed service times.
func TestStaticSimulated(t *testing.T) {
	exponential := func(r *rand.Rand) float64 { return r.ExpFloat64() }
	fixed := func(*rand.Rand) float64 { return 1 }
	for _, test := range []struct {
		name    string
		service Service
		draw    func(*rand.Rand) float64
	}{{"exponential", Exponential(), exponential}, {"fixed", Deterministic(), fixed}} {
		for _, n := range []int{7, 10, 12} {
			m := Model{0.1, 1, 5, 1.4}
			want, err := m.Fixed(n, test.service)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(seed, 2))
			var starvation, loss []float64
			for range runs {
				var now, empty, lost float64
				var done []float64 // when each page in the queue will have been processed
				for now < span {
					step := random.ExpFloat64() / want.Load
					free := now // from when the queue is empty
					if len(done) > 0 {
						free = done[len(done)-1]
					}
					now += step
					empty += max(0, now-max(free, now-step))
					for len(done) > 0 && done[0] <= now {
						done = done[1:]
					}
					if len(done) == m.Queue {
						lost++
						continue
					}
					done = append(done, max(free, now)+test.draw(random))
				}
				starvation, loss = append(starvation, empty/now), append(loss, lost/now)
			}
			within(t, test.name+" starvation", starvation, want.Starvation)
			within(t, test.name+" loss", loss, want.Loss)
		}
	}
}
