package wolf

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"freshet/lab"
	"freshet/schedule"
)

// Figure 10 has that many crawlers. A crawl is near if it is within that many slots of its ideal time.
const (
	crawlers = 10
	near     = 20
)

// ideals are ways to draw ideal times in [0, 1).
var ideals = []struct {
	name string
	draw func(rng *rand.Rand, times []float64)
}{
	{"independent", func(rng *rand.Rand, times []float64) {
		for i := range times {
			times[i] = rng.Float64()
		}
	}},
	{"pages of 1 to 4 even crawls, each of a phase of its own", func(rng *rand.Rand, times []float64) {
		for len(times) > 0 {
			crawls := min(1+rng.IntN(4), len(times))
			phase := rng.Float64()
			for j := range crawls {
				times[j] = (phase + float64(j)) / float64(crawls)
			}
			times = times[crawls:]
		}
	}},
	{"spread evenly, with jitter", func(rng *rand.Rand, times []float64) {
		for i := range times {
			times[i] = (float64(i) + rng.Float64()) / float64(len(times))
		}
	}},
}

// displacement holds the distances of crawls from their ideal times, in slots of one crawler.
type displacement struct {
	mean, most, near float64
	unplaced         int
	shares           [2*shown + 1]float64 // shares[shown+i]: of the crawls that are i slots late
}

// shown is how many slots early and late the figure shows.
const shown = 30

// displacements is Figure 10: as many crawls as slots. A fifth of them are of quasi-deterministic pages and must not
// be early.
func (p *parameters) displacements(ctx context.Context, out *lab.Result) error {
	slots, err := schedule.Slots([]schedule.Crawlers{{Count: crawlers, Slots: p.slots}}, 1)
	if err != nil {
		return err
	}
	within := map[string]float64{}
	plot := lab.Plot{Title: "Figure 10", X: lab.Axis{Label: "slots late"}, Y: lab.Axis{Label: "share of crawls"}}
	for k, ideal := range ideals {
		var means, mosts, nears []float64
		unplaced := 0
		curve := lab.Series{Name: ideal.name, X: make([]float64, 2*shown+1), Y: make([]float64, 2*shown+1)}
		for draw := range p.draws {
			if err := ctx.Err(); err != nil {
				return err
			}
			out.Progress("figure 10, "+ideal.name, draw, p.draws)
			d := p.displacement(lab.Random(p.seed, k*p.draws+draw), slots, ideal.draw)
			means, mosts, nears, unplaced = append(means, d.mean), append(mosts, d.most), append(nears, d.near), unplaced+d.unplaced
			for i, share := range d.shares {
				curve.X[i] = float64(i - shown)
				curve.Y[i] += share / float64(p.draws)
			}
		}
		plot.Series = append(plot.Series, curve)
		mean, most := lab.Estimate(means, 0.95), lab.Estimate(mosts, 0.95)
		within[ideal.name] = lab.Estimate(nears, 0.95).Mean
		out.Row("figure", "10", "ideal_times", ideal.name, "crawls", len(slots), "mean_slots", mean, "most_slots", most,
			fmt.Sprintf("share_within_%d", near), within[ideal.name], "unplaced", unplaced)
		if p.slots == referenceSlots {
			for i, measured := range []float64{mean.Mean, most.Mean, within[ideal.name]} {
				out.Compare(lab.Comparison{What: ideal.name + ": " + [...]string{"mean distance in slots", "largest distance", "share within 20 slots"}[i],
					Source: "Figure 10, computed", Reference: new(referenceTen[ideal.name][i].value), Measured: measured, Tolerance: referenceTen[ideal.name][i].spread})
			}
		}
	}
	out.Plot(plot)
	for _, ideal := range ideals {
		out.Claim("Figure 10: virtually all crawls land within 20 slots of their ideal times; ideal times "+ideal.name, within[ideal.name] >= 0.99,
			"%.3f of them", within[ideal.name])
	}
	return nil
}

// displacement schedules one draw. A crawl that must not be early and is due after the last slot's start has no slot.
// It is left to the next interval.
func (p *parameters) displacement(rng *rand.Rand, slots []schedule.Slot, draw func(*rand.Rand, []float64)) displacement {
	times := make([]float64, len(slots))
	draw(rng, times)
	tasks := make([]schedule.Task, len(slots))
	for i, at := range times {
		tasks[i] = schedule.Task{Ideal: at, Release: rng.IntN(5) == 0}
	}
	s := schedule.Sweep(tasks, slots)
	d := displacement{unplaced: len(tasks) - s.Placed}
	for i, slot := range s.Slot {
		if slot < 0 {
			continue
		}
		late := (slots[slot].Start - tasks[i].Ideal) * float64(p.slots)
		if bin := shown + int(math.Round(late)); bin >= 0 && bin < len(d.shares) {
			d.shares[bin]++
		}
		off := math.Abs(late)
		d.mean += off
		d.most = max(d.most, off)
		if off <= near {
			d.near++
		}
	}
	d.mean /= float64(s.Placed)
	d.near /= float64(s.Placed)
	for i := range d.shares {
		d.shares[i] /= float64(s.Placed)
	}
	return d
}
