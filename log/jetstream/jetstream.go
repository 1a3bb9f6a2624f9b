// Package jetstream keeps the log of a cluster in NATS JetStream: on each of several servers, in streams of files.
package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/clock"
	"freshet/log"
	"freshet/weburl"
)

// Options says where a cluster's log is. All fields are required.
type Options struct {
	Cluster    string // prefix of the streams' names
	Partitions int
	Streams    int // streams that the partitions share
	Replicas   int // copies of each stream: 1, 3 or 5
}

// Log is a log in JetStream.
type Log struct {
	options Options
	conn    *nats.Conn
	js      jetstream.JetStream
	clock   *clock.Clock

	mu   sync.Mutex
	late map[weburl.Partition]late
}

// late is an entry that was not stored yet.
type late struct {
	since, last time.Time // of the tries that failed
	why         error     // of the last one
}

var _ log.Log = (*Log)(nil)

// Open returns the log over a connection. It makes the streams that are missing.
func Open(ctx context.Context, conn *nats.Conn, o Options, c *clock.Clock) (*Log, error) {
	if o.Cluster == "" || o.Partitions < 1 || o.Streams < 1 || o.Streams > o.Partitions {
		return nil, fmt.Errorf("log: cluster %q with %d partitions in %d streams: want a name, and streams between 1 and the partitions",
			o.Cluster, o.Partitions, o.Streams)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	l := &Log{options: o, conn: conn, js: js, clock: c, late: map[weburl.Partition]late{}}
	for i := range o.Streams {
		if err := l.create(ctx, i); err != nil {
			return nil, fmt.Errorf("log: stream %s: %w", l.StreamName(i), err)
		}
	}
	return l, nil
}

// create makes a stream unless it exists. Servers that have not found one another yet may not answer; create repeats
// the request until ctx ends.
func (l *Log) create(ctx context.Context, i int) error {
	for {
		within, cancel := context.WithTimeout(ctx, answerTime)
		_, err := l.js.CreateStream(within, l.config(i))
		cancel()
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("it has other settings than this program gives it: compare nats stream info with that of another stream of the cluster, and edit it: %w", err)
		}
		if err == nil {
			return nil
		}
		if l.clock.Sleep(ctx, tryAgain) != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// StreamName returns the name of a stream.
func (l *Log) StreamName(i int) string { return fmt.Sprintf("%s-log-%d", l.options.Cluster, i) }

func (l *Log) config(i int) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: l.StreamName(i), Storage: jetstream.FileStorage, Replicas: l.options.Replicas,
		MaxMsgSize: log.MaxEntry, Discard: jetstream.DiscardNew, AllowDirect: true, DenyDelete: true,
	}
	for p := i; p < l.options.Partitions; p += l.options.Streams {
		c.Subjects = append(c.Subjects, l.subject(weburl.Partition(p)))
	}
	return c
}

func (l *Log) subject(p weburl.Partition) string {
	return fmt.Sprintf("%s.log.%d", l.options.Cluster, p)
}

func (l *Log) stream(p weburl.Partition) string { return l.StreamName(int(p) % l.options.Streams) }

// The wait for an answer, and the pause before the next try.
const (
	answerTime = 2 * time.Second
	tryAgain   = 50 * time.Millisecond
)

// lostAfter is how long the servers must say that a log ends before a node's last entry until that is believed. A
// server that is cut off from the others can say so for a while.
const lostAfter = 30 * time.Second

