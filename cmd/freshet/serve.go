package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/cmd/freshet/command"
	"freshet/node"
)

func serveCommand() *cobra.Command {
	var config string
	var asJSON, quiet bool
	var s *crawlSettings
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Crawl as a daemon, with the settings of a file",
		Long: "Crawls until it is stopped, and serves the window, the API and metrics. When nothing is left to discover, it waits.\n" +
			"After SIGHUP or freshet reload it reads its files again, and prints what has changed: seeds, scope, rules,\n" +
			"opt-outs, delays and limits take effect at once. If a file has a fault, nothing changes.",
		Example: "  freshet serve --config freshet.yaml",
		Args:    command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if config == "" || config == "-" {
				return command.Usage(errors.New("--config is needed: a file of settings, such as freshet config show > freshet.yaml makes"))
			}
			r := &reloader{config: config, typed: typed(cmd.Flags()), tell: func() {}}
			if err := settle(cmd.Flags(), config, nil); err != nil {
				return command.Usage(err)
			}
			options, err := s.serveOptions()
			if err != nil {
				return err
			}
			r.flags, r.rules = cmd.Flags(), s.rules
			return runCrawl(cmd, options, s, &daemon{reloader: r}, asJSON, quiet)
		},
	}
	s = crawlFlags(cmd.Flags())
	cmd.Flags().StringVar(&config, "config", "", "YAML file with settings (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON, as the last line of standard output")
	cmd.Flags().BoolVar(&quiet, "quiet", true, "do not show progress")
	return cmd
}

// serveOptions checks the settings of a daemon and returns the options of the engine.
func (s *crawlSettings) serveOptions() (node.Options, error) {
	seeds, err := readSeeds(nil, s.seeds, nil)
	if err != nil {
		return node.Options{}, command.Usage(err)
	}
	options, err := s.engineOptions(seeds)
	options.Wait = true
	return options, err
}

// typed returns the settings from the command line.
func typed(flags *pflag.FlagSet) (all []assignment) {
	flags.Visit(func(f *pflag.Flag) {
		if !isSetting(f) {
			return
		}
		all = append(all, assignment{f, "--" + f.Name, textsOf(f)})
	})
	return all
}

// textsOf returns the values of a setting: several if it is repeatable.
func textsOf(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// reloader reads a daemon's settings again, and applies those that may change while it runs.
type reloader struct {
	config string
	typed  []assignment
	engine *node.Node

	mu    sync.Mutex     // one reload at a time; guards the present settings
	flags *pflag.FlagSet // the settings
	rules []string       // lines of the files
	tell  func()         // called after a reload
}

// common returns the settings that all nodes of a cluster should have alike.
func (r *reloader) common() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return commonSettings(r.flags)
}

// reloaded sets what is called after each reload.
func (r *reloader) reloaded(tell func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell = tell
}

// reloadable are the settings that take effect at a reload; others do at the next start.
var reloadable = []string{"scope", "requisites", "opt-out", "seeds", "delay", "adaptive-delay", "address-delay", "max-pages", "max-depth", "pages-per-site", "retries", "retry-delay", "bandwidth", "bandwidth-out"}

// reload applies and returns the changes, one line each. If it returns an error, nothing has changed.
func (r *reloader) reload() ([]string, error) {
	changes, err := r.apply()
	r.mu.Lock()
	tell := r.tell
	r.mu.Unlock()
	if err == nil {
		tell()
	}
	return changes, err
}

func (r *reloader) apply() ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	flags := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	s := crawlFlags(flags)
	for _, a := range r.typed {
		a.flag = flags.Lookup(a.flag.Name)
		if err := assign([]assignment{a}); err != nil {
			return nil, err
		}
	}
	if err := settle(flags, r.config, nil); err != nil {
		return nil, err
	}
	options, err := s.serveOptions()
	if err != nil {
		return nil, err
	}
	if err := r.engine.Reload(options); err != nil {
		return nil, err
	}
	changes := append(settingChanges(r.flags, flags), lineChanges(r.rules, s.rules)...)
	r.flags, r.rules = flags, s.rules
	return changes, nil
}

