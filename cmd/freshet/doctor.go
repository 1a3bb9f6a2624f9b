package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard/units"
	"freshet/fetch"
	"freshet/memory"
	"freshet/node"
	"freshet/store"
	"freshet/weburl"
)

// A finding is the result of a check.
type finding struct {
	Check  string `json:"check"`
	Result string `json:"result"` // ok, warn or fail
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"`
}

// doctor collects findings.
type doctor struct {
	settings *crawlSettings
	seeds    []weburl.URL
	findings []finding
}

func (d *doctor) ok(check, format string, args ...any) {
	d.findings = append(d.findings, finding{check, "ok", fmt.Sprintf(format, args...), ""})
}

func (d *doctor) warn(check, remedy, format string, args ...any) {
	d.findings = append(d.findings, finding{check, "warn", fmt.Sprintf(format, args...), remedy})
}

func (d *doctor) fail(check, remedy, format string, args ...any) {
	d.findings = append(d.findings, finding{check, "fail", fmt.Sprintf(format, args...), remedy})
}

func doctorCommand() *cobra.Command {
	var config string
	var asJSON bool
	var s *crawlSettings
	cmd := &cobra.Command{
		Use:   "doctor [URL…]",
		Short: "Check this machine and the settings before a long crawl",
		Long: "Checks what could end or slow down a crawl weeks later: the contact, open files, memory, the disk, the clock, the\n" +
			"names of the seeds and the address to listen on. It asks name servers, but no site. The exit code is 1 if a check\n" +
			"fails.",
		Example: "  freshet doctor --config freshet.yaml\n  freshet doctor https://example.org/ --contact mailto:you@example.org",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := settle(cmd.Flags(), config, cmd.InOrStdin()); err != nil {
				return command.Usage(err)
			}
			seeds, err := readSeeds(args, s.seeds, cmd.InOrStdin())
			if err != nil {
				return command.Usage(err)
			}
			d := &doctor{settings: s, seeds: seeds}
			d.contact()
			d.files()
			d.memory()
			d.disk(clock.Real())
			d.time()
			d.names(cmd.Context())
			d.listener()
			if err := d.print(cmd.OutOrStdout(), asJSON); err != nil {
				return err
			}
			if slices.ContainsFunc(d.findings, func(f finding) bool { return f.Result == "fail" }) {
				return &command.Error{Code: command.ExitFailed}
			}
			return nil
		},
	}
	s = crawlFlags(cmd.Flags())
	cmd.Flags().StringVar(&config, "config", "", "YAML file with settings; - for standard input")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object per line")
	return cmd
}

