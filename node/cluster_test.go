package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"freshet/clock"
	"freshet/crawl"
	"freshet/internal/broker"
	"freshet/log"
	"freshet/log/jetstream"
	"freshet/node/cluster"
	"freshet/store"
	"freshet/store/transfer"
	"freshet/weburl"
)

// member is a node of a cluster that runs.
type member struct {
	*Node
	t       *testing.T
	options Options
	conn    *nats.Conn
	part    *cluster.Cluster
	stop    context.CancelFunc
	ran     chan error
}

const clusterLease = 2 * time.Second

// join starts a node of a cluster whose nodes have all partitions.
func join(t *testing.T, s *server.Server, o Options, name string) *member {
	t.Helper()
	return joinWith(t, s, o, name, 0)
}

// joinWith starts a node of a cluster with that many copies of each partition.
func joinWith(t *testing.T, s *server.Server, o Options, name string, copies int) *member {
	t.Helper()
	return joinGroup(t, s.ClientURL(), o, name, copies, 1)
}

// joinGroup is joinWith for a group of servers. That many keep the leases of the nodes; each stream of the log is on
// one.
func joinGroup(t *testing.T, servers string, o Options, name string, copies, replicas int) *member {
	t.Helper()
	m := &member{t: t, ran: make(chan error, 1)}
	var err error
	if m.conn, err = nats.Connect(servers, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	const partitions = 8
	open := func(ctx context.Context) (log.Log, error) {
		return jetstream.Open(ctx, m.conn, jetstream.Options{Cluster: "test", Partitions: partitions, Streams: 2, Replicas: 1}, clock.Real())
	}
	directory, err := cluster.OpenDirectory(o.FS, o.Dir, "test")
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(testWriter{t, name}, nil))
	m.part, err = cluster.Join(t.Context(), m.conn, open, cluster.Options{
		Cluster: "test", Node: name, Directory: directory, Partitions: partitions, Replicas: replicas,
		Copies: copies, Lease: clusterLease, Clock: clock.Real(), Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Cluster, o.Partitions, o.Wait, o.Logger = m.part, partitions, true, logger
	m.options = o
	if m.Node, err = Open(o); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	m.stop = stop
	if err := m.part.Begin(running, m.Node); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := m.Run(running, context.Background())
		m.ran <- err
	}()
	return m
}

// testWriter writes what a node logs to the test's log.
type testWriter struct {
	t    *testing.T
	name string
}

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(w.name, strings.TrimSpace(string(p)))
	return len(p), nil
}

// leave stops a node in order.
func (m *member) leave() {
	m.t.Helper()
	m.stop()
	if err := <-m.ran; err != nil {
		m.t.Error(err)
	}
	m.part.Stay()
	if err := errors.Join(m.Node.Close(), m.part.Close(m.t.Context(), true)); err != nil {
		m.t.Error(err)
	}
	m.conn.Close()
}

// die stops a node as a crash does: nobody is told.
func (m *member) die() {
	m.t.Helper()
	m.Fail(errors.New("killed by the test"))
	_ = m.part.Close(m.t.Context(), false)
	<-m.ran
	_ = m.Node.Close()
	m.stop()
	m.conn.Close()
}

// stored returns how many pages a node has rows and contents of.
func (m *member) stored() int64 {
	total, err := m.Store().Total()
	if err != nil {
		m.t.Error(err)
	}
	return total.States[store.StateLive]
}

// has returns how many partitions a node has.
func (m *member) owned() (n int) {
	for p := range m.owners {
		if m.has(weburl.Partition(p)) {
			n++
		}
	}
	return n
}

// TestCluster has three nodes crawl a web. One is killed, one leaves and another joins. Every node that is left stores
// all pages. No host gets requests from two nodes at once, or too soon.
func TestCluster(t *testing.T) {
	s := broker.JetStream(t)
	web := newTestWeb(t, 9, 60)
	options := func(name string) Options {
		o := web.fromOneSeed(t)
		o.FS, o.Dir, o.Delay = vfs.NewMem(), name, 40*time.Millisecond
		return o
	}
	first := join(t, s, options("one"), "one")
	second, third := join(t, s, options("two"), "two"), join(t, s, options("three"), "three")
	pages := int64(9*60 + 1)
	wait := func(what string, is func() bool) {
		t.Helper()
		within := clock.Real().Now().Add(time.Minute)
		for !is() {
			if clock.Real().Now().After(within) {
				t.Fatalf("%s: not within a minute; stored %d %d", what, first.stored(), second.stored())
			}
			_ = clock.Real().Sleep(t.Context(), 20*time.Millisecond)
		}
	}
	wait("all nodes work", func() bool {
		return first.owned() > 0 && second.owned() > 0 && third.owned() > 0 && first.stored() > 100
	})
	third.die()
	wait("the dead node's partitions are taken", func() bool { return first.owned()+second.owned() == 8 })
	wait("much is stored", func() bool { return first.stored() > pages/2 })
	fourth := join(t, s, options("four"), "four")
	wait("a new node has a share", func() bool { return fourth.owned() > 0 })
	second.leave()
	wait("all is stored", func() bool { return first.stored() == pages && fourth.stored() == pages })
	wait("the node that left has nothing", func() bool { return first.owned()+fourth.owned() == 8 })
	first.leave()
	fourth.leave()
	verify(t, first.options)
	verify(t, fourth.options)
	if len(web.overlap) > 0 {
		t.Errorf("asked by two at once: %v", web.overlap)
	}
	if web.soonest < 40*time.Millisecond {
		t.Errorf("a host was asked %s after its last answer, want 40ms at least", web.soonest)
	}
}

