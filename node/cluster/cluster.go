package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"freshet/clock"
	"freshet/crawl"
	"freshet/crawl/share"
	"freshet/log"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

// Node is the node that a Cluster works for; *node.Node implements it. Its methods are safe for concurrent use.
type Node interface {
	// Place returns how far a partition's log has been applied.
	Place(weburl.Partition) (log.Place, error)
	// Follow applies what other nodes appended to the log of a partition that the node does not crawl.
	Follow(weburl.Partition, ...store.Group) error
	// Snapshot writes a partition as it is now, with the name of its cluster, and returns the corresponding place
	// in its log. CheckSnapshot reads the output and checks it. Load replaces a partition that the node does not
	// crawl by it. After an error the node has the old content, or none.
	Snapshot(p weburl.Partition, cluster string, w io.Writer) (log.Place, error)
	CheckSnapshot(io.Reader) (p weburl.Partition, cluster string, at log.Place, err error)
	Load(weburl.Partition, io.Reader) error
	// Forget removes a partition that the node does not crawl from its directory.
	Forget(weburl.Partition) error
	// Seeded returns the sites of a partition with seeds that are not in the node's settings, sorted. Widen adds
	// such sites of other nodes' partitions to the scope.
	Seeded(weburl.Partition) ([]weburl.Site, error)
	Widen([]weburl.Site)
	// Take begins to crawl a partition whose log is applied to the end; Give stops that. Both stop waiting if the
	// context ends.
	Take(context.Context, weburl.Partition) error
	Give(context.Context, weburl.Partition) error
	// Arrive accepts links from other nodes. Receive handles their receipts for links.
	Arrive(crawl.Parcel)
	Receive(crawl.Receipt)
	// Resend sends links again that wait for a partition with a new owner.
	Resend(weburl.Partition)
	// Pages returns how many pages each shard of the node knows.
	Pages() []int64
	// Vitals returns the state of the node's work for the other nodes.
	Vitals() share.Vitals
	// Obey carries out an order. It returns crawl.ErrElsewhere if the node does not have the partition.
	Obey(crawl.Order) (crawl.Reply, error)
	// Total and MostPages return the limits of the whole crawl from the node's settings; zero: no budget, or no
	// limit.
	Total() share.Total
	MostPages() int64
	// Report returns what the node wants of them, and Bid the demand of its pages. Grant gives the node a part,
	// from the division of that number.
	Report() share.Report
	Bid(horizon float64) refresh.Bid
	Grant(g share.Grant, division uint64)
	// Fail ends all work of the node at once.
	Fail(error)
}

// Options configure a node's part in a cluster. All fields without a default are required.
type Options struct {
	Cluster    string // prefix of its names on the servers; a-z, 0-9, '-'
	Crawl      string // its one crawl
	Node       string // name of the node; a-z, 0-9, '-'
	Directory  *Directory
	Version    string // of the program
	Partitions int    // of every directory of the cluster
	Replicas   int    // servers with a copy of everything: 1, 3 or 5
	Copies     int    // nodes with a partition's rows and captures, for this node's part; 0: all

	Lease  time.Duration // a node that is silent for so long is declared dead; default 10 s
	Logger *slog.Logger
	Clock  *clock.Clock

	Snapshots *Snapshots // nil: none are taken, and none are loaded
}

const defaultLease = 10 * time.Second

var nameOf = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

func (o Options) check() error {
	if !nameOf.MatchString(o.Cluster) || !nameOf.MatchString(o.Node) {
		return fmt.Errorf("cluster: names %q of the cluster and %q of the node: want up to 32 of a-z, 0-9 and '-'", o.Cluster, o.Node)
	}
	return nil
}

// Streams returns the number of streams of a log with that many partitions. Each stream is a consensus group of
// servers.
func Streams(partitions int) int { return (partitions + 3) / 4 }

// ErrOther means that a cluster is not the one that a node expects.
var ErrOther = errors.New("cluster: it is another one")

// wire carries messages like a connection to NATS: they may be lost.
type wire interface {
	Publish(subject string, data []byte) error
	Subscribe(subject string, handle nats.MsgHandler) (subscription, error)
	RequestWithContext(ctx context.Context, subject string, data []byte) (*nats.Msg, error)
}

// subscription is a *nats.Subscription.
type subscription interface{ Unsubscribe() error }

// connection is a wire over NATS.
type connection struct{ *nats.Conn }

// Subscribe implements wire.
func (c connection) Subscribe(subject string, handle nats.MsgHandler) (subscription, error) {
	return c.Conn.Subscribe(subject, handle)
}

