package lam

import (
	"fmt"
	"math"

	"freshet/lab"
)

// A reference is a number to compare a measured one with. It was published, or it comes from an independent
// simulation of the same reading. The tolerance is then the spread between that simulation's seeds.
type reference struct {
	subscribers, downloaders int
	meanSites                float64
	scheduler                string
	metric                   string // a key of metrics
	value, spread            float64
	source                   string
}

const (
	figure4   = "Figure 4"
	figure5   = "Figure 5"
	figure8   = "Figure 8"
	figure9   = "Figure 9"
	text52    = "section 5.1.2"
	reading   = "reference simulation"
	tolerance = 0.02 // of a published freshness, which was read off a plot of one run
)

// metrics holds the metrics of the references, with their units: fractions and days.
var metrics = map[string]struct {
	of   metric
	unit float64
}{
	"freshness over clients":     {freshnessOverClients, 1},
	"freshness over data":        {freshnessOverData, 1},
	"age over clients, d":        {ageOverClients, day},
	"age over data, d":           {ageOverData, day},
	"freshness at one week":      {freshnessAtWeek, 1},
	"delay of the served, d":     {delayFinished, day},
	"delay, unserved counted, d": {delay, day},
	"unserved downloaders":       {unserved, 1},
}

// references returns the known numbers for the base case.
func references() []reference {
	refs := []reference{
		{1000, 0, 9, "circular", "freshness over clients", 0.53, tolerance, figure4},
		{1000, 0, 9, "popularity", "freshness over clients", 0.55, tolerance, figure4},
		{1000, 0, 9, "rq", "freshness over clients", 0.62, tolerance, figure4},
		{1000, 0, 9, "rxc", "freshness over clients", 0.48, tolerance, figure4},
		{100, 0, 9, "circular", "freshness over clients", 0.865, tolerance, figure4},
		{100, 0, 9, "popularity", "freshness over clients", 0.857, tolerance, figure4},
		{100, 0, 9, "rq", "freshness over clients", 0.787, tolerance, figure4},
		{1000, 0, 9, "rq", "freshness over data", 0.43, tolerance, figure5},
		{100, 0, 40, "popularity", "freshness over clients", 0.85, tolerance, text52},
		{100, 0, 40, "rq", "freshness over clients", 0.81, tolerance, text52},
		{100, 0, 100, "popularity", "freshness over clients", 0.73, tolerance, text52},
		{100, 0, 100, "rq", "freshness over clients", 0.74, tolerance, text52},
		{100, 100, 9, "rq", "freshness at one week", 0.922, tolerance, figure9},
		{100, 100, 9, "circular", "freshness at one week", 0.855, tolerance, figure9},
		{100, 100, 9, "popularity", "freshness at one week", 0.84, tolerance, figure9},
		{100, 100, 9, "rxc", "freshness at one week", 0.84, tolerance, figure9},
		{100, 100, 9, "rq", "delay of the served, d", 1.05, 0.5, figure8},
		{100, 100, 9, "rxc", "delay of the served, d", 4.2, 0.5, figure8},
		{100, 100, 9, "popularity", "delay of the served, d", 6.6, 0.5, figure8},
	}
	four := func(subscribers int, scheduler string, values ...float64) {
		for i, name := range []string{"freshness over clients", "freshness over data", "age over clients, d", "age over data, d"} {
			unit := 0.01
			if i >= 2 {
				unit = 1
			}
			refs = append(refs, reference{subscribers, 0, 9, scheduler, name, values[2*i] * unit, values[2*i+1] * unit, reading})
		}
	}
	four(1000, "circular", 50.0, 1.4, 49.5, 0.7, 18.0, 1.0, 18.2, 0.6)
	four(1000, "popularity", 52.1, 0.7, 52.3, 0.4, 19.8, 0.4, 19.6, 0.3)
	four(1000, "rq", 61.7, 2.5, 37.8, 0.8, 16.1, 1.5, 29.8, 0.5)
	four(1000, "rxc", 51.6, 0.8, 51.4, 0.4, 19.0, 0.5, 19.1, 0.3)
	four(1000, "rxc-ideal", 51.5, 0.6, 51.4, 0.3, 20.9, 0.4, 21.0, 0.2)
	four(1000, "lifetime", 71.0, 0.6, 47.6, 0.4, 8.7, 0.3, 22.7, 0.3)
	four(100, "circular", 85.7, 1.7, 85.7, 1.6, 0.67, 0.19, 0.67, 0.19)
	four(100, "popularity", 87.6, 1.8, 87.5, 1.6, 0.92, 0.23, 0.94, 0.24)
	four(100, "rq", 79.4, 2.3, 46.2, 2.3, 8.86, 1.10, 25.2, 1.4)
	four(100, "rxc", 84.5, 1.9, 84.4, 2.0, 2.34, 0.52, 2.31, 0.48)
	four(100, "rxc-ideal", 83.2, 2.0, 83.3, 2.1, 4.24, 0.77, 4.24, 0.78)
	four(100, "lifetime", 92.3, 1.0, 85.6, 1.8, 0.47, 0.12, 1.16, 0.31)
	fresh := func(subscribers int, meanSites float64, scheduler string, value, spread float64) {
		refs = append(refs, reference{subscribers, 0, meanSites, scheduler, "freshness over clients", value / 100, spread / 100, reading})
	}
	fresh(400, 9, "circular", 65.9, 1.2)
	fresh(400, 9, "popularity", 66.8, 1.3)
	fresh(400, 9, "rq", 66.0, 1.4)
	fresh(400, 9, "rxc", 63.4, 0.8)
	fresh(3000, 9, "circular", 41.1, 0.3)
	fresh(3000, 9, "popularity", 46.9, 0.5)
	fresh(3000, 9, "rq", 55.8, 0.2)
	fresh(3000, 9, "rxc", 45.4, 0.6)
	fresh(100, 40, "circular", 62.8, 1.7)
	fresh(100, 40, "popularity", 64.1, 1.6)
	fresh(100, 40, "rq", 57.3, 3.1)
	fresh(100, 100, "circular", 48.5, 2.1)
	fresh(100, 100, "popularity", 52.2, 0.8)
	fresh(100, 100, "rq", 50.0, 3.6)
	mixed := func(scheduler string, values ...float64) {
		for i, name := range []string{"freshness at one week", "delay of the served, d", "unserved downloaders", "delay, unserved counted, d"} {
			unit := 1.0
			if i == 0 {
				unit = 0.01
			}
			refs = append(refs, reference{100, 100, 9, scheduler, name, values[2*i] * unit, values[2*i+1] * unit, reading})
		}
	}
	mixed("circular", 85.7, 0.6, 18.1, 2.5, 0, 0, 18.1, 2.5)
	mixed("popularity", 83.6, 0.4, 9.4, 1.6, 0, 0, 9.4, 1.6)
	mixed("rq", 92.8, 0.6, 2.6, 1.3, 16.2, 6.7, 14.4, 4.0)
	mixed("rxc", 83.6, 0.4, 15.3, 1.8, 34.0, 4.9, 35.5, 3.6)
	mixed("rxc-ideal", 83.7, 0.4, 11.8, 1.9, 52.6, 3.4, 45.0, 2.7)
	return refs
}

