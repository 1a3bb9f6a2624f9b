package cluster

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"freshet/log"
	"freshet/store"
	"freshet/weburl"
)

// move carries out the plan, except for what catchUp does. It is called again soon. It continues after an error that
// concerns only one partition, or only its stream: the servers of that may have no leader. It stops at other errors,
// because the next partition would probably fail too.
func (c *Cluster) move(ctx context.Context) {
	c.mu.Lock()
	plan := c.members.plan(c.options.Clock.Now())
	c.mu.Unlock()
	report := func(err error, what string, with ...any) bool { return c.report(ctx, err, what, with...) }
	for _, dead := range plan.expire {
		err := expire(ctx, c.bucket, dead)
		if errors.Is(err, errAlive) {
			continue // what it has written will be seen
		}
		if report(err, "a node that does not answer cannot be declared dead", "node", dead.Node); err == nil {
			c.options.Logger.Warn("a node does not answer: others take its partitions", "node", dead.Node)
		}
	}
	for _, do := range plan.give {
		if ctx.Err() != nil || !report(c.give(ctx, do), "a partition cannot be given", "partition", do.partition) {
			return
		}
	}
	for _, do := range plan.release {
		if ctx.Err() != nil || !report(c.write(ctx, do, holding{}), "a partition cannot be released", "partition", do.partition) {
			return
		}
	}
	if err := c.obeyPause(); err != nil {
		report(err, "a pause of the crawl, or its end, is not obeyed")
		return
	}
	for _, do := range plan.take {
		err := c.alone(do.partition, func() error { return c.take(ctx, do) })
		if ctx.Err() != nil || !report(err, "a partition cannot be taken", "partition", do.partition) {
			return
		}
	}
	report(c.tellScope(ctx), "other nodes are not told of seeds")
}

// report logs an error: as a warning if the servers do not answer, because then it is tried again. It returns false if
// the caller should stop.
func (c *Cluster) report(ctx context.Context, err error, what string, with ...any) bool {
	if err != nil && ctx.Err() == nil {
		level := slog.LevelError
		if unanswered(err) {
			level = slog.LevelWarn
			with = append(with, "next", "it is tried again")
		}
		c.options.Logger.Log(ctx, level, what, append(with, "error", err)...)
	}
	return err == nil || ofPartition(err) || unanswered(err)
}

// alone calls do unless the node is already following, forgetting or taking the partition.
func (c *Cluster) alone(p weburl.Partition, do func() error) error {
	c.mu.Lock()
	busy := c.busy[p]
	c.busy[p] = true
	c.mu.Unlock()
	if busy {
		return nil
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.busy, p)
	}()
	return do()
}

// forget removes a partition that enough other nodes have.
func (c *Cluster) forget(p weburl.Partition) error {
	if c.has(p) {
		return nil
	}
	c.mu.Lock()
	delete(c.members.followed, p)
	delete(c.members.lacking, p)
	c.mu.Unlock()
	at, err := c.node.Place(p)
	if err != nil || at == (log.Place{}) {
		return err
	}
	c.options.Logger.Info("forgets a partition: enough other nodes have it", "partition", p)
	return c.node.Forget(p)
}

func (c *Cluster) has(p weburl.Partition) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members.had[p]
}

// keep records whether the node crawls a partition.
func (c *Cluster) keep(p weburl.Partition, has bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if has {
		c.members.had[p] = true
		c.members.follows(p)
	} else {
		delete(c.members.had, p)
	}
}

// give stops crawling a partition and releases it.
func (c *Cluster) give(ctx context.Context, do step) error {
	p := do.partition
	if err := c.node.Give(ctx, p); err != nil {
		return err
	}
	c.keep(p, false)
	c.unlisten(p)
	c.options.Logger.Info("gives a partition", "partition", p)
	return c.write(ctx, do, holding{})
}

// brief is a log that does not wait for ever for a stream without a leader: other partitions wait to be taken. It waits
// longer than the log itself needs to know that entries are lost.
type brief struct{ log.Log }

// Append implements log.Log.
func (b brief) Append(ctx context.Context, p weburl.Partition, after log.Place, e log.Entry) (log.Place, error) {
	ctx, cancel := context.WithTimeout(ctx, takeTime)
	defer cancel()
	return b.Log.Append(ctx, p, after, e)
}

const takeTime = 45 * time.Second

// take takes a partition that no node has. If another node has taken it meanwhile, it does nothing.
func (c *Cluster) take(ctx context.Context, do step) (err error) {
	p := do.partition
	if err := c.write(ctx, do, holding{c.options.Node, c.members.run, c.members.began}); errors.Is(err, errTaken) {
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
	err = c.read(p, func(f *reader) error {
		end, err := log.Take(ctx, brief{c.log}, p, c.options.Node, f.from, f.add)
		if err != nil {
			return err
		}
		f.waiting = append(f.waiting, store.Group{Partition: p, Place: end})
		return f.apply()
	})
	c.lacks(ctx, p, err)
	if err != nil {
		return err
	}
	if err := c.listen(p); err != nil {
		return err
	}
	if err := c.node.Take(ctx, p); err != nil {
		return err
	}
	c.options.Logger.Info("takes a partition", "partition", p)
	c.tellTaken(p)
	c.scope.grows(p)
	c.mu.Lock()
	c.pause.again = true
	c.mu.Unlock()
	if err := c.obeyPause(); err != nil { // it is tried again before anything else is taken
		c.options.Logger.Error("whether the crawl is paused is not obeyed", "error", err)
	}
	return nil
}
