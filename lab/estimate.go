package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is the mean of independent runs with its confidence interval, Mean ± Half.
type Interval struct {
	Mean, Half float64
}

// Estimate returns the mean of n independent samples with its confidence interval, by Student's t with n-1 degrees of
// freedom. The interval holds the true mean in a share confidence of all cases. It assumes normal samples, as means
// over long runs nearly are. With one sample the interval is infinite; with none the mean is NaN. It panics unless 0
// < confidence < 1.
func Estimate(samples []float64, confidence float64) Interval {
	if !(confidence > 0 && confidence < 1) {
		panic(fmt.Sprintf("lab: Estimate: confidence %v: want more than 0 and less than 1", confidence))
	}
	n := float64(len(samples))
	if n < 2 {
		return Interval{stat.Mean(samples, nil), math.Inf(1)}
	}
	mean, deviation := stat.MeanStdDev(samples, nil)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1 + confidence) / 2)
	return Interval{mean, t * deviation / math.Sqrt(n)}
}

// Holds reports whether the interval holds x.
func (i Interval) Holds(x float64) bool { return math.Abs(x-i.Mean) <= i.Half }

// String returns "mean ± half".
func (i Interval) String() string { return fmt.Sprintf("%.6g ± %.2g", i.Mean, i.Half) }

// Random returns the source of randomness of one run. It depends only on seed and run, and is independent of other
// runs'.
func Random(seed uint64, run int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(run))) }

// Repeat makes independent runs of measure, which must return the same number of values each time. samples[i][j] is
// the i-th value of run j, which draws from Random(seed, j). Repeat reports progress to out after each run. It stops
// at the first error or when ctx ends.
func Repeat(ctx context.Context, out *Result, runs int, seed uint64, measure func(rng *rand.Rand) ([]float64, error)) (samples [][]float64, err error) {
	for j := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		values, err := measure(Random(seed, j))
		if err != nil {
			return nil, fmt.Errorf("run %d of seed %d: %w", j, seed, err)
		}
		if samples == nil {
			samples = make([][]float64, len(values))
		}
		for i, v := range values {
			samples[i] = append(samples[i], v)
		}
		out.Progress("run", j+1, runs)
	}
	return samples, nil
}
