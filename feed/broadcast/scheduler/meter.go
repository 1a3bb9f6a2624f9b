package scheduler

import "math/bits"

// A Reading is how up to date the subscribers are at an instant: weighted means over them and over all pages they
// want. Without subscribers or pages, freshness is 1 and age 0.
type Reading struct {
	FreshnessOverClients, FreshnessOverData float64 // part of the pages that they have the current version of
	AgeOverClients, AgeOverData             float64 // s since a page went stale; 0 if it is fresh
}

// Add returns the sum of two readings. With Scale it makes means over time.
func (r Reading) Add(other Reading) Reading {
	return Reading{
		r.FreshnessOverClients + other.FreshnessOverClients, r.FreshnessOverData + other.FreshnessOverData,
		r.AgeOverClients + other.AgeOverClients, r.AgeOverData + other.AgeOverData,
	}
}

// Scale returns the reading times a factor.
func (r Reading) Scale(factor float64) Reading {
	return Reading{
		r.FreshnessOverClients * factor, r.FreshnessOverData * factor,
		r.AgeOverClients * factor, r.AgeOverData * factor,
	}
}

// Delays is how long downloaders wait for their last chunk.
type Delays struct {
	Served   int     // downloaders that got all they wanted
	Unserved int     // those that still wait, and those that left before
	Mean     float64 // s, over the served; 0 if there are none
	// MeanAll includes the unserved, with the time they have waited. A mean over the served alone rewards a
	// scheduler that never serves slow clients.
	MeanAll float64
}

// A meter keeps sums from which the metrics can be read at any instant, in O(1).
type meter struct {
	weight, pages            float64 // Σ of the subscribers' weights; times their pages
	staleShare, sinceShare   float64 // Σ over missing pages of their share; times since when
	stalePages, sincePages   float64 // Σ over missing pages of their weight; times since when
	items, images            Histogram
	waiting                  int
	arrivals                 float64 // Σ of when the waiting joined
	served, gaveUp           int
	servedAfter, gaveUpAfter float64
}

// count adds what a group of a chunk lacks times sign: 1 adds it, -1 takes it back.
func (m *meter) count(c *chunk, g *group, sign float64) {
	if g.downloads || g.missing == 0 {
		return
	}
	unit := sign * c.Weight
	missing := float64(bits.OnesCount64(g.missing))
	m.staleShare += unit * g.share * missing
	m.sinceShare += unit * g.share * g.sum
	m.stalePages += unit * g.weight * missing
	m.sincePages += unit * g.weight * g.sum
}

// spoil notes that the group lacks one more page from now on.
func (m *meter) spoil(c *chunk, g *group, now float64) {
	m.staleShare += c.Weight * g.share
	m.sinceShare += c.Weight * g.share * now
	m.stalePages += c.Weight * g.weight
	m.sincePages += c.Weight * g.weight * now
}

// Read returns the subscribers' freshness and age at now. O(1).
//
// The sums are updated with each change. Their rounding errors stay below 1e-6 for a billion changes.
func (d *Demand) Read(now float64) Reading {
	m := &d.meter
	r := Reading{FreshnessOverClients: 1, FreshnessOverData: 1}
	if m.weight > 0 {
		r.FreshnessOverClients = 1 - m.staleShare/m.weight
		r.AgeOverClients = (m.staleShare*now - m.sinceShare) / m.weight
	}
	if m.pages > 0 {
		r.FreshnessOverData = 1 - m.stalePages/m.pages
		r.AgeOverData = (m.stalePages*now - m.sincePages) / m.pages
	}
	return r
}

// Client returns the freshness of one client, 1 - Q/N, and its age in seconds. O(its chunks).
func (d *Demand) Client(k int, now float64) (freshness, age float64) {
	c := &d.clients[k]
	var stale, old float64
	for _, i := range c.chunks {
		if i >= 0 {
			chunk := &d.chunks[i]
			g, _ := chunk.find(k)
			missing := float64(bits.OnesCount64(g.missing))
			stale += chunk.Weight * missing
			old += chunk.Weight * (missing*now - g.sum)
		}
	}
	if c.pages == 0 {
		return 1, 0
	}
	return 1 - stale/c.pages, old / c.pages
}

// ItemLag returns the data-item lags until now. A lag begins when a page that a subscriber had first changes. It
// ends when the subscriber gets the current version; if that is still to come, the time so far counts. O(missing
// pages).
func (d *Demand) ItemLag(now float64) Histogram {
	lags := d.meter.items
	for i := range d.chunks {
		for g := &d.chunks[i].head; g != nil; g = g.next {
			if g.missing != 0 {
				lags.lag(g, now)
			}
		}
	}
	return lags
}

// ImageLag returns the client-image lags until now. A subscriber's image is all the pages it wants. A lag lasts
// from the first change until the whole image is up to date again; if it is not yet, the time so far counts.
// O(clients).
func (d *Demand) ImageLag(now float64) Histogram {
	lags := d.meter.images
	for k := range d.clients {
		if c := &d.clients[k]; !c.gone && !c.Downloader && c.lacks > 0 {
			lags.Add(now-c.stale, 1)
		}
	}
	return lags
}

// Delays returns how long downloaders have waited until now. O(1).
func (d *Demand) Delays(now float64) Delays {
	m := &d.meter
	delays := Delays{Served: m.served, Unserved: m.waiting + m.gaveUp}
	if m.served > 0 {
		delays.Mean = m.servedAfter / float64(m.served)
	}
	if all := m.served + m.waiting + m.gaveUp; all > 0 {
		waited := float64(m.waiting)*now - m.arrivals
		delays.MeanAll = (m.servedAfter + m.gaveUpAfter + waited) / float64(all)
	}
	return delays
}
