package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats.go"
	streams "github.com/nats-io/nats.go/jetstream"
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
	cert, key     string // of this process, for servers that ask for a certificate
}

// declareServers declares the settings to find a cluster. without says what happens without servers.
func (s *clusterSettings) declareServers(flags *pflag.FlagSet, without string) {
	flags.StringSliceVar(&s.servers, "nats", nil, "NATS servers of a cluster of crawlers, such as nats://a:4222,nats://b:4222"+without)
	flags.StringVar(&s.name, "cluster", "freshet", "name of the cluster on the servers of --nats")
	flags.StringVar(&s.creds, "nats-creds", "", "file with the credentials for --nats")
	flags.StringVar(&s.ca, "nats-ca", "", "PEM file with the certificate authority of the --nats servers and their https monitoring addresses; empty: the authorities that the system trusts")
	flags.StringVar(&s.cert, "nats-cert", "", "PEM file with a certificate for --nats servers that ask for one")
	flags.StringVar(&s.key, "nats-key", "", "PEM file with the key of --nats-cert")
}

// serversOf adds the flags to find a cluster to a command. What is not typed comes from the environment and --config.
func (s *clusterSettings) serversOf(cmd *cobra.Command) {
	own := pflag.NewFlagSet("cluster", pflag.ContinueOnError)
	s.declareServers(own, "")
	cmd.Flags().AddFlagSet(own)
	config := cmd.Flags().String("config", "", "YAML file with the settings of a node, from which --nats, --cluster and so on are taken")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		node := newCrawlFlags()
		if err := settle(node, *config, cmd.InOrStdin()); err != nil {
			return command.Usage(err)
		}
		var given []assignment
		own.VisitAll(func(f *pflag.Flag) {
			if its := node.Lookup(f.Name); its.Changed {
				given = append(given, assignment{f, "--config", textsOf(its)})
			}
		})
		return assign(given)
	}
}

func (s *clusterSettings) declare(flags *pflag.FlagSet) {
	s.declareServers(flags, "; empty: this machine crawls alone")
	flags.StringVar(&s.node, "node", "", "name of this node in the cluster; empty: the host name of the machine")
	flags.StringSliceVar(&s.monitors, "nats-monitor", nil, "monitoring addresses of the --nats servers, such as http://a:8222,http://b:8222; the node does not start if one of them answers that it does not sync what it acknowledges; empty: they are not asked")
	flags.StringVar(&s.snapshots, "partition-snapshots", "", "where this node keeps snapshots of its partitions, for nodes that have lost their disk: s3://BUCKET/PREFIX or a folder that all nodes see; empty: nowhere")
	s.snapshotEvery = command.Duration(6 * time.Hour)
	flags.Var(&s.snapshotEvery, "partition-snapshots-every", "how often a node takes a snapshot of each of its partitions")
	check(flags, validSegments, "partition-snapshots")
	flags.IntVar(&s.copies, "copies", 0, "how many nodes have the rows and captures of a partition; fewer copies take less processor time and disk; with 1 a partition rests after its node has ended, until another has read its log; a node with this setting serves no feed, sinks, webhooks or index; 0: all nodes have all")
	flags.IntVar(&s.replicas, "nats-replicas", 3, "how many --nats servers keep each record: 1, 3 or 5")
}

// connectTime is how long connect waits for the servers of a cluster.
const connectTime = time.Minute

// A connection whose server does not answer pings is closed after staleTime at most, and another server is tried. That
// is soon enough for the node to keep its lease.
const (
	pingTime    = time.Second
	mostUnheard = 2
	staleTime   = (mostUnheard + 1) * pingTime
)

// connect connects to the servers.
func (s *clusterSettings) connect(more ...nats.Option) (*nats.Conn, error) {
	options := append(more, nats.Name("freshet "+s.node), nats.MaxReconnects(-1), nats.ReconnectWait(500*time.Millisecond),
		nats.PingInterval(pingTime), nats.MaxPingsOutstanding(mostUnheard))
	if s.creds != "" {
		options = append(options, nats.UserCredentials(s.creds))
	}
	secrets, err := s.tls()
	if err != nil {
		return nil, err
	}
	options = append(options, secrets...)
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
		return nil, fmt.Errorf("--nats: %s: %w: %s", hosts(s.servers), err, remedy(err))
	}
	return conn, nil
}

// tls returns the authority and the certificate for connections to the servers.
func (s *clusterSettings) tls() ([]nats.Option, error) {
	if (s.cert == "") != (s.key == "") {
		return nil, command.Usage(errors.New("--nats-cert and --nats-key need each other: give both"))
	}
	var options []nats.Option
	if s.ca != "" {
		options = append(options, nats.RootCAs(s.ca))
	}
	if s.cert != "" {
		options = append(options, nats.ClientCert(s.cert, s.key))
	}
	return options, nil
}

