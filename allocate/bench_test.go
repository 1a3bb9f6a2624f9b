package allocate_test

import (
	"fmt"
	"math"
	"testing"

	"freshet/allocate"
	"freshet/change"
)

// mixture is the mixture of Wolf et al. 2002, section 5, kept in 20 bytes a page: page i (from 0) has
// rate 1.5 n p_i, p_i ∝ 1/(i+1), over an interval of 1, and by i mod 10 is Poisson (0 to 5), Pareto of
// shape 1.5 (6 to 8) or quasi-deterministic (9).
type mixture struct {
	rates   []float64
	weights []float64
	quasi   []*change.Quasi // of every tenth page
	poisson change.Poisson
	pareto  change.Pareto
}

// splitmix is the stream that the reference values for weights were made with.
type splitmix uint64

func (s *splitmix) uniform() float64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}

func newMixture(b testing.TB, n int) *mixture {
	m := &mixture{rates: make([]float64, n), weights: make([]float64, n), quasi: make([]*change.Quasi, (n+9)/10)}
	byCentre := clickWeights()
	stream := splitmix(2002)
	harmonic := 0.0
	for i := range n {
		harmonic += 1 / float64(i+1)
		d := stream.uniform()
		m.weights[i] = d * byCentre[int(50*stream.uniform())]
	}
	for i := range n {
		m.rates[i] = 1.5 * float64(n) / float64(i+1) / harmonic
		if i%10 == 9 {
			m.quasi[i/10] = spread(b, m.rates[i])
		}
	}
	return m
}

// spread is the quasi-deterministic page of a rate: Q = ceil(2 rate), 1 to 48, even updates.
func spread(b testing.TB, rate float64) *change.Quasi {
	q := int(math.Max(1, math.Min(48, math.Ceil(2*rate))))
	times, probabilities := make([]float64, q), make([]float64, q)
	for j := range times {
		times[j] = (float64(j) + 0.5) / float64(q)
		probabilities[j] = math.Min(1, rate/float64(q))
	}
	page, err := change.NewQuasi(times, probabilities, 1, 0)
	if err != nil {
		b.Fatal(err)
	}
	return page
}

// clickWeights returns Σ_m c_m b_m for a centre of 1 to 50.
func clickWeights() (weights [50]float64) {
	harmonic := 0.0
	for m := 1; m <= 50; m++ {
		harmonic += 1 / float64(m)
	}
	for centre := range weights {
		sum, total := 0.0, 0.0
		for m := 1; m <= 50; m++ {
			c := 1 / float64(m) / harmonic * math.Pow(0.8, float64((m-1)/10))
			b := math.Exp(-float64((m-centre-1)*(m-centre-1)) / 50)
			sum, total = sum+c*b, total+b
		}
		weights[centre] = sum / total
	}
	return weights
}

func (m *mixture) Len() int              { return len(m.rates) }
func (m *mixture) Bounds(int) (int, int) { return 0, math.MaxInt32 }

// page returns page i, whose process lives in m until the next call.
func (m *mixture) page(i int) change.Page {
	if i%10 < 6 {
		m.poisson = change.Poisson(m.rates[i])
		return change.Page{Process: &m.poisson, Interval: 1}
	}
	m.pareto, _ = change.NewPareto(m.rates[i], 1.5)
	return change.Page{Process: &m.pareto, Interval: 1}
}

func (m *mixture) Gain(i, x int) float64 {
	if i%10 == 9 {
		return m.weights[i] * m.quasi[i/10].Gain(x)
	}
	return m.weights[i] * m.page(i).Gain(x)
}

func (m *mixture) Crawls(i int, gain float64) float64 {
	if i%10 == 9 {
		return m.quasi[i/10].Crawls(gain / m.weights[i])
	}
	return m.page(i).Crawls(gain / m.weights[i])
}

func (m *mixture) staleness(i int, x int32) float64 {
	if i%10 == 9 {
		return m.quasi[i/10].Staleness(int(x))
	}
	return m.page(i).Staleness(int(x))
}

// TestMixture holds the objective at a million pages and R/N = 2.5 and 5 to reference values of the
// notes on the paper's Figure 7 (weighted optimum, Σ wA / Σ w, 8 digits).
func TestMixture(t *testing.T) {
	if testing.Short() {
		t.Skip("a million pages")
	}
	m := newMixture(t, 1_000_000)
	total := 0.0
	for _, w := range m.weights {
		total += w
	}
	if math.Abs(total-8056.91799) > 1e-4 {
		t.Fatalf("weights sum to %v", total)
	}
	for _, test := range []struct {
		budget int
		want   float64
	}{{1_500_000, .04056562}, {2_500_000, .02901648}, {5_000_000, .01705946}} {
		crawls, err := allocate.Multiplier(m, test.budget)
		if err != nil {
			t.Fatal(err)
		}
		objective := 0.0
		for i, x := range crawls {
			objective += m.weights[i] * m.staleness(i, x)
		}
		if got := objective / total; math.Abs(got-test.want) > 6e-9 || !allocate.Certify(m, crawls).Optimal() {
			t.Errorf("budget %d: %.9f, want %.8f", test.budget, got, test.want)
		}
	}
}

func BenchmarkMixture(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		m := newMixture(b, n)
		for name, solve := range map[string]allocate.Solver{"multiplier": allocate.Multiplier, "greedy": allocate.Greedy} {
			b.Run(fmt.Sprintf("algorithm=%s/pages=%d/budget=%d", name, n, 5*n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := solve(m, 5*n); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(n)*1e9, "ns/page")
			})
		}
	}
}
