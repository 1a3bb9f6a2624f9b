//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/internal/machines"
	"freshet/log"
	stored "freshet/log/jetstream"
	"freshet/node/cluster"
	"freshet/weburl"
)

// said is a line that a node prints.
type said struct {
	What  string  `json:"what"` // "took", "wrote", "deposed", "failed"
	P     int     `json:"p"`
	Seq   uint64  `json:"seq,omitempty"`
	Chain []byte  `json:"chain,omitempty"`
	Bytes int     `json:"bytes,omitempty"`
	Ms    float64 `json:"ms,omitempty"`
	Text  string  `json:"text,omitempty"`
}

// node writes the logs of the partitions that are its own.
type node struct {
	name   string
	set    Settings
	conn   *nats.Conn
	log    *stored.Log
	leases jetstream.KeyValue

	mu    sync.Mutex // of out and what follows
	out   *json.Encoder
	mine  []bool      // by partition
	ends  []log.Place // of what was read
	alive map[string]sign
}

// sign is the last sign of life of a node, by this node's clock.
type sign struct {
	revision uint64
	at       time.Time
}

const leaseBucket = "gate-leases"

func options(s Settings) stored.Options {
	return stored.Options{Cluster: "gate", Partitions: s.Partitions, Streams: s.Streams, Replicas: machines.Brokers}
}

// run is a node until it is killed.
func run(name string, s Settings) error {
	machines.AwaitNetwork()
	n := &node{
		name: name, set: s, out: json.NewEncoder(os.Stdout), mine: make([]bool, s.Partitions), ends: make([]log.Place, s.Partitions),
		alive: map[string]sign{},
	}
	var err error
	if n.conn, err = machines.Connect(); err != nil {
		return err
	}
	ctx := context.Background()
	if n.log, err = stored.Open(ctx, n.conn, options(s), real); err != nil {
		return err
	}
	js, err := jetstream.New(n.conn)
	if err != nil {
		return err
	}
	if n.leases, err = js.KeyValue(ctx, leaseBucket); err != nil {
		return err
	}
	go n.renew(ctx)
	for p := range s.Partitions {
		go n.write(ctx, weburl.Partition(p))
	}
	for {
		n.divide(ctx)
		sleep(s.Lease / 6)
	}
}

func (n *node) say(s said) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.out.Encode(s) // the trial has ended
}

// renew renews the node's lease.
func (n *node) renew(ctx context.Context) {
	for {
		within, cancel := context.WithTimeout(ctx, n.set.Lease/3)
		_, _ = n.leases.Put(within, n.name, nil) // if it fails, others take the partitions
		cancel()
		sleep(n.set.Lease / 6)
	}
}

// divide determines which nodes are alive and which partitions belong to this node. Leases are only a hint: the log
// keeps two nodes from writing.
func (n *node) divide(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, n.set.Lease/3)
	defer cancel()
	keys, err := n.leases.Keys(within)
	if err != nil {
		return
	}
	now := real.Now()
	nodes := []string{n.name}
	for _, key := range keys {
		e, err := n.leases.Get(within, key)
		if err != nil {
			return
		}
		s, met := n.alive[key]
		if !met || e.Revision() != s.revision {
			s = sign{e.Revision(), now}
			n.alive[key] = s
		}
		if key != n.name && now.Sub(s.at) < n.set.Lease {
			nodes = append(nodes, key)
		}
	}
	owners := cluster.Assign(n.set.Partitions, nodes)
	n.mu.Lock()
	defer n.mu.Unlock()
	for p, owner := range owners {
		n.mine[p] = owner == n.name
	}
}

func (n *node) owns(p weburl.Partition) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mine[p]
}

// patience is how long an append may take. Then the node gives up and reads the log to see whether it succeeded.
const patience = 20 * time.Second

// write takes a partition whenever it belongs to the node, and writes to its log until another node does.
func (n *node) write(ctx context.Context, p weburl.Partition) {
	rng := rand.New(rand.NewPCG(uint64(p), uint64(os.Getpid())))
	taken := false
	for {
		sleep(time.Duration(rng.Float64() * 2 * float64(n.set.Pause)))
		if !n.owns(p) {
			taken = false
			continue
		}
		within, cancel := context.WithTimeout(ctx, patience)
		began := real.Now()
		s := said{What: "wrote", P: int(p)}
		var at log.Place
		var err error
		if taken {
			data := make([]byte, n.size(rng))
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			s.Bytes = len(data)
			at, err = n.log.Append(within, p, n.ends[p], log.Entry{Owner: n.name, Data: data})
		} else {
			s.What = "took"
			at, err = log.Take(within, n.log, p, n.name, n.ends[p], func(r log.Read) error {
				n.ends[p] = r.At
				return nil
			})
		}
		cancel()
		switch {
		case err == nil:
			taken, n.ends[p] = true, at
			s.Seq, s.Chain, s.Ms = at.Seq, at.Chain[:], real.Now().Sub(began).Seconds()*1000
		case errors.Is(err, log.ErrDeposed):
			taken, s.What = false, "deposed"
		default:
			taken, s.What, s.Text = false, "failed", err.Error()
		}
		n.say(s)
	}
}

// size draws the size of an entry. Its logarithm is uniform: between 1 and 2 KB is as likely as between 2 and 4.
func (n *node) size(rng *rand.Rand) int {
	return int(512 * math.Pow(float64(n.set.Largest)/512, rng.Float64()))
}
