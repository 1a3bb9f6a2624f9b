package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"freshet/crawl"
	"freshet/weburl"
)

// refreshSettings are the settings of a crawl that keeps its copy fresh.
type refreshSettings struct {
	on       bool
	budget   int64
	interval duration
	policy   string
	weights  string
}

func (s *refreshSettings) declare(flags *pflag.FlagSet) {
	s.interval = duration(24 * time.Hour)
	flags.BoolVar(&s.on, "refresh", false, "keep the stored pages fresh, until Ctrl-C or a limit")
	flags.Int64Var(&s.budget, "budget", 0, "pages asked for in an --interval, new ones, redirects and answers 304 included; needed with --refresh")
	flags.Var(&s.interval, "interval", "time that --budget is for")
	flags.StringVar(&s.policy, "policy", "default", "which page is visited next: "+strings.Join(crawl.Policies(), ", "))
	flags.StringVar(&s.weights, "weights", "uniform", "what a page's freshness is worth: uniform, or a CSV file with columns url and weight (1 for pages it does not name)")
	check(flags, wholeFrom(0), "budget")
	check(flags, validPolicy, "policy")
}

func validPolicy(name string) error {
	if !slices.Contains(crawl.Policies(), name) {
		return fmt.Errorf("%q: want one of %s", name, strings.Join(crawl.Policies(), ", "))
	}
	return nil
}

// options returns the engine's options, nil without --refresh.
func (s *refreshSettings) options() (*crawl.Refresh, error) {
	if !s.on {
		return nil, nil
	}
	if s.budget == 0 {
		return nil, errors.New("--refresh needs --budget: how many pages may be asked for in an --interval")
	}
	if s.interval <= 0 {
		return nil, fmt.Errorf("--interval %s: want more than nothing", s.interval.String())
	}
	o := &crawl.Refresh{Budget: s.budget, Interval: s.interval.value(), Policy: s.policy}
	if s.weights == "uniform" {
		return o, nil
	}
	weights, err := readWeights(s.weights)
	if err != nil {
		return nil, fmt.Errorf("--weights: %w", err)
	}
	o.Weight = func(u weburl.URL) float64 {
		if w, ok := weights[u]; ok {
			return w
		}
		return 1
	}
	return o, nil
}

// readWeights reads a table of pages and weights.
func readWeights(file string) (weights map[weburl.URL]float64, err error) {
	t, err := openTable(file, nil, []string{"url", "weight"}, "url", "weight")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	weights = map[weburl.URL]float64{}
	for {
		more, err := t.next()
		if err != nil || !more {
			return weights, err
		}
		u, err := weburl.Parse(t.text("url"))
		if err != nil {
			return nil, t.fault("url", "%v", err)
		}
		if _, twice := weights[u]; twice {
			return nil, t.fault("url", "%s is there twice", u)
		}
		if weights[u], err = t.number("weight", 1, 0, math.MaxFloat64); err != nil {
			return nil, err
		}
	}
}
