package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard/units"
	"freshet/lab"
)

func labReportCommand() *cobra.Command {
	var r labReport
	cmd := &cobra.Command{
		Use: "report --out DIR", Short: "Run all experiments and write one page about them", Args: command.NoArgs,
		Long: "Runs every experiment with its default parameters, or with --quick with smaller ones, and writes DIR/index.html:\n" +
			"what was published beside what was measured, with plots, in one page that needs no network. Results are kept in\n" +
			"DIR/results and used again while neither the parameters nor the program change.",
		Example: "  freshet lab report --out report\n  freshet lab report --out report --quick --only queue,web",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.out == "" {
				return command.Usage(errors.New("--out is needed"))
			}
			return r.run(cmd)
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.out, "out", "", "folder to write to (required)")
	f.BoolVar(&r.quick, "quick", false, "smaller runs: under two minutes on two cores")
	f.StringSliceVar(&r.only, "only", nil, "names of experiments, separated by commas; default all")
	f.BoolVar(&r.asJSON, "json", false, "print JSON")
	f.BoolVar(&r.quiet, "quiet", false, "do not show progress")
	return cmd
}

// labReport holds the flags of the command.
type labReport struct {
	out          string
	quick, quiet bool
	asJSON       bool
	only         []string
}

func (r *labReport) run(cmd *cobra.Command) error {
	chosen, err := choose(experiments(), r.only)
	if err != nil {
		return command.Usage(err)
	}
	program, err := fingerprintOfProgram()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	started := clock.Real()
	begun := started.Now()
	progress := newLabProgress(cmd.ErrOrStderr(), r.quiet)
	cache := lab.Cache{Dir: filepath.Join(r.out, "results"), Version: program}
	chapters := make([]lab.Chapter, len(chosen))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range chosen {
		group.Go(func() (err error) {
			chapters[i], err = r.chapter(ctx, e, cache, progress)
			return err
		})
	}
	failed := group.Wait()
	progress.clear()
	if ctx.Err() != nil {
		return &command.Error{Code: command.ExitInterrupted, Err: errors.New("interrupted: finished experiments are kept")}
	}
	took := started.Now().Sub(begun)
	file := filepath.Join(r.out, "index.html")
	if err := r.write(file, chapters, begun, took); err != nil {
		return err
	}
	if r.asJSON {
		fact := struct {
			File        string  `json:"file"`
			Experiments int     `json:"experiments"`
			DurationS   float64 `json:"duration_s"`
		}{file, len(chapters), took.Seconds()}
		return errors.Join(failed, json.NewEncoder(cmd.OutOrStdout()).Encode(fact))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s in %s\n", file, units.Plural(int64(len(chapters)), "experiment"), units.Span(took))
	return failed
}

// choose returns the experiments with these names, or all if names is empty.
func choose(all []lab.Experiment, names []string) ([]lab.Experiment, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []lab.Experiment
	for _, name := range names {
		found := false
		for _, e := range all {
			if e.Name == strings.TrimSpace(name) {
				chosen, found = append(chosen, e), true
			}
		}
		if !found {
			return nil, fmt.Errorf("--only %s: no such experiment (see freshet lab list)", name)
		}
	}
	return chosen, nil
}

// chapter runs an experiment, unless its result is kept. If there is no result, the chapter has the reason. The
// reason is also returned as an error, except if data is missing or a parameter is required.
func (r *labReport) chapter(ctx context.Context, e lab.Experiment, cache lab.Cache, progress *labProgress) (lab.Chapter, error) {
	c := lab.Chapter{Experiment: e, Command: "freshet lab run " + e.Name}
	trial := e.New()
	if r.quick {
		c.Command = strings.Join(append([]string{c.Command}, e.Quick...), " ")
		if err := trial.Flags().Parse(e.Quick); err != nil {
			return c, fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	if kept, ok := cache.Load(trial); ok {
		c.Result = kept
		return c, nil
	}
	result, err := trial.Run(ctx, func(p lab.Progress) {
		p.Doing = strings.TrimSpace(e.Name + ": " + p.Doing)
		progress.show(p)
	})
	if err != nil {
		c.Missing = err.Error()
		if _, needed := errors.AsType[*lab.ParameterError](err); needed || errors.Is(err, lab.ErrNoData) {
			err = nil
		}
		return c, err
	}
	c.Result = result
	return c, cache.Store(trial, result)
}

func (r *labReport) write(file string, chapters []lab.Chapter, begun time.Time, took time.Duration) error {
	size := "Full runs"
	if r.quick {
		size = "Quick runs, smaller than the full ones"
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	err = lab.Report{
		Title: "Freshet's lab",
		Preface: fmt.Sprintf("%s of freshet %s, on %d cores of %s/%s, %s, in %s. Results that were kept from an earlier run of the same program are used again.",
			size, version(), runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH, begun.UTC().Format("2 January 2006"), units.Span(took)),
		Chapters: chapters,
	}.Write(out)
	return errors.Join(err, out.Close())
}

// fingerprintOfProgram returns a digest of the running executable.
func fingerprintOfProgram() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// labProgress shows the progress of an experiment: on a terminal in one line, at most ten times a second, elsewhere
// in a new line every five seconds. It is safe for concurrent use.
type labProgress struct {
	out      io.Writer
	quiet    bool
	terminal bool
	clock    *clock.Clock

	mu   sync.Mutex
	last time.Time // of the last line shown
}

func newLabProgress(out io.Writer, quiet bool) *labProgress {
	p := &labProgress{out: out, quiet: quiet, terminal: term.IsTerminal(int(os.Stderr.Fd())), clock: clock.Real()}
	p.last = p.clock.Now()
	return p
}

func (p *labProgress) show(at lab.Progress) {
	every := 5 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if p.quiet || now.Sub(p.last) < every {
		return
	}
	p.last = now
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", fit(at.String()))
	} else {
		fmt.Fprintln(p.out, at)
	}
}

// clear removes the line from the terminal.
func (p *labProgress) clear() {
	if p.terminal && !p.quiet {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