// Append implements log.Log. It sends an unacknowledged entry again behind the same place, so the entry is stored at
// most once. It returns ErrBroken if the servers have lost entries.
func (l *Log) Append(ctx context.Context, p weburl.Partition, after log.Place, e log.Entry) (log.Place, error) {
	data, chain, err := log.Seal(after, e)
	if err != nil {
		return after, err
	}
	var behind time.Time // since when the log has ended too early; zero: it has not
	for {
		seq, err := l.publish(ctx, p, after.Seq, data)
		l.tried(p, err)
		if err == nil {
			return log.Place{Seq: seq, Chain: chain}, nil
		}
		if isOccupied(err) {
			var at log.Place
			if at, err = l.written(ctx, p, after, chain); err == nil || errors.Is(err, log.ErrDeposed) || errors.Is(err, log.ErrBroken) {
				return at, err
			}
		}
		if lost := l.lost(ctx, p, after); lost == nil {
			behind = time.Time{}
		} else if now := l.clock.Now(); behind.IsZero() {
			behind = now
		} else if now.Sub(behind) >= lostAfter {
			return after, lost
		}
		if l.clock.Sleep(ctx, tryAgain) != nil {
			return after, fmt.Errorf("log: append to partition %d behind entry %d: %w", p, after.Seq, errors.Join(ctx.Err(), err))
		}
	}
}

// tried records whether an entry was stored.
func (l *Log) tried(p weburl.Partition, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil || isOccupied(err) {
		delete(l.late, p)
		return
	}
	its, now := l.late[p], l.clock.Now()
	if now.Sub(its.last) > forgotten {
		its.since = now
	}
	its.last, its.why = now, err
	l.late[p] = its
}

// forgotten is how long after a try that failed nobody waits for its entry any more. The next try comes sooner.
const forgotten = 5 * answerTime

// Late implements log.Log.
func (l *Log) Late(p weburl.Partition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	its, now := l.late[p], l.clock.Now()
	if waited := its.last.Sub(its.since); waited < log.LateAfter || now.Sub(its.last) > forgotten {
		return nil
	}
	return fmt.Errorf("stream %s takes no entries (%w): most of the NATS servers that keep it must run and have free disk; "+
		"nats stream info %[1]s names them", l.stream(p), its.why)
}

// written returns the place of the entry behind a place if it is the one with that chain: our own, of an earlier try.
// It returns ErrDeposed if it is another node's, and another error if the servers do not say now.
func (l *Log) written(ctx context.Context, p weburl.Partition, after log.Place, chain log.Chain) (log.Place, error) {
	for r, err := range l.Read(ctx, p, after) {
		switch {
		case errors.Is(err, log.ErrTruncated): // by another node, which has the partition
			return after, fmt.Errorf("%w: %w", log.ErrDeposed, err)
		case err != nil:
			return after, err
		case r.At.Chain == chain:
			return r.At, nil
		}
		return after, fmt.Errorf("%w: partition %d: entry %d is %s's", log.ErrDeposed, p, r.At.Seq, r.Owner)
	}
	return after, errors.New("the server that answers lags behind")
}

// lost returns an error if the log's stream ends before a place, by the server that leads it, or is gone.
func (l *Log) lost(ctx context.Context, p weburl.Partition, after log.Place) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	s, err := l.js.Stream(ctx, l.stream(p))
	what := "is gone"
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
	case err != nil || s.CachedInfo().State.LastSeq >= after.Seq:
		return nil
	default:
		what = fmt.Sprintf("ends at %d, and entry %d was acknowledged", s.CachedInfo().State.LastSeq, after.Seq)
	}
	return fmt.Errorf("%w: partition %d: the NATS servers have lost entries: stream %s %s: "+
		"start the servers with their files, or begin a new cluster with --cluster NAME and empty directories",
		log.ErrBroken, p, l.stream(p), what)
}

