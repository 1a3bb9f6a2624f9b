package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard"
	"freshet/dashboard/units"
	"freshet/log"
	"freshet/log/jetstream"
	"freshet/node"
	"freshet/node/cluster"
	"freshet/objects"
	"freshet/store"
)

// clusterSettings says to which cluster a node belongs.
type clusterSettings struct {
	servers       []string // of NATS
	name          string
	node          string
	replicas      int
	copies        int
	monitors      []string // of the servers
	snapshots     string   // of partitions; where they are kept
	snapshotEvery command.Duration
	creds         string
	ca            string
}

// declareServers declares the settings to find a cluster.
func (s *clusterSettings) declareServers(flags *pflag.FlagSet) {
	flags.StringSliceVar(&s.servers, "nats", nil, "NATS servers of a cluster of crawlers, such as nats://a:4222,nats://b:4222; empty: this machine crawls alone")
	flags.StringVar(&s.name, "cluster", "freshet", "name of the cluster on the servers of --nats")
	flags.StringVar(&s.creds, "nats-creds", "", "file with the credentials for --nats")
	flags.StringVar(&s.ca, "nats-ca", "", "PEM file with the certificate authority of the --nats servers; empty: the authorities that the system trusts")
}

func (s *clusterSettings) declare(flags *pflag.FlagSet) {
	s.declareServers(flags)
	flags.StringVar(&s.node, "node", "", "name of this node in the cluster; empty: the host name of the machine")
	flags.StringSliceVar(&s.monitors, "nats-monitor", nil, "monitoring addresses of the --nats servers, such as http://a:8222,http://b:8222; the node starts only if all of them sync what they acknowledge; empty: they are not asked")
	flags.StringVar(&s.snapshots, "partition-snapshots", "", "where this node keeps snapshots of its partitions, for nodes that have lost their disk: s3://BUCKET/PREFIX or a folder that all nodes see; empty: nowhere")
	s.snapshotEvery = command.Duration(6 * time.Hour)
	flags.Var(&s.snapshotEvery, "partition-snapshots-every", "how often a node takes a snapshot of each of its partitions")
	check(flags, validSegments, "partition-snapshots")
	flags.IntVar(&s.copies, "copies", 0, "how many nodes have the rows and captures of a partition; fewer copies take less processor time and disk; with 1 a partition rests after its node has ended, until another has read its log; a node with this setting serves no feed, sinks, webhooks or index; 0: all nodes have all")
	flags.IntVar(&s.replicas, "nats-replicas", 3, "how many --nats servers keep each record: 1, 3 or 5")
}

// connectTime is how long connect waits for the servers of a cluster.
const connectTime = time.Minute

// connect connects to the servers.
func (s *clusterSettings) connect() (*nats.Conn, error) {
	options := []nats.Option{nats.Name("freshet " + s.node), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond)}
	if s.creds != "" {
		options = append(options, nats.UserCredentials(s.creds))
	}
	if s.ca != "" {
		options = append(options, nats.RootCAs(s.ca))
	}
	for _, one := range s.servers {
		if !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		if _, err := url.Parse(one); err != nil { // the error contains the whole text, possibly with a password
			return nil, command.Usage(errors.New("--nats: want addresses such as nats://a:4222; escape special characters of a password, such as / as %2F"))
		}
	}
	conn, err := nats.Connect(strings.Join(s.servers, ","), options...)
	if err != nil {
		return nil, fmt.Errorf("--nats: %w: is a NATS server running at %s?", err, hosts(s.servers))
	}
	return conn, nil
}

// reach connects to the servers of a cluster without being a node, and calls do.
func (s *clusterSettings) reach(ctx context.Context, do func(context.Context, *nats.Conn) error) error {
	if len(s.servers) == 0 {
		return command.Usage(errors.New("--nats is needed: name the servers of the cluster, such as --nats nats://a:4222"))
	}
	conn, err := s.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	return do(ctx, conn)
}

// hosts returns the hosts of servers, without the passwords that their URLs may have.
func hosts(servers []string) string {
	var all []string
	for _, one := range servers {
		all = append(all, one[strings.LastIndexAny(one, "@/")+1:])
	}
	return strings.Join(all, ", ")
}

// membership is the membership of a node in a cluster.
type membership struct {
	conn *nats.Conn
	part *cluster.Cluster
}

