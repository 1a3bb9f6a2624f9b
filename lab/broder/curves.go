package broder

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"

	"freshet/lab"
	"freshet/lab/broder/cache"
	"freshet/weburl"
)

// curve is the miss rate of a policy at each size of a study.
type curve struct {
	policy string
	rates  []float64
}

// study is one trace answered by every policy at every size.
type study struct {
	name     string
	requests []weburl.Fingerprint
	distinct int
	logs     []int // of the sizes, to base 2
	curves   []curve
}

// newStudy runs all policies, several at a time, and reports progress to out after each.
func newStudy(ctx context.Context, out *lab.Result, name string, requests []weburl.Fingerprint, policies []string, logs []int, seed uint64) (*study, error) {
	future := cache.Foresee(requests)
	var popular []weburl.Fingerprint
	s := &study{name: name, requests: requests, logs: logs, distinct: future.Distinct()}
	if slices.Contains(policies, "static") {
		popular = cache.MostRequested(requests, 1<<slices.Max(logs))
	}
	for _, policy := range policies {
		s.curves = append(s.curves, curve{policy, make([]float64, len(logs))})
	}
	build := func(policy string, size int) (cache.Policy, error) {
		switch policy {
		case "min":
			return cache.NewMin(size, future), nil
		case "static":
			return cache.NewStatic(popular[:min(size, len(popular))]), nil
		}
		return cache.New(policy, size, nil, random(seed, size))
	}
	type job struct{ curve, size int }
	jobs, done := make(chan job), make(chan error)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for j := range jobs {
				p, err := build(s.curves[j.curve].policy, 1<<logs[j.size])
				if err == nil {
					s.curves[j.curve].rates[j.size] = rate(cache.Misses(p, requests), len(requests))
				}
				done <- err
			}
		})
	}
	go func() {
		defer close(done)
		defer workers.Wait()
		defer close(jobs)
		for c := range s.curves {
			for i := range logs {
				if ctx.Err() != nil {
					return
				}
				jobs <- job{c, i}
			}
		}
	}()
	var err error
	n := 0
	for e := range done {
		if e != nil && err == nil {
			err = e
		}
		n++
		out.Progress(name, n, len(policies)*len(logs))
	}
	if err == nil {
		err = ctx.Err()
	}
	return s, err
}

// infinite is the miss rate of a cache that forgets nothing.
func (s *study) infinite() float64 { return rate(s.distinct, len(s.requests)) }

// rates returns a policy's curve, or nil if it was not run.
func (s *study) rates(policy string) []float64 {
	for _, c := range s.curves {
		if c.policy == policy {
			return c.rates
		}
	}
	return nil
}

// report adds the study's rows and both plots: miss rates, and those relative to MIN's.
func (s *study) report(out *lab.Result, figures [2]string) {
	least := s.rates("min")
	miss := lab.Plot{Title: figures[0], X: lab.Axis{Label: "entries", Log: true}, Y: lab.Axis{Label: "miss rate"}}
	relative := lab.Plot{Title: figures[1], X: lab.Axis{Label: "entries", Log: true}, Y: lab.Axis{Label: "misses by those of MIN"}}
	sizes := make(lab.Numbers, len(s.logs))
	for i, log := range s.logs {
		sizes[i] = float64(int(1) << log)
	}
	for _, c := range s.curves {
		by := make(lab.Numbers, len(s.logs))
		for i, r := range c.rates {
			by[i] = math.NaN()
			if least != nil && least[i] > 0 {
				by[i] = r / least[i]
			}
			out.Row("trace", s.name, "policy", c.policy, "size", 1<<s.logs[i], "miss_rate", r, "relative_to_min", by[i])
		}
		miss.Series = append(miss.Series, lab.Series{Name: c.policy, X: sizes, Y: lab.Numbers(c.rates)})
		if c.policy != "static" {
			relative.Series = append(relative.Series, lab.Series{Name: c.policy, X: sizes, Y: by})
		}
	}
	out.Row("trace", s.name, "policy", "infinite", "size", s.distinct, "miss_rate", s.infinite())
	out.Plot(miss)
	if least != nil {
		out.Plot(relative)
	}
}
