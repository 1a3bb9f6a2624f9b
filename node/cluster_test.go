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
	"freshet/log/jetstream"
	"freshet/node/cluster"
	"freshet/store"
	"freshet/weburl"
)

// broker starts a NATS server of the test's own.
func broker(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s
}

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

// join starts a node.
func join(t *testing.T, s *server.Server, o Options, name string) *member {
	t.Helper()
	m := &member{t: t, ran: make(chan error, 1)}
	var err error
	if m.conn, err = nats.Connect(s.ClientURL()); err != nil {
		t.Fatal(err)
	}
	const partitions = 8
	log, err := jetstream.Open(t.Context(), m.conn, jetstream.Options{Cluster: "test", Partitions: partitions, Streams: 2, Replicas: 1}, clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(testWriter{t, name}, nil))
	m.part, err = cluster.Join(t.Context(), m.conn, log, cluster.Options{
		Cluster: "test", Node: name, Instance: fmt.Sprint(name, " of ", t.Name()), Partitions: partitions, Replicas: 1,
		Lease: clusterLease, Clock: clock.Real(), Logger: logger,
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

// TestCluster has three nodes crawl a web, of which one is killed, one leaves and another joins. All pages are stored,
// by every node that is left, and no host is asked by two at once, or too soon.
func TestCluster(t *testing.T) {
	s := broker(t)
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
