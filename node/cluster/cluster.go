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
	"github.com/nats-io/nats.go/jetstream"

	"freshet/clock"
	"freshet/crawl"
	"freshet/crawl/share"
	"freshet/log"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

// Node is the node whose partitions a cluster decides, as *node.Node is. Its methods may be called at the same time.
type Node interface {
	// Place returns how far a partition's log has been applied.
	Place(weburl.Partition) (log.Place, error)
	// Follow applies what others have appended to the log of a partition that the node does not have.
	Follow(weburl.Partition, ...store.Group) error
	// Snapshot writes a partition as it is now, with the name of its cluster, and returns the place of its log that
	// this stands for. CheckSnapshot reads what it has written. Load takes it in, in place of all that the node has
	// of a partition that it does not crawl. After an error it has that, or nothing.
	Snapshot(p weburl.Partition, cluster string, w io.Writer) (log.Place, error)
	CheckSnapshot(io.Reader) (p weburl.Partition, cluster string, at log.Place, err error)
	Load(weburl.Partition, io.Reader) error
	// Forget removes all that the node has of a partition that it does not crawl.
	Forget(weburl.Partition) error
	// Seeded returns the sites of a partition that have a seed which the node's settings do not have, sorted. Widen
	// takes such sites of other nodes' partitions into the scope.
	Seeded(weburl.Partition) ([]weburl.Site, error)
	Widen([]weburl.Site)
	// Take begins to crawl a partition whose log has been applied to its end; Give stops that.
	// When the context ends they wait no longer.
	Take(context.Context, weburl.Partition) error
	Give(context.Context, weburl.Partition) error
	// Arrive takes in links from other nodes, Receive the word that links are taken in there.
	Arrive(crawl.Parcel)
	Receive(crawl.Receipt)
	// Resend sends links again that wait for a partition, which another node has taken.
	Resend(weburl.Partition)
	// Pages returns how many pages each shard of the node knows.
	Pages() []int64
	// Vitals returns what the node tells the others of its work.
	Vitals() share.Vitals
	// Obey carries out an order. It returns crawl.ErrElsewhere where the node does not have what the order is about.
	Obey(crawl.Order) (crawl.Reply, error)
	// Total and MostPages return what the whole crawl may use, as far as the node's settings say it; zero: there is no
	// budget, or no limit.
	Total() share.Total
	MostPages() int64
	// Report says what the node wants of it, and Bid what its pages ask for. Grant gives it a part, by the division of
	// that number.
	Report() share.Report
	Bid(horizon float64) refresh.Bid
	Grant(g share.Grant, division uint64)
	// Fail ends all that the node does at once.
	Fail(error)
}

// Options say which cluster, and as what. All fields are required except for those with a default.
type Options struct {
	Cluster    string // its name begins those of all that it keeps on the servers; a-z, 0-9, '-'
	Node       string // name of the node; a-z, 0-9, '-'
	Directory  *Directory
	Version    string // of the program
	Partitions int    // of every directory of the cluster
	Replicas   int    // servers that keep all: 1, 3 or 5
	Copies     int    // nodes that have a partition's rows and captures, as far as it depends on this one; 0: all

	Lease  time.Duration // after so long without a word a node is declared dead; default 10 s
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

// Streams returns how many streams a log of so many partitions has: each is a group of servers that agree.
func Streams(partitions int) int { return (partitions + 3) / 4 }

// ErrOther says that a cluster differs from what a node takes it for.
var ErrOther = errors.New("cluster: it is another one")

// wire carries messages, which may be lost, as a connection to NATS does.
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

// bucket keeps entries, of which each write says behind which one it comes, as a jetstream.KeyValue does.
type bucket interface {
	Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error)
	Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, behind uint64) (revision uint64, err error)
	WatchAll(ctx context.Context, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error)
	Keys(ctx context.Context, opts ...jetstream.WatchOpt) ([]string, error)
}

// Cluster is a node's part of a cluster. Make one with Join, give it the node with Begin, end it with Close.
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

	heard map[weburl.Partition][]subscription // what is sent to partitions: the mover's

	scope scope
	owned atomic.Bool // the store of snapshots belongs to the cluster

	valid atomic.Int64 // until when the lease is good, by the clock, in unix nanoseconds

	mu      sync.Mutex
	members *members
	pages   []int64
	vitals  share.Vitals
	pause   knownPause

	sharing sharing
	obeying chan struct{} // a token for each order of another node that is being carried out

	writing chan struct{} // a token: who writes the lease has it
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
			g.Place, errs[i] = log.AppendData(c.life, c.log, g.Partition, g.Place, c.options.Node, g.Data)
			if g.Seeds {
				c.scope.grows(g.Partition)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Begin has the node take and give partitions, until moving ends.
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
	c.work.Go(func() { c.every(c.life, c.options.Lease/2, c.divide) })
	c.work.Go(func() { c.every(c.life, c.options.Lease/50, c.obeyDivision) })
	c.work.Go(func() { c.every(c.life, time.Second, c.count) })
	c.work.Go(func() { c.every(c.life, c.options.Lease/10, c.heart) })
	c.work.Go(func() { c.every(c.life, c.options.Lease/50, func() { _ = c.Leased() }) })
	moving, c.stay = context.WithCancel(moving)
	context.AfterFunc(c.life, c.stay)
	if c.options.Snapshots != nil {
		c.moves.Go(func() {
			_ = c.options.Clock.Sleep(moving, c.options.Snapshots.Every)
			c.every(moving, c.options.Snapshots.Every, func() { c.saveAll(moving) })
		})
	}
	c.moves.Go(func() { c.every(moving, c.options.Lease/20, func() { c.move(moving) }) })
	return nil
}

// Stay ends all moves and snapshots, and waits for those that are under way. What the node has it goes on with, and its
// lease too.
func (c *Cluster) Stay() {
	c.stay()
	c.moves.Wait()
}

// Close ends the node's part in the cluster, after Stay. Orderly says that the node has ended all its work, so that
// others may have its partitions at once.
func (c *Cluster) Close(ctx context.Context, orderly bool) error {
	orderly = orderly && c.life.Err() == nil
	c.end()
	c.moves.Wait()
	c.work.Wait()
	for p := range weburl.Partition(c.options.Partitions) {
		c.unlisten(p)
	}
	if !orderly {
		return nil
	}
	c.lease.state.Ended = true
	return c.renew(ctx)
}

// every does something again and again, until ctx ends.
func (c *Cluster) every(ctx context.Context, d time.Duration, do func()) {
	for ctx.Err() == nil {
		do()
		_ = c.options.Clock.Sleep(ctx, d)
	}
}
