package broder

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"freshet/lab"
	"freshet/lab/broder/cache"
	"freshet/lab/webs"
	"freshet/seen"
	recorded "freshet/seen/trace"
	"freshet/sim/graph"
	"freshet/weburl"
)

// parameters are the flags.
type parameters struct {
	source    webs.Source
	web, file string
	policies  []string
	orders    []string
	from, to  int
	processes int
	requests  int
	adaptive  float64
	seed      uint64
}

// Experiment returns the experiment on the source's webs.
func Experiment(source webs.Source) lab.Experiment {
	return lab.Experiment{
		Name:       "broder",
		Summary:    "Compare cache policies before the URL-seen test on synthetic and recorded traces",
		Reproduces: "Broder, Najork and Wiener 2003, Figures 2 to 5, and their open questions",
		Quick:      []string{"--web=web-5k", "--requests=200000", "--to=17", "--order=fifo,depth"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := &parameters{source: source}
			flags.StringVar(&p.web, "web", "web-20k", "web to crawl: "+webs.Names())
			flags.StringVar(&p.file, "trace", "", "recorded trace to use instead of a web")
			flags.StringSliceVar(&p.policies, "policy", withoutInfinite(), "policies")
			flags.StringSliceVar(&p.orders, "order", []string{"fifo", "length", "depth"}, "crawl orderings; the first is studied in full")
			flags.IntVar(&p.from, "from", 5, "smallest size, in entries, as a logarithm to base 2")
			flags.IntVar(&p.to, "to", 21, "largest size, as a logarithm to base 2")
			flags.IntVar(&p.processes, "processes", 0, "processes that share the web, of 500 threads each; 0: 4, and 1 of a recorded web")
			flags.Float64Var(&p.adaptive, "adaptive-delay", 10, "pause between an answer and the next request to its host, as a multiple of the time that the answer took; 0: 15 s")
			flags.IntVar(&p.requests, "requests", 0, "requests to use of a trace; 0: all")
			flags.Uint64Var(&p.seed, "seed", 1, "seed of resources, repeats and the random policy")
			return p.run
		},
	}
}

func withoutInfinite() []string {
	return slices.DeleteFunc(cache.Names(), func(name string) bool { return name == "infinite" })
}

func (p *parameters) run(ctx context.Context, out *lab.Result) error {
	if err := p.validate(); err != nil {
		return err
	}
	if p.file != "" {
		return p.runRecorded(ctx, out)
	}
	return p.runWeb(ctx, out)
}

func (p *parameters) validate() error {
	for _, name := range p.policies {
		if !slices.Contains(withoutInfinite(), name) {
			return &lab.ParameterError{Name: "policy", Value: name, Want: "some of " + strings.Join(withoutInfinite(), ", ")}
		}
	}
	for _, name := range p.orders {
		if _, err := parseOrdering(name); err != nil {
			return err
		}
	}
	switch {
	case p.from < 0 || p.from > 28:
		return &lab.ParameterError{Name: "from", Value: p.from, Want: "0 to 28"}
	case p.to < p.from || p.to > 28:
		return &lab.ParameterError{Name: "to", Value: p.to, Want: "at least --from and at most 28"}
	case p.processes < 0 || p.processes > 100:
		return &lab.ParameterError{Name: "processes", Value: p.processes, Want: "0 to 100"}
	case !(p.adaptive >= 0 && p.adaptive <= 1e6):
		return &lab.ParameterError{Name: "adaptive-delay", Value: p.adaptive, Want: "0 to 1e6"}
	case p.requests < 0:
		return &lab.ParameterError{Name: "requests", Value: p.requests, Want: "0 or more"}
	case len(p.orders) == 0:
		return &lab.ParameterError{Name: "order", Value: "", Want: "an ordering"}
	}
	return nil
}

func (p *parameters) logs() (logs []int) {
	for log := p.from; log <= p.to; log++ {
		logs = append(logs, log)
	}
	return logs
}

// runRecorded studies a recorded trace.
func (p *parameters) runRecorded(ctx context.Context, out *lab.Result) error {
	requests, err := readTrace(p.file, p.requests)
	if err != nil {
		return err
	}
	name := filepath.Base(p.file)
	out.Parameter("requests_read", len(requests))
	s, err := newStudy(ctx, out, name, requests, p.policies, p.logs(), p.seed)
	if err != nil {
		return err
	}
	s.report(out, [2]string{"Miss rates, " + name, "Misses by those of MIN, " + name})
	s.claims(out)
	sharded(out, s)
	return nil
}

// readTrace reads a trace, or the first most requests of it.
func readTrace(file string, most int) (requests []weburl.Fingerprint, err error) {
	r, err := recorded.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if requests, err = r.All(); err != nil {
		return nil, err
	}
	if most > 0 {
		requests = requests[:min(most, len(requests))]
	}
	return requests, nil
}

// runWeb studies a web.
func (p *parameters) runWeb(ctx context.Context, out *lab.Result) error {
	web, err := p.source.Open(ctx, p.web, 0)
	if err != nil {
		return err
	}
	if _, recorded := web.Carried(0); p.processes == 0 && recorded {
		p.processes = 1
	} else if p.processes == 0 {
		p.processes = 4
	}
	out.Parameter("processes", p.processes)
	return p.crawls(ctx, out, web)
}

