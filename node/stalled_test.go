package node

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats-server/v2/server"
	streams "github.com/nats-io/nats.go/jetstream"

	"freshet/internal/broker"
	"freshet/node/cluster"
)

// serverGroup returns the options of three NATS servers that form a group.
func serverGroup(t *testing.T) (all [3]server.Options) {
	t.Helper()
	var routes []*url.URL
	for i := range all {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := free.Addr().(*net.TCPAddr).Port
		if err := free.Close(); err != nil {
			t.Fatal(err)
		}
		routes = append(routes, &url.URL{Scheme: "nats", Host: free.Addr().String()})
		all[i] = server.Options{
			ServerName: fmt.Sprint(i), JetStream: true, StoreDir: t.TempDir(),
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port},
		}
	}
	for i := range all {
		all[i].Routes = routes
	}
	return all
}

// TestStreamWithoutLeader holds that a node says what is wrong and what to do while the servers of one stream of its
// log do not run, and the servers of its lease do: in its log, to the other nodes, when it is asked whether it is
// ready, and in its metrics. When they run again, it goes on.
func TestStreamWithoutLeader(t *testing.T) {
	options := serverGroup(t)
	var servers []*server.Server
	var urls []string
	for _, o := range options {
		servers = append(servers, broker.Start(t, o))
		urls = append(urls, servers[len(servers)-1].ClientURL())
	}
	web := newTestWeb(t, 9, 2000)
	o := web.fromOneSeed(t)
	o.FS, o.Dir, o.Delay = vfs.NewMem(), "one", 20*time.Millisecond
	one := joinGroup(t, strings.Join(urls, ","), o, "one", 0, 3)
	within(t, "the node crawls", func() bool { return one.owned() == 8 && one.stored() > 20 && one.Ready() == nil })
	js, err := streams.New(one.conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "test-log-0") // of one server
	if err != nil {
		t.Fatal(err)
	}
	leader, err := strconv.Atoi(stream.CachedInfo().Cluster.Leader)
	if err != nil {
		t.Fatal(err)
	}
	broker.Stop(servers[leader])
	says := func(what string, text func() string) {
		t.Helper()
		within(t, what, func() bool { return strings.Contains(text(), "waits to store pages of partitions") })
		for _, part := range []string{"takes no entries (", "; nats stream info test-log-", "NATS servers that keep it must run"} {
			if !strings.Contains(text(), part) {
				t.Errorf("%s: %q does not say %q", what, text(), part)
			}
		}
	}
	says("the node is not ready", func() string { return fmt.Sprint(one.Ready()) })
	says("the node tells its window", func() string { return fmt.Sprint(cluster.Troubles(one.part.Members())) })
	says("the node tells the other nodes", func() string {
		members, err := cluster.Nodes(t.Context(), one.conn, "test")
		return fmt.Sprint(cluster.Troubles(members), err)
	})
	if late, _ := one.part.Late(); late == 0 {
		t.Error("no partition counts as late")
	}
	stored := one.stored()
	broker.Start(t, options[leader])
	within(t, "the node goes on", func() bool { return one.Ready() == nil && one.stored() > stored })
	if troubles := cluster.Troubles(one.part.Members()); len(troubles) > 0 {
		t.Error(troubles)
	}
	one.leave()
	verify(t, one.options)
}
