package castillo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"freshet/frontier"
	"freshet/importance"
	"freshet/lab"
	"freshet/sim/discovery"
	"freshet/sim/graph"
	"freshet/weburl"
)

// world is a web and what its pages are worth.
type world struct {
	*graph.Stored
	worth []float64 // PageRank in the whole web, by page; 0 for a miss
}

// readWorld makes or reads the web. Names are of synthetic webs; run is added to their seeds.
func readWorld(ctx context.Context, name string, sites int, run uint64) (*world, error) {
	web, err := readWeb(ctx, name, sites, run)
	if err != nil {
		return nil, err
	}
	worth, err := web.Worth(importance.RankOptions{Tolerance: 1e-6})
	if err != nil {
		return nil, err
	}
	return &world{web, worth}, nil
}

func readWeb(ctx context.Context, name string, sites int, run uint64) (*graph.Stored, error) {
	recipe, known := graph.Recipes()[name]
	if name == "synthetic" {
		recipe, known = graph.Recipe{Seed: 1, Sites: sites, HomeShare: 0.6}, true
	}
	if known {
		recipe.Seed += run
		web, _, err := graph.Generate(ctx, recipe)
		return web, err
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if name == "real-split" {
			return nil, fmt.Errorf("%w: no file real-split: record the sites by freshet crawl and freshet export --graph", lab.ErrNoData)
		}
		return nil, &lab.ParameterError{Name: "web", Value: name, Want: strings.Join(graph.Names(), ", ") + ", synthetic or the file of a recorded web"}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return graph.Read(f, name)
}

// bounds are times in s that no crawl of all pages beats.
type bounds struct {
	size float64 // all bytes at the crawler's bandwidth, T* = ΣP/B; 0 without a limit
	site float64 // the slowest site, asked as often as politeness lets
}

// bounds returns them for n_s pages of site s: ⌈n_s/k⌉·(latency + w) + their bytes at the site's rate − w.
func (w *world) bounds(delay time.Duration, perConnection int, bandwidth float64) (b bounds) {
	total := 0.0
	for site := range uint32(w.Sites()) {
		first, end := w.Range(site)
		if first == end {
			continue
		}
		server, bytes := w.Server(site), 0.0
		for page := first; page < end; page++ {
			bytes += w.Bytes(page)
		}
		total += bytes
		connections := math.Ceil(float64(end-first) / float64(perConnection))
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

// optimal returns the ordering that knows what the pages are worth.
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
