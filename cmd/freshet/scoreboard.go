package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"freshet/clock"
	"freshet/node"
	"freshet/sim"
)

// scoreboard shows, day by day of the demo's clock, how fresh the copy is believed to be, how fresh it is,
// and how fresh visits to all pages alike would keep it with the same requests.
type scoreboard struct {
	clock *clock.Clock
	judge *sim.Judge
	out   io.Writer

	days                     int
	believed, truth, uniform float64 // sums over the days after the first third
	scored                   int
}

// watch prints a line a day until stop is called, then the means.
func (s *scoreboard) watch(e *node.Node, days int) (stop func()) {
	done := make(chan struct{})
	var printing sync.WaitGroup
	fmt.Fprintf(s.out, "%5s %7s %10s %10s %10s\n", "day", "pages", "estimate", "true", "uniform")
	printing.Go(func() {
		timer := s.clock.NewTimer(24 * time.Hour)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
				s.line(e, days)
				s.clock.Reset(timer, 24*time.Hour)
			}
		}
	})
	return func() {
		close(done)
		printing.Wait()
		if n := float64(s.scored); n > 0 {
			fmt.Fprintf(s.out, "%5s %7s %10.4f %10.4f %10.4f   over the last %d days\n", "mean", "", s.believed/n, s.truth/n, s.uniform/n, s.scored)
		}
	}
}

func (s *scoreboard) line(e *node.Node, days int) {
	believed := e.Freshness(s.judge.Knows)
	truth, uniform := s.judge.Verdicts(s.clock.Now())
	s.days++
	fmt.Fprintf(s.out, "%5d %7d %10.4f %10.4f %10.4f\n", s.days, truth.Pages, believed.Freshness, truth.Freshness, uniform.Freshness)
	if s.days > days/3 {
		s.believed += believed.Freshness
		s.truth += truth.Freshness
		s.uniform += uniform.Freshness
		s.scored++
	}
}
