package castillo

import (
	"context"
	"fmt"
	"math"

	"freshet/lab"
	"freshet/sim/discovery"
)

// crawled is a crawl of a world and what it fetched.
type crawled struct {
	order       string
	connections int
	world       *world
	result      discovery.Result
	fetches     []discovery.Fetch // of pages, without misses, by the end of the answer
	depths      []uint16          // at which the pages became known, by page
	curve       []float64         // PageRank fetched with 0, 1, … pages
}

// crawl crawls the world by an ordering.
func (w *world) crawl(ctx context.Context, out *lab.Result, order string, o discovery.Options) (*crawled, error) {
	var err error
	if o.Ordering, err = w.ordering(order); err != nil {
		return nil, err
	}
	c := &crawled{order: order, connections: o.Connections, world: w, depths: make([]uint16, w.Pages()), curve: make([]float64, 1, w.Pages()+1)}
	o.Fetched = func(f discovery.Fetch) {
		if w.Miss(f.Page) {
			return
		}
		c.fetches = append(c.fetches, f)
		c.curve = append(c.curve, c.curve[len(c.curve)-1]+w.worth[f.Page])
	}
	o.Known = func(page uint32, a discovery.Arrival) { c.depths[page] = uint16(a.Depth) }
	o.Progress = func(fetched, _ int) {
		out.Progress(fmt.Sprintf("%s, r = %d", order, o.Connections), fetched, w.Pages())
	}
	c.result, err = discovery.Crawl(ctx, w, o)
	return c, err
}

// at returns the PageRank that a share of the pages brought.
func (c *crawled) at(share float64) float64 {
	return c.curve[int(math.Round(share*float64(len(c.fetches))))]
}

// mean returns the mean height of the curve, divided by its last value. That value is 1 unless no link leads to some
// pages.
func (c *crawled) mean() (mean float64) {
	for _, y := range c.curve[1:] {
		mean += y
	}
	return mean / (float64(max(1, len(c.fetches))) * c.curve[len(c.fetches)])
}

// time returns when a share of the pages had been fetched.
func (c *crawled) time(share float64) float64 {
	return c.fetches[max(1, int(math.Round(share*float64(len(c.fetches)))))-1].End
}

// series returns the curve, at each percent of the pages.
func (c *crawled) series(name string) lab.Series {
	s := lab.Series{Name: name}
	for percent := range 101 {
		s.X = append(s.X, float64(percent)/100)
		s.Y = append(s.Y, c.at(float64(percent)/100))
	}
	return s
}

// active divides the time from 0 to end into n equal parts. It returns the mean number of active fetchers in each
// part, and their bytes/s.
func (c *crawled) active(end float64, n int) (robots, bandwidth lab.Series) {
	width := end / float64(n)
	robots.Y, bandwidth.Y = make(lab.Numbers, n), make(lab.Numbers, n)
	for i := range n {
		middle := (float64(i) + 0.5) * width
		robots.X, bandwidth.X = append(robots.X, middle), append(bandwidth.X, middle)
	}
	for _, f := range c.fetches {
		rate := c.world.Bytes(f.Page) / max(f.End-f.Start, 1e-9)
		for i := int(f.Start / width); i < n && float64(i)*width < f.End; i++ {
			share := (min(f.End, float64(i+1)*width) - max(f.Start, float64(i)*width)) / width
			robots.Y[i] += share
			bandwidth.Y[i] += share * rate
		}
	}
	return robots, bandwidth
}

// busy returns the mean number of active fetchers until a share of the pages had been fetched.
func (c *crawled) busy(share float64) float64 {
	robots, _ := c.active(c.time(share), 1)
	return robots.Y[0]
}
