package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"freshet/clock"
	"freshet/crawl"
	"freshet/dashboard/units"
	"freshet/node"
	"freshet/sim"
)

// scoreboard shows three figures for each day of the demo's clock: the believed freshness of the copy, the true one,
// and that of equal visits to all pages with the same requests.
type scoreboard struct {
	clock *clock.Clock
	judge *sim.Judge
	out   io.Writer

	days                     int
	within                   int     // of these: the truth was between the bounds of the estimate
	believed, truth, uniform float64 // sums over the days after the first third
	scored                   int
	spent, budget            int64                // of the requests of those days
	embarrassment            *crawl.Embarrassment // by the log of queries, if there is one
}

const (
	scoreboardHead = `
The pages of this web change all the time, and Freshet visits them again to keep its copy fresh. Each line is a day,
which takes %s. It says which share of the copied pages is up to date:
  estimate   what Freshet estimates from its visits, as the window shows it; it knows nothing else
  between    the truth should be between these on nine of ten days
  true       what is true; only the demo can ask its web
  uniform    what would be true if the same visits went to all pages equally

  day   pages   estimate     between         true    uniform
`
	scoreboardRow = "%5s %7s %8.1f %%   %-12s %6.1f %% %8.1f %%\n"
	scoreboardEnd = `
In the last %d days, on average, %.1f %% of the copy was up to date. Freshet estimated %.1f %%. Equal visits to all pages
would have kept %.1f %% up to date. The truth was within the estimate's bounds on %d of %d days.
`
	// scoreboardSearches is printed if weights come from a log of queries.
	scoreboardSearches = `By the log, a stale copy spoils %.1f searches a day. With equal visits to all pages these would be %.1f, with twice the
budget %.1f.
`
	// scoreboardLate is printed if the web's servers, or the machine, were too slow for the clock.
	scoreboardLate = `This machine was too busy for so fast a clock: %s of %s a day were made. Try --clock %d.
`
)

// watch prints one line per day until stop is called, then the means.
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
			fmt.Fprintf(s.out, scoreboardRow, "mean", "", 100*s.believed/n, "", 100*s.truth/n, 100*s.uniform/n)
			fmt.Fprintf(s.out, scoreboardEnd, s.scored, 100*s.truth/n, 100*s.believed/n, 100*s.uniform/n, s.within, s.days)
			if spoilt := s.embarrassment; spoilt != nil {
				fmt.Fprintf(s.out, scoreboardSearches, spoilt.Expected, spoilt.Uniform, spoilt.Double)
			}
			if s.spent < s.budget*4/5 {
				fmt.Fprintf(s.out, scoreboardLate, units.Count(s.spent/int64(s.scored)), units.Plural(s.budget/int64(s.scored), "budgeted visit"),
					max(1, int64(s.clock.Rate()*float64(s.spent)/float64(s.budget))))
			}
		}
	}
}

func (s *scoreboard) line(e *node.Node, days int) {
	believed := e.Freshness()
	truth, uniform := s.judge.Verdicts(s.clock.Now())
	s.days++
	if believed.Low <= truth.Freshness && truth.Freshness <= believed.High {
		s.within++
	}
	fmt.Fprintf(s.out, scoreboardRow, fmt.Sprint(s.days), units.Count(int64(truth.Pages)), 100*believed.Freshness,
		fmt.Sprintf("%.0f to %.0f %%", 100*believed.Low, 100*believed.High), 100*truth.Freshness, 100*uniform.Freshness)
	if s.days > days/3 {
		s.believed += believed.Freshness
		s.truth += truth.Freshness
		s.uniform += uniform.Freshness
		s.scored++
		status := e.Status()
		if kept := status.Refresh; kept != nil {
			s.spent += kept.Last
			s.budget += kept.Budget
		}
		s.embarrassment = status.Embarrassment
	}
}