// Cluster is a node's part in a cluster. Make one with Join, start it with Begin, end it with Close.
type Cluster struct {
	options Options
	wire    wire
	log     log.Log
	bucket  bucket
	node    Node
	parcels atomic.Uint64 // the number of the last one

	life  context.Context // ends with Close, and when the lease is lost
	end   context.CancelFunc
	work  sync.WaitGroup
	stay  context.CancelFunc
	moves sync.WaitGroup

	heard map[weburl.Partition][]subscription // subscriptions to partitions' subjects; used by the mover

	mostData int // of an entry of the log, in bytes

	scope scope
	owned atomic.Bool // the store of snapshots belongs to the cluster

	valid atomic.Int64 // end of the lease by the clock, in unix nanoseconds

	mu      sync.Mutex
	members *members
	busy    map[weburl.Partition]bool // what alone keeps apart
	downs   map[weburl.Partition]knownTakeDown
	pages   []int64
	vitals  share.Vitals
	pause   knownPause

	sharing sharing
	obeying chan struct{} // a token for each order of another node in progress

	writing chan struct{} // a token: the writer of the lease holds it
	lease   lease
}

// Name implements node.Cluster.
func (c *Cluster) Name() string { return c.options.Node }

// Append implements store.Log.
func (c *Cluster) Append(groups []store.Group) error {
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for i := range groups {
		all.Go(func() {
			g := &groups[i]
			if g.Purges {
				if errs[i] = c.noteTakeDown(g.Partition, g.Place); errs[i] != nil {
					return
				}
			}
			g.Place, errs[i] = log.AppendData(c.life, c.log, g.Partition, g.Place, c.options.Node, g.Data, c.mostData)
			if g.Seeds {
				c.scope.grows(g.Partition)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Begin makes the node take and give partitions until moving ends.
func (c *Cluster) Begin(moving context.Context, n Node) error {
	c.node = n
	if err := insist(moving, c.options.Clock, c.readPause); err != nil {
		return err
	}
	watch, err := c.bucket.WatchAll(c.life)
	if err != nil {
		return fmt.Errorf("cluster: watch the nodes: %w", err)
	}
	questions, err := c.wire.Subscribe(c.shareSubject(c.options.Node), c.answerShares)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	context.AfterFunc(c.life, func() { _ = questions.Unsubscribe() })
	taken, err := c.wire.Subscribe(c.takenSubject(), c.hearTaken)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	context.AfterFunc(c.life, func() { _ = taken.Unsubscribe() })
	c.work.Go(func() { c.watch(watch) })
	c.work.Go(c.divideInTurn)
	c.work.Go(func() { c.every(c.life, c.options.Lease/50, c.obeyDivision) })
	c.work.Go(func() { c.every(c.life, time.Second, c.count) })
	c.work.Go(func() { c.every(c.life, time.Second, c.lookLate) })
	c.work.Go(func() { c.every(c.life, c.options.Lease/10, c.heart) })
	c.work.Go(func() { c.every(c.life, c.options.Lease/50, func() { _ = c.Leased() }) })
	moving, c.stay = context.WithCancel(moving)
	context.AfterFunc(c.life, c.stay)
	if c.options.Snapshots != nil {
		c.moves.Go(func() { c.saveInTurn(moving) })
	}
	c.moves.Go(func() { c.every(moving, c.options.Lease/20, func() { c.move(moving) }) })
	c.moves.Go(func() { c.every(moving, c.options.Lease/20, func() { c.catchUp(moving) }) })
	return nil
}

// Stay ends moves and snapshots, and waits for those under way. The node keeps crawling its partitions and renewing
// its lease.
func (c *Cluster) Stay() {
	c.stay()
	c.moves.Wait()
}

// Close ends the node's part in the cluster, after Stay. orderly means that all work of the node has ended, so that
// others may take its partitions at once.
func (c *Cluster) Close(ctx context.Context, orderly bool) error {
	orderly = orderly && c.life.Err() == nil
	c.end()
	c.moves.Wait()
	c.work.Wait()
	for range mostOrders {
		c.obeying <- struct{}{} // when the last order has ended, none begins any more
	}
	for p := range weburl.Partition(c.options.Partitions) {
		c.unlisten(p)
	}
	if !orderly {
		return nil
	}
	c.lease.state.Ended = true
	return c.renew(ctx)
}

// every calls do at intervals of d until ctx ends.
func (c *Cluster) every(ctx context.Context, d time.Duration, do func()) {
	for ctx.Err() == nil {
		do()
		_ = c.options.Clock.Sleep(ctx, d)
	}
}
