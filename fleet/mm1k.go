package fleet

import "math"

// The M/M/1/K queue in units of its mean service time: load ρ, queue-length probabilities
//
//	P(X=i) = ρ^i/S(ρ),  S(ρ) = 1+ρ+…+ρ^K     (1.3)
//
// With y = ln ρ, S = expm1((K+1)y)/(ρ−1), which keeps all its digits beside ρ = 1, and far from it
// overflows only where the probability is 0.

// emptyProbability returns P(X=0) = 1/S(ρ) for ρ > 0.
func emptyProbability(rho float64, k int) float64 {
	if rho == 1 {
		return 1 / (float64(k) + 1)
	}
	return (rho - 1) / math.Expm1((float64(k)+1)*math.Log(rho))
}

// fullProbability returns P(X=K) = ρ^K/S(ρ) = 1/S(1/ρ) for ρ > 0.
func fullProbability(rho float64, k int) float64 {
	if rho == 1 {
		return 1 / (float64(k) + 1)
	}
	return (1 - rho) / rho / math.Expm1(-(float64(k)+1)*math.Log(rho))
}

// meanQueue returns E[X] = ρS′/S at ρ = e^y, by
//
//	E[X] = K/2 + ((K+1) L((K+1)y/2) − L(y/2))/2,     L(z) = coth z − 1/z
//
// in which the poles at y = 0 have cancelled.
func meanQueue(y float64, k int) float64 {
	places := float64(k) + 1
	return float64(k)/2 + (places*langevin(places*y/2)-langevin(y/2))/2
}

// langevin returns coth z − 1/z, by its series about 0, where the difference would lose its digits.
func langevin(z float64) float64 {
	if math.Abs(z) > 0.5 {
		return 1/math.Tanh(z) - 1/z
	}
	// Coefficients 2^2n B_2n/(2n)!; the first one left out is below 1e-16 of the sum at 0.5.
	series := [...]float64{
		1. / 3, -1. / 45, 2. / 945, -1. / 4725, 2. / 93555, -1382. / 638512875, 4. / 18243225,
		-3617. / 162820783125, 87734. / 38979295480125, -349222. / 1531329465290625,
		310732. / 13447856940643125, -472728182. / 201919571963756521875,
	}
	sum, square := 0.0, z*z
	for i := len(series) - 1; i >= 0; i-- {
		sum = sum*square + series[i]
	}
	return sum * z
}

// OptimalLoad returns ρ(γ,K), the load at which the cost (1.4) of an M/M/1/K queue is least; by Lemma 1 there is one.
// The model's arrival rate plays no part. It is below, at or above 1 as γ is below, at or above γ(K) = μ(K+2)/K, grows
// with γ (Proposition 2) and tends to 1 as K grows (Proposition 4).
//
// Equation (1.7) has a double root at 1 for every γ, so it is not solved. The derivative of (1.4) has the sign of
// μρ^(K+1) (K+1−E[X]) − γE[X], which has one root; it is bisected in ln ρ.
//
// It returns an error if the model is invalid.
func (m Model) OptimalLoad() (float64, error) {
	if err := m.Validate(); err != nil {
		return 0, err
	}
	_, gamma := m.scaled()
	return optimalLoad(gamma, m.Queue), nil
}

func optimalLoad(gamma float64, k int) float64 {
	places := float64(k) + 1
	rising := func(y float64) bool {
		mean := meanQueue(y, k)
		return places*y+math.Log(places-mean)-math.Log(mean) > math.Log(gamma)
	}
	low, high := -1.0, 1.0
	for rising(low) {
		low *= 2
	}
	for !rising(high) {
		high *= 2
	}
	for {
		y := low + (high-low)/2
		if y <= low || y >= high || high-low < 1e-17 {
			return math.Exp(y)
		}
		if rising(y) {
			high = y
		} else {
			low = y
		}
	}
}
