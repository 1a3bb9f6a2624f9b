package liunain

import (
	"fmt"
	"math"
	"math/rand/v2"

	"freshet/fleet"
	"freshet/lab"
	"freshet/schedule/sequence"
)

// propositions checks Propositions 1 to 4, 7 and 8 with fleet and schedule/sequence.
func (p *parameters) propositions(out *lab.Result) error {
	for _, claim := range []func(*lab.Result) error{bestNumber, loadByGamma, loadByQueue, loadInTheLimit, general} {
		if err := claim(out); err != nil {
			return err
		}
	}
	rng := lab.Random(p.seed, 7)
	if err := shorterVisits(out, rng); err != nil {
		return err
	}
	return evenDistances(out, rng)
}

// load returns ρ(γ,K) for μ = 1.
func load(gamma float64, k int) (float64, error) {
	return fleet.Model{ArrivalRate: 1, ServiceRate: 1, Queue: k, Gamma: gamma}.OptimalLoad()
}

// powers returns n numbers from low to high, evenly spaced on a logarithmic scale.
func powers(low, high float64, n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = low * math.Pow(high/low, float64(i)/float64(n-1))
	}
	return all
}

// alike is a relative difference. Two costs or loads that differ by less are equal except for rounding.
const alike = 1e-11

// bestNumber is Proposition 1: the best number of fetchers is that of the best load, rounded down or up. γ decides on
// which side of μ/λ it lies.
func bestNumber(out *lab.Result) error {
	models, off, beyond := 0, 0, 0
	for _, lambda := range []float64{0.01, 0.07, 0.3, 0.8, 1.7} {
		for _, k := range []int{2, 3, 5, 10, 30} {
			turn := float64(k+2) / float64(k) // γ(K)
			for _, gamma := range append(powers(0.01, 1000, 11), turn) {
				m := fleet.Model{ArrivalRate: lambda, ServiceRate: 1, Queue: k, Gamma: gamma}
				best, near, err := exhaust(m)
				if err != nil {
					return err
				}
				models++
				if !near {
					off++
				}
				down, up := math.Floor(1/lambda), math.Ceil(1/lambda)
				n := float64(best)
				if gamma < turn && n > up || gamma > turn && n < down || gamma == turn && n != max(1, down) && n != up {
					beyond++
				}
			}
		}
	}
	out.Claim("the best number of fetchers is ρ(γ,K)μ/λ rounded down or up, but at least 1 (Proposition 1)", off == 0,
		"all numbers up to twice as many tried in %d models: another is best in %d", models, off)
	out.Claim("it is at most μ/λ rounded up below γ(K), and at least that rounded down above it (Proposition 1)", beyond == 0,
		"in %d models: beyond in %d", models, beyond)
	return nil
}

// exhaust tries all numbers up to twice that of the best load, and returns the best. near reports whether it is that of
// the best load, rounded down or up, or costs as much.
func exhaust(m fleet.Model) (best int, near bool, err error) {
	load, err := m.OptimalLoad()
	if err != nil {
		return 0, false, err
	}
	ideal := load / m.ArrivalRate
	down, up := max(1, int(ideal)), max(1, int(math.Ceil(ideal)))
	least, rounded := math.Inf(1), math.Inf(1)
	for n := 1; n <= 2*up+2; n++ {
		fixed, err := m.Fixed(n, fleet.Exponential())
		if err != nil {
			return 0, false, err
		}
		if fixed.Cost < least*(1-alike) {
			best, least = n, fixed.Cost
		}
		if n == down || n == up {
			rounded = min(rounded, fixed.Cost)
		}
	}
	return best, rounded <= least*(1+alike), nil
}

// loadByGamma is Proposition 2. The load grows without bound because (1.7) tends to ρ^(K+1) = γK/μ for a large γ.
func loadByGamma(out *lab.Result) error {
	falls, ratio := 0, 0.0
	for _, k := range []int{2, 3, 5, 10, 50} {
		before := 0.0
		for _, gamma := range powers(1e-6, 1e9, 301) {
			rho, err := load(gamma, k)
			if err != nil {
				return err
			}
			if rho < before*(1-alike) {
				falls++
			}
			before = rho
		}
		if k <= 5 {
			ratio = max(ratio, math.Abs(math.Log(before*math.Pow(1e9*float64(k), -1/float64(k+1)))))
		}
	}
	out.Claim("ρ(γ,K) never falls with γ, and grows without bound (Proposition 2)", falls == 0 && ratio < 0.01,
		"falls at %d of 1500 steps of γ from 10⁻⁶ to 10⁹; there it is (γK)^(1/(K+1)) to within %.2g for K up to 5", falls, ratio)
	return nil
}

