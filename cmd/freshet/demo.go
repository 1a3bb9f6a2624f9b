package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard/units"
	"freshet/node"
	"freshet/sim"
)

// demo holds the arguments of freshet demo.
type demo struct {
	crawl                  *crawlSettings
	config                 sim.Config // of the web
	configFile             string     // to be written
	asJSON, quiet, webOnly bool
}

// demoCommand crawls a web that the command serves itself. It needs no files and sends nothing beyond loopback.
func demoCommand() *cobra.Command {
	var d demo
	cmd := &cobra.Command{
		Use: "demo", Short: "Try Freshet out on a changing web of its own, on this machine", Args: command.NoArgs,
		Long: "Starts a small web on loopback addresses: several sites of different sizes and speeds, with robots.txt, sitemaps,\n" +
			"redirects, errors and pages that change. Freshet crawls it and keeps the copy fresh for 30 days of a fast clock.\n" +
			"Each day it prints a line: how much of the copy it estimates to be current, how much really is, and how much\n" +
			"would be if all pages were visited equally. Without --data the copy goes to a new temporary folder.\n" +
			"With --refresh=false the demo ends when nothing is left to discover. With --web-only it only serves the web, for\n" +
			"crawls of your own, until Ctrl-C.",
		Example: "  freshet demo\n  freshet demo --budget 3000 --for 60d\n  freshet demo --refresh=false --pages 20000 --delay 0s\n  freshet demo --web-only --write-config demo.yaml",
	}
	d.crawl = crawlFlags(cmd.Flags())
	flags := cmd.Flags()
	flags.BoolVar(&d.asJSON, "json", false, "print the summary as JSON, as the last line of standard output")
	flags.BoolVar(&d.quiet, "quiet", false, "do not show progress")
	flags.BoolVar(&d.webOnly, "web-only", false, "serve the web, but crawl nothing")
	flags.StringVar(&d.configFile, "write-config", "", "write a config file for crawls of the web, and a file of its seeds beside it")
	flags.IntVar(&d.config.Sites, "sites", 8, "number of sites in the web")
	flags.IntVar(&d.config.Pages, "pages", 400, "number of pages in the web")
	flags.Uint64Var(&d.config.Seed, "seed", 1, "number that the web is computed from")
	for name, value := range map[string]string{"data": "", "delay": "20ms", "retry-delay": "1s", "refresh": "true", "budget": "800"} {
		setFlagDefault(cmd, name, value)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := d.setClock(cmd.Flags().Changed("clock")); err != nil {
			return command.Usage(err)
		}
		return d.run(cmd)
	}
	return cmd
}

// setClock makes the clock of web and crawl. If the user chose none, it is a fast one with --refresh. By that clock, a
// time that was meant for the machine's is over at once.
func (d *demo) setClock(chosen bool) error {
	s := d.crawl
	if s.refresh.on && !d.webOnly {
		if !chosen {
			s.clock.rate = demoRate
			if length := time.Duration(s.forTime); 0 < length && length < 24*time.Hour {
				return fmt.Errorf("--for %s: it is by the demo's clock, of which a day takes 3s: want at least 1d", command.ShortDuration(length))
			}
		}
		if s.forTime == 0 {
			s.forTime, s.ends = command.Duration(30*24*time.Hour), true
		}
	}
	if s.clock.rate != 1 && s.clock.start.IsZero() {
		s.clock.start = clock.Real().Now()
	}
	d.config.Clock = s.clock.clock()
	return nil
}

// run serves the web and, unless webOnly is set, crawls it.
func (d *demo) run(cmd *cobra.Command) error {
	web, err := sim.NewWeb(d.config)
	if err != nil {
		return command.Usage(err)
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	server, err := web.Serve(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	if d.configFile != "" {
		if err := writeDemoConfig(d.configFile, web, server.Resolve(), &d.crawl.clock); err != nil {
			return err
		}
	}
	say := cmd.ErrOrStderr()
	if d.quiet {
		say = io.Discard
	}
	fmt.Fprintf(say, "started a web of %s and %s on this machine\n", units.Plural(int64(d.config.Sites), "site"), units.Plural(int64(web.Pages()), "page"))
	if d.webOnly {
		interrupted, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		<-interrupted.Done()
		return nil
	}
	d.crawl.resolve, d.crawl.options.AllowPrivate = server.Resolve(), true
	return d.crawlWeb(cmd, web, say)
}

// crawlWeb crawls the web into a folder and prints its path. A scoreboard shows how fresh the copy is.
func (d *demo) crawlWeb(cmd *cobra.Command, web *sim.Web, say io.Writer) error {
	s := d.crawl
	options, err := s.engineOptions(web.Homes())
	if err != nil {
		return err
	}
	options.Clock = d.config.Clock
	if options.Refresh != nil {
		board := &scoreboard{clock: options.Clock, judge: sim.NewJudge(web), out: cmd.OutOrStdout()}
		if d.asJSON || d.quiet {
			board.out = io.Discard
		}
		options.Refresh.OnVisit = board.judge.Visited
		s.watch = func(e *node.Node) func() { return board.watch(e, int(time.Duration(s.forTime)/(24*time.Hour))) }
	}
	if options.Dir == "" {
		if options.Dir, err = os.MkdirTemp("", "freshet-demo-"); err != nil {
			return err
		}
	}
	fmt.Fprintf(say, "crawling it into %s\n", options.Dir)
	if s.listen != "" {
		if !cmd.Flags().Changed("listen") {
			s.listen = untaken(s.listen)
		}
		fmt.Fprintf(say, "watch it at http://%s/\n", s.listen)
	}
	err = s.recorded(options, func(options node.Options) error {
		return runCrawl(cmd, options, s, nil, d.asJSON, d.quiet || options.Refresh != nil) // the table is the progress
	})
	if !d.asJSON {
		fmt.Fprintf(say, whatNext, options.Dir)
	}
	return err
}

// whatNext suggests what to do after the demo.
const whatNext = `
What next?
  see the copy in a browser    freshet view %[1]s
  list its pages               freshet pages --data %[1]s
  crawl a site of your own     freshet crawl https://example.org/ --contact mailto:you@example.org
  keep that copy fresh         the same, with --refresh --budget 1000
`

// setFlagDefault changes the default of a setting.
func setFlagDefault(cmd *cobra.Command, name, value string) {
	f := cmd.Flags().Lookup(name)
	if err := f.Value.Set(value); err != nil {
		panic(fmt.Sprintf("default of --%s: %v", name, err))
	}
	f.DefValue = value
}

// demoRate is the rate of the demo's clock with --refresh: a day takes three seconds.
const demoRate = 28800

// writeDemoConfig writes the settings for a crawl of the demo web by its clock, and a file of its seeds beside it.
// The config file is written last and atomically, so a program that waits for it can start at once.
func writeDemoConfig(file string, web *sim.Web, resolve resolveMap, at *pace) error {
	seeds, err := filepath.Abs(file + ".seeds")
	if err != nil {
		return err
	}
	var list, config bytes.Buffer
	for _, u := range web.Homes() {
		fmt.Fprintln(&list, u)
	}
	fmt.Fprintf(&config, "seeds: %q\nallow-private: true\ndelay: 20ms\nretry-delay: 1s\nclock: %q\nresolve:\n", seeds, at)
	for _, pair := range resolve.GetSlice() {
		fmt.Fprintf(&config, "  - %q\n", pair)
	}
	for _, f := range []struct {
		name string
		text []byte
	}{{seeds, list.Bytes()}, {file, config.Bytes()}} {
		if err := command.WriteFile(f.name, func(w io.Writer) error {
			_, err := w.Write(f.text)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
