package main

import (
	"errors"
	"fmt"
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
	flags.StringVar(&s.weights, "weights", "uniform", "what a page's freshness is worth: uniform, or a file of weights by URL, as freshet weights writes it (1 for pages it does not name)")
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
	weights, err := readWeights(s.weights, nil)
	if err != nil {
		return nil, fmt.Errorf("--weights: %w", err)
	}
	o.Weight = func(u weburl.URL) float64 {
		if w, ok := weights[u.String()]; ok {
			return w
		}
		return 1
	}
	return o, nil
}