// settingChanges returns the settings that differ.
func settingChanges(old, new *pflag.FlagSet) (changes []string) {
	new.VisitAll(func(f *pflag.Flag) {
		was := old.Lookup(f.Name)
		if f.Value.String() != was.Value.String() {
			change := fmt.Sprintf("%s: %s → %s", f.Name, strings.Join(shown(was), " "), strings.Join(shown(f), " "))
			if !slices.Contains(reloadable, f.Name) {
				change += " (from the next start on)"
			}
			changes = append(changes, change)
		}
	})
	return changes
}

// mostChanges is how many changed lines of rules are listed.
const mostChanges = 50

// lineChanges returns the removed and the added lines.
func lineChanges(old, new []string) (changes []string) {
	for _, side := range []struct {
		sign     string
		in, notI []string
	}{{"- ", old, new}, {"+ ", new, old}} {
		others := map[string]bool{}
		for _, line := range side.notI {
			others[line] = true
		}
		n := 0
		for _, line := range side.in {
			if others[line] {
				continue
			}
			if n++; n <= mostChanges {
				changes = append(changes, side.sign+line)
			}
		}
		if n > mostChanges {
			changes = append(changes, fmt.Sprintf("%sand %d more", side.sign, n-mostChanges))
		}
	}
	return changes
}

// daemon is the part of serve that a crawl does not have.
type daemon struct {
	reloader *reloader
	hangups  chan os.Signal
	silence  func() // ends say
	done     sync.WaitGroup
}

// begin prints that the crawl is up, with the URL of the window or, by the address of --listen, why there is none. It
// notifies the service manager, and reloads at every SIGHUP until end.
func (d *daemon) begin(window, listen string) {
	d.hangups = make(chan os.Signal, 1)
	signal.Notify(d.hangups, syscall.SIGHUP)
	d.done.Go(func() {
		for range d.hangups {
			d.hangup()
		}
	})
	switch {
	case window == "" && listen == "":
		window = "no window, because --listen is off"
	case window == "":
		window = "no window, see the warning above"
	}
	fmt.Fprintln(os.Stderr, "freshet: serving", window)
	notify("READY=1")
}

// say prints why nothing is stored: once, when no request is under way. It returns when something is stored, and at the
// end of ctx. Without seeds, the only node of a crawl has nothing to do.
func (d *daemon) say(ctx context.Context, now func() node.Status, options node.Options, only bool) {
	for options.Clock.Sleep(ctx, options.Clock.Span(time.Second)) == nil {
		s := now()
		why := ""
		switch {
		case s.Pages+s.Requisites+s.NotModified > 0:
			return
		case s.Connections > 0 || s.SitesReady > 0:
		case s.Trouble != nil:
			why = s.Trouble.String()
		case only && s.URLsDiscovered == 0 && len(options.Seeds) == 0:
			why = "there is no seed: give URLs with freshet add, or a file with --seeds"
		}
		if why != "" {
			fmt.Fprintln(os.Stderr, "freshet: nothing is stored yet:", why)
			return
		}
	}
}

func (d *daemon) hangup() {
	changes, err := d.reloader.reload()
	switch {
	case err != nil:
		for line := range strings.SplitSeq(plainly(err), "\n") {
			fmt.Fprintln(os.Stderr, "freshet: not reloaded:", line)
		}
	case len(changes) == 0:
		fmt.Fprintln(os.Stderr, "freshet: reloaded: nothing has changed")
	}
	for _, change := range changes {
		fmt.Fprintln(os.Stderr, "freshet: reloaded:", change)
	}
}

// end notifies the service manager that the crawl stops.
func (d *daemon) end() {
	notify("STOPPING=1")
	signal.Stop(d.hangups)
	close(d.hangups)
	d.silence()
	d.done.Wait()
}

// notify sends a state to the service manager, if there is one (sd_notify(3)). It ignores errors.
func notify(state string) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	if name, abstract := strings.CutPrefix(socket, "@"); abstract {
		socket = "\x00" + name
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state))
}