// base reports whether everything but the clients is as in Table 1.
func (l load) base() bool {
	return l.interval == 75*day && l.duration == 75*day && l.pagesPerChunk == 15 && l.skew == 0 && !l.same && !l.unicast
}

// compare compares the measurements with the references of a load.
func (l load) compare(out *lab.Result, summaries []summary) {
	if !l.base() {
		return
	}
	for _, ref := range references() {
		if ref.subscribers != l.subscribers || ref.downloaders != l.downloaders || ref.meanSites != l.meanSites {
			continue
		}
		for _, s := range summaries {
			m := metrics[ref.metric]
			measured := s.mean(m.of) / m.unit
			if s.scheduler != ref.scheduler || math.IsNaN(measured) {
				continue
			}
			compared := lab.Comparison{
				What:   fmt.Sprintf("%s, %s: %s", l, s.scheduler, ref.metric),
				Source: ref.source, Measured: measured, Tolerance: ref.spread,
			}
			if ref.source == reading {
				compared.Reference = &ref.value
			} else {
				compared.Published = &ref.value
			}
			out.Compare(compared)
		}
	}
}

// String returns the number of clients of each kind, and what differs from the base case.
func (l load) String() string {
	text := fmt.Sprintf("%d subscribers", l.subscribers)
	if l.downloaders > 0 {
		text += fmt.Sprintf(" + %d downloaders", l.downloaders)
	}
	if l.meanSites != 9 {
		text += fmt.Sprintf(", %g sites", l.meanSites)
	}
	if l.interval != 75*day {
		text += fmt.Sprintf(", intervals of %g days", l.interval/day)
	}
	if l.skew != 0 {
		text += fmt.Sprintf(", skew %g", l.skew)
	}
	if l.unicast {
		text += ", unicast"
	}
	if l.pagesPerChunk != 15 {
		text += fmt.Sprintf(", %d pages a chunk", l.pagesPerChunk)
	}
	return text
}
