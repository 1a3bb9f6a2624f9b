package allocate_test

import (
	"fmt"
	"math"
	"runtime"
	"sort"
	"testing"
	"time"

	"freshet/allocate"
	"freshet/change"
	"freshet/clock"
)

// mixture is the mixture of Wolf et al. 2002, section 5, in columns of 17.2 bytes a page: page i (from 0) has
// rate 1.5 n p_i, p_i ∝ 1/(i+1), over an interval of 1, and by i mod 10 is Poisson (0 to 5), Pareto of
// shape 1.5 (6 to 8) or quasi-deterministic (9).
type mixture struct {
	rates   []float64
	weights []float64
	gains   []float64 // of the quasi-deterministic pages, one page after the other
	first   []uint32  // of every tenth page, where its gains begin; and where the last ones end
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
	m := &mixture{rates: make([]float64, n), weights: make([]float64, n), first: make([]uint32, 1, n/10+2), gains: make([]float64, 0, n/9+5000)}
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
			m.gains = spread(b, m.gains, m.rates[i])
			m.first = append(m.first, uint32(len(m.gains)))
		}
	}
	return m
}

// spread appends the gains of the quasi-deterministic page of a rate: Q = ceil(2 rate), 1 to 48, even updates.
func spread(b testing.TB, gains []float64, rate float64) []float64 {
	q := int(math.Max(1, math.Min(48, math.Ceil(2*rate))))
	if q == 1 {
		return append(gains, rate/2)
	}
	times, probabilities := make([]float64, q), make([]float64, q)
	for j := range times {
		times[j] = (float64(j) + 0.5) / float64(q)
		probabilities[j] = math.Min(1, rate/float64(q))
	}
	page, err := change.NewQuasi(times, probabilities, 1, 0)
	if err != nil {
		b.Fatal(err)
	}
	for x := range q {
		gains = append(gains, page.Gain(x))
	}
	return gains
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

// page returns page i. Its process lives in m until the next call.
func (m *mixture) page(i int) change.Page {
	if i%10 < 6 {
		m.poisson = change.Poisson(m.rates[i])
		return change.Page{Process: &m.poisson, Interval: 1}
	}
	m.pareto, _ = change.NewPareto(m.rates[i], 1.5)
	return change.Page{Process: &m.pareto, Interval: 1}
}

// quasi returns the gains of page i; it is perfectly fresh with as many crawls.
func (m *mixture) quasi(i int) []float64 { return m.gains[m.first[i/10]:m.first[i/10+1]] }

func (m *mixture) Gain(i, x int) float64 {
	if i%10 == 9 {
		if gains := m.quasi(i); x < len(gains) {
			return m.weights[i] * gains[x]
		}
		return 0
	}
	return m.weights[i] * m.page(i).Gain(x)
}

func (m *mixture) Crawls(i int, gain float64) float64 {
	if i%10 == 9 {
		gains := m.quasi(i)
		return float64(sort.Search(len(gains), func(x int) bool { return m.weights[i]*gains[x] <= gain }))
	}
	return m.page(i).Crawls(gain / m.weights[i])
}

func (m *mixture) staleness(i int, x int32) float64 {
	if i%10 == 9 {
		sum := 0.0
		for _, gain := range m.quasi(i)[min(int(x), len(m.quasi(i))):] {
			sum += gain
		}
		return sum
	}
	return m.page(i).Staleness(int(x))
}

// TestMixture compares the objective for a million pages and R/N = 2.5 and 5 with reference values. They come from the
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
	for _, n := range []int{100_000, 1_000_000, 10_000_000} {
		m := newMixture(b, n)
		for _, by := range []struct {
			name  string
			solve allocate.Solver
		}{{"multiplier", allocate.Multiplier}, {"greedy", allocate.Greedy}} {
			if by.name == "greedy" && n > 1_000_000 {
				continue // minutes
			}
			b.Run(fmt.Sprintf("algorithm=%s/pages=%d/budget=%d", by.name, n, 5*n), func(b *testing.B) { m.measure(b, by.solve) })
		}
	}
}

// BenchmarkHundredMillion takes a minute or two and 4 GB.
func BenchmarkHundredMillion(b *testing.B) {
	newMixture(b, 100_000_000).measure(b, allocate.Multiplier)
}

// measure spends five crawls a page. It reports the processor time, and the memory of the pages and the allocation
// together.
func (m *mixture) measure(b *testing.B, solve allocate.Solver) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := clock.Processor()
	for b.Loop() {
		if _, err := solve(m, 5*m.Len()); err != nil {
			b.Fatal(err)
		}
	}
	used := (clock.Processor() - start) / time.Duration(b.N)
	runtime.ReadMemStats(&after)
	b.ReportMetric(used.Seconds(), "cpu-s/op")
	b.ReportMetric(float64(used.Nanoseconds())/float64(m.Len()), "cpu-ns/page")
	b.ReportMetric((float64(before.HeapAlloc)+float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N))/float64(m.Len()), "B/page")
}
