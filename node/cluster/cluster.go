package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/clock"
	"freshet/crawl"
	"freshet/log"
	"freshet/store"
	"freshet/weburl"
)

// Node is the node whose partitions a cluster decides, as *node.Node is. Its methods may be called at the same time.
type Node interface {
	// Place returns how far a partition's log has been applied.
	Place(weburl.Partition) (log.Place, error)
	// Follow applies what others have appended to the log of a partition that the node does not have.
	Follow(weburl.Partition, ...store.Group) error
	// Take begins to crawl a partition whose log has been applied to its end; Give stops that.
	// When the context ends they wait no longer.
	Take(context.Context, weburl.Partition) error
	Give(context.Context, weburl.Partition) error
	// Arrive takes in links from other nodes, Receive the word that links are taken in there.
	Arrive(crawl.Parcel)
	Receive(crawl.Receipt)
	// Pages returns how many pages each shard of the node knows.
	Pages() []int64
	// Fail ends all that the node does at once.
	Fail(error)
}

// Options say which cluster, and as what. All fields are required but for those with a default.
type Options struct {
	Cluster    string // its name begins those of all that it keeps on the servers; a-z, 0-9, '-'
	Node       string // name of the node; a-z, 0-9, '-'
	Instance   string // of its data directory: no other directory has it
	Version    string // of the program
	Partitions int    // of every directory of the cluster
	Replicas   int    // servers that keep all: 1, 3 or 5

	Lease  time.Duration // after so long without a word a node is declared dead; default 10 s
	Alone  bool          // follow the partitions of other nodes only when they are to be taken
	Logger *slog.Logger
	Clock  *clock.Clock
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

// wire carries messages, which may be lost, as a *nats.Conn does.
type wire interface {
	Publish(subject string, data []byte) error
	Subscribe(subject string, handle nats.MsgHandler) (*nats.Subscription, error)
}

// bucket keeps entries, of which each write says behind which one it comes, as a jetstream.KeyValue does.
type bucket interface {
	Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error)
	Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, behind uint64) (revision uint64, err error)
	WatchAll(ctx context.Context, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error)
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

	heard map[weburl.Partition][]*nats.Subscription // what is sent to partitions: the mover's

	valid atomic.Int64 // until when the lease is good, by the clock, in unix nanoseconds

	mu      sync.Mutex
	members *members
	pages   []int64

	writing chan struct{} // a token: who writes the lease has it
	lease   lease
}

// Join opens a cluster's log and bucket on the servers that a connection leads to, and makes them where they are
// missing. It returns ErrOther if the cluster has another number of partitions, and ErrName if another directory's node
// has the name.
func Join(ctx context.Context, conn *nats.Conn, entries log.Log, o Options) (*Cluster, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	var bucket jetstream.KeyValue
	err = insist(ctx, o.Clock, func(ctx context.Context) (err error) {
		bucket, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: o.Cluster + "-nodes", Storage: jetstream.FileStorage, Replicas: o.Replicas,
		})
		return err
	})
	if errors.Is(err, jetstream.ErrBucketExists) {
		return nil, fmt.Errorf("%w: %s is kept by another number of servers than %d", ErrOther, o.Cluster, o.Replicas)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: %s: the bucket of its nodes: %w", o.Cluster, err)
	}
	return join(ctx, conn, bucket, entries, o)
}

