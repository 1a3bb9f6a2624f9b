package wolf

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"freshet/lab"
	"freshet/schedule"
)

// TestLargestDistance explains Figure 10's largest distance for independent ideal times. The difference between the
// crawls and the slots so far is a Brownian bridge, in units of √(S/10) slots of one of ten crawlers with S slots. If
// there are more crawls than slots, each crawl waits that long. If there are fewer, only the four in five that may be
// early take a free slot, so each of them is early by 5/4 of the difference. So the largest distance is the bridge's
// maximum or 5/4 of its minimum, whichever is larger. With a million slots, 19 in 20 draws lie between 169 and 545.
func TestLargestDistance(t *testing.T) {
	const draws, perCrawler = 300, 2000
	p := &parameters{slots: perCrawler}
	slots, err := schedule.Slots([]schedule.Crawlers{{Count: crawlers, Slots: perCrawler}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	var ranks []float64 // of each draw in the law: evenly from 0 to 1, if it is the law
	for draw := range draws {
		d := p.displacement(lab.Random(1, draw), slots, ideals[0].draw)
		high := d.most / math.Sqrt(perCrawler/10)
		ranks = append(ranks, bridgeWithin(high, high*4/5))
	}
	slices.Sort(ranks)
	off := 0.0
	for i, rank := range ranks {
		off = max(off, math.Abs(rank-(float64(i)+0.5)/draws))
	}
	// Kolmogorov's bound of one in a thousand, and what whole slots, one in a hundred of the distance, add.
	if limit := 1.95/math.Sqrt(draws) + 0.02; off > limit {
		t.Errorf("the largest distances are off their law by %.3f, want at most %.3f", off, limit)
	}
	low, high := math.Sqrt(referenceSlots/10)*bridgeQuantile(0.025), math.Sqrt(referenceSlots/10)*bridgeQuantile(0.975)
	if got := fmt.Sprintf("%.0f to %.0f", low, high); got != "169 to 545" {
		t.Errorf("19 in 20 draws at a million slots are %s", got)
	}
}

// bridgeWithin returns the probability that a Brownian bridge stays below high and above -low.
func bridgeWithin(high, low float64) float64 {
	sum, width := 0.0, high+low
	for k := -50.0; k <= 50; k++ {
		sum += math.Exp(-2*k*k*width*width) - math.Exp(-2*(low+k*width)*(low+k*width))
	}
	return sum
}

// bridgeQuantile returns the distance that is the largest, or more, with the probability, in units of the bridge.
func bridgeQuantile(probability float64) float64 {
	low, high := 0.2, 4.0
	for range 60 {
		if middle := (low + high) / 2; bridgeWithin(middle, middle*4/5) < probability {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
