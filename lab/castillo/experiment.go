package castillo

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"freshet/frontier"
	"freshet/lab"
	"freshet/lab/webs"
	"freshet/sim/discovery"
)

// parameters are the flags of both experiments.
type parameters struct {
	source        webs.Source
	web           string
	sites         int
	orders        []string
	connections   []int
	delay         *time.Duration
	perConnection int
	bandwidth     float64
	seed, seeds   uint64
}

// flags declares what both experiments have.
func (p *parameters) flags(flags *pflag.FlagSet) {
	flags.StringVar(&p.web, "web", "web-5k", "web to crawl: synthetic, "+webs.Names())
	flags.IntVar(&p.sites, "sites", 300, "number of sites in the web synthetic")
	flags.IntSliceVar(&p.connections, "connections", []int{1, 64, 256}, "r: fetchers")
	p.delay = lab.Duration(flags, "delay", 15*time.Second, "w: from the end of an answer to the next connection to its site")
	flags.Uint64Var(&p.seed, "seed", 0, "added to the web's own seed, which draws the links of a synthetic web and the server speeds of a real one")
}

// Experiment returns the comparison of orderings on the source's webs.
func Experiment(source webs.Source) lab.Experiment {
	return lab.Experiment{
		Name:       "castillo",
		Summary:    "Compare crawl orderings: importance by pages fetched, and time",
		Reproduces: "Castillo, Marin, Rodriguez and Baeza-Yates 2004, Figures 5, 6, 10, 11 and 12",
		Quick:      []string{"--web=synthetic", "--sites=40", "--connections=1,16"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := &parameters{source: source}
			p.flags(flags)
			flags.StringSliceVar(&p.orders, "order", []string{"all"}, "orderings: all, or some of optimal, "+frontier.OrderingNames())
			flags.IntVar(&p.perConnection, "per-connection", 1, "k: pages per connection")
			flags.Float64Var(&p.bandwidth, "bandwidth", 0, "B: bytes/s of the crawler's link; 0: no limit")
			flags.Uint64Var(&p.seeds, "seeds", 1, "number of webs to crawl, each with the next seed")
			return p.compare
		},
	}
}

// everyOrder returns the orderings that "all" stands for. Each M is the same share of the pages as in the paper.
func everyOrder() []string {
	return []string{"optimal", "depth", "length", "batch:0.3%", "batch:1.4%", "batch:2.9%",
		"partial:0.3%", "partial:1.4%", "partial:2.9%", "in-links", "opic", "cash-sum"}
}

// validate checks the parameters and puts all orderings in place of "all".
func (p *parameters) validate() error {
	if len(p.orders) == 1 && p.orders[0] == "all" {
		p.orders = everyOrder()
	}
	for _, name := range p.orders {
		if _, err := frontier.ParseOrdering(name); err != nil && name != "optimal" {
			return &lab.ParameterError{Name: "order", Value: name, Want: "all, or some of optimal, " + frontier.OrderingNames()}
		}
	}
	for _, r := range p.connections {
		if r < 1 {
			return &lab.ParameterError{Name: "connections", Value: r, Want: "1 or more"}
		}
	}
	switch {
	case p.sites < 1:
		return &lab.ParameterError{Name: "sites", Value: p.sites, Want: "1 or more"}
	case p.perConnection < 1:
		return &lab.ParameterError{Name: "per-connection", Value: p.perConnection, Want: "1 or more"}
	case !(p.bandwidth >= 0):
		return &lab.ParameterError{Name: "bandwidth", Value: p.bandwidth, Want: "bytes/s, 0 or more"}
	case *p.delay > frontier.MaxCrawlDelay:
		return &lab.ParameterError{Name: "delay", Value: *p.delay, Want: fmt.Sprintf("0s to %v", frontier.MaxCrawlDelay)}
	case p.seeds < 1:
		return &lab.ParameterError{Name: "seeds", Value: p.seeds, Want: "1 or more"}
	case len(p.connections) == 0:
		return &lab.ParameterError{Name: "connections", Value: p.connections, Want: "a number"}
	}
	return nil
}

func (p *parameters) options(r int) discovery.Options {
	return discovery.Options{Connections: r, Delay: *p.delay, PerConnection: p.perConnection, Bandwidth: p.bandwidth}
}

// compare crawls every web by every ordering with every number of fetchers.
func (p *parameters) compare(ctx context.Context, out *lab.Result) error {
	if err := p.validate(); err != nil {
		return err
	}
	for run := range p.seeds {
		seed := p.seed + run
		w, err := p.readWorld(ctx, seed)
		if err != nil {
			return err
		}
		b := bench{out: out, web: p.web, bounds: w.bounds(*p.delay, p.perConnection, p.bandwidth)}
		if p.seeds > 1 {
			b.web = fmt.Sprintf("%s, seed %d", p.web, seed)
		}
		for _, r := range p.connections {
			for _, order := range p.orders {
				c, err := w.crawl(ctx, out, order, p.options(r))
				if err != nil {
					return err
				}
				b.add(c, seed)
			}
		}
		b.plot(p.connections)
		b.claims(p)
		if *p.delay == 15*time.Second && p.perConnection == 1 && p.bandwidth == 0 {
			b.reference(p.web)
		}
	}
	return nil
}

// bench holds the measurements of one web.
type bench struct {
	out    *lab.Result
	web    string
	bounds bounds
	lines  []line
	curves []lab.Series // one a line
	days   *crawled     // the crawl by length with the most fetchers, compared with the paper's real crawl
}

// line holds what bench keeps of a crawl.
type line struct {
	order       string
	connections int
	shares      []float64 // PageRank at each percent of the pages
	mean        float64
	half        float64 // s until half of the pages had been fetched
	duration    float64 // s
}

// add adds a crawl and its row.
func (b *bench) add(c *crawled, seed uint64) {
	l := line{c.order, c.connections, c.series("").Y, c.mean(), c.time(0.5), c.result.Duration}
	b.lines = append(b.lines, l)
	b.curves = append(b.curves, c.series(c.order))
	tenths := make([]float64, 10)
	for i := range tenths {
		tenths[i] = l.shares[10*(i+1)]
	}
	b.out.Row("order", c.order, "connections", c.connections, "duration_s", l.duration,
		"lower_bound_s", max(b.bounds.size, b.bounds.site), "size_bound_s", b.bounds.size, "site_bound_s", b.bounds.site,
		"utilisation", c.result.Utilisation(c.connections), "pagerank_at", tenths, "pagerank_mean", l.mean,
		"half_s", l.half, "pages", len(c.fetches), "seed", seed)
	if c.order == "length" && (b.days == nil || c.connections >= b.days.connections) {
		b.days = c
	}
}

// get returns the line of an ordering with r fetchers, and whether there is one.
func (b *bench) get(order string, r int) (line, bool) {
	for _, l := range b.lines {
		if l.order == order && l.connections == r {
			return l, true
		}
	}
	return line{}, false
}
