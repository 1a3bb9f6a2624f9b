package plan

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/allocate"
	"freshet/change"
	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/cmd/freshet/table"
	"freshet/weburl"
)

const daySeconds = 86400

// planColumns are the columns of a table of pages.
var planColumns = []string{"url", "weight", "process", "rate", "shape", "times", "probabilities", "age_s", "stale_probability", "min", "max"}

// planAlgorithms are the ways to the same optimum.
var planAlgorithms = map[string]allocate.Solver{
	"multiplier":           allocate.Multiplier,
	"greedy":               allocate.Greedy,
	"galil-megiddo":        allocate.GalilMegiddo,
	"frederickson-johnson": allocate.FredericksonJohnson,
}

// planPolicies are what shares the budget out; the optimum has no fixed share.
var planPolicies = map[string]func(weight, rate float64) float64{
	"optimal":               nil,
	"uniform":               func(float64, float64) float64 { return 1 },
	"proportional":          func(_, rate float64) float64 { return rate },
	"weighted-uniform":      func(weight, _ float64) float64 { return weight },
	"weighted-proportional": func(weight, rate float64) float64 { return weight * rate },
}

// A planOutcome is what the command says, as JSON or in words.
type planOutcome struct {
	Pages     int       `json:"pages"`
	Budget    int       `json:"budget"`
	Crawls    int64     `json:"crawls"`
	Objective float64   `json:"objective"` // Σ weight × staleness
	Staleness float64   `json:"staleness"` // the same by the sum of the weights
	Freshness float64   `json:"freshness"`
	Caps      []planCap `json:"site_caps,omitempty"`
	DurationS float64   `json:"duration_s"` // of planning, without reading and writing
}

// A planCap is a site whose cap costs something.
type planCap struct {
	Site   string  `json:"site"`
	Cap    int     `json:"cap"`
	Wanted int     `json:"wanted"`
	Price  float64 `json:"price"` // objective that one crawl more would save
}

type planOptions struct {
	planning
	pages, weights, policy, algorithm, convention string
	budget, siteCap                               int
}

// planning are the flags that plan and schedule share: the interval that all times lie in, and the forms of
// what they say.
type planning struct {
	interval command.Duration
	out      string
	asJSON   bool
}

// declare declares the flags; what is what the file holds.
func (p *planning) declare(f *pflag.FlagSet, what string) {
	p.interval = command.Duration(daySeconds * 1e9)
	f.Var(&p.interval, "interval", "length of the interval")
	f.StringVar(&p.out, "out", "", "CSV file to write the "+what+" to, - for standard output")
	f.BoolVar(&p.asJSON, "json", false, "print JSON")
}

func (p *planning) validate() error {
	if p.interval <= 0 {
		return fmt.Errorf("--interval %s: want more than 0", &p.interval)
	}
	return nil
}

func planCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "plan --pages FILE --budget R", Short: "Compute how often to visit each page with a budget", Args: command.NoArgs,
		Long: "Reads pages and how they change, and divides a budget of crawls in an interval so that the copy is as fresh as\n" +
			"possible, weighted by page; says how fresh it will be. FILE is CSV with a header, - for standard input:\n\n" +
			"  url                required, each one once\n" +
			"  weight             at least 0, default 1; --weights takes its place\n" +
			"  process            poisson (default), weibull, pareto, gamma, deterministic, quasi\n" +
			"  rate               changes a day, 1/mean gap; required except for quasi; 0: never changes\n" +
			"  shape              of weibull, pareto (more than 1) and gamma\n" +
			"  times              of quasi: seconds from the interval's start at which it may change, separated by ;\n" +
			"  probabilities      of quasi: of a change at each of these times, separated by ;\n" +
			"  age_s              seconds since the copy was last known fresh, default 0\n" +
			"  stale_probability  of quasi: that the copy is stale at the start, default 0\n" +
			"  min, max           bounds of the page's crawls, default 0 and none\n\n" +
			"--convention says what was before the interval: age uses age_s, paper assumes a fresh copy at the start, periodic\n" +
			"repeats the same plan. The out file is CSV: url, crawls, staleness, times (seconds, separated by ;).",
		Example: "  freshet plan --pages pages.csv --budget 100000 --out plan.csv\n  freshet plan --pages - --budget 5000 --interval 7d --site-cap 960 --json < pages.csv",
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.pages, "pages", "", "CSV or Parquet file of pages, - for CSV from standard input (required)")
	f.StringVar(&o.weights, "weights", "", "CSV file of url and weight (see freshet weights); a page that is not in it gets the mean weight")
	f.IntVar(&o.budget, "budget", 0, "crawls in the interval (required)")
	o.declare(f, "plan")
	f.StringVar(&o.policy, "policy", "optimal", "optimal, uniform, proportional, weighted-uniform or weighted-proportional")
	f.StringVar(&o.algorithm, "algorithm", "multiplier", "algorithm for the optimal policy: multiplier, greedy, galil-megiddo or frederickson-johnson")
	f.StringVar(&o.convention, "convention", "age", "what was before the interval: age, paper or periodic")
	f.IntVar(&o.siteCap, "site-cap", 0, "most crawls of a site's pages in the interval, 0 for none")
	return cmd
}

