package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"freshet/cmd/freshet/command"
	"freshet/cmd/freshet/plan"
	"freshet/crawl"
	"freshet/refresh/policies"
)

// refreshSettings are the settings of a crawl that keeps its copy fresh.
type refreshSettings struct {
	on       bool
	budget   int64
	interval command.Duration
	policy   string
	weights  string
	flag     *pflag.Flag   // that turns it on
	needing  []*pflag.Flag // that have no effect without it
}

func (s *refreshSettings) declare(flags *pflag.FlagSet) {
	s.interval = command.Duration(24 * time.Hour)
	flags.BoolVar(&s.on, "refresh", false, "keep the stored pages fresh, until Ctrl-C or a limit")
	flags.Int64Var(&s.budget, "budget", 0, "the most requests in an --interval, for new and known pages; required with --refresh")
	flags.Var(&s.interval, "interval", "period that --budget is for")
	flags.StringVar(&s.policy, "policy", policies.Default, "which page is visited next: "+strings.Join(policies.Names(), ", "))
	flags.StringVar(&s.weights, "weights", "uniform", "how much each page matters: uniform (all equally); pagerank (half of it by PageRank); clicks (by what people search and click with --index); clicks:FILE (by a log of queries, as freshet weights reads it); or a file of weights by URL, where other pages weigh 1; pagerank and clicks are computed again every --interval")
	check(flags, wholeFrom(0), "budget")
	check(flags, validPolicy, "policy")
	s.flag = flags.Lookup("refresh")
	for _, name := range []string{"budget", "interval", "policy", "weights"} {
		s.needing = append(s.needing, flags.Lookup(name))
	}
}

// unused returns an error if a given setting does nothing without --refresh, unless --refresh=false was given.
func (s *refreshSettings) unused() error {
	for _, f := range s.needing {
		if !s.flag.Changed && f.Changed && f.Value.String() != f.DefValue {
			return fmt.Errorf("--%s does nothing without --refresh: add --refresh, or leave --%[1]s out", f.Name)
		}
	}
	return nil
}

func validPolicy(name string) error {
	if !slices.Contains(policies.Names(), name) {
		return fmt.Errorf("%q: want one of %s%s", name, strings.Join(policies.Names(), ", "), meant(name, policies.Names()))
	}
	return nil
}

// learnsClicks reports whether weights come from what people search and click in the crawl's own search.
func (s *refreshSettings) learnsClicks() bool { return s.on && s.weights == "clicks" }

// options returns the engine's options, nil without --refresh.
func (s *refreshSettings) options() (*crawl.Refresh, error) {
	if !s.on {
		return nil, s.unused()
	}
	if s.budget == 0 {
		return nil, errors.New("--refresh needs --budget: the most requests in an --interval (a day), such as --budget 1000")
	}
	if s.interval <= 0 {
		return nil, fmt.Errorf("--interval %s: want more than 0s", s.interval.String())
	}
	o := &crawl.Refresh{Budget: s.budget, Interval: time.Duration(s.interval), Policy: s.policy}
	log, byClicks := strings.CutPrefix(s.weights, "clicks:")
	var err error
	switch {
	case s.weights == "uniform":
	case s.weights == "pagerank":
		o.Rank = o.Interval
	case s.learnsClicks():
		o.Reweigh = o.Interval
	case byClicks:
		var clicks *plan.Clicks
		if clicks, err = plan.ClickWeights(log); err == nil {
			o.Weight, o.Embarrassment = clicks.Of, clicks.Embarrassment
		}
	default:
		var found map[string]float64
		found, err = plan.ReadWeights(s.weights, nil)
		o.Weight = (&plan.Clicks{Pages: found, Other: 1}).Of
	}
	if err != nil {
		return nil, fmt.Errorf("--weights: %w", err)
	}
	return o, nil
}
