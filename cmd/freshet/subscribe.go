package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard/units"
	"freshet/feed/broadcast/multicast"
	"freshet/feed/mirror"
	"freshet/fetch"
	"freshet/store/warc"
)

// subscription holds the arguments of freshet subscribe.
type subscription struct {
	options            mirror.Options
	tokenFile, program string
	archive            string // folder of WARC files
	network            string // interface on which to join the group
	account            *account
	ndjson, quiet      bool
	multicast          bool
	changes            int // received so far
}

func subscribeCommand() *cobra.Command {
	var s subscription
	cmd := &cobra.Command{
		Use: "subscribe ADDR[,ADDR…]", Short: "Keep a mirror of sites that another machine crawls", Args: command.OneArg("ADDR[,ADDR…]"),
		Long: "Keeps a folder equal to the pages of a crawl that runs elsewhere. ADDR is the --listen address of that crawl:\n" +
			"HOST:PORT or a URL. With several addresses, the next one is tried when one fails. Every page is verified, and pages\n" +
			"that end there are deleted here. The next run continues where this one stopped, however it stopped. Without --site,\n" +
			"--domain and --pattern, all pages are mirrored.",
		Example: "  freshet subscribe 127.0.0.1:8350 --site https://example.org --mirror copy\n" +
			"  freshet subscribe https://crawler.test --token-file token --once --ndjson",
	}
	o, flags := &s.options, cmd.Flags()
	flags.StringVar(&o.Dir, "mirror", "mirror", "folder of the mirror; it is created if it does not exist")
	check(flags, onDisk, "mirror")
	flags.StringArrayVar(&o.Interest.Sites, "site", nil, "a site, such as https://example.org (repeatable)")
	flags.StringArrayVar(&o.Interest.Domains, "domain", nil, "all sites of a registrable domain, such as example.org (repeatable)")
	flags.StringArrayVar(&o.Interest.Patterns, "pattern", nil, "URLs in which * stands for any text, such as https://example.org/docs/* (repeatable)")
	flags.BoolVar(&o.Once, "once", false, "download one complete copy and stop")
	flags.StringVar(&s.archive, "warc", "", "also append what arrives to WARC files in this folder")
	flags.BoolVar(&s.ndjson, "ndjson", false, "print every change as JSON, one per line")
	flags.StringVar(&s.program, "exec", "", "shell command that gets the changes on its standard input, in the form of --ndjson")
	flags.StringVar(&s.tokenFile, "token-file", "", "file with the token of the server")
	flags.BoolVar(&s.multicast, "multicast", false, "receive by multicast what several subscribers want, if the feed offers it")
	flags.StringVar(&s.network, "interface", "", "network interface for --multicast; empty: chosen by the system")
	flags.BoolVar(&s.quiet, "quiet", false, "do not show progress")
	s.account = accountOf(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Addresses = strings.Split(args[0], ",")
		if err := s.prepare(cmd.ErrOrStderr()); err != nil {
			return command.Usage(err)
		}
		return s.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

// prepare checks the arguments and makes the client's options from them.
func (s *subscription) prepare(stderr io.Writer) error {
	o := &s.options
	if s.tokenFile != "" {
		text, err := os.ReadFile(s.tokenFile)
		if err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
		o.Token = strings.TrimSpace(string(text))
	}
	if err := o.Interest.Validate(); err != nil {
		return err
	}
	if s.multicast {
		o.Listen = func(address string) (net.PacketConn, error) {
			to, err := multicast.ParseGroup(address)
			if err != nil {
				return nil, err
			}
			return multicast.Listen(to, s.network)
		}
	} else if s.network != "" {
		return errors.New("--interface is for --multicast")
	}
	o.Decode = func(header http.Header, body []byte) ([]byte, error) {
		decoded, _, err := fetch.Decode(header, body, maxMirrored)
		return decoded, err
	}
	o.Logger = newLogger(stderr, slog.LevelWarn)
	said := ""
	o.OnLost = func(address string, err error, pause time.Duration) {
		if why := fmt.Sprintf("no feed from %s (%s)", address, cause(err)); why != said || pause >= 10*time.Second {
			fmt.Fprintf(stderr, "freshet: %s; trying again, next in %s\n", why, units.Span(pause))
			said = why
		}
	}
	if !s.quiet {
		o.OnStanding = func(at mirror.Standing) {
			fmt.Fprintf(stderr, "%s, %.1f %% fresh, mean age %s, %s, %s to come\n", units.Plural(int64(at.Pages), "page"), 100*at.Freshness,
				units.Span(time.Duration(at.AgeS*1e9)), units.Plural(int64(s.changes), "change"), units.Plural(int64(at.Chunks), "chunk"))
		}
	}
	return nil
}

// run keeps the mirror up to date until the command is interrupted or, with --once, until the mirror is complete.
func (s *subscription) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	o := &s.options
	var outs []io.Writer
	if s.ndjson {
		outs = append(outs, stdout)
	}
	if s.program != "" {
		reader, end, err := startReader(s.program, stdout, stderr)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
		outs = append(outs, reader)
	}
	to := json.NewEncoder(io.MultiWriter(outs...))
	to.SetEscapeHTML(false)
	o.OnChange = func(c mirror.Change) error {
		s.changes++
		return to.Encode(c)
	}
	if s.archive != "" {
		o.Archive, err = warc.NewWriter(vfs.Default, s.archive, warc.Options{
			Info: []warc.Field{{Name: "software", Value: "freshet/" + version()}}, Now: clock.Real().Now,
		})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.Archive.Close()) }()
	}
	client, err := mirror.New(*o)
	if err != nil {
		return err
	}
	soft, _, stop := interruptible(ctx)
	defer stop()
	err = errors.Join(s.unserved(client.Run(soft)), client.Close())
	if !s.quiet || s.account.asJSON {
		fact := struct {
			Mirror  string `json:"mirror"`
			Changes int    `json:"changes"`
		}{o.Dir, s.changes}
		err = errors.Join(err, s.account.give(nil, "", fact, fmt.Sprintf("received %s into %s", units.Plural(int64(s.changes), "change"), o.Dir)))
	}
	if err == nil && soft.Err() != nil {
		return &command.Error{Code: command.ExitInterrupted}
	}
	return err
}

// unserved adds what to check to an error of servers.
func (s *subscription) unserved(err error) error {
	if _, failed := errors.AsType[net.Error](err); !failed && !errors.Is(err, mirror.ErrRefused) {
		return err
	}
	return fmt.Errorf("no feed from %s (%s): want the --listen address of a crawl that is running", strings.Join(s.options.Addresses, ", "), cause(err))
}

// cause returns the reason why a server gives nothing, without its address.
func cause(err error) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "connection refused"
	}
	if fault, ok := errors.AsType[*net.OpError](err); ok {
		err = fault.Err
	}
	return strings.TrimPrefix(plainly(err), "refused: ")
}

// startReader starts a shell command that reads from in. end closes its input and waits for it.
func startReader(program string, stdout, stderr io.Writer) (in io.Writer, end func() error, err error) {
	process := exec.Command("sh", "-c", program)
	process.Stdout, process.Stderr = stdout, stderr
	pipe, err := process.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := process.Start(); err != nil {
		return nil, nil, fmt.Errorf("--exec: %w", err)
	}
	return pipe, func() error {
		pipe.Close()
		if err := process.Wait(); err != nil {
			return fmt.Errorf("--exec %s: %w", program, err)
		}
		return nil
	}, nil
}

// maxMirrored bounds a decoded page of a mirror, in bytes.
const maxMirrored = 64 << 20
