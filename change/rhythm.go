package change

import "math"

// A Rhythm is a period in which a page changes at nearly the same phase: daily at six, or Mondays.
type Rhythm struct {
	Period   float64 // s
	Phase    float64 // s from a multiple of the period, in [0, Period): about when it changes
	Strength float64 // 0 for changes at any phase to 1 for the same each time
	Chance   float64 // the probability of such a strength, at the best of the periods, without a rhythm
}

// FindRhythm returns the period, of some candidates in seconds, in which dated changes keep a phase most
// strictly: the length of the mean of the phases as unit vectors, R, by Rayleigh's test
// (chance about e^(-nR²) a candidate, that many times). Without changes or candidates the chance is 1.
// O(changes × candidates).
func FindRhythm(changes, periods []float64) Rhythm {
	best := Rhythm{Chance: 1}
	n := float64(len(changes))
	for _, period := range periods {
		x, y := 0.0, 0.0
		for _, t := range changes {
			sin, cos := math.Sincos(2 * math.Pi * math.Mod(t, period) / period)
			x += cos / n
			y += sin / n
		}
		strength := math.Hypot(x, y)
		chance := math.Min(1, float64(len(periods))*math.Exp(-n*strength*strength))
		if chance < best.Chance {
			phase := math.Mod(math.Atan2(y, x)/(2*math.Pi)+1, 1) * period
			best = Rhythm{period, phase, strength, chance}
		}
	}
	return best
}

// Times returns when within an interval, which begins at start and lasts so many seconds, a page of this
// rhythm may change, and with which probability each time: what a quasi-deterministic page needs. changed
// is the part of the periods in which it did.
func (r Rhythm) Times(start, interval, changed float64) (times, probabilities []float64) {
	first := math.Ceil((start-r.Phase)/r.Period)*r.Period + r.Phase
	for t := first - start; t < interval; t += r.Period {
		times = append(times, t)
		probabilities = append(probabilities, changed)
	}
	return times, probabilities
}