// TestTwoCopies has three nodes crawl a web that keep two copies of each partition. When one dies, the others have two
// copies of all.
func TestTwoCopies(t *testing.T) {
	s := broker.JetStream(t)
	web := newTestWeb(t, 9, 20)
	start := func(name string) *member {
		o := web.fromOneSeed(t)
		o.FS, o.Dir, o.Delay = vfs.NewMem(), name, 10*time.Millisecond
		return joinWith(t, s, o, name, 2)
	}
	nodes := []*member{start("one"), start("two"), start("three")}
	pages := int64(9*20 + 1)
	stored := func() (sum int64) {
		for _, n := range nodes {
			sum += n.stored()
		}
		return sum
	}
	within(t, "two copies of all are stored", func() bool { return stored() == 2*pages })
	nodes[2].die()
	nodes = nodes[:2]
	within(t, "the dead node's partitions are taken", func() bool { return nodes[0].owned()+nodes[1].owned() == 8 })
	within(t, "two copies of all are stored again", func() bool { return stored() == 2*pages })
	nodes = append(nodes, start("four"))
	within(t, "a new node has its share, and others forget theirs", func() bool {
		return nodes[2].owned() > 0 && stored() == 2*pages
	})
	for _, n := range nodes {
		n.leave()
		verify(t, n.options)
	}
}

// TestForgottenCapturesGo holds that a node removes the captures of partitions that it forgot in an earlier run.
func TestForgottenCapturesGo(t *testing.T) {
	s := broker.JetStream(t)
	web := newTestWeb(t, 3, 5)
	o := web.fromOneSeed(t)
	o.FS, o.Dir, o.Delay = vfs.NewMem(), "one", 10*time.Millisecond
	one := join(t, s, o, "one")
	within(t, "all is stored", func() bool { return one.stored() == 3*5+1 })
	one.leave()
	kept, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", Partitions: 8})
	if err != nil {
		t.Fatal(err)
	}
	files, err := kept.Files()
	for p := range weburl.Partition(8) {
		err = errors.Join(err, transfer.ForgetPartition(kept, p))
	}
	if err = errors.Join(err, kept.Close()); err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	one = join(t, s, o, "one")
	within(t, "all is stored again, from the log", func() bool { return one.stored() == 3*5+1 })
	if err := one.sweep(t.Context()); err != nil {
		t.Error(err)
	}
	for _, file := range files {
		if _, err := o.FS.Stat(file); err == nil {
			t.Errorf("%s is still there", file)
		}
	}
	one.leave()
	verify(t, one.options)
}

// far returns pages of two hosts whose partitions another node has. It waits until there are some.
func (m *member) far(web *testWeb) (hosts []string) {
	m.t.Helper()
	within(m.t, "another node has hosts", func() bool {
		hosts = nil
		for h := range web.hosts {
			host := fmt.Sprintf("h%d.test", h)
			if !m.hasPage("http://" + host + "/") {
				hosts = append(hosts, host)
			}
		}
		return len(hosts) >= 3
	})
	return hosts
}

// within waits until something is so.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	end := clock.Real().Now().Add(time.Minute)
	for !is() {
		if clock.Real().Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
		_ = clock.Real().Sleep(t.Context(), 20*time.Millisecond)
	}
}