// join joins the cluster, if there is one, and sets the options for it.
func (s *clusterSettings) join(ctx context.Context, o *node.Options) (*membership, error) {
	if len(s.servers) == 0 {
		return &membership{}, nil
	}
	if s.copies < 0 {
		return nil, command.Usage(fmt.Errorf("--copies %d: want 0 for all nodes, or 1 and more", s.copies))
	}
	o.Partial = s.copies > 0
	machine, err := os.Hostname()
	if err != nil && s.node == "" {
		return nil, command.Usage(errors.New("--node is needed: the machine has no name"))
	}
	s.node = cmp.Or(s.node, strings.ToLower(strings.SplitN(machine, ".", 2)[0]))
	if o.Partitions, err = store.PartitionsAt(vfs.Default, o.Dir, o.Partitions); err != nil {
		return nil, err
	}
	if _, err := patiently(ctx, o.Dir, func() (struct{}, error) { return struct{}{}, isFree(o.Dir) }); err != nil {
		return nil, err
	}
	directory, err := cluster.OpenDirectory(vfs.Default, o.Dir, s.name)
	if err != nil {
		return nil, err
	}
	snapshots, err := s.openSnapshots(o.Dir)
	if err != nil {
		return nil, err
	}
	conn, err := s.connect()
	if err != nil {
		return nil, err
	}
	part, err := s.part(ctx, conn, cluster.Options{
		Cluster: s.name, Node: s.node, Directory: directory, Version: version(), Partitions: o.Partitions,
		Replicas: s.replicas, Copies: s.copies, Clock: clock.Real(), Logger: o.Logger, Snapshots: snapshots,
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	o.Cluster = part
	return &membership{conn, part}, nil
}

// isFree returns store.ErrLocked if another process uses a directory. A second process that joined the cluster would
// take the lease from the first, before it found the directory locked.
func isFree(data string) error {
	if !store.Exists(vfs.Default, data) {
		return nil
	}
	lock, err := lockDirectory(data)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil // opening the store says so
	case err != nil:
		return err
	}
	return lock.Close()
}

// openSnapshots opens the place for snapshots of partitions. It returns nil if there is none.
func (s *clusterSettings) openSnapshots(data string) (*cluster.Snapshots, error) {
	if s.snapshots == "" {
		return nil, nil
	}
	if s.snapshotEvery <= 0 {
		return nil, command.Usage(fmt.Errorf("--partition-snapshots-every %s: want a time above 0, such as 6h", time.Duration(s.snapshotEvery)))
	}
	at, err := addressOf(data, s.snapshots)
	if err != nil {
		return nil, err
	}
	kept, err := objects.Open(vfs.Default, at)
	if err != nil {
		return nil, err
	}
	return &cluster.Snapshots{
		Store: kept, Every: time.Duration(s.snapshotEvery), FS: vfs.Default, File: filepath.Join(data, "partition.snapshot"),
	}, nil
}

// part joins a node to the cluster of a connection.
func (s *clusterSettings) part(ctx context.Context, conn *nats.Conn, o cluster.Options) (*cluster.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if len(s.monitors) == 0 {
		o.Logger.Warn("not checked whether the NATS servers sync what they acknowledge: give --nats-monitor")
	}
	for _, monitor := range s.monitors {
		if err := jetstream.CheckSync(ctx, monitor); err != nil {
			return nil, fmt.Errorf("--nats-monitor: %w", err)
		}
	}
	return cluster.Join(ctx, conn, func(ctx context.Context) (log.Log, error) {
		entries, err := jetstream.Open(ctx, conn, jetstream.Options{
			Cluster: s.name, Partitions: o.Partitions, Streams: cluster.Streams(o.Partitions), Replicas: s.replicas,
		}, o.Clock)
		if err != nil {
			return nil, fmt.Errorf("%w: do the servers have JetStream, and are there as many as --nats-replicas %d?", err, s.replicas)
		}
		return entries, nil
	}, o)
}

// nodes returns a function for the nodes of the cluster, or nil if there is no cluster.
func (m *membership) nodes(partitions int) func() dashboard.Nodes {
	if m.part == nil {
		return nil
	}
	return func() dashboard.Nodes { return clusterNodes(m.part.Members(), partitions) }
}

// begin makes the node take partitions until ctx ends.
func (m *membership) begin(ctx context.Context, n *node.Node) error {
	if m.part == nil {
		return nil
	}
	return m.part.Begin(ctx, n)
}

// stay ends all moves of partitions.
func (m *membership) stay() {
	if m.part != nil {
		m.part.Stay()
	}
}

// leave leaves the cluster, after the node has stopped. orderly says that all its work has ended.
func (m *membership) leave(orderly bool) error {
	if m.part == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	defer cancel()
	err := m.part.Close(ctx, orderly)
	m.conn.Close()
	return err
}

func clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cluster", Short: "Show a cluster of crawlers, or try one out on this machine", Args: command.GroupArgs,
		Example: "  freshet cluster dev\n  freshet cluster status --nats nats://a:4222",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(clusterStatusCommand(), clusterDrainCommand(), clusterRebalanceCommand(), clusterDevCommand())
	return cmd
}