// validate returns what is wrong with the flags.
func (o *planOptions) validate() error {
	var faults []error
	if o.budget < 0 {
		faults = append(faults, fmt.Errorf("--budget %d: want 0 or more", o.budget))
	}
	if err := o.planning.validate(); err != nil {
		faults = append(faults, err)
	}
	if _, ok := planPolicies[o.policy]; !ok {
		faults = append(faults, fmt.Errorf("--policy %q: want optimal, uniform, proportional, weighted-uniform or weighted-proportional", o.policy))
	}
	if _, ok := planAlgorithms[o.algorithm]; !ok {
		faults = append(faults, fmt.Errorf("--algorithm %q: want multiplier, greedy, galil-megiddo or frederickson-johnson", o.algorithm))
	}
	if !slices.Contains([]string{"age", "paper", "periodic"}, o.convention) {
		faults = append(faults, fmt.Errorf("--convention %q: want age, paper or periodic", o.convention))
	}
	if o.siteCap < 0 {
		faults = append(faults, fmt.Errorf("--site-cap %d: want 0 or more", o.siteCap))
	}
	if o.siteCap > 0 && o.policy != "optimal" {
		faults = append(faults, fmt.Errorf("--site-cap with --policy %s: only --policy optimal allows caps", o.policy))
	}
	return command.Usage(errors.Join(faults...))
}

func (o *planOptions) run(cmd *cobra.Command) error {
	switch {
	case o.pages == "":
		return command.Usage(errors.New("--pages is needed"))
	case !cmd.Flags().Changed("budget"):
		return command.Usage(errors.New("--budget is needed"))
	case o.pages == "-" && o.weights == "-":
		return command.Usage(errors.New("--pages and --weights: only one can be standard input"))
	}
	if err := o.validate(); err != nil {
		return err
	}
	p, err := o.read(cmd.InOrStdin())
	if err != nil {
		return err
	}
	if o.weights != "" {
		found, err := ReadWeights(o.weights, cmd.InOrStdin())
		if err != nil {
			return err
		}
		p.weigh(found)
	}
	watch := clock.Real()
	start := watch.Now()
	crawls, caps, err := o.allocate(p)
	if err != nil {
		return err
	}
	outcome := p.outcome(crawls)
	outcome.Budget, outcome.Caps = o.budget, caps
	outcome.DurationS = watch.Now().Sub(start).Seconds()
	if o.out != "" {
		err := command.WriteTo(o.out, cmd.OutOrStdout(), func(w io.Writer) error { return p.write(w, crawls, o.convention == "periodic") })
		if err != nil {
			return err
		}
	}
	words := command.Beside(cmd, o.out)
	if o.asJSON {
		return json.NewEncoder(words).Encode(outcome)
	}
	fmt.Fprintf(words, "%d pages, %d crawls of a budget of %d: fresh %.4f of the time, objective %.10g\n",
		outcome.Pages, outcome.Crawls, outcome.Budget, outcome.Freshness, outcome.Objective)
	for _, c := range outcome.Caps {
		fmt.Fprintf(words, "%s: its cap of %d binds, it would get %d; one crawl more would save %.4g\n", c.Site, c.Cap, c.Wanted, c.Price)
	}
	return nil
}

// allocate spends the budget by the policy.
func (o *planOptions) allocate(p *planPages) ([]int32, []planCap, error) {
	if share := planPolicies[o.policy]; share != nil {
		shares := make([]float64, p.Len())
		for i := range shares {
			shares[i] = share(p.weights[i], p.rates[i])
		}
		crawls, err := allocate.Shares(p, shares, o.budget)
		return crawls, nil, err
	}
	solve := planAlgorithms[o.algorithm]
	if o.siteCap == 0 {
		crawls, err := solve(p, o.budget)
		return crawls, nil, err
	}
	limits := make([]int, len(p.siteNames))
	for s := range limits {
		limits[s] = o.siteCap
	}
	crawls, costs, err := allocate.Capped(p, p.sites, limits, o.budget, solve)
	if infeasible, ok := errors.AsType[*allocate.InfeasibleError](err); ok && infeasible.Site >= 0 {
		return nil, nil, fmt.Errorf("minimums are unattainable: site %s allows %d crawls, its pages' minimums add up to %d",
			p.siteNames[infeasible.Site], infeasible.Allowed, infeasible.Need)
	}
	var caps []planCap
	for _, c := range costs {
		caps = append(caps, planCap{string(p.siteNames[c.Site]), c.Limit, c.Wanted, c.Price})
	}
	return crawls, caps, err
}

