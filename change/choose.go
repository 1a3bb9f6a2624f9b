package change

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Fit is a process fitted to the gaps between changes.
type Fit struct {
	Process       Process
	Name          string  // "poisson", "weibull", "gamma", "pareto"
	LogLikelihood float64 // of the gaps, in nats
	Score         float64 // Bayesian information criterion: -2 log likelihood + parameters × ln n; least is best
}

// Choose fits each renewal law to the gaps between a page's changes, in seconds, by maximum likelihood. It returns the
// fits by score, the best first, so a law of two parameters leads only if it beats its penalty. The gaps must come from
// dated changes: a feed, a sitemap or a trusted server. Visits that show only "changed or not" give no more than a rate
// in practice. Choose returns an error unless there are at least two gaps, all positive and finite. It takes some tens
// of steps of O(n).
func Choose(gaps []float64) ([]Fit, error) {
	if len(gaps) < 2 {
		return nil, fmt.Errorf("change: %d gaps: want 2 or more", len(gaps))
	}
	for _, g := range gaps {
		if err := positive("gap", g); err != nil {
			return nil, err
		}
	}
	n := float64(len(gaps))
	mean, meanLog := 0.0, 0.0
	for _, g := range gaps {
		mean += g / n
		meanLog += math.Log(g) / n
	}
	var fits []Fit
	add := func(name string, parameters, logLikelihood float64, p Process, err error) {
		if err == nil && !math.IsNaN(logLikelihood) {
			fits = append(fits, Fit{p, name, logLikelihood, -2*logLikelihood + parameters*math.Log(n)})
		}
	}
	poisson, err := NewPoisson(1 / mean)
	add("poisson", 1, -n*(math.Log(mean)+1), poisson, err)
	addWeibull(gaps, mean, meanLog, add)
	addGamma(n, mean, meanLog, add)
	addPareto(gaps, mean, add)
	slices.SortStableFunc(fits, func(a, b Fit) int { return cmp.Compare(a.Score, b.Score) })
	return fits, nil
}

// addWeibull solves Σ g^a ln g / Σ g^a - 1/a = mean ln g for the shape a, by bisection. It divides the gaps by their
// mean, so that powers stay in range.
func addWeibull(gaps []float64, mean, meanLog float64, add func(string, float64, float64, Process, error)) {
	n, logMean := float64(len(gaps)), math.Log(mean)
	moment := func(a float64) (sum, withLog float64) {
		for _, g := range gaps {
			x := math.Log(g) - logMean
			p := math.Exp(a * x)
			sum += p
			withLog += p * x
		}
		return sum, withLog
	}
	shape := bisect(0.05, 20, func(a float64) float64 {
		sum, withLog := moment(a)
		return withLog/sum - 1/a - (meanLog - logMean)
	})
	sum, _ := moment(shape)
	// ln f = ln a - a ln s + (a-1) ln g - (g/s)^a with s^a = Σ g^a/n; then Σ (g/s)^a = n.
	logScale := logMean + math.Log(sum/n)/shape
	p, err := NewWeibull(math.Exp(-logScale)/math.Gamma(1+1/shape), shape)
	add("weibull", 2, n*(math.Log(shape)-shape*logScale+(shape-1)*meanLog-1), p, err)
}

// addGamma solves ln k - ψ(k) = ln mean - mean ln for the shape k.
func addGamma(n, mean, meanLog float64, add func(string, float64, float64, Process, error)) {
	excess := math.Log(mean) - meanLog
	shape := bisect(0.02, 200, func(k float64) float64 { return excess - (math.Log(k) - digamma(k)) })
	rate := shape / mean
	lgamma, _ := math.Lgamma(shape)
	p, err := NewGamma(1/mean, shape)
	add("gamma", 2, n*(shape*math.Log(rate)-lgamma+(shape-1)*meanLog-shape), p, err)
}

// addPareto searches for the scale b. For each scale it takes the best shape, a = n/Σ ln(1+g/b), but at least slightly
// more than 1, below which the mean is infinite.
func addPareto(gaps []float64, mean float64, add func(string, float64, float64, Process, error)) {
	n := float64(len(gaps))
	at := func(logScale float64) (logLikelihood, shape float64) {
		b := mean * math.Exp(logScale)
		sum := 0.0
		for _, g := range gaps {
			sum += math.Log1p(g / b)
		}
		shape = math.Max(1.01, n/sum)
		return n*math.Log(shape/b) - (shape+1)*sum, shape
	}
	// Golden section on the logarithm of the scale.
	const golden = 0.6180339887498949
	low, high := math.Log(1e-3), math.Log(1e3)
	for high-low > 1e-4 {
		a, b := high-golden*(high-low), low+golden*(high-low)
		likelyA, _ := at(a)
		likelyB, _ := at(b)
		if likelyA > likelyB {
			high = b
		} else {
			low = a
		}
	}
	likely, shape := at((low + high) / 2)
	p, err := NewPareto((shape-1)/(mean*math.Exp((low+high)/2)), shape)
	add("pareto", 2, likely, p, err)
}

// bisect returns the zero of a rising function between low and high, by bisection of the logarithm. If there is none,
// it returns the end nearer to it.
func bisect(low, high float64, f func(float64) float64) float64 {
	for high > low*(1+1e-10) {
		middle := math.Sqrt(low * high)
		if f(middle) > 0 {
			high = middle
		} else {
			low = middle
		}
	}
	return math.Sqrt(low * high)
}

// digamma returns the derivative of ln Γ for x > 0, to about 1e-12. It raises x to 8 or more by recurrence and
// evaluates the asymptotic series there.
func digamma(x float64) float64 {
	sum := 0.0
	for ; x < 8; x++ {
		sum -= 1 / x
	}
	y := 1 / (x * x)
	return sum + math.Log(x) - 0.5/x - y*(1.0/12-y*(1.0/120-y*(1.0/252-y*(1.0/240-y/132))))
}
