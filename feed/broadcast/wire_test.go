package broadcast_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"freshet/clock"
	"freshet/feed/broadcast"
	"freshet/feed/broadcast/multicast"
	"freshet/feed/mirror"
	"freshet/internal/crawled"
)

// wireRole names the environment variable with the part that a process of TestMulticastOnTheWire plays.
const wireRole = "FRESHET_TEST_WIRE"

// TestMulticastOnTheWire uses two cables between two network namespaces: one for HTTP and one for the multicast alone,
// so that the test can count its datagrams.
const (
	receivers   = 50
	wireGroup   = "239.255.83.50:8352"
	serverIP    = "10.83.0.1"
	lossOnWire  = 0.1
	wirePages   = 12
	wireChanges = 3
)

// TestMulticastOnTheWire keeps 50 mirrors by real multicast, between two network namespaces that it makes. The wire
// carries each datagram once. Each receiver loses a tenth of the datagrams. Erasure coding recovers nearly all of
// that; HTTP recovers the rest.
func TestMulticastOnTheWire(t *testing.T) {
	switch os.Getenv(wireRole) {
	case "server":
		serveWire(t)
	case "receivers":
		receiveWire(t)
	default:
		if _, err := exec.LookPath("ip"); err != nil {
			t.Skip("no ip(8) to make a network with")
		}
		server := again(t, "server", syscall.CLONE_NEWUSER|syscall.CLONE_NEWNET)
		server.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		server.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		var out bytes.Buffer
		server.Stdout, server.Stderr = &out, &out
		if err := server.Start(); err != nil {
			t.Skipf("no namespace may be made: %v", err)
		}
		err := server.Wait()
		t.Logf("in the namespace:\n%s", &out)
		if strings.Contains(out.String(), "--- SKIP") {
			t.Skip("no network could be made there")
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// again returns this test as another process, in namespaces of its own.
func again(t *testing.T, role string, namespaces uintptr) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// it ends when this process does
	cmd := exec.Command(self, "-test.run=^TestMulticastOnTheWire$", "-test.v", "-test.timeout=0")
	cmd.Env = append(os.Environ(), wireRole+"="+role)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// ip runs ip(8).
func ip(t *testing.T, line string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		t.Skipf("ip %s: %v: %s", line, err, out)
	}
}

// transmitted returns how many packets have left by an interface of this namespace.
func transmitted(t *testing.T, name string) (packets int) {
	text, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 10 && fields[0] == name+":" {
			if _, err := fmt.Sscan(fields[10], &packets); err != nil {
				t.Fatal(err)
			}
		}
	}
	return packets
}

// counted counts the datagrams that are written.
type counted struct {
	io.Writer
	datagrams atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	c.datagrams.Add(1)
	return c.Writer.Write(p)
}

// serveWire is the server's end: a crawl, its feed, and the judge of the mirrors.
func serveWire(t *testing.T) {
	dir := t.TempDir()
	far := again(t, "receivers", syscall.CLONE_NEWNET)
	far.Env = append(far.Env, "FRESHET_TEST_DIR="+dir)
	far.Stderr = os.Stderr
	in, err := far.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := far.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := far.Start(); err != nil {
		t.Skipf("no second namespace: %v", err)
	}
	ip(t, "link set lo up")
	for i, name := range []string{"http", "cast"} {
		ip(t, fmt.Sprintf("link add %s0 type veth peer name %s1 netns %d", name, name, far.Process.Pid))
		ip(t, fmt.Sprintf("addr add 10.83.%d.1/24 dev %s0", i, name))
		ip(t, fmt.Sprintf("link set %s0 addrgenmode none up", name))
	}
	w := crawled.New(t, 1, wirePages)
	conn, err := multicast.Dial(netip.MustParseAddrPort(wireGroup), "cast0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	wire := &counted{Writer: conn}
	feed, stop := groupFeed(t, w, wire, 2e6)
	listener, err := net.Listen("tcp4", serverIP+":0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: feed.Handler()}
	go func() { _ = server.Serve(listener) }()

	events := bufio.NewScanner(out)
	fmt.Fprintln(in, listener.Addr())
	await := func() {
		for i := range receivers {
			o := mirror.Options{Dir: filepath.Join(dir, fmt.Sprint(i))}
			for difference(t, w, o) != "" {
				if !events.Scan() {
					t.Fatal("the receivers have ended")
				}
			}
		}
	}
	await()
	before, sent := transmitted(t, "cast0"), wire.datagrams.Load()
	first, err := feed.Totals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for round := range wireChanges {
		for page := range wirePages {
			w.Set(crawled.URL(0, page), longText(uint64(round*wirePages+page)))
			w.Visit(crawled.URL(0, page))
		}
		await()
	}
	onWire, sent := transmitted(t, "cast0")-before, wire.datagrams.Load()-sent
	totals, err := feed.Totals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bytes, repaired := totals.ChunkBytes-first.ChunkBytes, totals.RepairedBytes-first.RepairedBytes
	t.Logf("%d receivers, %d datagrams sent, %d packets on the wire, %.2f MB of chunks, for each receiver; left %.2f MB, of which repair %.3f MB, %.2f %% of what all took",
		receivers, sent, onWire, float64(bytes)/1e6, float64(totals.SentBytes-first.SentBytes)/1e6, float64(repaired)/1e6, 100*float64(repaired)/float64(bytes*receivers))
	if int64(onWire) != sent || sent == 0 {
		t.Errorf("%d datagrams were sent and %d packets were on the wire", sent, onWire)
	}
	if repaired*5 > bytes*receivers {
		t.Errorf("%d bytes of %d were repaired over HTTP", repaired, bytes*receivers)
	}
	in.Close()
	for events.Scan() {
		if strings.Contains(events.Text(), "FAIL") {
			t.Error(events.Text())
		}
	}
	if err := far.Wait(); err != nil {
		t.Error(err)
	}
	stop()
	server.Close()
}

// longText is a page of 40 KB that no other is like.
func longText(seed uint64) string {
	chance := rand.New(rand.NewPCG(seed, 8))
	var text strings.Builder
	for text.Len() < 40_000 {
		fmt.Fprintf(&text, "%x ", chance.Uint64())
	}
	return text.String()
}

// groupFeed lets a feed of a world send to the wire's group, at a pace.
func groupFeed(t *testing.T, w *crawled.Web, out io.Writer, pace float64) (feed *broadcast.Server, stop func()) {
	sender := multicast.NewSender(out, pace, clock.Real())
	feed, end := startFeed(t, w, broadcast.Options{
		Transport: broadcast.NewGroup(netip.MustParseAddrPort(wireGroup), sender, 7), Rate: pace,
	})
	return feed, func() {
		end()
		sender.Close()
	}
}

// receiveWire is the receivers' end: 50 mirrors, until the standard input ends. Each change is told by a line.
func receiveWire(t *testing.T) {
	lines := bufio.NewScanner(os.Stdin)
	if !lines.Scan() {
		t.Skip("the server has no network")
	}
	ip(t, "link set lo up")
	for i, name := range []string{"http", "cast"} {
		ip(t, fmt.Sprintf("addr add 10.83.%d.2/24 dev %s1", i, name))
		ip(t, fmt.Sprintf("link set %s1 addrgenmode none up", name))
	}
	var all []*subscriber
	for i := range uint64(receivers) {
		all = append(all, subscribe(t, mirror.Options{
			Addresses: []string{lines.Text()}, Dir: filepath.Join(os.Getenv("FRESHET_TEST_DIR"), fmt.Sprint(i)),
			Listen: func(group string) (net.PacketConn, error) {
				conn, err := multicast.Listen(netip.MustParseAddrPort(group), "cast1")
				return &lossy{conn, rand.New(rand.NewPCG(i, 4))}, err
			},
			OnChange: func(mirror.Change) error {
				fmt.Println("changed")
				return nil
			},
		}))
	}
	for lines.Scan() {
	}
	for _, s := range all {
		s.stop()
	}
}

// lossy loses a part of the datagrams that arrive.
type lossy struct {
	net.PacketConn
	chance *rand.Rand
}

func (l *lossy) ReadFrom(p []byte) (n int, from net.Addr, err error) {
	for {
		if n, from, err = l.PacketConn.ReadFrom(p); err != nil || l.chance.Float64() >= lossOnWire {
			return n, from, err
		}
	}
}
