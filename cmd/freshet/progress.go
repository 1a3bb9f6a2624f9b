package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"freshet/cmd/freshet/command"
	"freshet/crawl"
	"freshet/crawl/explain"
	"freshet/dashboard/units"
	"freshet/node"
)

// progress prints a line on standard error: rewritten each second on a terminal, a new one every ten
// seconds elsewhere.
type progress struct {
	end  chan struct{}
	done sync.WaitGroup
}

func startProgress(engine *node.Node, options node.Options, quiet bool) *progress {
	p := &progress{end: make(chan struct{})}
	terminal := term.IsTerminal(int(os.Stderr.Fd()))
	every := 10 * time.Second
	if terminal {
		every = time.Second
	}
	c := options.Clock
	if !quiet {
		announceDelay(os.Stderr, options)
	}
	p.done.Go(func() {
		timer := c.NewTimer(c.Span(every))
		defer timer.Stop()
		for {
			select {
			case <-p.end:
				if terminal && !quiet {
					fmt.Fprint(os.Stderr, "\r\x1b[K")
				}
				return
			case <-timer.C:
			}
			s := engine.Status()
			options.Logger.Debug("progress", "pages_per_s", s.PagesPerS, "recent_pages_per_s", s.RecentPagesS,
				"ready", s.SitesReady, "waiting", s.SitesWaiting, "fleet", s.Fleet)
			if !quiet {
				show(os.Stderr, line(s, troubleOf(engine, s)), terminal)
			}
			c.Reset(timer, c.Span(every))
		}
	})
	return p
}

func (p *progress) stop() {
	close(p.end)
	p.done.Wait()
}

// announceDelay says how long each host is left alone between requests, where that is long enough to be wondered at.
func announceDelay(out io.Writer, options node.Options) {
	if machine := options.Clock.Machine(options.Delay); machine >= time.Second {
		fmt.Fprintf(out, "polite: %s between requests to a host (--delay), about %s an hour of each\n",
			command.ShortDuration(options.Delay), units.Plural(int64(time.Hour/options.Delay), "page"))
	}
}

// show prints a line of progress.
func show(out io.Writer, line string, terminal bool) {
	if terminal {
		fmt.Fprintf(out, "\r\x1b[K%s", fit(line))
	} else {
		fmt.Fprintln(out, line)
	}
}

// troubleOf returns why nothing is stored, if nothing is.
func troubleOf(engine *node.Node, s node.Status) *explain.Trouble {
	if s.Pages > 0 || s.NotModified > 0 {
		return nil
	}
	trouble, err := engine.Trouble()
	if err != nil {
		return nil // the crawl will tell of a fault
	}
	return trouble
}

// line is a status in a line of at most 80 columns: what there is, what is to come, what went wrong, when it ends. Who
// watches a crawl by a fast clock sees times by the machine's.
func line(s node.Status, trouble *explain.Trouble) string {
	rate := cmp.Or(s.ClockRate, 1)
	span := func(seconds float64) string { return units.Span(time.Duration(seconds / rate * 1e9)) }
	next := ""
	if wait := s.NextRequestS / rate; wait >= 1 && s.Connections == 0 {
		next = "next in " + span(s.NextRequestS)
	}
	if trouble != nil {
		return join("0 pages", trouble.Cause, next)
	}
	pages, left := units.Plural(s.Pages, "page"), ""
	failed := ""
	if s.URLsFailed > 0 {
		failed = units.Count(s.URLsFailed) + " failed"
	}
	queued := s.QueuedNew + s.QueuedDue
	switch {
	case s.State == "paused":
		left = "paused"
	case s.Refresh != nil:
		pages += fmt.Sprintf(", %.1f%% fresh", 100*s.Refresh.Freshness)
		left = units.Count(s.Changed) + " changed"
	case queued > 0:
		pages = fmt.Sprintf("%s of about %s", units.Count(s.Pages), units.Plural(s.Pages+queued, "page"))
		if s.RemainingS < 1e9 {
			left = span(s.RemainingS) + " left"
		}
	}
	return join(pages, units.Bytes(s.Bytes), units.Plural(s.Sites, "site"), failed, next, left)
}

// join puts two spaces between the parts that are not empty.
func join(parts ...string) string {
	var some []string
	for _, part := range parts {
		if part != "" {
			some = append(some, part)
		}
	}
	return strings.Join(some, "  ")
}

// fit cuts a line to the terminal's width, so that it can be rewritten.
func fit(line string) string {
	width, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil || width < 20 || len(line) < width {
		return line
	}
	return strings.ToValidUTF8(line[:width-1], "")
}

// ended says why a crawl ended.
func ended(s node.Summary) string {
	switch s.StoppedBy {
	case crawl.FrontierEmpty:
		return "nothing is left to discover"
	case crawl.MaxPages:
		return "stopped by --max-pages"
	case crawl.TimeUp:
		return "stopped by --for"
	case crawl.Signal:
		return "interrupted: the same command goes on"
	case crawl.DiskFull:
		return "stopped as the disk is nearly full"
	}
	return "stopped by a fault"
}

// printSummary says what a run came to, and what its trouble is.
func printSummary(out io.Writer, s node.Summary, rate float64) {
	failed := ""
	if s.URLsFailed > 0 {
		failed = ", " + units.Count(s.URLsFailed) + " failed"
	}
	fmt.Fprintf(out, "%s of %s stored in %s, %s known%s; %s\n", units.Plural(s.Pages, "page"), units.Plural(s.Sites, "site"),
		span(s, rate), units.Plural(s.URLsDiscovered, "URL"), failed, ended(s))
	if s.Pages == 0 && s.StoppedBy == crawl.FrontierEmpty && s.Trouble == nil && s.RobotsWaiting == 0 {
		fmt.Fprintln(out, "all was fetched before: freshet recrawl has a page asked for again, --refresh keeps all fresh")
	}
	if n := s.RobotsWaiting; n > 0 && s.Trouble == nil {
		fmt.Fprintf(out, "%s queued behind a robots.txt that could not be had; the next run asks for it again\n", units.Plural(n, "page"))
	}
}
