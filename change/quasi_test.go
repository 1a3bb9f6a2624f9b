package change_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"freshet/change"
)

func TestReferenceQuasi(t *testing.T) {
	var times, probabilities []float64
	var q *change.Quasi
	var order []int
	for _, line := range lines(t, "page.txt") {
		fields := strings.Fields(line)
		switch fields[0] {
		case "times":
			times = numbers(t, fields[1:])
			continue
		case "probabilities":
			probabilities = numbers(t, fields[1:])
			continue
		case "stale":
			var err error
			if q, err = change.NewQuasi(times, probabilities, 1, numbers(t, fields[1:])[0]); err != nil {
				t.Fatal(err)
			}
			order = q.Greedy()
			continue
		case "order":
			if got := fmt.Sprint(order); got != fmt.Sprint(fields[1:]) {
				t.Errorf("greedy order %v, want %v", got, fields[1:])
			}
			continue
		}
		x, _ := strconv.Atoi(fields[0])
		want := numbers(t, fields[1:3])
		if got := q.Staleness(x); math.Abs(got-want[0]) > 5.1e-9 {
			t.Errorf("%d crawls: exact %.9f, want %v", x, got, want[0])
		}
		greedy := slices.Sorted(slices.Values(order[:x]))
		if got := q.Mean(greedy); math.Abs(got-want[1]) > 5.1e-9 {
			t.Errorf("%d crawls: greedy %.9f, want %v", x, got, want[1])
		}
		if best := q.Best(x); len(fields) > 3 && fmt.Sprint(best) != fmt.Sprint(fields[3:]) {
			t.Errorf("%d crawls: set %v, want %v", x, best, fields[3:])
		}
	}
}

// randomQuasi returns a page with some sure, impossible and nearly simultaneous updates.
func randomQuasi(t *testing.T, rng *rand.Rand, most int) *change.Quasi {
	n := rng.IntN(most + 1)
	times, probabilities := make([]float64, n), make([]float64, n)
	for i := range times {
		times[i] = 1 - rng.Float64()
		switch rng.IntN(6) {
		case 0:
			probabilities[i] = 1
		case 1:
		default:
			probabilities[i] = rng.Float64()
		}
	}
	slices.Sort(times)
	q, err := change.NewQuasi(times, probabilities, 1, []float64{0, 1, rng.Float64()}[rng.IntN(3)])
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestQuasiAgainstEverySubset compares the exact optimum with enumeration, and its sets with its values.
func TestQuasiAgainstEverySubset(t *testing.T) {
	rng := rand.New(rand.NewPCG(2002, 18))
	for range 2000 {
		q := randomQuasi(t, rng, 8)
		nodes := q.Updates() + 1
		best := make([]float64, nodes+1)
		for i := range best {
			best[i] = 2
		}
		for mask := range 1 << nodes {
			var set []int
			for j := range nodes {
				if mask>>j&1 == 1 {
					set = append(set, j)
				}
			}
			best[len(set)] = math.Min(best[len(set)], q.Mean(set))
		}
		order := q.Greedy()
		for x := range best {
			if got := q.Staleness(x); math.Abs(got-best[x]) > 1e-12 {
				t.Fatalf("%+v: %d crawls: %v, want %v", q, x, got, best[x])
			}
			if set := q.Best(x); len(set) != x || math.Abs(q.Mean(set)-best[x]) > 1e-12 {
				t.Fatalf("%+v: %d crawls: set %v has %v, want %v", q, x, set, q.Mean(set), best[x])
			}
			if greedy := q.Mean(slices.Sorted(slices.Values(order[:x]))); greedy < best[x]-1e-12 {
				t.Fatalf("%+v: greedy %v beats the optimum %v", q, greedy, best[x])
			}
		}
	}
}

// TestQuasiIsConvex holds that large pages have the convexity that allocate needs.
func TestQuasiIsConvex(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 30 {
		q := randomQuasi(t, rng, 120)
		for x := range q.Updates() + 3 {
			if x > 0 && q.Gain(x) > q.Gain(x-1) {
				t.Errorf("gain %v after %v", q.Gain(x), q.Gain(x-1))
			}
			if math.Abs(q.Staleness(x)-q.Staleness(x+1)-q.Gain(x)) > 1e-13 {
				t.Errorf("crawl %d: gain %v is no difference of staleness", x, q.Gain(x))
			}
			if gain := q.Gain(x); gain > 0 && q.Crawls(gain) > float64(x) {
				t.Errorf("Crawls(%v) = %v, after %d", gain, q.Crawls(gain), x)
			}
			if times := q.Times(nil, x); len(times) != x || !slices.IsSorted(times) {
				t.Errorf("%d crawls at %v", x, times)
			}
		}
	}
}

func TestQuasiRefused(t *testing.T) {
	tests := []struct {
		name                 string
		times, probabilities []float64
		interval, stale      float64
		want                 string
	}{
		{"no interval", nil, nil, 0, 0, "interval 0"},
		{"stale", nil, nil, 1, 1.5, "1.5"},
		{"lengths", []float64{1}, nil, 1, 0, "1 times and 0"},
		{"not rising", []float64{0.5, 0.5}, []float64{1, 1}, 1, 0, "update 2"},
		{"outside", []float64{1.5}, []float64{1}, 1, 0, "at most the interval"},
		{"at zero", []float64{0}, []float64{1}, 1, 0, "more than 0"},
		{"NaN", []float64{math.NaN()}, []float64{1}, 1, 0, "NaN"},
		{"probability", []float64{0.5}, []float64{-0.1}, 1, 0, "-0.1"},
		{"too many", make([]float64, change.MaxUpdates+1), make([]float64, change.MaxUpdates+1), 1, 0, "at most"},
	}
	for _, test := range tests {
		if _, err := change.NewQuasi(test.times, test.probabilities, test.interval, test.stale); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
