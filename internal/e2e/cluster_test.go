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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"freshet/clock"
	"freshet/internal/sites"
)

// brokers starts three NATS servers that keep all that they are given on disk, and returns where they are.
func brokers(t *testing.T) string {
	t.Helper()
	var routes []*url.URL
	var ports []int
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: l.Addr().String()})
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		l.Close()
	}
	var urls []string
	var all []*server.Server
	dir := t.TempDir()
	for i, port := range ports {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("s", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprint(i)), SyncAlways: true, JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 64 << 20,
			Cluster: server.ClusterOpts{Name: "e2e", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		all = append(all, s)
	}
	t.Cleanup(func() {
		for _, s := range all {
			s.Shutdown()
			s.WaitForShutdown()
		}
	})
	for _, s := range all {
		if !s.ReadyForConnections(30 * time.Second) {
			t.Fatal("a NATS server does not start")
		}
		urls = append(urls, s.ClientURL())
	}
	return strings.Join(urls, ",")
}

// TestCluster has three processes share a crawl, kills them at random instants and wipes a disk. All have all pages in
// the end, each as its server has it, and no host was asked too soon or by two at once. FRESHET_KILLS says how often it
// kills.
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
	dir, nats := t.TempDir(), brokers(t)
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("delay: "+delay.String()+"\nconnections: 16\nmemory: 256MiB\nlisten: \"\"\nallow-private: true\npages-per-site: 100000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var list []byte
	for _, s := range servers {
		list = fmt.Appendln(list, s.Site().Seed())
	}
	seeds := filepath.Join(dir, "seeds")
	if err := os.WriteFile(seeds, list, 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := make([]*process, 3)
	for i := range nodes {
		data := filepath.Join(dir, fmt.Sprint("node-", i))
		args := []string{"serve", "--data", data, "--config", config, "--seeds", seeds, "--nats", nats, "--node", fmt.Sprint("node-", i)}
		for _, s := range servers {
			args = append(args, "--resolve", s.Resolve())
		}
		nodes[i] = &process{t: t, data: data, args: args}
		nodes[i].start()
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			n.kill()
		}
	})
	waitFor(t, "pages are stored", func() bool { return nodes[0].status().QueuedNew > 0 || nodes[1].status().QueuedNew > 0 })
	for i := range kills {
		if err := clock.Real().Sleep(t.Context(), time.Duration(random.Int64N(int64(4*time.Second)))); err != nil {
			t.Fatal(err)
		}
		n := nodes[random.IntN(len(nodes))]
		n.kill()
		if i == kills/2 { // the disk is lost
			if err := os.RemoveAll(n.data); err != nil {
				t.Fatal(err)
			}
		}
		if i%2 == 1 { // the others take its partitions
			if err := clock.Real().Sleep(t.Context(), 15*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		n.start()
	}
	quiet := 0
	waitFor(t, "all is crawled", func() bool {
		left := int64(0)
		for _, n := range nodes {
			s := n.status()
			if !s.running {
				left++
			}
			left += s.QueuedNew + s.QueuedDue + int64(s.Processing)
		}
		if left > 0 {
			quiet = 0
		}
		quiet++
		return quiet > 10 // all have followed by then
	})
	for _, n := range nodes {
		n.stop()
		run(t, binary, "verify", "--data", n.data)
		_, all := records(t, n.data)
		judge(t, served, pages(t, n.data), bodies(t, all))
	}
	exchanges := log.Exchanges()
	t.Logf("%d kills; %d requests, %d of them cut by a kill; %d pages fetched again", kills, len(exchanges), cuts(exchanges), sites.Repeats(exchanges))
	violations := sites.Violations(exchanges, delay)
	for _, v := range violations[:min(len(violations), 8)] {
		t.Error(v)
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

// status returns what a process tells of itself.
func (p *process) status() (s clusterStatus) {
	out, err := exec.Command(binary, "status", "--data", p.data, "--json").Output()
	s.running = err == nil && json.Unmarshal(out, &s) == nil && s.State == "crawling"
	return s
}

// waitFor waits until something is true.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	const most = 4 * time.Minute
	for begin := clock.Real().Now(); !is(); {
		if clock.Real().Now().Sub(begin) > most {
			t.Fatalf("%s: not within %v", what, most)
		}
		if err := clock.Real().Sleep(t.Context(), 200*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}
