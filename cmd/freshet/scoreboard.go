package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"freshet/clock"
	"freshet/dashboard/units"
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

const (
	scoreboardHead = `
The web changes all the time, and the copy with it. A line a day, which takes %s: how much of the copy is current,
  estimate   as Freshet believes, who knows no more than its visits show
  true       as it is: the demo asks its web
  uniform    as it would be, were the same visits spent on all pages alike

  day   pages   estimate       true    uniform
`
	scoreboardRow = "%5s %7s %9.1f%% %9.1f%% %9.1f%%\n"
	scoreboardEnd = `
Over the last %d days %.1f%% of the copy was current; Freshet believed %.1f%%; visits to all alike would have kept %.1f%%.
`
)

// watch prints a line a day until stop is called, then the means.
func (s *scoreboard) watch(e *node.Node, days int) (stop func()) {
	done := make(chan struct{})
	var printing sync.WaitGroup
	fmt.Fprintf(s.out, scoreboardHead, units.Span(s.clock.Machine(24*time.Hour)))
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
			fmt.Fprintf(s.out, scoreboardRow, "mean", "", 100*s.believed/n, 100*s.truth/n, 100*s.uniform/n)
			fmt.Fprintf(s.out, scoreboardEnd, s.scored, 100*s.truth/n, 100*s.believed/n, 100*s.uniform/n)
		}
	}
}

func (s *scoreboard) line(e *node.Node, days int) {
	believed := e.Freshness(s.judge.Knows)
	truth, uniform := s.judge.Verdicts(s.clock.Now())
	s.days++
	fmt.Fprintf(s.out, scoreboardRow, fmt.Sprint(s.days), units.Count(int64(truth.Pages)), 100*believed.Freshness, 100*truth.Freshness, 100*uniform.Freshness)
	if s.days > days/3 {
		s.believed += believed.Freshness
		s.truth += truth.Freshness
		s.uniform += uniform.Freshness
		s.scored++
	}
}