// planPages are the pages of a table, as allocate sees them.
type planPages struct {
	urls        []string
	curves      []change.Curve
	weights     []float64
	rates       []float64 // changes a second
	least, most []int32
	sites       []int
	siteNames   []weburl.Site
	interval    float64
}

// Len returns the number of pages.
func (p *planPages) Len() int { return len(p.urls) }

// Bounds returns the page's min and max.
func (p *planPages) Bounds(i int) (least, most int) { return int(p.least[i]), int(p.most[i]) }

// Gain returns what one crawl more saves of the objective.
func (p *planPages) Gain(i, x int) float64 { return p.weights[i] * p.curves[i].Gain(x) }

// Crawls returns about how many crawls save more than gain.
func (p *planPages) Crawls(i int, gain float64) float64 {
	if p.weights[i] == 0 {
		return 0
	}
	return p.curves[i].Crawls(gain / p.weights[i])
}

// weigh gives the pages other weights; a page without one weighs as much as the others on average.
func (p *planPages) weigh(found map[string]float64) {
	sum, known := 0.0, 0
	for i, url := range p.urls {
		w, ok := found[url]
		p.weights[i] = w
		if ok {
			sum, known = sum+w, known+1
		}
	}
	mean := 1.0
	if known > 0 {
		mean = sum / float64(known)
	}
	for i, url := range p.urls {
		if _, ok := found[url]; !ok {
			p.weights[i] = mean
		}
	}
}

func (p *planPages) outcome(crawls []int32) planOutcome {
	o := planOutcome{Pages: len(crawls)}
	weights := 0.0
	for i, x := range crawls {
		o.Crawls += int64(x)
		o.Objective += p.weights[i] * p.curves[i].Staleness(int(x))
		weights += p.weights[i]
	}
	if weights > 0 {
		o.Staleness = o.Objective / weights
	}
	o.Freshness = 1 - o.Staleness
	return o
}

// write writes the plan. If it repeats, every page has a phase of its own, spread by the golden ratio.
func (p *planPages) write(w io.Writer, crawls []int32, repeats bool) error {
	buffered := bufio.NewWriter(w)
	out := csv.NewWriter(buffered)
	fault := out.Write([]string{"url", "crawls", "staleness", "times"})
	var times []float64
	var text []byte
	for i, x := range crawls {
		times = p.curves[i].Times(times[:0], int(x))
		shift := 0.0
		if _, quasi := p.curves[i].(*change.Quasi); repeats && !quasi && x > 0 {
			_, phase := math.Modf(float64(i) * (math.Sqrt(5) - 1) / 2)
			shift = phase * p.interval / float64(x)
		}
		text = text[:0]
		for k, at := range times {
			if k > 0 {
				text = append(text, ';')
			}
			text = strconv.AppendFloat(text, math.Round((at+shift)*1e3)/1e3, 'f', -1, 64)
		}
		staleness := strconv.FormatFloat(p.curves[i].Staleness(int(x)), 'g', 10, 64)
		fault = errors.Join(fault, out.Write([]string{p.urls[i], strconv.Itoa(int(x)), staleness, string(text)}))
	}
	out.Flush()
	return errors.Join(fault, out.Error(), buffered.Flush())
}

// read reads the pages.
func (o *planOptions) read(in io.Reader) (*planPages, error) {
	t, err := table.Open(o.pages, in, planColumns, "url")
	if err != nil {
		return nil, err
	}
	defer t.Close()
	p := &planPages{interval: time.Duration(o.interval).Seconds()}
	seen, sites := map[string]int{}, map[weburl.Site]int{}
	for {
		more, err := t.Next()
		if err != nil || !more {
			return p, err
		}
		if err := o.readPage(t, p, seen, sites); err != nil {
			return nil, err
		}
	}
}

