package scheduler

import (
	"iter"
	"math"
	"math/bits"
)

// Chunks returns how many chunks there are.
func (d *Demand) Chunks() int { return len(d.chunks) }

// Bytes returns the bytes of all chunks, in the current versions of their pages.
func (d *Demand) Bytes() float64 { return d.bytes }

// Requests returns R of a chunk: the sum of the weights of the ready clients that lack any of it, times its pages
// and the weight of a page (Lam and Garcia-Molina 2001, 4.1). It is 0 if no ready client lacks any.
func (d *Demand) Requests(i int) float64 {
	c := &d.chunks[i]
	requests := 0.0
	for g := &c.head; g != nil; g = g.next {
		if !g.paused {
			requests += g.weight * float64(bits.OnesCount64(g.missing))
		}
	}
	return requests * c.Weight
}

// Needed reports whether a ready client lacks anything of a chunk that is not held.
func (d *Demand) Needed(i int) bool { return d.Missing(i) != 0 }

// Missing has a bit for each page of a chunk that a ready client lacks, and none if the chunk is held. Sending the
// chunk must carry these pages.
func (d *Demand) Missing(i int) (pages uint64) {
	if d.held[i] {
		return 0
	}
	return d.Lacking(i)
}

// Lacking is Missing whether or not the chunk is held.
func (d *Demand) Lacking(i int) (pages uint64) { return d.chunks[i].missing() }

// Receivers appends to dst the ready clients that lack anything of a chunk. Sent gives the chunk to these. It takes
// a step for each.
func (d *Demand) Receivers(dst []int, i int) []int {
	c := &d.chunks[i]
	for g := &c.head; g != nil; g = g.next {
		if !g.paused && g.missing != 0 {
			for _, who := range g.members {
				dst = append(dst, int(who.client))
			}
		}
	}
	return dst
}

// Cost returns the bytes that sending a chunk takes now, for all its receivers together. See Options.Copies.
func (d *Demand) Cost(i int) float64 { return d.costOf(i, 1) }

// costOf returns the cost if the sizes of the pages count times part.
func (d *Demand) costOf(i int, part float64) float64 {
	c := &d.chunks[i]
	if d.options.Copies {
		return c.bytes(part) * float64(max(1, c.receivers()))
	}
	return c.bytes(part)
}

// Oldest returns since when a ready client has lacked anything of a chunk; +Inf if none does.
func (d *Demand) Oldest(i int) float64 {
	c := &d.chunks[i]
	oldest := math.Inf(1)
	for g := &c.head; g != nil; g = g.next {
		if !g.paused && g.missing != 0 {
			oldest = min(oldest, g.first)
		}
	}
	return oldest
}

// Outstanding returns how many chunks a client lacks anything of.
func (d *Demand) Outstanding(k int) int { return int(d.clients[k].lacks) }

// StaleFor returns for how long a client has lacked anything, in seconds; 0 if it has everything.
func (d *Demand) StaleFor(k int, now float64) float64 {
	if d.clients[k].lacks == 0 {
		return 0
	}
	return now - d.clients[k].stale
}

// Wants returns what a client wants and what it lacks of that, so that it can join another facility. For a
// downloader these are the chunks that it still waits for.
func (d *Demand) Wants(k int) []Want {
	var wants []Want
	for _, i := range d.clients[k].chunks {
		if i >= 0 {
			g, _ := d.chunks[i].find(k)
			wants = append(wants, Want{int(i), g.missing, append([]float64(nil), g.since...), g.taken})
		}
	}
	return wants
}

// Clients returns the numbers of all clients that have joined, in order.
func (d *Demand) Clients() iter.Seq[int] {
	return func(yield func(int) bool) {
		for k := range d.clients {
			if !d.clients[k].gone && !yield(k) {
				return
			}
		}
	}
}

// Describe returns a client as it would join another facility now: the wait of a downloader includes its wait here.
func (d *Demand) Describe(k int, now float64) Client {
	c := d.clients[k].Client
	if c.Downloader {
		c.Waited = now - d.clients[k].joined
	}
	return c
}
