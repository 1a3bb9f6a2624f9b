package castillo

import (
	"context"
	"math"
	"slices"
	"time"

	"freshet/frontier"
	"freshet/importance"
	"freshet/sim/discovery"
	"freshet/sim/graph"
	"freshet/weburl"
)

// world is a web and the importance of its pages.
type world struct {
	*graph.Stored
	worth []float64 // PageRank in the whole web, by page; 0 for a miss
}

// readWorld opens the web of that name; run is added to its seed.
func (p *parameters) readWorld(ctx context.Context, run uint64) (*world, error) {
	web, err := p.readWeb(ctx, run)
	if err != nil {
		return nil, err
	}
	worth, err := web.Worth(importance.RankOptions{Tolerance: 1e-6})
	if err != nil {
		return nil, err
	}
	return &world{web, worth}, nil
}

func (p *parameters) readWeb(ctx context.Context, run uint64) (*graph.Stored, error) {
	if p.web != "synthetic" {
		return p.source.Open(ctx, p.web, run)
	}
	web, _, err := graph.Generate(ctx, graph.Recipe{Seed: 1 + run, Sites: p.sites, HomeShare: 0.6})
	return web, err
}

// reachable says for each page whether links lead to it from the home pages.
func (w *world) reachable() []bool {
	reached := make([]bool, w.Pages())
	var waiting []uint32
	for site := range uint32(w.Sites()) {
		if home, ok := w.Home(site); ok {
			reached[home] = true
			waiting = append(waiting, home)
		}
	}
	for len(waiting) > 0 {
		page := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		for _, to := range w.Links().Out(page) {
			if !reached[to] {
				reached[to] = true
				waiting = append(waiting, to)
			}
		}
	}
	return reached
}

// bounds are lower bounds, in s, for a crawl of all reachable pages.
type bounds struct {
	size float64 // all bytes at the crawler's bandwidth, T* = ΣP/B; 0 without a limit
	site float64 // the slowest site, asked as often as politeness allows
}

// bounds returns them for n_s reachable pages of site s: ⌈n_s/k⌉·(latency + w) + their bytes at the site's rate − w.
func (w *world) bounds(delay time.Duration, perConnection int, bandwidth float64) (b bounds) {
	total := 0.0
	reached := w.reachable()
	for site := range uint32(w.Sites()) {
		first, end := w.Range(site)
		if first == end {
			continue
		}
		server, pages, bytes := w.Server(site), 0, 0.0
		for page := first; page < end; page++ {
			if reached[page] {
				pages++
				bytes += w.Bytes(page)
			}
		}
		total += bytes
		connections := math.Ceil(float64(pages) / float64(perConnection))
		own := connections*(server.Latency+delay.Seconds()) - delay.Seconds()
		if server.Rate > 0 {
			own += bytes / server.Rate
		}
		b.site = max(b.site, own)
	}
	if bandwidth > 0 {
		b.size = total / bandwidth
	}
	return b
}

// optimal returns the ordering that knows the importance of the pages.
func (w *world) optimal() frontier.Ordering {
	return frontier.Optimal{Worth: func(f weburl.Fingerprint) float64 {
		return w.worth[discovery.PageOf(weburl.Link{Fingerprint: f})]
	}}
}

// ordering returns the ordering of that name.
func (w *world) ordering(name string) (frontier.Ordering, error) {
	if name == "optimal" {
		return w.optimal(), nil
	}
	return frontier.ParseOrdering(name)
}

// siteSizes returns the sites' numbers of pages, largest first.
func (w *world) siteSizes() []float64 {
	sizes := make([]float64, w.Sites())
	for site := range sizes {
		first, end := w.Range(uint32(site))
		sizes[site] = float64(end - first)
	}
	slices.SortFunc(sizes, func(a, b float64) int { return int(b - a) })
	return sizes
}
