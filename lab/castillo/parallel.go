package castillo

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"freshet/lab"
	"freshet/lab/webs"
	"freshet/sim/discovery"
)

// Parallel returns the experiment that varies fetchers, bandwidth and pages per connection, on the source's webs.
func Parallel(source webs.Source) lab.Experiment {
	return lab.Experiment{
		Name:       "castillo-parallel",
		Summary:    "Vary fetchers, bandwidth and pages a connection of a crawl by length",
		Reproduces: "Castillo, Marin, Rodriguez and Baeza-Yates 2004, Figures 1 to 3 and 7 to 9, Table I",
		Quick:      []string{"--web=synthetic", "--sites=40", "--connections=1,16"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := &parameters{source: source, orders: []string{"length"}, perConnection: 1, seeds: 1}
			p.flags(flags)
			return p.parallel
		},
	}
}

// parallel crawls with every bandwidth, number of pages per connection and number of fetchers.
func (p *parameters) parallel(ctx context.Context, out *lab.Result) error {
	if err := p.validate(); err != nil {
		return err
	}
	w, err := p.readWorld(ctx, p.seed)
	if err != nil {
		return err
	}
	plotSites(out, p.web, w)
	for _, k := range []int{1, 100} {
		t := table{parameters: p, out: out, world: w, perConnection: k, one: map[float64]*crawled{}}
		for _, published := range tableI() {
			if err := t.row(ctx, published); err != nil {
				return err
			}
		}
		t.finish()
	}
	return nil
}

// table is Table I for one number of pages per connection.
type table struct {
	*parameters
	out           *lab.Result
	world         *world
	perConnection int
	one           map[float64]*crawled // with one fetcher, by bandwidth
	robots, bytes []lab.Series
	// mean active fetchers until half of the pages are there, with the most fetchers, at 2·10⁷ bytes/s
	ample float64
	gain  float64 // largest speed-up to the end at 2,000 bytes/s
}

// row makes the crawls of a row.
func (t *table) row(ctx context.Context, published speedUp) error {
	bound := t.world.bounds(*t.delay, t.perConnection, published.bandwidth)
	var single *crawled
	for _, r := range append([]int{1}, t.connections...) {
		if r == 1 && single != nil {
			continue
		}
		c, err := t.world.crawl(ctx, t.out, "length", discovery.Options{
			Connections: r, Delay: *t.delay, PerConnection: t.perConnection, Bandwidth: published.bandwidth})
		if err != nil {
			return err
		}
		if r == 1 {
			single = c
			t.one[published.bandwidth] = c
		}
		t.add(c, single, published, bound)
		if published.bandwidth == 2e7 && t.perConnection == 1 && r == slices.Max(t.connections) {
			plotBatch(t.out, t.web, c)
		}
	}
	return nil
}

// add compares a crawl with the one by a single fetcher.
func (t *table) add(c, single *crawled, published speedUp, b bounds) {
	whole, half := single.result.Duration/c.result.Duration, single.time(0.5)/c.time(0.5)
	active := c.busy(0.5)
	t.out.Row("bandwidth_bytes_per_s", published.bandwidth, "per_connection", t.perConnection, "connections", c.connections,
		"duration_s", c.result.Duration, "lower_bound_s", max(b.size, b.site), "size_bound_s", b.size, "site_bound_s", b.site,
		"utilisation", c.result.Utilisation(c.connections), "speed_up", whole, "speed_up_half", half, "active_to_half", active)
	switch published.bandwidth {
	case 2e7:
		t.ample = max(t.ample, active)
	case 2e3:
		t.gain = max(t.gain, whole)
	}
	if r := c.connections; r > 1 && (published.bandwidth == 2e3 || published.bandwidth == 2e4) {
		robots, bytes := c.active(c.result.Duration, 100)
		name := fmt.Sprintf("r = %d, B = %g", r, published.bandwidth)
		robots.Name, bytes.Name = name, name
		t.robots, t.bytes = append(t.robots, robots), append(t.bytes, bytes)
	}
	if t.perConnection > 1 {
		return
	}
	what, value := "speed-up to half of the pages", half
	printed := published.many
	switch c.connections {
	case 1:
		what, value, printed = "time by that with ample bandwidth", c.result.Duration/t.one[2e7].result.Duration, published.one
	case 256:
		printed = published.crowd
	case 64:
	default:
		return
	}
	t.out.Compare(lab.Comparison{What: fmt.Sprintf("%s, r = %d, B = %g", what, c.connections, published.bandwidth),
		Source: "Table I", Published: new(printed), Measured: value, Tolerance: printed / 10})
}

// finish draws the figures and checks the paper's claims.
func (t *table) finish() {
	name, figure := fmt.Sprintf("%s, k = %d", t.web, t.perConnection), "Figure 8"
	if t.perConnection > 1 {
		figure = "Figure 9"
	}
	time := lab.Axis{Label: "time, s", Log: true}
	t.out.Plot(lab.Plot{Title: name + " (" + figure + "): active fetchers", X: time, Y: lab.Axis{Label: "fetchers"}, Series: t.robots})
	t.out.Plot(lab.Plot{Title: name + " (Figures 1, 2): bandwidth used, of B", X: time, Y: lab.Axis{Label: "bytes/s", Log: true}, Series: t.bytes})
	most := slices.Max(t.connections)
	t.out.Claim(name+": a saturated link makes more fetchers pointless", t.gain < 1.1,
		"at 2,000 bytes/s the crawl is at most %.3f times as fast as with one", t.gain)
	t.out.Claim(name+": most fetchers are idle most of the time", t.ample < float64(most)/2,
		"with ample bandwidth %.1f of %d are active until half of the pages are there", t.ample, most)
	slowest := t.world.bounds(*t.delay, t.perConnection, 0).site
	limit := t.one[2e7].result.Duration / slowest
	t.out.Claim(name+": Table I's speed-up of 220.1 can be a complete crawl's", limit >= 220.1,
		"none is more than %.1f times as fast as that with one fetcher, as the slowest site takes %.0f s", limit, slowest)
}

// plotSites draws Figure 3.
func plotSites(out *lab.Result, web string, w *world) {
	out.Plot(lab.Plot{Title: web + " (Figure 3): pages of a site", X: lab.Axis{Label: "rank of the site", Log: true},
		Y: lab.Axis{Label: "pages", Log: true}, Series: []lab.Series{ranked("sites", w.siteSizes())}})
}

// plotBatch draws Figure 7: how a batch of 3 % of the pages, in the middle of a crawl, spreads over sites.
func plotBatch(out *lab.Result, web string, c *crawled) {
	n := len(c.fetches)
	pages := make([]float64, c.world.Sites())
	for _, f := range c.fetches[n/2 : n/2+(3*n+99)/100] {
		pages[f.Site]++
	}
	slices.SortFunc(pages, func(a, b float64) int { return int(b - a) })
	name := fmt.Sprintf("length, r = %d", c.connections)
	out.Plot(lab.Plot{Title: web + " (Figure 7): a batch's pages of a site", X: lab.Axis{Label: "rank of the site", Log: true},
		Y: lab.Axis{Label: "pages", Log: true}, Series: []lab.Series{ranked(name, pages)}})
}

// ranked returns a series of falling values by rank, at ranks evenly spaced on a logarithmic axis.
func ranked(name string, values []float64) lab.Series {
	s := lab.Series{Name: name}
	for rank := 1; rank <= len(values) && values[rank-1] > 0; rank = max(rank+1, rank*21/20) {
		s.X, s.Y = append(s.X, float64(rank)), append(s.Y, values[rank-1])
	}
	return s
}