// crawls crawls the web by each ordering, and studies the first in full.
func (p *parameters) crawls(ctx context.Context, out *lab.Result, web *graph.Stored) error {
	byHost := schemes()[0]
	first := 0 // the critical size of the first ordering's trace
	for i, order := range p.orders {
		crawl, err := p.crawl(ctx, out, web, order)
		if err != nil {
			return err
		}
		t := crawl.trace(byHost, p.requests)
		if i > 0 {
			if err := p.runOrder(ctx, out, order, t, first); err != nil {
				return err
			}
			continue
		}
		full, err := p.runFull(ctx, out, order, t)
		if err != nil {
			return err
		}
		first, _ = full.edge()
		if p.processes > 1 {
			p.runSchemes(out, crawl)
		}
	}
	return nil
}

// runFull studies a crawl's full and cross trace with all policies, and divided caches.
func (p *parameters) runFull(ctx context.Context, out *lab.Result, order string, t trace) (full *study, err error) {
	out.Parameter("pages_fetched", t.pages)
	full, err = newStudy(ctx, out, "full, "+order, t.full, p.policies, p.logs(), p.seed)
	if err != nil {
		return nil, err
	}
	full.report(out, [2]string{"Figure 2: miss rates, full trace", "Figure 3: misses by those of MIN, full trace"})
	full.claims(out)
	if len(t.cross) > 0 {
		if err := p.runCross(ctx, out, order, t); err != nil {
			return nil, err
		}
	}
	if p.requests == 0 && order == "fifo" {
		p.compare(out, full)
	}
	sharded(out, full)
	const entries = threads * 100
	own, shared := perThread(t, entries), rate(cache.Misses(cache.NewClock(entries), t.full), len(t.full))
	out.Row("trace", full.name, "policy", "clock, one a thread", "size", entries, "miss_rate", own)
	out.Row("trace", full.name, "policy", "clock, one shared", "size", entries, "miss_rate", shared)
	out.Claim("open question: a cache a thread could replace the shared one", own < shared+0.02,
		"50,000 entries in all: %.4f of the requests miss with a cache a thread, %.4f with a shared one", own, shared)
	return full, nil
}

// runCross studies a crawl's cross trace.
func (p *parameters) runCross(ctx context.Context, out *lab.Result, order string, t trace) error {
	cross, err := newStudy(ctx, out, "cross, "+order, t.cross, p.policies, p.logs(), p.seed)
	if err != nil {
		return err
	}
	cross.report(out, [2]string{"Figure 4: miss rates, cross trace", "Figure 5: misses by those of MIN, cross trace"})
	cross.claims(out)
	if p.isReference("web-20k", 4) && p.requests == 0 && order == "fifo" {
		referenceCross().compare(out, cross)
		out.Compare(lab.Comparison{What: "share of links that leave the process", Source: "section 4",
			Published: new(0.195), Measured: rate(len(t.cross), len(t.full)), Tolerance: 0.02})
	}
	return nil
}

// compare puts the results of a complete full trace beside those of an earlier study.
func (p *parameters) compare(out *lab.Result, full *study) {
	switch {
	case p.isReference("web-20k", 4):
		referenceFull().compare(out, full)
	case p.isReference("real-14", 1):
		referenceReal14().compare(out, full)
	case p.isReference("real-split", 1):
		referenceRealSplit().compare(out, full)
	}
}

func (p *parameters) isReference(web string, processes int) bool {
	return p.web == web && p.processes == processes
}

// sharded compares one CLOCK with sixteen that have as many entries together. The fingerprint chooses one of them.
func sharded(out *lab.Result, s *study) {
	worst, worstAt := 0.0, 0
	whole := s.rates("clock")
	for i, log := range s.logs {
		if whole == nil || log < 10 {
			continue
		}
		r := split(s.requests, 1<<log)
		out.Row("trace", s.name, "policy", "clock, split in 16", "size", 1<<log, "miss_rate", r)
		if d := r - whole[i]; d > worst {
			worst, worstAt = d, log
		}
	}
	out.Claim(s.name+": a cache split by fingerprint misses as often as a whole one", worst < 0.01,
		"at most %.4f more (at 2^%d) in 16 parts, from 2^10 on", worst, worstAt)
}

// runOrder studies another ordering's trace with the policies that matter. critical is the logarithm of the
// first ordering's critical size.
func (p *parameters) runOrder(ctx context.Context, out *lab.Result, order string, t trace, critical int) error {
	s, err := newStudy(ctx, out, "full, "+order, t.full, []string{"clock", "clock-set", "s3-fifo", "min"}, p.logs(), p.seed)
	if err != nil {
		return err
	}
	title := "Miss rates, full trace, crawled by " + order
	s.report(out, [2]string{title, title + ", by those of MIN"})
	at, share := s.edge()
	out.Claim("open question: the ordering moves the critical size ("+order+")", at != critical,
		"the largest step is from 2^%d to 2^%d, which saves %.0f %% of CLOCK's misses; of the first ordering to 2^%d", at-1, at, 100*share, critical)
	return nil
}

// runSchemes measures, for each partitioning function, how many links process 0 sends to the others and how many of
// them pass a sender's cache.
func (p *parameters) runSchemes(out *lab.Result, crawl *crawled) {
	const entries = 1 << 16
	for _, s := range schemes() {
		t := crawl.trace(s, p.requests)
		sent := passed(seen.NewSender(entries, false), t.cross)
		out.Row("trace", "owner by "+s.name, "requests", len(t.full), "share_crossing", rate(len(t.cross), len(t.full)),
			"share_sent_with_cache", rate(sent, len(t.full)))
	}
}

// passed returns how many links to these URLs a sender lets pass.
func passed(sender *seen.Sender, urls []weburl.Fingerprint) (n int) {
	var out []weburl.Link
	for _, fp := range urls {
		out = sender.Offer(out[:0], []weburl.Link{{Fingerprint: fp}})
		n += len(out)
	}
	return n
}
