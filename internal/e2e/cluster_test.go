package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"freshet/clock"
	"freshet/internal/s3server"
	"freshet/internal/sites"
)

// brokers are three NATS servers that keep all that they are given on disk.
type brokers struct {
	t       *testing.T
	options []*server.Options
	running []*server.Server
}

func startBrokers(t *testing.T) *brokers {
	t.Helper()
	var routes []*url.URL
	var ports []int
	for i := range 6 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		if i < 3 {
			routes = append(routes, &url.URL{Scheme: "nats-route", Host: l.Addr().String()})
		}
	}
	b := &brokers{t: t, running: make([]*server.Server, 3)}
	dir := t.TempDir()
	for i, port := range ports[:3] {
		b.options = append(b.options, &server.Options{
			ServerName: fmt.Sprint("s", i), Host: "127.0.0.1", Port: ports[3+i], NoSigs: true, NoLog: true, JetStream: true,
			StoreDir: filepath.Join(dir, fmt.Sprint(i)), SyncAlways: true, JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 64 << 20,
			Cluster: server.ClusterOpts{Name: "e2e", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
	}
	t.Cleanup(func() { b.down(0, 1, 2) })
	return b
}

// up starts servers, down ends them.
func (b *brokers) up(which ...int) {
	b.t.Helper()
	for _, i := range which {
		s, err := server.NewServer(b.options[i].Clone())
		if err != nil {
			b.t.Fatal(err)
		}
		s.Start()
		b.running[i] = s
	}
	for _, i := range which {
		if !b.running[i].ReadyForConnections(30 * time.Second) {
			b.t.Fatal("a NATS server does not start")
		}
	}
}

func (b *brokers) down(which ...int) {
	for _, i := range which {
		if s := b.running[i]; s != nil {
			s.Shutdown()
			s.WaitForShutdown()
		}
		b.running[i] = nil
	}
}

func (b *brokers) addresses() string {
	var all []string
	for _, o := range b.options {
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return strings.Join(all, ",")
}

// startNodes starts three processes that share a crawl with further settings.
func startNodes(t *testing.T, b *brokers, settings ...string) []*process {
	t.Helper()
	dir := t.TempDir()
	nodes := make([]*process, 3)
	for i := range nodes {
		name := fmt.Sprint("node-", i)
		n := &process{t: t, data: filepath.Join(dir, name)}
		n.args = append([]string{"serve", "--data", n.data, "--nats", b.addresses(), "--node", name, "--listen", "", "--memory", "256MiB"}, settings...)
		n.start()
		nodes[i] = n
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			n.kill()
		}
	})
	return nodes
}

// awaitEnd waits until the nodes have crawled all pages and followed one another. A node ends if the servers do not
// answer it for some seconds. Like a service manager, awaitEnd starts a node again that has been away for a minute.
func awaitEnd(t *testing.T, nodes []*process) {
	t.Helper()
	quiet := 0 // looks
	heard := map[*process]time.Time{}
	waitFor(t, "all is crawled", func() bool {
		left := int64(0)
		for _, n := range nodes {
			s, now := n.status(), clock.Real().Now()
			if s.running || heard[n].IsZero() {
				heard[n] = now
			}
			if !s.running {
				left++
			}
			if now.Sub(heard[n]) > time.Minute {
				said, _ := os.ReadFile(n.log.Name())
				t.Logf("%s is started again; it said:\n%s", n.data, last(said))
				n.kill()
				n.start()
				heard[n] = now
			}
			left += s.QueuedNew + s.QueuedDue + int64(s.Processing)
		}
		if quiet++; left > 0 {
			quiet = 0
		}
		rest(t, time.Second) // a look takes a process for each node
		return quiet > 4     // all have followed by then
	})
}

// settings returns the flags of a crawl of all that servers serve.
func settings(t *testing.T, servers []*sites.Server, delay time.Duration) []string {
	t.Helper()
	dir := t.TempDir()
	config, seeds := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "seeds")
	all := []string{"--config", config, "--seeds", seeds}
	var list []byte
	for _, s := range servers {
		list = fmt.Appendln(list, s.Site().Seed())
		all = append(all, "--resolve", s.Resolve())
	}
	err := os.WriteFile(config, []byte("delay: "+delay.String()+"\nconnections: 16\nallow-private: true\npages-per-site: 100000\n"), 0o600)
	if err == nil {
		err = os.WriteFile(seeds, list, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func rest(t *testing.T, d time.Duration) {
	t.Helper()
	if err := clock.Real().Sleep(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// TestCluster has three processes share a crawl, kills them at random instants and wipes a disk. NATS servers and the
// object store are away for a while. All have all pages in the end, each as its server has it, and no host was asked
// too soon or by two at once. FRESHET_KILLS says how often it kills.
func TestCluster(t *testing.T) {
	const (
		hosts = 8
		delay = 300 * time.Millisecond
	)
	kills := 3
	if more := os.Getenv("FRESHET_KILLS"); more != "" {
		var err error
		if kills, err = strconv.Atoi(more); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 7))
	manual := install(t, "libglib2.0-doc")[0]
	served := make([]sites.Site, hosts)
	for i := range served {
		served[i] = sites.Site{Name: fmt.Sprint("gobject-", i), Root: filepath.Join(manual.Root, "gobject"), Home: "/index.html"}
	}
	log := new(sites.Log)
	servers := serve(t, 67, log, sites.Options{Latency: 50 * time.Millisecond}, served...)
	kept, nats := s3server.Start(t, "snapshots"), startBrokers(t)
	nats.up(0, 1, 2)
	nodes := startNodes(t, nats, append(settings(t, servers, delay), "--partition-snapshots", "s3://snapshots/e2e", "--partition-snapshots-every", "5s")...)
	waitFor(t, "pages are stored", func() bool { return nodes[0].status().QueuedNew > 0 || nodes[1].status().QueuedNew > 0 })
	for i := range kills {
		rest(t, time.Duration(random.Int64N(int64(4*time.Second))))
		n := nodes[random.IntN(len(nodes))]
		n.kill()
		if i == kills/2 { // the disk is lost
			if err := os.RemoveAll(n.data); err != nil {
				t.Fatal(err)
			}
		}
		if i%2 == 1 { // the others take its partitions
			rest(t, 15*time.Second)
		}
		n.start()
	}
	waitFor(t, "all are at work", func() bool { return !slices.ContainsFunc(nodes, (*process).away) })
	one := random.IntN(3)
	kept.Down(t)
	nats.down(one)
	rest(t, 12*time.Second)
	for _, n := range nodes {
		if n.away() {
			t.Errorf("%s has ended, though two NATS servers answer", n.data)
		}
	}
	nats.down((one + 1) % 3)
	waitFor(t, "nodes end that no majority answers", func() bool { return !slices.ContainsFunc(nodes, func(n *process) bool { return !n.away() }) })
	nats.up(one, (one+1)%3)
	for _, n := range nodes { // as a service manager does
		n.kill()
		n.start()
	}
	rest(t, 5*time.Second)
	kept.Up(t)
	awaitEnd(t, nodes)
	for _, n := range nodes {
		n.stop()
		run(t, binary, "verify", "--data", n.data)
		_, all := records(t, n.data)
		judge(t, served, pages(t, n.data), bodies(t, all))
	}
	exchanges := log.Exchanges()
	t.Logf("%d kills; %d requests, %d of them cut by a kill; %d pages fetched again", kills, len(exchanges), cuts(exchanges), sites.Repeats(exchanges))
	impolite(t, exchanges, delay)
}

// impolite fails the test where a host was asked too soon, or by two at once.
func impolite(t *testing.T, exchanges []sites.Exchange, delay time.Duration) {
	t.Helper()
	violations := sites.Violations(exchanges, delay)
	for _, v := range violations[:min(len(violations), 8)] {
		t.Error(v)
	}
}

// TestClusterOfSites has three processes over three NATS servers crawl real sites, with FRESHET_ALL_SITES all. In the
// end each has the pages that one process alone has, as their servers have them. No host was asked too soon, or by two
// at once.
func TestClusterOfSites(t *testing.T) {
	const delay = 5 * time.Millisecond
	installed := realSites(t)
	log := new(sites.Log)
	servers := serve(t, 68, log, sites.Options{}, installed...)
	nats := startBrokers(t)
	nats.up(0, 1, 2)
	// With less memory a node leaves out the largest pages, of 9 MB.
	nodes := startNodes(t, nats, append(settings(t, servers, delay), "--memory", "512MiB")...)
	awaitEnd(t, nodes)
	exchanges := log.Exchanges()
	t.Logf("%d requests, %d pages fetched again, in %v", len(exchanges), sites.Repeats(exchanges), exchanges[len(exchanges)-1].Start.Sub(exchanges[0].Start))
	impolite(t, exchanges, delay)
	alone := filepath.Join(t.TempDir(), "alone")
	crawl(t, alone, servers, "--delay", "0s")
	samePages(t, nodes, pages(t, alone))
	for _, n := range nodes {
		_, all := records(t, n.data)
		judge(t, installed, pages(t, n.data), bodies(t, all))
	}
}

// TestClusterOfDemo is TestClusterOfSites with the web of the demo. Its pages change during the crawl. The test takes
// minutes, and runs with FRESHET_ALL_SITES.
func TestClusterOfDemo(t *testing.T) {
	if os.Getenv("FRESHET_ALL_SITES") == "" {
		t.Skip("it takes minutes: set FRESHET_ALL_SITES=1")
	}
	config, alone := filepath.Join(t.TempDir(), "web.yaml"), filepath.Join(t.TempDir(), "alone")
	web := &process{t: t, args: []string{"demo", "--web-only", "--write-config", config}}
	web.start()
	t.Cleanup(web.kill)
	waitFor(t, "the web is there", func() bool {
		_, err := os.Stat(config)
		return err == nil
	})
	nats := startBrokers(t)
	nats.up(0, 1, 2)
	nodes := startNodes(t, nats, "--config", config)
	awaitEnd(t, nodes)
	run(t, binary, "crawl", "--config", config, "--data", alone, "--quiet", "--listen", "")
	samePages(t, nodes, pages(t, alone))
}

// samePages ends nodes, and holds that each has the pages that one process has, and no others.
func samePages(t *testing.T, nodes []*process, alone map[string]page) {
	t.Helper()
	for _, n := range nodes {
		n.stop()
		run(t, binary, "verify", "--data", n.data)
		table := pages(t, n.data)
		if lost, extra := missing(alone, table), missing(table, alone); len(lost)+len(extra) > 0 {
			t.Errorf("%s: %d pages are missing: %q, %d are there that one process does not have: %q", n.data, len(lost), some(lost), len(extra), some(extra))
		}
	}
}

// interrupted is the exit code of a process that was asked to stop.
const interrupted = 3

// process is a freshet serve.
type process struct {
	t    *testing.T
	data string
	args []string
	cmd  *exec.Cmd
	log  *os.File
}

func (p *process) start() {
	p.t.Helper()
	var err error
	if p.log, err = os.CreateTemp(p.t.TempDir(), "log"); err != nil {
		p.t.Fatal(err)
	}
	p.cmd = exec.Command(binary, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()
		p.log.Close()
		p.cmd = nil
	}
}

// stop ends a process in order.
func (p *process) stop() {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
	if code := p.cmd.ProcessState.ExitCode(); code != interrupted {
		said, _ := os.ReadFile(p.log.Name())
		p.t.Errorf("exit code %d:\n%s", code, last(said))
	}
	p.log.Close()
	p.cmd = nil
}

type clusterStatus struct {
	running    bool
	QueuedNew  int64 `json:"queued_new"`
	QueuedDue  int64 `json:"queued_due"`
	Processing int   `json:"pages_processing"`
	State      string
}

// status returns the status that a process reports.
func (p *process) status() (s clusterStatus) {
	out, err := exec.Command(binary, "status", "--data", p.data, "--json").Output()
	s.running = err == nil && json.Unmarshal(out, &s) == nil && s.State == "crawling"
	return s
}

// away reports whether a process does not crawl.
func (p *process) away() bool { return !p.status().running }

// waitFor waits until something is true.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	const most = 10 * time.Minute
	for begin := clock.Real().Now(); !is(); {
		if clock.Real().Now().Sub(begin) > most {
			t.Fatalf("%s: not within %v", what, most)
		}
		if err := clock.Real().Sleep(t.Context(), 200*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}
