package change

import "math"

// incompleteGamma returns the regularised lower and upper incomplete gamma functions P(a, x) and Q(a, x), for a > 0 and
// x ≥ 0. The smaller of the two has a small relative error. Below x = a+1 it sums the series, above it evaluates
// Lentz's continued fraction (Abramowitz and Stegun 1964, 6.5.29 and 6.5.31).
func incompleteGamma(a, x float64) (p, q float64) {
	switch {
	case x <= 0:
		return 0, 1
	case math.IsInf(x, 1):
		return 1, 0
	}
	logGamma, _ := math.Lgamma(a)
	scale := math.Exp(a*math.Log(x) - x - logGamma)
	if scale == 0 && x > a {
		return 1, 0
	}
	if x < a+1 {
		p = math.Min(1, scale*lowerSeries(a, x))
		return p, 1 - p
	}
	q = math.Min(1, scale*upperFraction(a, x))
	return 1 - q, q
}

// most bounds the terms: the series and the fraction need some tens, and of order √a for large a.
const most = 100_000

func lowerSeries(a, x float64) float64 {
	term := 1 / a
	sum := term
	for k := 1.0; k < most && term > 1e-17*sum; k++ {
		term *= x / (a + k)
		sum += term
	}
	return sum
}

func upperFraction(a, x float64) float64 {
	const tiny = 1e-300
	b := x + 1 - a
	c := 1 / tiny
	d := 1 / b
	h := d
	for k := 1.0; k < most; k++ {
		an := -k * (k - a)
		b += 2
		if d = an*d + b; math.Abs(d) < tiny {
			d = tiny
		}
		if c = b + an/c; math.Abs(c) < tiny {
			c = tiny
		}
		d = 1 / d
		h *= d * c
		if math.Abs(d*c-1) < 4e-16 {
			break
		}
	}
	return h
}
