package main

import (
	"cmp"
	"context"
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

// progress prints a line on standard error. On a terminal it rewrites the line each second; elsewhere it prints a new
// one every ten seconds.
type progress struct {
	out      io.Writer
	terminal bool
	end      chan struct{}
	done     sync.WaitGroup
	mu       sync.Mutex // held while something is printed
}

// startProgress regularly prints the result of line until stop. It does not print an empty line.
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

// isTerminal reports whether out is a terminal.
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

// clear removes the line from a terminal.
func (p *progress) clear() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// println prints a permanent line to out, in place of the line of progress.
func (p *progress) println(out io.Writer, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(out, line)
}

// crawlProgress shows the progress of a crawl, whose status now tells, and logs more details.
func crawlProgress(now func() node.Status, options node.Options, quiet bool) *progress {
	if !quiet {
		announceDelay(os.Stderr, options)
	}
	return startProgress(os.Stderr, options.Clock, func() string {
		s := now()
		options.Logger.Debug("progress", "pages_per_s", s.PagesPerS, "recent_pages_per_s", s.RecentPagesS,
			"ready", s.SitesReady, "waiting", s.SitesWaiting, "fleet", s.Fleet)
		if quiet {
			return ""
		}
		return line(s)
	})
}

// working shows what a long-running command is doing, how many bytes it has read or written, and for how long.
type working struct {
	*progress
	doing         atomic.Pointer[string]
	read, written atomic.Int64 // bytes
	toRead        atomic.Int64 // bytes; 0: not known
}

// startWorking shows a command's work until stop.
func startWorking(out io.Writer, c *clock.Clock, doing string) *working {
	w := &working{}
	w.doing.Store(&doing)
	begun := c.Now()
	w.progress = startProgress(out, c, func() string {
		read, written := "", ""
		switch n, all := w.read.Load(), w.toRead.Load(); {
		case n > 0 && all > 0:
			read = fmt.Sprintf("%d %% of %s read", min(99, 100*n/all), units.Bytes(all))
		case n > 0:
			read = units.Bytes(n) + " read"
		}
		if n := w.written.Load(); n > 0 {
			written = units.Bytes(n) + " written"
		}
		return join(*w.doing.Load(), read, written, units.Span(c.Now().Sub(begun)))
	})
	return w
}

// say sets the description of the present work.
func (w *working) say(format string, args ...any) {
	w.doing.Store(new(fmt.Sprintf(format, args...)))
	w.read.Store(0)
	w.written.Store(0)
	w.toRead.Store(0)
}

// counted returns a reader of in that counts bytes.
func (w *working) counted(in io.Reader) io.Reader { return countedReader{in, &w.read} }

// counting returns a writer to out that counts bytes.
func (w *working) counting(out io.Writer) io.Writer { return countingWriter{out, &w.written} }

type countingWriter struct {
	io.Writer
	n *atomic.Int64
}

// Write implements io.Writer.
func (w countingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.n.Add(int64(n))
	return n, err
}

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

// announceDelay prints the pause between requests to a host, if it is long enough to surprise.
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

// statusBy returns a function that tells what a crawl is doing and, unless something is stored, why not.
func statusBy(engine *node.Node) func() node.Status {
	trouble := kept[*explain.Trouble]{make: engine.Trouble}
	return func() node.Status {
		s := engine.Status()
		if s.Pages+s.Requisites == 0 && s.NotModified == 0 {
			s.Trouble, _, _ = trouble.get(context.Background()) // the crawl will report an error
		}
		return s
	}
}

// line formats a status in at most 80 columns: what is stored, what is queued, what failed, when it ends. With a fast
// clock it shows times by the machine's clock.
func line(s node.Status) string {
	rate := cmp.Or(s.ClockRate, 1)
	span := func(seconds float64) string { return units.Span(time.Duration(seconds / rate * 1e9)) }
	next := ""
	if wait := s.NextRequestS / rate; wait >= 1 && s.Connections == 0 {
		next = "next in " + span(s.NextRequestS)
	}
	if s.Trouble != nil {
		return join("0 pages", s.Trouble.Cause, next)
	}
	pages, left := units.Plural(s.Pages, "page"), ""
	failed := ""
	if s.URLsFailed > 0 {
		failed = units.Count(s.URLsFailed) + " failed"
	}
	queued := s.QueuedNew + s.QueuedDue
	idle := s.Connections == 0 && s.SitesReady == 0 && s.NextRequestS == 0
	if queued > 0 && queued <= s.URLsFailed && idle {
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

// ended returns the reason why a crawl ended.
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

// printSummary prints the result of a run. If nothing was stored it prints nothing, because the error has the reason.
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
	if s.Pages+s.Requisites+s.URLsFailed+s.RobotsWaiting == 0 && s.StoppedBy == crawl.FrontierEmpty {
		fmt.Fprintln(out, "every known page had been fetched before: freshet recrawl visits one again, and --refresh keeps all of them fresh")
	}
	if n := s.RobotsWaiting; n > 0 {
		fmt.Fprintf(out, "%s could not be fetched because a robots.txt did not answer: run again later\n", units.Plural(n, "page"))
	}
}
