package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/crawl"
	"freshet/crawl/explain"
	"freshet/dashboard/units"
	"freshet/node"
)

// progress prints a line on standard error: rewritten each second on a terminal, a new one every ten
// seconds elsewhere.
type progress struct {
	out      io.Writer
	terminal bool
	end      chan struct{}
	done     sync.WaitGroup
	mu       sync.Mutex // held while something is printed
}

// startProgress prints what line returns now and then, by a clock, until stop. Nothing is printed for an empty line.
func startProgress(out io.Writer, c *clock.Clock, line func() string) *progress {
	p := &progress{out: out, terminal: isTerminal(out), end: make(chan struct{})}
	every := 10 * time.Second
	if p.terminal {
		every = time.Second
	}
	p.done.Go(func() {
		timer := c.NewTimer(c.Span(every))
		defer timer.Stop()
		for {
			select {
			case <-p.end:
				return
			case <-timer.C:
			}
			if text := line(); text != "" {
				p.mu.Lock()
				show(p.out, text, p.terminal)
				p.mu.Unlock()
			}
			c.Reset(timer, c.Span(every))
		}
	})
	return p
}

// isTerminal reports whether people read what is written to out as it comes.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// stop ends the progress.
func (p *progress) stop() {
	close(p.end)
	p.done.Wait()
	p.clear()
}

// clear takes the line off a terminal.
func (p *progress) clear() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// println prints a line that stays, to out, in place of the one of progress.
func (p *progress) println(out io.Writer, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(out, line)
}

// crawlProgress shows how a crawl comes on, and notes more of it in the log.
func crawlProgress(engine *node.Node, options node.Options, quiet bool) *progress {
	if !quiet {
		announceDelay(os.Stderr, options)
	}
	return startProgress(os.Stderr, options.Clock, func() string {
		s := engine.Status()
		options.Logger.Debug("progress", "pages_per_s", s.PagesPerS, "recent_pages_per_s", s.RecentPagesS,
			"ready", s.SitesReady, "waiting", s.SitesWaiting, "fleet", s.Fleet)
		if quiet {
			return ""
		}
		return line(s, troubleOf(engine, s))
	})
}

// working shows what a command is doing that takes long, how many bytes it has read, and since when.
type working struct {
	*progress
	doing atomic.Pointer[string]
	read  atomic.Int64 // bytes
}

// startWorking shows a command's work until stop.
func startWorking(out io.Writer, c *clock.Clock, doing string) *working {
	w := &working{}
	w.doing.Store(&doing)
	begun := c.Now()
	w.progress = startProgress(out, c, func() string {
		read := ""
		if n := w.read.Load(); n > 0 {
			read = units.Bytes(n) + " read"
		}
		return join(*w.doing.Load(), read, units.Span(c.Now().Sub(begun)))
	})
	return w
}

// say prints what the program does from now on.
func (w *working) say(format string, args ...any) {
	w.doing.Store(new(fmt.Sprintf(format, args...)))
	w.read.Store(0)
}

// counted counts what is read of in.
func (w *working) counted(in io.Reader) io.Reader { return countedReader{in, &w.read} }

type countedReader struct {
	io.Reader
	n *atomic.Int64
}

// Read implements io.Reader.
func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n.Add(int64(n))
	return n, err
}

// announceDelay says how long each host is left alone between requests, where that is long enough to be wondered at.
func announceDelay(out io.Writer, options node.Options) {
	if machine := options.Clock.Machine(options.Delay); machine >= time.Second {
		fmt.Fprintf(out, "polite: %s between requests to the same host (--delay), so about %s an hour from each\n",
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
	if s.Pages+s.Requisites > 0 || s.NotModified > 0 {
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
	idle := s.Connections == 0 && s.SitesReady == 0 && next == ""
	if failed != "" && queued > 0 && idle {
		failed += ", to be asked again"
	}
	switch {
	case s.State == "paused":
		left = "paused"
	case s.Refresh != nil:
		pages += fmt.Sprintf(", %.1f %% fresh", 100*s.Refresh.Freshness)
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
		return "interrupted: run the same command to continue"
	case crawl.DiskFull:
		return "stopped because the disk is nearly full"
	}
	return "stopped by a fault"
}

// printSummary says what a run came to, unless nothing was stored: the error that ends it says why.
func printSummary(out io.Writer, s node.Summary, rate float64) {
	if s.Trouble != nil {
		return
	}
	failed := ""
	if s.URLsFailed > 0 {
		failed = ", " + units.Plural(s.URLsFailed, "request") + " failed"
	}
	stored := units.Plural(s.Pages, "page")
	if s.Requisites > 0 {
		stored += " and " + units.Plural(s.Requisites, "requisite")
	}
	fmt.Fprintf(out, "stored %s of %s in %s; %s known%s; %s\n", stored, units.Plural(s.Sites, "site"),
		span(s, rate), units.Plural(s.URLsDiscovered, "URL"), failed, ended(s))
	if s.Pages+s.Requisites == 0 && s.StoppedBy == crawl.FrontierEmpty && s.RobotsWaiting == 0 {
		fmt.Fprintln(out, "every known page had been fetched before: freshet recrawl visits one again, and --refresh keeps all of them fresh")
	}
	if n := s.RobotsWaiting; n > 0 {
		fmt.Fprintf(out, "%s could not be fetched because a robots.txt did not answer: run again later\n", units.Plural(n, "page"))
	}
}
