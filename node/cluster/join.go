package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/clock"
	"freshet/log"
	"freshet/weburl"
)

// Join opens a cluster's bucket on the connected servers, or creates it. It opens the log once it has checked that
// this is the expected cluster. Join returns ErrOther if the cluster has another number of partitions or servers or
// another format, if the directory or the snapshots belong to another cluster, and ErrClock if the clocks are far
// apart. It returns ErrName if a node with another directory has the name.
func Join(ctx context.Context, conn *nats.Conn, open func(context.Context) (log.Log, error), o Options) (*Cluster, error) {
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
	var kv jetstream.KeyValue
	err = insist(ctx, o.Clock, func(ctx context.Context) (err error) {
		kv, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: bucketName(o.Cluster), Storage: jetstream.FileStorage, Replicas: o.Replicas,
		})
		return err
	})
	if errors.Is(err, jetstream.ErrBucketExists) {
		return nil, fmt.Errorf("%w: %s is kept by another number of servers than --nats-replicas %d: give the number of its other nodes",
			ErrOther, o.Cluster, o.Replicas)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: %s: the bucket of its nodes: %w", o.Cluster, err)
	}
	if err := insist(ctx, o.Clock, func(ctx context.Context) error { return checkClock(ctx, kv, o.Clock) }); err != nil {
		return nil, err
	}
	var bucket bucket
	err = insist(ctx, o.Clock, func(ctx context.Context) (err error) {
		bucket, err = withStream(ctx, js, kv)
		return err
	})
	if err != nil {
		return nil, err
	}
	var id string
	err = insist(ctx, o.Clock, func(ctx context.Context) (err error) {
		id, err = agree(ctx, bucket, o)
		return err
	})
	if err == nil {
		err = o.Directory.bind(id)
	}
	if err == nil && o.Snapshots != nil {
		err = o.checkSnapshots(ctx)
	}
	if err != nil {
		return nil, err
	}
	entries, err := open(ctx)
	if err != nil {
		return nil, err
	}
	return join(ctx, connection{conn}, bucket, entries, o)
}

// join makes a node's part in a cluster, and writes the first entry of its lease.
func join(ctx context.Context, wire wire, bucket bucket, entries log.Log, o Options) (*Cluster, error) {
	run := rand.Text()
	c := &Cluster{
		options: o, wire: wire, log: entries, bucket: bucket, heard: map[weburl.Partition][]subscription{},
		busy: map[weburl.Partition]bool{}, downs: map[weburl.Partition]knownTakeDown{}, mostData: log.MaxData,
		members: newMembers(o.Node, run, o.Partitions, o.Copies, o.Lease, o.Clock.Now()),
		scope:   scope{news: map[weburl.Partition]bool{}, known: map[weburl.Partition]knownScope{}},
		lease:   lease{bucket: bucket, state: State{Node: o.Node, Instance: o.Directory.its.Instance, Run: run, Version: o.Version}},
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.stay = func() {}
	c.writing, c.obeying = make(chan struct{}, 1), make(chan struct{}, mostOrders)
	c.sharing.wanted = make(chan struct{}, 1)
	if err := c.lease.open(ctx, o.Clock, o.Lease); err != nil {
		return nil, err
	}
	err := insist(ctx, o.Clock, c.renew)
	c.members.began = c.lease.revision
	return c, err
}

// insist repeats a request until the servers answer or ctx ends. They may not have found one another yet, or must
// elect a leader.
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

// unanswered reports whether a request should be repeated. A server may not know yet of a stream that another one
// has just made.
func unanswered(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.As(err, &api) && (api.Code == 503 || api.ErrorCode == noPeers || api.ErrorCode == jetstream.JSErrCodeStreamNotFound)
}

// noPeers is the error code if too few servers have found one another for the number of replicas.
const noPeers jetstream.ErrorCode = 10005

// ErrClock means that the clocks of a node and the servers are far apart.
var ErrClock = errors.New("cluster: a clock is wrong")

const tryAgain = 100 * time.Millisecond

// charter is what all nodes of a cluster must have in common. Its key is no node's name.
type charter struct {
	ID         string `json:"id"` // unique, whatever the cluster's name
	Partitions int    `json:"partitions"`
	Format     int    `json:"format"`          // of the records in the log
	Crawl      string `json:"crawl,omitempty"` // empty: the cluster was made when it was not noted
}

const (
	charterKey = "CLUSTER"
	logFormat  = 1
)

// agree checks that the cluster is the expected one, or initialises a new one. It returns its ID.
func agree(ctx context.Context, b bucket, o Options) (id string, err error) {
	mine := charter{rand.Text(), o.Partitions, logFormat, o.Crawl}
	raw, err := json.Marshal(mine)
	if err != nil {
		return "", fmt.Errorf("cluster: %w", err)
	}
	if _, err = b.Create(ctx, charterKey, raw); err == nil {
		return mine.ID, nil
	} else if !isOccupied(err) {
		return "", fmt.Errorf("cluster: %s: %w", o.Cluster, err)
	}
	entry, err := b.Get(ctx, charterKey)
	if err != nil {
		return "", fmt.Errorf("cluster: %s: %w", o.Cluster, err)
	}
	var its charter
	if err := json.Unmarshal(entry.Value(), &its); err != nil {
		return "", fmt.Errorf("cluster: %s: %w", o.Cluster, err)
	}
	switch {
	case its.Format > mine.Format:
		return "", fmt.Errorf("%w: %s has a log of format %d, this program writes format %d: install the version of its other nodes",
			ErrOther, o.Cluster, its.Format, mine.Format)
	case its.Format < mine.Format:
		return "", fmt.Errorf("%w: %s has a log of format %d, this program writes format %d: install an older version, or begin a new cluster with --cluster NAME",
			ErrOther, o.Cluster, its.Format, mine.Format)
	case its.Partitions != mine.Partitions:
		return "", fmt.Errorf("%w: %s has %d partitions, this directory %d: start with --partitions %[3]d and an empty directory",
			ErrOther, o.Cluster, its.Partitions, mine.Partitions)
	case its.Crawl != "" && its.Crawl != mine.Crawl:
		return "", fmt.Errorf("%w: %s is for the crawl %s, and this node's is %s: start with --crawl %[3]s, or begin a new cluster with --cluster NAME",
			ErrOther, o.Cluster, its.Crawl, mine.Crawl)
	case its.ID != "":
		return its.ID, nil
	}
	// The cluster was made when clusters had no ID.
	if _, err := b.Update(ctx, charterKey, raw, entry.Revision()); isOccupied(err) {
		return agree(ctx, b, o) // another node was first
	} else if err != nil {
		return "", fmt.Errorf("cluster: %s: %w", o.Cluster, err)
	}
	return mine.ID, nil
}

// mostAstray is how far apart the clocks of a node and the servers may be when the node starts. Ownership of
// partitions does not depend on clocks, but times of visits do.
const mostAstray = 15 * time.Minute

// checkClock checks that the machine's clock is close to the servers' clock.
func checkClock(ctx context.Context, b jetstream.KeyValue, c *clock.Clock) error {
	status, err := b.Status(ctx)
	if err != nil {
		return fmt.Errorf("cluster: the servers' time: %w", err)
	}
	theirs := status.(*jetstream.KeyValueBucketStatus).StreamInfo().TimeStamp
	if c.Now().Sub(theirs).Abs() > mostAstray {
		return fmt.Errorf("%w: this machine's clock says %s, and that of a NATS server %s: set both by NTP, and start again",
			ErrClock, c.Now().UTC().Format(time.RFC3339), theirs.UTC().Format(time.RFC3339))
	}
	return nil
}