// loadByQueue is Proposition 3. The paper prints part (b) with λ in place of μ, but ρ(γ,K) does not depend on λ.
func loadByQueue(out *lab.Result) error {
	const most = 3000
	falls := 0
	for _, gamma := range []float64{0.01, 0.1, 0.5, 0.9, 0.99, 1} {
		before := 0.0
		for k := 2; k <= most; k++ {
			rho, err := load(gamma, k)
			if err != nil {
				return err
			}
			if rho < before*(1-alike) {
				falls++
			}
			before = rho
		}
	}
	out.Claim("ρ(γ,K) never falls with K where γ ≤ μ (Proposition 3a)", falls == 0, "for K from 2 to %d and six γ from 0.01: falls %d times", most, falls)
	broken, early, evidence := 0, 0, ""
	for _, gamma := range []float64{1.05, 1.2, 1.25, 1.4, 1.5, 2, 3, 10} {
		peak, risesAgain, err := peakOf(gamma, most)
		if err != nil {
			return err
		}
		if risesAgain {
			broken++
		}
		if peak+1 < int(2/(gamma-1)) { // K₀ is the peak or the next
			early++
		}
		evidence += fmt.Sprintf(", %v at %d", gamma, peak)
	}
	out.Claim("where γ > μ it rises with K and then falls, from K₀ ≥ ⌊2μ/(γ-μ)⌋ on (Proposition 3b, corrected)", broken+early == 0,
		"peaks by γ%s", evidence)
	const gamma, lambda = 1.2, 1.15
	peak, _, err := peakOf(gamma, most)
	if err != nil {
		return err
	}
	bound := int(2 / (gamma - lambda))
	out.Claim("K₀ ≥ ⌊2μ/(γ-λ)⌋ (Proposition 3b, as printed)", peak+1 >= bound,
		"for γ = %v, λ = %v, μ = 1 the bound is %d, and ρ(γ,K) falls from K = %d on", gamma, lambda, bound, peak)
	return nil
}

// peakOf returns the K at which ρ(γ,K) is highest, up to most, and whether it rises after a fall.
func peakOf(gamma float64, most int) (peak int, risesAgain bool, err error) {
	before, highest, fell := 0.0, 0.0, false
	for k := 2; k <= most; k++ {
		rho, err := load(gamma, k)
		if err != nil {
			return 0, false, err
		}
		if rho > highest*(1+alike) {
			peak, highest = k, rho
		}
		risesAgain = risesAgain || fell && rho > before*(1+alike)
		fell = fell || rho < before*(1-alike)
		before = rho
	}
	return peak, risesAgain, nil
}

// loadInTheLimit is Proposition 4.
func loadInTheLimit(out *lab.Result) error {
	nearer, off := true, 0.0
	for _, gamma := range []float64{0.1, 0.5, 1.2, 2, 10, 100} {
		before := math.Inf(1)
		for k := 1000; k <= 1_000_000_000; k *= 1000 {
			rho, err := load(gamma, k)
			if err != nil {
				return err
			}
			off = math.Abs(rho - 1)
			nearer = nearer && off < before/10
			before = off
		}
	}
	out.Claim("ρ(γ,K) tends to 1 as K grows (Proposition 4)", nearer,
		"for six γ from 0.1 to 100 each thousand times longer queue is at least ten times as near; %.2g off at K = 10⁹ and γ = 100", off)
	return nil
}

// drawSequence draws rates of change of pages, and a cycle that visits each.
func drawSequence(rng *rand.Rand) (rates []float64, cycle []int32) {
	rates = make([]float64, 2+rng.IntN(5))
	for i := range rates {
		rates[i] = math.Exp(6*rng.Float64() - 4)
		for range 1 + rng.IntN(8) {
			cycle = append(cycle, int32(i))
		}
	}
	rng.Shuffle(len(cycle), func(i, j int) { cycle[i], cycle[j] = cycle[j], cycle[i] })
	return rates, cycle
}

const propositionDraws = 2000

// shorterVisits is Proposition 7. Its proof divides by the mean visit as if a smaller mean made the quotient smaller.
// So the proposition holds for visits with the same mean and a less variable law, but not for shorter visits. Take a
// page that every visit goes to. With visits of 1 or 3 s, equally often, it is out of date for a smaller share of
// time than with visits of 0 or 3 s: in the second case, long visits take up more of the time.
func shorterVisits(out *lab.Result, rng *rand.Rand) error {
	staler := 0
	for range propositionDraws {
		rates, cycle := drawSequence(rng)
		long := make(sequence.Samples, 4)
		for i := range long {
			long[i] = rng.ExpFloat64()
		}
		even := append(sequence.Samples(nil), long...)
		part := rng.Float64() / 2 // two of the visits nearer to each other
		even[0], even[1] = (1-part)*long[0]+part*long[1], part*long[0]+(1-part)*long[1]
		for i := range rates {
			before, after, err := obsolescence(rates, i, cycle, long, even)
			if err != nil {
				return err
			}
			if after > before*(1+alike) {
				staler++
			}
		}
	}
	out.Claim("visits that are less variable, of the same mean, make no page staler (Proposition 7, by convex order)", staler == 0,
		"%d drawn sequences: %d pages are staler", propositionDraws, staler)
	before, after, err := obsolescence([]float64{1}, 0, []int32{0}, sequence.Samples{1, 3}, sequence.Samples{0, 3})
	if err != nil {
		return err
	}
	out.Claim("visits that are shorter in the increasing convex order make no page staler (Proposition 7)", after <= before,
		"a page that changes once a second, visited each time: out of date for %.4f of the time with visits of 1 or 3 s, for %.4f with none or 3 s", before, after)
	return nil
}