func clusterStatusCommand() *cobra.Command {
	var s clusterSettings
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show the nodes of a cluster", Args: command.NoArgs,
		Long: "Shows for each node whether it is alive, how many partitions it has, how many pages they have, and how many of these\n" +
			"are queued. Then follow what its run has stored, its recent pace by the clock of the crawl, failed fetches, how many\n" +
			"fetches it allows at the same time, and the free bytes of its disk. The last line is the sum; of the disks it has the\n" +
			"one with the fewest free bytes. A node that has not been heard of for ten seconds is silent: the others declare it\n" +
			"dead and take over its partitions. Last come the partitions that a node cannot load, and what to do. The window of\n" +
			"each node shows the same.",
		Example: "  freshet cluster status --nats nats://a:4222",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.reach(cmd.Context(), func(ctx context.Context, conn *nats.Conn) error {
				nodes, err := cluster.Nodes(ctx, conn, s.name)
				if err != nil {
					return err
				}
				if asJSON {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(nodes)
				}
				return printNodes(cmd.OutOrStdout(), clusterNodes(nodes, 0))
			})
		},
	}
	s.declareServers(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// clusterNodes returns the nodes of a cluster with that many partitions and their sum, in the form for people.
func clusterNodes(members []cluster.Member, partitions int) dashboard.Nodes {
	all := dashboard.Nodes{
		Partitions: partitions, Nodes: []dashboard.Node{}, Sum: clusterNode(cluster.Sum(members)), Troubles: append([]string{}, cluster.Troubles(members)...),
	}
	for _, m := range members {
		all.Nodes = append(all.Nodes, clusterNode(m))
	}
	return all
}

func clusterNode(m cluster.Member) dashboard.Node {
	v := m.Vitals
	n := dashboard.Node{
		Name: m.Node, State: m.Health, Version: m.Version, HeardS: m.Age, Partitions: []int{}, Queued: v.Queued, Stored: v.Pages,
		PagesS: v.PagesS, Failed: v.Failed, Fetches: v.Fetches, DiskFree: v.DiskFree,
	}
	for _, p := range m.Partitions {
		n.Partitions = append(n.Partitions, int(p))
	}
	for _, pages := range m.Known {
		n.Known += pages
	}
	return n
}

// printNodes prints a line for each node and, under those of several, their sum. The line of an ended node has what it
// said last.
func printNodes(out io.Writer, all dashboard.Nodes) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "node\tstate\tpartitions\tpages known\tqueued\tstored\tpace\tfailed\tfetches\tdisk free\tlast heard of\tversion")
	line := func(n dashboard.Node, heard string) {
		disk := "unknown"
		if n.DiskFree > 0 {
			disk = units.Bytes(n.DiskFree)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", n.Name, n.State, len(n.Partitions), units.Count(n.Known),
			units.Count(n.Queued), units.Count(n.Stored), n.Pace(), units.Count(n.Failed), n.Fetches, disk, heard, n.Version)
	}
	working := 0
	for _, n := range all.Nodes {
		line(n, command.ShortDuration(time.Duration(n.HeardS*1e9).Round(time.Second))+" ago")
		if n.State != "ended" {
			working++
		}
	}
	if working > 1 {
		line(all.Sum, "")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, trouble := range all.Troubles {
		if _, err := fmt.Fprintln(out, trouble); err != nil {
			return err
		}
	}
	return nil
}
