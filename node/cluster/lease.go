package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"freshet/clock"
)

// ErrLease means that a node may no longer work: others may have taken its partitions.
var ErrLease = errors.New("cluster: the node has lost its lease")

// ErrName means that another node with that name is running.
var ErrName = errors.New("cluster: another node has this name")

// lease is a node's entry in the bucket. One goroutine at a time uses it.
type lease struct {
	bucket   bucket
	state    State
	revision uint64
	written  bool // by this run
}

// leaseKey returns the key of a node's lease.
func leaseKey(node string) string { return leasePrefix + node }

const leasePrefix = "node."

// answerTime is how long a node waits for a server's answer.
const answerTime = 2 * time.Second

// open finds the entry of the node's last run, if there is one. If a node with another directory had the name, it
// waits out that node's lease. It returns ErrName if that node is running.
func (l *lease) open(ctx context.Context, c *clock.Clock, long time.Duration) error {
	var last State
	var revision uint64
	read := func(ctx context.Context) (err error) {
		last, revision, err = l.read(ctx)
		return err
	}
	err := insist(ctx, c, read)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	if err == nil && last.Instance != l.state.Instance && !last.Ended {
		if err := c.Sleep(ctx, long); err != nil {
			return fmt.Errorf("cluster: wait for the lease of %s to end: %w", l.state.Node, err)
		}
		before := revision
		if err = insist(ctx, c, read); err == nil && revision != before && !last.Ended {
			return fmt.Errorf("%w: %s is running with another data directory: stop it, or give this one another name", ErrName, l.state.Node)
		}
	}
	l.revision = revision
	return err
}

// renew writes the entry. It returns ErrLease if another node has written behind the last one.
func (l *lease) renew(ctx context.Context) error {
	l.state.Beat++
	raw, err := json.Marshal(l.state)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	revision, err := l.bucket.Update(ctx, leaseKey(l.state.Node), raw, l.revision)
	if isOccupied(err) { // by an earlier try whose answer was lost, or by another node
		last, found, readErr := l.read(ctx)
		switch {
		case readErr != nil:
			return readErr
		case last.Run != l.state.Run && l.written && !last.Ended:
			return fmt.Errorf("%w: another machine has begun to work as %s, with a copy of this data directory: "+
				"stop it, remove cluster.json from the copy, and start it with another --node", ErrLease, l.state.Node)
		case last.Run != l.state.Run && (l.written || last.Instance != l.state.Instance) || last.Run == l.state.Run && last.Ended && !l.state.Ended:
			return fmt.Errorf("%w: %s was declared dead", ErrLease, l.state.Node)
		}
		l.revision = found
		revision, err = l.bucket.Update(ctx, leaseKey(l.state.Node), raw, l.revision)
	}
	if err != nil {
		return fmt.Errorf("cluster: write the lease: %w", err)
	}
	l.revision, l.written = revision, true
	return nil
}

func (l *lease) read(ctx context.Context) (s State, revision uint64, err error) {
	entry, err := l.bucket.Get(ctx, leaseKey(l.state.Node))
	if err != nil {
		return s, 0, fmt.Errorf("cluster: read the lease: %w", err)
	}
	if err := json.Unmarshal(entry.Value(), &s); err != nil {
		return s, 0, fmt.Errorf("cluster: the lease of %s: %w", l.state.Node, err)
	}
	return s, entry.Revision(), nil
}

// errAlive means that a node has renewed its lease after all.
var errAlive = errors.New("cluster: the node is alive")

// expire declares another node dead. It returns errAlive if that node has written since.
func expire(ctx context.Context, bucket bucket, s Seen) error {
	s.Ended, s.Partitions, s.Followed, s.Known, s.Late = true, nil, nil, nil, nil
	raw, err := json.Marshal(s.State)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if _, err := bucket.Update(ctx, leaseKey(s.Node), raw, s.Revision); isOccupied(err) {
		return errAlive
	} else if err != nil {
		return fmt.Errorf("cluster: end the lease of %s: %w", s.Node, err)
	}
	return nil
}

// isOccupied reports whether a server refused a write because the named entry is no longer the last one.
func isOccupied(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) || errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
