package lam

import (
	"math"
	"math/rand/v2"
	"slices"

	"freshet/change"
	"freshet/feed/broadcast/scheduler"
)

// The repository of Table 1.
const (
	largeSites, largePages   = 840, 990
	mediumSites, mediumPages = 3_360, 60
	smallSites, smallPages   = 16_800, 15
	sites                    = largeSites + mediumSites + smallSites

	overhead = 0.1   // of a sending by unicast, in pages
	pageTime = 20    // s to send a page: a chunk of 15 takes five minutes
	day      = 86400 // s
	hotPart  = 0.05  // of the sites of each class are hot
	quickest = 60    // s, the shortest mean interval between changes of a page
)

// A load holds the settings of a run: clients, changes and chunks.
type load struct {
	subscribers, downloaders int
	meanSites                float64 // that a client wants
	interval                 float64 // s, mean of the pages' mean times between changes
	same                     bool    // all pages change at one rate
	duration                 float64 // s
	pagesPerChunk            int
	skew                     float64 // the share of requests that go to hot sites
	unicast                  bool    // each client gets a separate copy, of the pages that any client lacks
}

// tick is the time, in s, to send the smallest whole chunk. Everything happens at multiples of it.
func (l load) tick() float64 { return float64(min(l.pagesPerChunk, smallPages) * pageTime) }

// ticks returns how many ticks a run has.
func (l load) ticks() int { return int(l.duration / l.tick()) }

// A world is one draw of clients and changes, the same for every scheduler.
type world struct {
	load
	chunks  []scheduler.Chunk
	wants   [][]int32   // by client, subscribers first: chunks
	rates   []float64   // of chunks, changes/s: all its pages'; 0 if nobody wants it
	means   [][]float64 // of the pages of wanted chunks: mean intervals between changes, s
	changes []scheduler.Page
	from    []int32 // by tick: the first of its changes; one more than there are ticks
}

// draw returns a world drawn from rng.
func (l load) draw(rng *rand.Rand) *world {
	w := &world{load: l}
	first := w.layOut(rng)
	for range l.subscribers + l.downloaders {
		w.wants = append(w.wants, w.drawWants(first, rng))
	}
	w.drawChanges(rng)
	return w
}

// pagesOf returns the pages of a site: large ones have the lowest numbers, small ones the highest.
func pagesOf(site int) int {
	switch {
	case site < largeSites:
		return largePages
	case site < largeSites+mediumSites:
		return mediumPages
	}
	return smallPages
}

// layOut numbers the chunks: sites in random order, the chunks of a site consecutively. It returns each site's first
// chunk.
func (w *world) layOut(rng *rand.Rand) (first []int32) {
	first = make([]int32, sites+1)
	for _, site := range rng.Perm(sites) {
		first[site] = int32(len(w.chunks))
		for left := pagesOf(site); left > 0; left -= w.pagesPerChunk {
			pages := min(left, w.pagesPerChunk)
			chunk := scheduler.Chunk{Pages: pages, Bytes: float64(pages)}
			if w.unicast {
				chunk.Bytes, chunk.Sizes = overhead, make([]int32, pages)
				for page := range chunk.Sizes {
					chunk.Sizes[page] = 1
				}
			}
			w.chunks = append(w.chunks, chunk)
		}
	}
	return first
}

// chunksOf returns how many chunks a site has.
func (w *world) chunksOf(site int) int32 {
	return int32((pagesOf(site) + w.pagesPerChunk - 1) / w.pagesPerChunk)
}

// drawWants returns the chunks that a client wants: those of an exponential number of whole sites.
func (w *world) drawWants(first []int32, rng *rand.Rand) (chunks []int32) {
	n := int(max(1, min(math.Round(rng.ExpFloat64()*w.meanSites), sites/2)))
	has := make(map[int]bool, n)
	for len(has) < n {
		site := w.drawSite(rng)
		if has[site] {
			continue
		}
		has[site] = true
		for i := range w.chunksOf(site) {
			chunks = append(chunks, first[site]+i)
		}
	}
	return chunks
}

// drawSite returns a random site, or with probability skew a hot one. The first twentieth of each class is hot.
func (w *world) drawSite(rng *rand.Rand) int {
	site := rng.IntN(sites)
	if w.skew == 0 || rng.Float64() >= w.skew {
		return site
	}
	switch {
	case site < largeSites:
		return rng.IntN(largeSites * hotPart)
	case site < largeSites+mediumSites:
		return largeSites + rng.IntN(mediumSites*hotPart)
	}
	return largeSites + mediumSites + rng.IntN(smallSites*hotPart)
}

// drawChanges draws the changes of all wanted pages, at most one per page and tick, and sorts them by tick. Each page
// has its own mean interval, uniform on (0, 2·interval).
func (w *world) drawChanges(rng *rand.Rand) {
	wanted := make([]bool, len(w.chunks))
	for _, chunks := range w.wants {
		for _, i := range chunks {
			wanted[i] = true
		}
	}
	w.rates = make([]float64, len(w.chunks))
	w.means = make([][]float64, len(w.chunks))
	type event struct {
		tick int32
		page scheduler.Page
	}
	var events []event
	ticks := int32(w.ticks())
	for i, chunk := range w.chunks {
		if !wanted[i] {
			continue
		}
		for page := range chunk.Pages {
			mean := w.interval
			if !w.same {
				mean = max(quickest, 2*w.interval*rng.Float64())
			}
			w.rates[i] += 1 / mean
			w.means[i] = append(w.means[i], mean)
			last := int32(0)
			for at := range change.Draw(change.Poisson(1/mean), rng, float64(ticks)*w.tick()) {
				if tick := int32(math.Ceil(at / w.tick())); tick > last {
					events = append(events, event{tick, scheduler.Page{Chunk: int32(i), Page: int32(page)}})
					last = tick
				}
			}
		}
	}
	w.from = make([]int32, ticks+2)
	for _, e := range events {
		w.from[e.tick+1]++
	}
	for tick := range ticks + 1 {
		w.from[tick+1] += w.from[tick]
	}
	w.changes = make([]scheduler.Page, len(events))
	next := slices.Clone(w.from)
	for _, e := range events {
		w.changes[next[e.tick]] = e.page
		next[e.tick]++
	}
}

// ticksFor returns how many ticks sending a chunk takes.
func (f *facility) ticksFor(i int) int {
	return int(math.Ceil(f.demand.Cost(i) * pageTime / f.world.tick()))
}

// downloader reports whether a client is a downloader. Downloaders have the numbers after the subscribers.
func (l load) downloader(client int) bool { return client >= l.subscribers }

// at returns the changes of a tick.
func (w *world) at(tick int) []scheduler.Page { return w.changes[w.from[tick]:w.from[tick+1]] }