func (d *doctor) print(w io.Writer, asJSON bool) error {
	for _, f := range d.findings {
		var err error
		switch {
		case asJSON:
			err = json.NewEncoder(w).Encode(f)
		case f.Remedy != "":
			_, err = fmt.Fprintf(w, "%-5s %-11s %s: %s\n", f.Result, f.Check, f.Found, f.Remedy)
		default:
			_, err = fmt.Fprintf(w, "%-5s %-11s %s\n", f.Result, f.Check, f.Found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *doctor) contact() {
	switch s := d.settings; {
	case s.contact != "":
		d.ok("contact", "%s is sent to servers", s.contact)
	case s.loopbackOnly(d.seeds):
		d.ok("contact", "none, and none is needed: all targets are on loopback")
	default:
		d.fail("contact", "say who crawls, such as --contact mailto:you@example.org", "none")
	}
}

func (d *doctor) files() {
	asked := d.settings.options.Connections
	usable, limit := node.Usable(asked)
	if usable < asked {
		d.warn("open files", "raise the hard limit (ulimit -Hn, LimitNOFILE= of systemd)", "the limit is %s, enough for %s of %s connections",
			units.Count(int64(limit)), units.Count(int64(usable)), units.Count(int64(asked)))
		return
	}
	d.ok("open files", "the limit is %s, enough for %s", units.Count(int64(limit)), units.Plural(int64(asked), "connection"))
}

func (d *doctor) memory() {
	bytes := int64(d.settings.memory)
	if bytes == 0 {
		bytes = memory.Default()
	}
	has := memory.Limit(os.DirFS("/"))
	switch err := memory.Check(bytes); {
	case err != nil:
		d.fail("memory", "lower --memory", "%v", err)
	case has > 0:
		d.ok("memory", "the crawl uses at most %s of %s", units.Bytes(bytes), units.Bytes(has))
	default:
		d.ok("memory", "the crawl uses at most %s", units.Bytes(bytes))
	}
}

const (
	littleSpace = 10 << 30              // of a disk for a long crawl
	syncs       = 8                     // number of timed writes
	slowSync    = 50 * time.Millisecond // of one
)

// disk checks the disk of the data directory, or of the folder in which it will be made.
func (d *doctor) disk(c *clock.Clock) {
	dir, err := filepath.Abs(d.settings.data)
	if err != nil {
		d.fail("disk", "choose another directory (--data)", "%v", err)
		return
	}
	if err := reachable(dir); err != nil {
		d.fail("data", "check its path and who may read it, or choose another directory (--data)", "%s: %v", dir, causeOf(err))
	} else if store.Exists(vfs.Default, dir) {
		d.ok("data", "%s has a crawl, which will continue", dir)
	} else {
		d.ok("data", "a new data directory will be made at %s", dir)
	}
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	usage, err := vfs.Default.GetDiskUsage(dir)
	if err != nil {
		d.fail("disk", "choose a directory on a disk of this machine (--data)", "%v", err)
		return
	}
	switch least := int64(d.settings.minFree); {
	case int64(usage.AvailBytes) <= least:
		d.fail("disk", "free some space, or lower --min-free", "%s are free, and the crawl stops at %s", units.Bytes(int64(usage.AvailBytes)), units.Bytes(least))
	case usage.AvailBytes < littleSpace:
		d.warn("disk", "a page takes about 10 to 30 KB; --keep limits how much of the past is kept", "%s are free", units.Bytes(int64(usage.AvailBytes)))
	default:
		d.ok("disk", "%s are free", units.Bytes(int64(usage.AvailBytes)))
	}
	if kind := volatile(dir); kind != "" {
		d.warn("disk", "choose a directory on a local disk (--data)", "%s is on %s", dir, kind)
	}
	switch took, err := syncTime(dir, c); {
	case err != nil:
		d.fail("disk", "choose a directory that you may write to (--data)", "nothing can be written to %s: %v", dir, causeOf(err))
	case took > slowSync:
		d.warn("disk", "a slow disk limits how many pages are stored per second", "a durable write takes %s", took.Round(time.Millisecond))
	default:
		d.ok("disk", "a durable write takes %s", max(took, 10*time.Microsecond).Round(10*time.Microsecond))
	}
}

// causeOf returns an error of the system without the path and the call that it names.
func causeOf(err error) error {
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		return fault.Err
	}
	return err
}

// syncTime returns the median time to write and sync a block in a folder.
func syncTime(dir string, c *clock.Clock) (time.Duration, error) {
	f, err := os.CreateTemp(dir, ".freshet-doctor-*")
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	var times []time.Duration
	for range syncs {
		began := c.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times = append(times, c.Now().Sub(began))
	}
	slices.Sort(times)
	return times[syncs/2], nil
}

func (d *doctor) time() {
	switch synchronised, known := clockSynchronised(); {
	case !known:
		d.ok("clock", "this system does not tell whether a time server sets it")
	case !synchronised:
		d.warn("clock", "run a time service (chrony, systemd-timesyncd), as intervals and the dates of versions depend on it", "no time server sets it")
	default:
		d.ok("clock", "a time server sets it")
	}
}

const (
	namesAsked  = 20
	nameTimeout = 5 * time.Second
)

// names looks up the hosts of the first seeds.
func (d *doctor) names(ctx context.Context) {
	hosts := map[string]bool{}
	for _, seed := range d.seeds {
		host := seed.Host()
		if hosts[host] {
			continue
		}
		hosts[host] = true
		if len(hosts) > namesAsked {
			d.ok("names", "only the first 20 hosts were looked up")
			return
		}
		d.name(ctx, host)
	}
}

func (d *doctor) name(ctx context.Context, host string) {
	if to, named := d.settings.resolve[host]; named {
		d.address(host, to.Addr())
		return
	}
	ctx, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", strings.Trim(host, "[]"))
	var missing *net.DNSError
	switch {
	case errors.As(err, &missing) && missing.IsNotFound:
		d.fail("names", "check its spelling, and whether the name server of this machine works", "%s has no address", host)
	case err != nil:
		d.fail("names", "check the name server (/etc/resolv.conf)", "%s: %v", host, err)
	default:
		d.address(host, found[0])
	}
}

func (d *doctor) address(host string, to netip.Addr) {
	if fetch.Guard(to) != nil && !d.settings.options.AllowPrivate {
		d.fail("names", "add --allow-private if you mean to crawl it", "%s has the address %v, which is not public", host, to.Unmap())
		return
	}
	d.ok("names", "%s has the address %v", host, to.Unmap())
}

func (d *doctor) listener() {
	if d.settings.listen == "" {
		d.ok("listen", "nothing is served")
		return
	}
	if _, err := d.settings.listening(true); err != nil {
		d.fail("listen", "see freshet serve --help", "%v", err)
		return
	}
	listener, err := net.Listen("tcp", d.settings.listen)
	if err != nil {
		cause, remedy := listenTrouble(err)
		d.fail("listen", remedy, "%s: %s", d.settings.listen, cause)
		return
	}
	_ = listener.Close()
	d.ok("listen", "%s is free", d.settings.listen)
}
