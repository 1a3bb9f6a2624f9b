package shape

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"freshet/lab"
	"freshet/sim/graph"
)

// parameters are the flags.
type parameters struct {
	webs  []string
	sites int
	seed  uint64
}

// Experiment returns the experiment.
func Experiment() lab.Experiment {
	return lab.Experiment{
		Name:       "web",
		Summary:    "Compare the link statistics of the synthetic webs with those of the real web",
		Reproduces: "the link statistics of Broder, Najork and Wiener 2003 (a crawl of 429 million pages in 2002), and an in-degree of Broder et al. 2000",
		Quick:      []string{"--webs=stateless", "--sites=1000"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := new(parameters)
			flags.StringSliceVar(&p.webs, "webs", []string{"web-5k", "web-big", "stateless"}, "webs to measure, some of "+names())
			flags.IntVar(&p.sites, "sites", 5000, "sites of the stateless web")
			flags.Uint64Var(&p.seed, "seed", 1, "seed of the stateless web")
			return p.run
		},
	}
}

// names lists the webs for help and errors.
func names() string { return strings.Join(append(graph.Names(), "stateless"), ", ") }

func (p *parameters) run(ctx context.Context, out *lab.Result) error {
	tails := lab.Plot{Title: "Share of the pages that at least that many pages link to",
		X: lab.Axis{Label: "pages that link to it", Log: true}, Y: lab.Axis{Label: "share of the pages", Log: true}}
	for i, name := range p.webs {
		out.Progress(name, i, len(p.webs))
		shape, inDegrees, err := p.measure(ctx, name)
		if err != nil {
			return err
		}
		out.Row("web", name, "sites", shape.Sites, "pages", shape.Pages,
			"links_mean", shape.LinksMean, "links_median", shape.LinksMedian,
			"unique_mean", shape.UniqueMean, "unique_median", shape.UniqueMedian,
			"repeats", shape.Repeats, "on_site", shape.OnSite, "page_links_mean", shape.PageLinks,
			"in_degree_exponent", shape.InDegreeExponent, "largest_in_degree", shape.LargestInDegree)
		compare(out, name, shape)
		tails.Series = append(tails.Series, tail(name, inDegrees))
	}
	out.Plot(tails)
	return nil
}

func (p *parameters) measure(ctx context.Context, name string) (graph.Shape, []uint32, error) {
	if name != "stateless" {
		w, shape, err := graph.Named(ctx, name)
		if err != nil {
			if ctx.Err() != nil {
				return graph.Shape{}, nil, err
			}
			return graph.Shape{}, nil, &lab.ParameterError{Name: "webs", Value: name, Want: "some of " + names()}
		}
		return shape, w.Links().InDegrees(), nil
	}
	w, err := graph.NewStateless(p.seed, p.sites)
	if err != nil {
		return graph.Shape{}, nil, &lab.ParameterError{Name: "sites", Value: p.sites, Want: "1 to some millions"}
	}
	shape, inDegrees := w.Shape()
	return shape, inDegrees, ctx.Err()
}

// compare compares a web with the crawl of 2002. A difference of a tenth is allowed: the generator is set by medians,
// not means, and has the share of repeats to two digits only. Real webs are known to have a lower exponent than webs
// of this size.
func compare(out *lab.Result, name string, s graph.Shape) {
	const crawl = "Broder et al. 2003"
	for _, c := range []lab.Comparison{
		{What: "links a page, mean", Source: crawl, Published: new(62.55), Measured: s.LinksMean, Tolerance: 6.3},
		{What: "links a page, median", Source: crawl, Published: new(23.0), Measured: s.LinksMedian, Tolerance: 2.3},
		{What: "unique links a page, mean", Source: crawl, Published: new(42.74), Measured: s.UniqueMean, Tolerance: 4.3},
		{What: "unique links a page, median", Source: crawl, Published: new(17.0), Measured: s.UniqueMedian, Tolerance: 1.7},
		{What: "repeats", Source: crawl, Published: new(0.30), Measured: s.Repeats, Tolerance: 0.005},
		{What: "exponent of the in-degrees", Source: "Broder et al. 2000", Published: new(2.1), Measured: s.InDegreeExponent, Tolerance: 0.1},
	} {
		c.What = name + ": " + c.What
		out.Compare(c)
	}
}

// tail returns the share of pages with at least x incoming links, at values of x evenly spaced on a logarithmic axis.
func tail(name string, inDegrees []uint32) lab.Series {
	slices.Sort(inDegrees)
	s := lab.Series{Name: name}
	for x := 1.0; x <= float64(inDegrees[len(inDegrees)-1]); x *= math.Pow(10, 0.1) {
		below, _ := slices.BinarySearch(inDegrees, uint32(math.Ceil(x)))
		s.X = append(s.X, math.Ceil(x))
		s.Y = append(s.Y, float64(len(inDegrees)-below)/float64(len(inDegrees)))
	}
	return s
}