// readPage adds a row.
func (o *planOptions) readPage(t *table.Table, p *planPages, seen map[string]int, sites map[weburl.Site]int) error {
	name := strings.Clone(t.Text("url"))
	if name == "" {
		return t.Fault("url", "no url")
	}
	if err := t.Unique("url", name, seen); err != nil {
		return err
	}
	weight, err := t.Number("weight", 1, 0, math.MaxFloat64)
	if err != nil {
		return err
	}
	least, err := t.Whole("min", 0, 0, math.MaxInt32)
	if err != nil {
		return err
	}
	most, err := t.Whole("max", math.MaxInt32, 0, math.MaxInt32)
	if err != nil {
		return err
	}
	if most < least {
		return t.Fault("max", "max %d is less than min %d", most, least)
	}
	curve, rate, err := o.readCurve(t, p.interval)
	if err != nil {
		return err
	}
	if o.siteCap > 0 {
		u, err := weburl.Parse(name)
		if err != nil {
			return t.Fault("url", "%v", err)
		}
		site, known := sites[u.Site()]
		if !known {
			site = len(sites)
			sites[u.Site()] = site
			p.siteNames = append(p.siteNames, u.Site())
		}
		p.sites = append(p.sites, site)
	}
	p.urls, p.weights = append(p.urls, name), append(p.weights, weight)
	p.curves, p.rates = append(p.curves, curve), append(p.rates, rate)
	p.least, p.most = append(p.least, int32(least)), append(p.most, int32(most))
	return nil
}

// readCurve reads how the row's page changes, and its rate in changes a second.
func (o *planOptions) readCurve(t *table.Table, interval float64) (change.Curve, float64, error) {
	rate, err := t.Number("rate", math.NaN(), 0, math.MaxFloat64)
	if err != nil {
		return nil, 0, err
	}
	rate /= daySeconds
	shape, err := t.Number("shape", math.NaN(), -math.MaxFloat64, math.MaxFloat64)
	if err != nil {
		return nil, 0, err
	}
	age, err := t.Number("age_s", 0, 0, math.MaxFloat64)
	if err != nil {
		return nil, 0, err
	}
	kind := t.Text("process")
	if kind == "quasi" {
		return o.readQuasi(t, interval, rate)
	}
	if kind != "" && !slices.Contains([]string{"poisson", "weibull", "pareto", "gamma", "deterministic"}, kind) {
		return nil, 0, t.Fault("process", "process %q: want poisson, weibull, pareto, gamma, deterministic or quasi", kind)
	}
	for _, only := range []string{"times", "probabilities"} {
		if t.Text(only) != "" {
			return nil, 0, t.Fault(only, "%s are for the process quasi", only)
		}
	}
	if math.IsNaN(rate) {
		return nil, 0, t.Fault("rate", "no rate")
	}
	switch o.convention {
	case "paper":
		age = 0
	case "periodic":
		age = math.Inf(1)
	}
	if needs := kind == "weibull" || kind == "pareto" || kind == "gamma"; needs && math.IsNaN(shape) {
		return nil, 0, t.Fault("shape", "no shape for the process %s", kind)
	}
	process, at, err := newProcess(kind, rate, shape)
	if err != nil {
		return nil, 0, t.Fault(at, "%s", strings.TrimPrefix(err.Error(), "change: "))
	}
	if process == nil {
		return change.Static{}, 0, nil
	}
	page, err := change.NewPage(process, interval, age)
	if err != nil {
		return nil, 0, t.Fault("age_s", "%s", strings.TrimPrefix(err.Error(), "change: "))
	}
	return page, rate, nil
}

// newProcess returns the process of a kind, nil if it never changes, and the column that an error is
// about.
func newProcess(kind string, rate, shape float64) (p change.Process, column string, err error) {
	column = "shape"
	sample := rate
	if rate == 0 {
		sample = 1 // the shape is still to be checked
	}
	switch kind {
	case "weibull":
		p, err = change.NewWeibull(sample, shape)
	case "pareto":
		p, err = change.NewPareto(sample, shape)
	case "gamma":
		p, err = change.NewGamma(sample, shape)
	case "deterministic":
		column = "rate"
		p, err = change.NewDeterministic(sample)
	default:
		column = "rate"
		p, err = change.NewPoisson(sample)
	}
	if err == nil && rate == 0 {
		return nil, column, nil
	}
	return p, column, err
}

// readQuasi reads a quasi-deterministic page; its rate is that of the changes to expect, unless given.
func (o *planOptions) readQuasi(t *table.Table, interval, rate float64) (change.Curve, float64, error) {
	times, err := t.List("times", 0, interval)
	if err != nil {
		return nil, 0, err
	}
	probabilities, err := t.List("probabilities", 0, 1)
	if err != nil {
		return nil, 0, err
	}
	stale, err := t.Number("stale_probability", 0, 0, 1)
	if err != nil {
		return nil, 0, err
	}
	curve, err := change.NewQuasi(times, probabilities, interval, stale)
	if err != nil {
		return nil, 0, t.Fault("times", "%s", strings.TrimPrefix(err.Error(), "change: "))
	}
	if math.IsNaN(rate) {
		rate = 0
		for _, k := range probabilities {
			rate += k / interval
		}
	}
	return curve, rate, nil
}