// join makes a node's part of a cluster, and writes the first entry of its lease.
func join(ctx context.Context, wire wire, bucket bucket, entries log.Log, o Options) (*Cluster, error) {
	run := rand.Text()
	c := &Cluster{
		options: o, wire: wire, log: entries, bucket: bucket, heard: map[weburl.Partition][]*nats.Subscription{},
		members: newMembers(o.Node, run, o.Partitions, o.Lease, o.Clock.Now()),
		lease:   lease{bucket: bucket, state: State{Node: o.Node, Instance: o.Instance, Run: run, Version: o.Version}},
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.stay = func() {}
	c.writing = make(chan struct{}, 1)
	if err := insist(ctx, o.Clock, c.agree); err != nil {
		return nil, err
	}
	if err := c.lease.open(ctx, o.Clock, o.Lease); err != nil {
		return nil, err
	}
	return c, insist(ctx, o.Clock, c.renew)
}

// insist asks servers for something until they answer or ctx ends: they may not have found one another yet, or have to
// agree on a leader.
func insist(ctx context.Context, c *clock.Clock, ask func(context.Context) error) error {
	for {
		within, cancel := context.WithTimeout(ctx, answerTime)
		err := ask(within)
		cancel()
		if !unanswered(err) {
			return err
		}
		if c.Sleep(ctx, tryAgain) != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// unanswered tells whether it is worth while to ask again.
func unanswered(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.As(err, &api) && api.Code == 503
}

const tryAgain = 100 * time.Millisecond

// charter is what all nodes of a cluster must have in common. Its key is no node's name.
type charter struct {
	Partitions int `json:"partitions"`
	Format     int `json:"format"` // of the records in the log
}

const (
	charterKey = "CLUSTER"
	logFormat  = 1
)

// agree holds that the cluster is what the node takes it for, or makes it that if it is new.
func (c *Cluster) agree(ctx context.Context) error {
	mine := charter{c.options.Partitions, logFormat}
	raw, err := json.Marshal(mine)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if _, err = c.bucket.Create(ctx, charterKey, raw); err == nil {
		return nil
	} else if !isOccupied(err) {
		return fmt.Errorf("cluster: %s: %w", c.options.Cluster, err)
	}
	entry, err := c.bucket.Get(ctx, charterKey)
	if err != nil {
		return fmt.Errorf("cluster: %s: %w", c.options.Cluster, err)
	}
	var its charter
	if err := json.Unmarshal(entry.Value(), &its); err != nil {
		return fmt.Errorf("cluster: %s: %w", c.options.Cluster, err)
	}
	if its != mine {
		return fmt.Errorf("%w: %s has %d partitions and a log of format %d, this directory %d and this program format %d",
			ErrOther, c.options.Cluster, its.Partitions, its.Format, mine.Partitions, mine.Format)
	}
	return nil
}

// Name implements node.Cluster.
func (c *Cluster) Name() string { return c.options.Node }

// Known implements node.Cluster.
func (c *Cluster) Known() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members.known()
}

// Append implements store.Log.
func (c *Cluster) Append(groups []store.Group) error {
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for i := range groups {
		all.Go(func() {
			g := &groups[i]
			g.Place, errs[i] = log.AppendData(c.life, c.log, g.Partition, g.Place, c.options.Node, g.Data)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Begin has the node take and give partitions, until moving ends.
func (c *Cluster) Begin(moving context.Context, n Node) error {
	c.node = n
	watch, err := c.bucket.WatchAll(c.life)
	if err != nil {
		return fmt.Errorf("cluster: watch the nodes: %w", err)
	}
	c.work.Go(func() { c.watch(watch) })
	c.work.Go(func() { c.every(c.life, time.Second, c.count) })
	c.work.Go(func() { c.every(c.life, c.options.Lease/10, c.heart) })
	c.work.Go(func() { c.every(c.life, c.options.Lease/50, c.check) })
	moving, c.stay = context.WithCancel(moving)
	context.AfterFunc(c.life, c.stay)
	c.moves.Go(func() { c.every(moving, c.options.Lease/20, func() { c.move(moving) }) })
	return nil
}

// Stay ends all moves, and waits for the one that is under way. What the node has it goes on with, and its lease too.
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

// heart renews the lease.
func (c *Cluster) heart() {
	if err := c.renew(c.life); errors.Is(err, ErrLease) {
		c.lose(err)
	} else if err != nil && c.life.Err() == nil {
		c.options.Logger.Warn("the cluster's servers do not answer", "error", err)
	}
}

// renew writes the node's entry as its state is now.
func (c *Cluster) renew(ctx context.Context) error {
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s := &c.lease.state
	if !s.Ended {
		c.mu.Lock()
		s.Partitions, s.Known = c.members.partitions(), c.pages
		c.mu.Unlock()
	} else {
		s.Partitions, s.Known = nil, nil
	}
	sent := c.options.Clock.Now()
	if err := c.lease.renew(ctx); err != nil {
		return err
	}
	c.valid.Store(sent.Add(c.options.Lease * 4 / 5).UnixNano())
	return nil
}

// check ends the node's work if others may soon take it for dead.
func (c *Cluster) check() {
	if c.options.Clock.Now().UnixNano() > c.valid.Load() {
		c.lose(fmt.Errorf("%w: the servers have not answered for %s", ErrLease, c.options.Lease*4/5))
	}
}

// lose ends the node's work.
func (c *Cluster) lose(err error) {
	c.node.Fail(err)
	c.end()
}

// count takes note of how many pages the node knows.
func (c *Cluster) count() {
	pages := c.node.Pages()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages = pages
}

// watch takes note of what other nodes write.
func (c *Cluster) watch(w jetstream.KeyWatcher) {
	defer w.Stop()
	for {
		select {
		case <-c.life.Done():
			return
		case entry, open := <-w.Updates():
			if !open {
				return
			}
			if entry != nil { // nil: the end of what was there at first
				c.see(entry)
			}
		}
	}
}

// see takes note of an entry. One that cannot be read is nobody's.
func (c *Cluster) see(entry jetstream.KeyValueEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name, is := strings.CutPrefix(entry.Key(), leasePrefix); is {
		var s State
		if json.Unmarshal(entry.Value(), &s) == nil && s.Node == name {
			c.members.see(s, entry.Revision(), c.options.Clock.Now())
		}
	}
	if text, is := strings.CutPrefix(entry.Key(), holdingPrefix); is {
		var its holding
		if p, err := strconv.Atoi(text); err == nil && json.Unmarshal(entry.Value(), &its) == nil {
			c.members.seeHolding(weburl.Partition(p), its, entry.Revision())
		}
	}
}

const holdingPrefix = "partition."

// write writes a partition's entry behind the one that is known. It returns ErrTaken if there is another by now.
func (c *Cluster) write(ctx context.Context, p weburl.Partition, its holding) error {
	c.mu.Lock()
	behind := c.members.holdings[p].revision
	c.mu.Unlock()
	raw, err := json.Marshal(its)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	revision, err := c.bucket.Update(ctx, holdingPrefix+strconv.Itoa(int(p)), raw, behind)
	if isOccupied(err) {
		return errTaken
	} else if err != nil {
		return fmt.Errorf("cluster: write who has partition %d: %w", p, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members.seeHolding(p, its, revision)
	return nil
}

// errTaken says that what is known of a partition is old.
var errTaken = errors.New("cluster: another node has taken the partition")

// move does what is to be done now, and follows the other nodes.
func (c *Cluster) move(ctx context.Context) {
	c.mu.Lock()
	plan := c.members.plan(c.options.Clock.Now())
	c.mu.Unlock()
	report := func(err error, what string, with ...any) bool {
		if err != nil && ctx.Err() == nil {
			c.options.Logger.Error(what, append(with, "error", err)...)
		}
		return err == nil
	}
	for _, dead := range plan.expire {
		if report(expire(ctx, c.bucket, dead), "a node that does not answer cannot be declared dead", "node", dead.Node) {
			c.options.Logger.Warn("a node does not answer: others take its partitions", "node", dead.Node)
		}
	}
	for _, p := range plan.give {
		if ctx.Err() != nil || !report(c.give(ctx, p), "a partition cannot be given", "partition", p) {
			return
		}
	}
	for _, p := range plan.release {
		if ctx.Err() != nil || !report(c.write(ctx, p, holding{}), "a partition cannot be released", "partition", p) {
			return
		}
	}
	for _, p := range plan.take {
		if ctx.Err() != nil || !report(c.take(ctx, p), "a partition cannot be taken", "partition", p) {
			return
		}
	}
	if c.options.Alone {
		return
	}
	for p := range weburl.Partition(c.options.Partitions) {
		if ctx.Err() != nil || !c.has(p) && !report(c.follow(ctx, p), "a partition cannot be followed", "partition", p) {
			return
		}
	}
}

func (c *Cluster) has(p weburl.Partition) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members.had[p]
}

// keep says that the node crawls a partition, or does so no more.
func (c *Cluster) keep(p weburl.Partition, has bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if has {
		c.members.had[p] = true
	} else {
		delete(c.members.had, p)
	}
}

// give gives a partition up.
func (c *Cluster) give(ctx context.Context, p weburl.Partition) error {
	if err := c.node.Give(ctx, p); err != nil {
		return err
	}
	c.keep(p, false)
	c.unlisten(p)
	c.options.Logger.Info("gives a partition", "partition", p)
	return c.write(ctx, p, holding{})
}

// take takes a partition that nobody has. Where another node has taken it meanwhile it does nothing.
func (c *Cluster) take(ctx context.Context, p weburl.Partition) (err error) {
	if err := c.write(ctx, p, holding{c.options.Node, c.members.run}); errors.Is(err, errTaken) {
		return nil
	} else if err != nil {
		return err
	}
	c.keep(p, true)
	defer func() {
		if err != nil {
			c.keep(p, false)
			c.unlisten(p)
		}
	}()
	f, err := c.reader(p)
	if err != nil {
		return err
	}
	end, err := log.Take(ctx, c.log, p, c.options.Node, f.from, f.add)
	if err != nil {
		return err
	}
	f.waiting = append(f.waiting, store.Group{Partition: p, Place: end})
	if err := f.apply(); err != nil {
		return err
	}
	if err := c.listen(p); err != nil {
		return err
	}
	if err := c.node.Take(ctx, p); err != nil {
		return err
	}
	c.options.Logger.Info("takes a partition", "partition", p)
	return nil
}

// follow applies what the log of another node's partition has that is new.
func (c *Cluster) follow(ctx context.Context, p weburl.Partition) error {
	f, err := c.reader(p)
	if err != nil {
		return err
	}
	for r, err := range c.log.Read(ctx, p, f.from) {
		if err != nil {
			return err
		}
		if err := f.add(r); err != nil {
			return err
		}
		if f.applied > mostFollowed {
			break // the other partitions wait
		}
	}
	return f.apply()
}

// reader applies entries of a partition's log to the node.
type reader struct {
	node    Node
	p       weburl.Partition
	from    log.Place
	joined  log.Joined
	waiting []store.Group
	bytes   int // of them
	applied int // bytes of groups that have been applied
}

func (c *Cluster) reader(p weburl.Partition) (*reader, error) {
	from, err := c.node.Place(p)
	return &reader{node: c.node, p: p, from: from}, err
}

const (
	mostWaiting  = 4 << 20  // bytes of groups that are applied at once
	mostFollowed = 32 << 20 // … of one partition before the next one's turn
)

func (f *reader) add(r log.Read) error {
	data, whole := f.joined.Add(r.Entry)
	switch {
	case r.Taken:
		f.waiting = append(f.waiting, store.Group{Partition: f.p, Place: r.At})
	case whole:
		f.waiting = append(f.waiting, store.Group{Partition: f.p, Place: r.At, Data: data})
		f.bytes += len(data)
	}
	if f.bytes < mostWaiting {
		return nil
	}
	return f.apply()
}

func (f *reader) apply() error {
	if len(f.waiting) == 0 {
		return nil
	}
	all := f.waiting
	f.applied += f.bytes
	f.waiting, f.bytes = nil, 0
	return f.node.Follow(f.p, all...)
}

func (c *Cluster) subject(kind string, p weburl.Partition) string {
	return fmt.Sprintf("%s.%s.%d", c.options.Cluster, kind, p)
}

// listen takes in what is sent to a partition.
func (c *Cluster) listen(p weburl.Partition) error {
	in := &inbound{to: p, partial: map[weburl.Partition]*message{}}
	links, err := c.wire.Subscribe(c.subject("links", p), func(m *nats.Msg) {
		parcel, whole, err := in.add(m.Data)
		if err != nil {
			c.options.Logger.Error("links from another node cannot be read", "error", err)
		} else if whole {
			c.node.Arrive(parcel)
		}
	})
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	c.heard[p] = append(c.heard[p], links)
	receipts, err := c.wire.Subscribe(c.subject("receipts", p), func(m *nats.Msg) {
		var r crawl.Receipt
		if err := json.Unmarshal(m.Data, &r); err != nil || r.From != p {
			c.options.Logger.Error("a receipt from another node cannot be read", "error", err)
			return
		}
		c.node.Receive(r)
	})
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	c.heard[p] = append(c.heard[p], receipts)
	return nil
}

// unlisten ends that.
func (c *Cluster) unlisten(p weburl.Partition) {
	for _, s := range c.heard[p] {
		_ = s.Unsubscribe() // it fails only where the connection has ended, and the subscription with it
	}
	delete(c.heard, p)
}

// Send implements node.Cluster.
func (c *Cluster) Send(p crawl.Parcel) {
	messages, err := encodeParcel(p, c.parcels.Add(1))
	for i := 0; err == nil && i < len(messages); i++ {
		err = c.wire.Publish(c.subject("links", p.To), messages[i])
	}
	if err != nil {
		c.options.Logger.Warn("links are not sent to another node, and will be sent again", "error", err)
	}
}

// Acknowledge implements node.Cluster.
func (c *Cluster) Acknowledge(r crawl.Receipt) {
	raw, err := json.Marshal(r)
	if err == nil {
		err = c.wire.Publish(c.subject("receipts", r.From), raw)
	}
	if err != nil {
		c.options.Logger.Warn("a receipt is not sent to another node, and will be asked for again", "error", err)
	}
}
