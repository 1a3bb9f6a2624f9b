package change

import (
	"iter"
	"math"
	"math/rand/v2"
)

// A Rhythm is a page that may change at the same phase of every period, such as daily at six. It is a Quasi page that
// repeats forever. Times are in seconds from an origin that the caller chooses.
type Rhythm struct {
	Period      float64 // s, positive
	Phase       float64 // s from time 0 to an instant at which it may change
	Probability float64 // that it changes at such an instant
}

// upTo returns the number of the last instant at or before time. The instant at Phase is number 0.
func (r Rhythm) upTo(time float64) float64 { return math.Floor((time - r.Phase) / r.Period) }

// Count returns the number of instants in (from, to].
func (r Rhythm) Count(from, to float64) float64 { return r.upTo(to) - r.upTo(from) }

// Next returns the first instant after time.
func (r Rhythm) Next(time float64) float64 { return r.Phase + (r.upTo(time)+1)*r.Period }

// Over returns the page over interval seconds from start. Stale is the probability that its copy is stale at the start.
// Over returns an error if there are more than MaxUpdates instants, or if an argument is out of range.
func (r Rhythm) Over(start, interval, stale float64) (*Quasi, error) {
	n := int(min(r.Count(start, start+interval), MaxUpdates+1))
	times, probabilities := make([]float64, n), make([]float64, n)
	first := r.Next(start) - start
	for j := range n {
		times[j], probabilities[j] = min(first+float64(j)*r.Period, interval), r.Probability
	}
	return NewQuasi(times, probabilities, interval, stale)
}

// Draw draws the times of the changes in (from, to], rising.
func (r Rhythm) Draw(rng *rand.Rand, from, to float64) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		first := r.Next(from)
		for j := 0.0; first+j*r.Period <= to; j++ {
			if rng.Float64() < r.Probability && !yield(first+j*r.Period) {
				return
			}
		}
	}
}