// TestOrdersAcrossNodes gives a node orders about pages of another node, and orders about all pages. The other node
// carries them out. A node refuses an order about a partition that no node has.
func TestOrdersAcrossNodes(t *testing.T) {
	s := broker.JetStream(t)
	web := newTestWeb(t, 8, 3)
	options := func(name string, seeds int) Options {
		o := web.options(t, vfs.NewMem(), name)
		o.Delay, o.Seeds = 5*time.Millisecond, o.Seeds[:seeds]
		return o
	}
	first, second := join(t, s, options("one", 0), "one"), join(t, s, options("two", 0), "two")
	hosts := first.far(web)
	page := func(host string) weburl.URL { return mustParse(t, "http://"+host+"/") }

	added, refused, err := first.Add([]weburl.URL{page(hosts[0]), page(hosts[1]), page(hosts[2])})
	if err != nil || added != 3 || len(refused) > 0 {
		t.Fatalf("add: %d pages, refused %v, %v", added, refused, err)
	}
	least := int64(3 * 3) // of each host its root and two pages that it leads to
	within(t, "the seeds' sites are crawled, and followed", func() bool { return first.stored() >= least })
	site := page(hosts[0]).Site()
	if err := first.Pause(site, true); err != nil {
		t.Error(err)
	}
	if row, err := second.Store().Site(site); err != nil || row.Paused == 0 {
		t.Errorf("%s is not paused at its node: %+v, %v", site, row.Paused, err)
	}
	if rests := [2]int{first.Vitals().SitesPaused, second.Vitals().SitesPaused}; rests != [2]int{0, 1} {
		t.Errorf("the nodes have paused %v sites, want one of the second", rests)
	}
	pace := store.Pace{Delay: int64(time.Minute), Budget: 500}
	if err := first.Pace(site, new(time.Minute), new(500)); err != nil {
		t.Error(err)
	}
	if row, err := second.Store().Site(site); err != nil || row.Pace != pace {
		t.Errorf("%s has the pace %+v at its node, %v: want %+v", site, row.Pace, err, pace)
	}
	if pages, err := first.RecrawlSite(page(hosts[1]).Site()); err != nil || pages == 0 {
		t.Errorf("recrawl a site: %d pages, %v", pages, err)
	}
	if err := first.Recrawl(page(hosts[1])); err != nil {
		t.Error(err)
	}
	if err := first.Recrawl(mustParse(t, "http://"+hosts[1]+"/unknown")); !errors.Is(err, crawl.ErrUnknown) {
		t.Errorf("recrawl of an unknown page: %v", err)
	}
	if err := first.Block(hosts[1], time.Time{}); err != nil {
		t.Error(err)
	}
	if err := first.Block(hosts[1], time.Unix(1, 0)); !errors.Is(err, crawl.ErrOrder) {
		t.Errorf("a block until 1970: %v", err)
	}
	if err := first.Unblock(hosts[1]); err != nil {
		t.Error(err)
	}
	if taken, refused, err := first.Ping([]weburl.URL{page(hosts[2]), mustParse(t, "http://out.test/")}); err != nil || taken != 1 || len(refused) != 1 {
		t.Errorf("ping: %d taken, refused %v, %v", taken, refused, err)
	}
	if err := first.Purge(page(hosts[2])); err != nil {
		t.Error(err)
	}
	within(t, "a purge is followed", func() bool {
		row, _, err := first.Store().PageOf(page(hosts[2]))
		return err == nil && row.State == store.StatePurged
	})
	if err := first.PauseAll(true); err != nil {
		t.Error(err)
	}
	for _, m := range []*member{first, second} {
		if state := m.Status().State; state != "paused" {
			t.Errorf("after a pause of all a node is %s", state)
		}
		if !m.Vitals().Paused {
			t.Error("after a pause of all a node does not tell the others")
		}
	}
	second.die()
	within(t, "the dead node's partitions are taken", func() bool { return first.owned() == 8 })
	if rests := first.Vitals().SitesPaused; rests != 1 {
		t.Errorf("after it took partitions the node has paused %d sites, want 1", rests)
	}
	if row, err := first.Store().Site(site); err != nil || row.Pace != pace {
		t.Errorf("after it took partitions %s has the pace %+v, %v: want %+v", site, row.Pace, err, pace)
	}
	if state := first.Status().State; state != "paused" {
		t.Errorf("after it took partitions the node is %s", state)
	}
	if err := first.PauseAll(false); err != nil {
		t.Error(err)
	}
	if state := first.Status().State; state != "crawling" {
		t.Errorf("after the pause the node is %s", state)
	}
	first.part.Stay()
	if err := first.Give(t.Context(), first.Store().Home(site)); err != nil {
		t.Error(err)
	}
	if rests := first.Vitals().SitesPaused; rests != 0 {
		t.Errorf("after it gave the site's partition the node has paused %d sites", rests)
	}
	if _, err := first.orderOwner(t.Context(), first.Store().Home(site), crawl.Pause{Site: site}); !errors.Is(err, crawl.ErrElsewhere) {
		t.Errorf("an order about a partition that nobody has: %v", err)
	}
	first.leave()
	verify(t, first.options)
}