// remedy says what to do about an error of connect.
func remedy(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var file *fs.PathError
	text := strings.ToLower(err.Error())
	says := func(part string) bool { return strings.Contains(text, part) } // these errors have no type
	switch {
	case errors.As(err, &unknown):
		return "give the authority that has signed the server's certificate with --nats-ca"
	case errors.As(err, &name):
		return "use a name of the server that its certificate has"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "renew the server's certificate, or set this machine's clock"
	case says("tls: certificate required"), says("tls: bad certificate"), says("after tls handshake"):
		return "the server may want a certificate that it knows: give --nats-cert and --nats-key"
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "the server has no TLS: leave out tls:// and --nats-ca, or give the server TLS"
	case says("authorization violation"), says("authentication"):
		return "give a user and password that the server knows in --nats, as in nats://USER:PASSWORD@a:4222, or a file of credentials with --nats-creds"
	case errors.As(err, &file), says("certificate"), says("nkey"):
		return "is this the right file?"
	}
	return "does a NATS server run there?"
}

// reach connects to the servers of a cluster without being a node, and calls do, again if they do not answer it.
func (s *clusterSettings) reach(ctx context.Context, do func(context.Context, *nats.Conn) error) error {
	if len(s.servers) == 0 {
		return command.Usage(errors.New("--nats is needed: name the servers of the cluster, such as --nats nats://a:4222, or a node's --config"))
	}
	conn, err := s.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, operatorTime)
	defer cancel()
	for {
		within, stop := context.WithTimeout(ctx, tryTime)
		err := do(within, conn)
		stop()
		if !answerLost(err) {
			return err
		}
		if clock.Real().Sleep(ctx, tryTime/10) != nil {
			return fmt.Errorf("--nats: %s: no answer within %v: %w: most of the cluster's NATS servers must run", hosts(s.servers), operatorTime, err)
		}
	}
}

// reach repeats a request that gets no answer within tryTime: a message may be lost while the servers elect a leader.
// It gives up after operatorTime.
const (
	operatorTime = 20 * time.Second
	tryTime      = 3 * time.Second
)

// answerLost reports whether a request should be repeated, because too few servers have found one another.
func answerLost(err error) bool {
	var api *streams.APIError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) ||
		errors.As(err, &api) && api.Code == 503
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

	cluster, node string
	logger        *slog.Logger
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
	conn, err := s.connect(tellConnection(o.Logger)...)
	if err != nil {
		return nil, err
	}
	part, err := s.part(ctx, conn, cluster.Options{
		Cluster: s.name, Crawl: o.Crawl, Node: s.node, Directory: directory, Version: version(), Partitions: o.Partitions,
		Replicas: s.replicas, Copies: s.copies, Clock: clock.Real(), Logger: o.Logger, Snapshots: snapshots,
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	o.Cluster = part
	return &membership{conn, part, s.name, s.node, o.Logger}, nil
}

// tellConnection logs when the node loses its server, and which one it has found instead.
func tellConnection(logger *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil: the node has closed the connection
				logger.Warn("the connection to a NATS server is lost: another one is tried", "error", err)
			}
		}),
		nats.ReconnectHandler(func(conn *nats.Conn) {
			logger.Warn("connected to a NATS server again", "server", conn.ConnectedUrlRedacted())
		}),
	}
}

// isFree returns store.ErrLocked if another process uses a directory. A second process that joined the cluster would
// take the lease from the first, before it found the directory locked.
func isFree(data string) error {
	if !store.Exists(vfs.Default, data) {
		return nil
	}
	lock, err := store.Lock(vfs.Default, data)
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
	if err := s.checkSync(ctx, o.Logger); err != nil {
		return nil, err
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

// begin makes the node take partitions until ctx ends. It compares the daemon's settings with those of other nodes.
func (m *membership) begin(ctx context.Context, n *node.Node, d *daemon) error {
	if m.part == nil {
		return nil
	}
	tell, err := compareSettings(m.conn, m.cluster, m.node, m.logger, d.reloader.common)
	if err != nil {
		return err
	}
	d.reloader.reloaded(tell)
	tell()
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
		Use: "cluster", Short: "Show and manage a cluster of crawlers, or try one out", Args: command.GroupArgs,
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
		Long: "Prints a line for each node: whether it is alive, how many partitions it has, how many of their pages are known, and\n" +
			"how many of these are queued; the pages that this run has stored, its recent pace by the clock of the crawl, failed\n" +
			"fetches, how many fetches may run at once, and the free space on its disk. The last line adds them up, but shows the\n" +
			"fullest disk. A node that has been silent for ten seconds is declared dead: the others take over its partitions.\n" +
			"Sentences below the table say what operators have paused, and which partition a node cannot load, why, and what to\n" +
			"do. The window of each node shows the same.",
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
	s.serversOf(cmd)
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
		Paused: v.Paused, SitesPaused: v.SitesPaused,
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
			units.Count(n.Queued), units.Count(n.Stored), all.Pace(n), units.Count(n.Failed), n.Fetches, disk, heard, n.Version)
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
	for _, sentence := range slices.Concat(all.Pauses(), all.Troubles) {
		if _, err := fmt.Fprintln(out, sentence); err != nil {
			return err
		}
	}
	return nil
}
