package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard/units"
	"freshet/sim"
)

// trialCluster holds the arguments of freshet cluster dev.
type trialCluster struct {
	web      demo
	nodes    int
	dir      string
	port     int
	pace     float64
	settings []string // further ones of every node
	until    command.Duration

	out     io.Writer
	servers []*server.Server
	urls    []string // of the servers
	writing sync.Mutex
}

const trialServers = 3

func clusterDevCommand() *cobra.Command {
	var t trialCluster
	cmd := &cobra.Command{
		Use: "dev", Short: "Try out a cluster on this machine", Args: command.NoArgs,
		Long: "Starts three NATS servers, the demo's web, and some nodes that share a crawl of it. Each node is a process of its own,\n" +
			"and is started again when it ends. Kill one to see the others take over its partitions. Ctrl-C stops everything. The\n" +
			"same command with --dir continues.",
		Example: "  freshet cluster dev\n  freshet cluster dev --nodes 5 --dir trial",
		RunE:    func(cmd *cobra.Command, _ []string) error { return t.run(cmd) },
	}
	flags := cmd.Flags()
	flags.IntVar(&t.nodes, "nodes", 3, "number of nodes")
	flags.StringVar(&t.dir, "dir", "", "folder for everything that is stored; empty: a new temporary folder")
	flags.IntVar(&t.port, "port", 8351, "port of the first node's window; the other nodes use the next ports")
	flags.IntVar(&t.web.config.Sites, "sites", 24, "number of sites in the web")
	flags.IntVar(&t.web.config.Pages, "pages", 2400, "number of pages in the web")
	flags.Uint64Var(&t.web.config.Seed, "seed", 1, "number that the web is computed from")
	flags.Float64Var(&t.pace, "clock", 2880, "speed of the crawl's clock: how many of its seconds pass in one")
	flags.StringArrayVar(&t.settings, "set", nil, "setting for every node, such as budget=5000 (repeatable)")
	flags.Var(&t.until, "for", "stop after this time; 0s: at Ctrl-C")
	check(flags, wholeFrom(1), "nodes", "sites", "pages", "port")
	return cmd
}

func (t *trialCluster) run(cmd *cobra.Command) (err error) {
	t.out = cmd.ErrOrStderr()
	if err := checkSettings(t.settings); err != nil {
		return command.Usage(fmt.Errorf("--set %w", err))
	}
	if t.dir == "" {
		if t.dir, err = os.MkdirTemp("", "freshet-cluster-"); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop() // ends ctx too
	if err := t.startServers(); err != nil {
		return err
	}
	defer t.stopServers()
	config, done, err := t.startWeb(ctx)
	if err != nil {
		return err
	}
	defer done()
	t.say("a web of %s and %s, and %s", units.Plural(int64(t.web.config.Sites), "site"),
		units.Plural(int64(t.web.config.Pages), "page"), units.Plural(trialServers, "NATS server"))
	t.say("all that is stored is in %s: remove it when you are done", t.dir)
	var nodes sync.WaitGroup
	for i := range t.nodes {
		nodes.Go(func() { t.keepNode(ctx, config, i) })
	}
	t.say("look at them: freshet cluster status --nats %s", t.urls[0])
	if t.until > 0 {
		_ = clock.Real().Sleep(ctx, time.Duration(t.until))
		stop()
	}
	<-ctx.Done()
	t.say("stopping")
	nodes.Wait()
	t.say("to continue: freshet cluster dev --dir %s; to remove all: rm -r %[1]s", t.dir)
	return nil
}

// checkSettings returns an error if one of the texts is not a setting with a valid value.
func checkSettings(texts []string) error {
	flags := newCrawlFlags()
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		if flags.Lookup(name) == nil {
			return fmt.Errorf("%q: want a setting and its value, such as budget=5000", text)
		}
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	return nil
}

func (t *trialCluster) say(format string, args ...any) {
	t.writing.Lock()
	defer t.writing.Unlock()
	fmt.Fprintf(t.out, format+"\n", args...)
}

// startServers starts NATS servers that store their data in the folder, and waits until they have found one another.
func (t *trialCluster) startServers() error {
	var routes []*url.URL
	var ports []int
	for range trialServers {
		port, err := freePort()
		if err != nil {
			return err
		}
		ports = append(ports, port)
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))})
	}
	for i := range trialServers {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("nats-%d", i+1), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: filepath.Join(t.dir, fmt.Sprintf("nats-%d", i+1)), SyncAlways: true,
			HTTPHost: "127.0.0.1", HTTPPort: server.RANDOM_PORT, // for --nats-monitor
			JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 64 << 20,
			Cluster: server.ClusterOpts{Name: "dev", Host: "127.0.0.1", Port: ports[i]}, Routes: routes,
		})
		if err != nil {
			t.stopServers()
			return err
		}
		s.Start()
		t.servers = append(t.servers, s)
	}
	for _, s := range t.servers {
		if !s.ReadyForConnections(connectTime) {
			t.stopServers()
			return errors.New("a NATS server does not start: is the disk full?")
		}
		t.urls = append(t.urls, s.ClientURL())
	}
	return nil
}

func (t *trialCluster) stopServers() {
	for _, s := range t.servers {
		s.Shutdown()
	}
	for _, s := range t.servers {
		s.WaitForShutdown()
	}
}

// freePort returns a loopback port on which nobody listens now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// startWeb serves the demo's web and writes the settings for a crawl of it.
func (t *trialCluster) startWeb(ctx context.Context) (config string, done func(), err error) {
	at := pace{rate: t.pace, start: clock.Real().Now()}
	t.web.config.Clock = at.clock()
	web, err := sim.NewWeb(t.web.config)
	if err != nil {
		return "", nil, command.Usage(err)
	}
	s, err := web.Serve(ctx)
	if err != nil {
		return "", nil, err
	}
	config = filepath.Join(t.dir, "web.yaml")
	return config, func() { s.Close() }, errors.Join(err, writeDemoConfig(config, web, s.Resolve(), &at))
}

// keepNode runs a node, and starts it again when it ends, until ctx ends.
func (t *trialCluster) keepNode(ctx context.Context, config string, i int) {
	name := fmt.Sprintf("node-%d", i+1)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(t.port+i))
	args := []string{"serve", "--config", config, "--data", filepath.Join(t.dir, name), "--node", name, "--listen", address,
		"--refresh", "--budget", "20000", "--memory", "256MiB"}
	for i, s := range t.servers {
		args = append(args, "--nats", t.urls[i], "--nats-monitor", "http://"+s.MonitorAddr().String())
	}
	for _, setting := range t.settings {
		args = append(args, "--"+setting)
	}
	for ctx.Err() == nil {
		cmd, err := t.startNode(name, args)
		if err != nil {
			t.say("%s: %v", name, err)
			return
		}
		t.say("%s is process %d; its window is at http://%s/", name, cmd.Process.Pid, address)
		end := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
		err = cmd.Wait()
		end()
		if ctx.Err() == nil {
			t.say("%s has ended (%v) and is started again", name, err)
			_ = clock.Real().Sleep(ctx, time.Second)
		}
	}
}

func (t *trialCluster) startNode(name string, args []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr, cmd.SysProcAttr = to, ownGroup()
	err = cmd.Start()
	to.Close()
	if err != nil {
		from.Close()
		return nil, err
	}
	go func() {
		defer from.Close()
		lines := bufio.NewScanner(from)
		for lines.Scan() {
			t.say("%s: %s", name, lines.Text())
		}
	}()
	return cmd, nil
}

// ownGroup puts a node into its own process group, so that Ctrl-C in the terminal does not reach it. The parent
// stops it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