func (l *Log) publish(ctx context.Context, p weburl.Partition, last uint64, data []byte) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	ack, err := l.js.Publish(ctx, l.subject(p), data,
		jetstream.WithExpectLastSequencePerSubject(last), jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// isOccupied reports whether a server refused an entry because the log does not end where it was to follow.
func isOccupied(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// The size of a batch of entries, which is requested in one step.
const (
	batchEntries = 64
	batchBytes   = 4 << 20
)

// Read implements log.Log. Any server may answer, also one that lags behind.
func (l *Log) Read(ctx context.Context, p weburl.Partition, after log.Place) iter.Seq2[log.Read, error] {
	return func(yield func(log.Read, error) bool) {
		for {
			messages, more, err := l.batch(ctx, p, after.Seq+1, batchEntries)
			if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, context.DeadlineExceeded) {
				if lost := l.lost(ctx, p, log.Place{}); lost != nil {
					err = lost
				}
			}
			if err != nil {
				yield(log.Read{}, fmt.Errorf("log: read partition %d behind entry %d: %w", p, after.Seq, err))
				return
			}
			for _, m := range messages {
				r, err := open(after, m)
				if errors.Is(err, log.ErrBroken) {
					err = l.whyBroken(ctx, p, after, err)
				}
				if err != nil {
					err = fmt.Errorf("log: partition %d: %w", p, err)
				}
				if !yield(r, err) || err != nil {
					return
				}
				after = r.At
			}
			if !more {
				return
			}
		}
	}
}

func open(after log.Place, m *nats.Msg) (log.Read, error) {
	seq, err := sequence(m)
	if err != nil {
		return log.Read{}, err
	}
	return log.Open(after, seq, m.Data)
}

func sequence(m *nats.Msg) (uint64, error) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("a message without a sequence: %w", err)
	}
	return seq, nil
}

// whyBroken returns ErrTruncated if the log begins behind a place, else the error.
func (l *Log) whyBroken(ctx context.Context, p weburl.Partition, after log.Place, broken error) error {
	messages, _, err := l.batch(ctx, p, 1, 1)
	if err != nil {
		return errors.Join(broken, err)
	}
	if len(messages) == 0 {
		return broken
	}
	if first, err := sequence(messages[0]); err != nil || first <= after.Seq {
		return errors.Join(broken, err)
	}
	return fmt.Errorf("%w: it has nothing up to entry %d", log.ErrTruncated, after.Seq)
}

// next requests messages of a subject from a sequence on.
type next struct {
	Seq     uint64 `json:"seq"`
	Subject string `json:"next_by_subj"`
	Batch   int    `json:"batch,omitempty"`
	Bytes   int    `json:"max_bytes,omitempty"`
}

// batch returns some messages of a partition from a sequence on, batchEntries at most, and whether there were more when
// it was asked. A server may not know yet of a stream that another one has just made, or of its new leader. So batch
// asks again while no server answers for the stream.
func (l *Log) batch(ctx context.Context, p weburl.Partition, from uint64, most int) (messages []*nats.Msg, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for {
		messages, more, err = l.askOnce(ctx, p, from, most)
		if !errors.Is(err, nats.ErrNoResponders) || l.clock.Sleep(ctx, tryAgain) != nil {
			return messages, more, err
		}
	}
}

func (l *Log) askOnce(ctx context.Context, p weburl.Partition, from uint64, most int) (messages []*nats.Msg, more bool, err error) {
	ask, err := json.Marshal(next{from, l.subject(p), most, batchBytes})
	if err != nil {
		return nil, false, err
	}
	inbox := l.conn.NewRespInbox()
	// Room for one batch and its end. The default of a subscription is half a megabyte, which would be garbage after
	// each read of a log without news.
	arriving := make(chan *nats.Msg, batchEntries+1)
	answers, err := l.conn.ChanSubscribe(inbox, arriving)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	if err := l.conn.PublishRequest("$JS.API.DIRECT.GET."+l.stream(p), inbox, ask); err != nil {
		return nil, false, err
	}
	for {
		var m *nats.Msg
		select {
		case m = <-arriving:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		switch status := m.Header.Get("Status"); status {
		case "":
			messages = append(messages, m)
		case "204": // the batch's end
			return messages, m.Header.Get("Nats-Num-Pending") != "0", nil
		case "404": // the log's end
			return messages, false, nil
		case "503":
			return nil, false, nats.ErrNoResponders
		default:
			return nil, false, fmt.Errorf("%s %s", status, m.Header.Get("Description"))
		}
	}
}

// Truncate implements log.Log.
func (l *Log) Truncate(ctx context.Context, p weburl.Partition, at log.Place) error {
	s, err := l.js.Stream(ctx, l.stream(p))
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(l.subject(p)), jetstream.WithPurgeSequence(at.Seq))
	}
	if err != nil {
		return fmt.Errorf("log: truncate partition %d below entry %d: %w", p, at.Seq, err)
	}
	return nil
}