// obsolescence returns the share of time in which page i is out of date, for two distributions of the access time.
func obsolescence(rates []float64, i int, cycle []int32, one, other sequence.AccessTime) (first, second float64, err error) {
	costs := make([]float64, len(rates))
	costs[i] = 1
	for k, access := range []sequence.AccessTime{one, other} {
		pages, err := sequence.New(rates, costs, access)
		if err != nil {
			return 0, 0, err
		}
		*[]*float64{&first, &second}[k] = pages.Cost(cycle)
	}
	return first, second, nil
}

// evenDistances is Proposition 8: if two distances of a page come nearer to each other and the others stay, the page
// is not staler.
func evenDistances(out *lab.Result, rng *rand.Rand) error {
	staler := 0
	for range propositionDraws {
		distances := make([]int, 2+rng.IntN(6))
		for i := range distances {
			distances[i] = 1 + rng.IntN(30)
		}
		nearer := append([]int(nil), distances...)
		if gap := nearer[0] - nearer[1]; gap != 0 {
			by := rng.IntN(max(gap, -gap)/2 + 1)
			if gap < 0 {
				by = -by
			}
			nearer[0], nearer[1] = nearer[0]-by, nearer[1]+by
		}
		rates := []float64{math.Exp(6*rng.Float64() - 5), 1}
		pages, err := sequence.New(rates, []float64{1, 0}, sequence.Erlang{Seconds: 1, Stages: 1 + rng.IntN(5)})
		if err != nil {
			return err
		}
		if pages.Cost(visitsAt(nearer)) > pages.Cost(visitsAt(distances))*(1+alike) {
			staler++
		}
	}
	out.Claim("the more even the distances between a page's visits, the less it is out of date (Proposition 8)", staler == 0,
		"%d draws in which two distances come nearer to each other: staler in %d", propositionDraws, staler)
	return nil
}

// visitsAt returns a cycle in which page 0 is visited at those distances, and page 1 in between.
func visitsAt(distances []int) (cycle []int32) {
	for _, d := range distances {
		cycle = append(cycle, 0)
		for range d - 1 {
			cycle = append(cycle, 1)
		}
	}
	return cycle
}

// general takes the best number of fetchers for exponential service and measures its cost under other service times,
// in models like those of a live crawl: γ = 10 μ, a queue of 5 to 100 places.
func general(out *lab.Result) error {
	worst, where := 0.0, ""
	for _, variation := range []float64{0, 0.25, 4, 16} {
		service := fleet.Deterministic()
		var err error
		switch {
		case variation > 1:
			service, err = fleet.Hyperexponential(variation)
		case variation > 0:
			service, err = fleet.Erlang(int(1 / variation))
		}
		if err != nil {
			return err
		}
		for _, k := range []int{5, 32, 100} {
			for _, lambda := range []float64{0.01, 0.05, 0.2} {
				m := fleet.Model{ArrivalRate: lambda, ServiceRate: 1, Queue: k, Gamma: 10}
				taken, err := m.Best(fleet.Exponential())
				if err != nil {
					return err
				}
				if taken, err = m.Fixed(taken.Fetchers, service); err != nil {
					return err
				}
				best, err := m.Best(service)
				if err != nil {
					return err
				}
				dearer := taken.Cost/best.Cost - 1
				out.Row("table", "general service", "variation", variation, "queue", k, "lambda", lambda,
					"fetchers_exponential", taken.Fetchers, "fetchers", best.Fetchers, "cost_exponential", taken.Cost, "cost", best.Cost, "dearer", dearer)
				if dearer > worst {
					worst, where = dearer, fmt.Sprintf("squared variation %v, K = %d, λ = %v", variation, k, lambda)
				}
			}
		}
	}
	out.Claim("the fixed number that is best for exponential service costs at most a tenth more than the best (ours)", worst <= 0.1,
		"at most %.1f %% more, %s", 100*worst, where)
	return nil
}
