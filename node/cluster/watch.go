package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"freshet/weburl"
)

// watch stores the entries that other nodes write.
func (c *Cluster) watch(w jetstream.KeyWatcher) {
	defer func() { _ = w.Stop() }()
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

// see stores an entry. It ignores one that cannot be read.
func (c *Cluster) see(entry jetstream.KeyValueEntry) {
	if entry.Key() == divisionKey {
		var its division
		if json.Unmarshal(entry.Value(), &its) == nil {
			c.seeDivision(its, entry.Revision())
		}
		return
	}
	if text, is := strings.CutPrefix(entry.Key(), scopePrefix); is {
		var sites []weburl.Site
		if p, err := strconv.Atoi(text); err == nil && json.Unmarshal(entry.Value(), &sites) == nil {
			c.seeScope(weburl.Partition(p), sites, entry.Revision())
		}
		return
	}
	if text, is := strings.CutPrefix(entry.Key(), downPrefix); is {
		var its takeDown
		if p, err := strconv.Atoi(text); err == nil && json.Unmarshal(entry.Value(), &its) == nil {
			c.seeTakeDown(weburl.Partition(p), its, entry.Revision())
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if name, is := strings.CutPrefix(entry.Key(), leasePrefix); is {
		var s State
		if json.Unmarshal(entry.Value(), &s) == nil && s.Node == name {
			c.members.see(s, entry.Revision(), c.options.Clock.Now())
		}
	}
	if entry.Key() == layoutKey {
		var its layout
		if json.Unmarshal(entry.Value(), &its) == nil {
			c.members.seeLayout(its, entry.Revision())
		}
	}
	if entry.Key() == pauseKey {
		var its pause
		if json.Unmarshal(entry.Value(), &its) == nil && entry.Revision() > c.pause.revision {
			c.pause.pause, c.pause.revision = its, entry.Revision()
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

// write writes a partition's entry behind the one that the step was decided by. It returns errTaken if there is a
// newer entry, which may call for another step.
func (c *Cluster) write(ctx context.Context, do step, its holding) error {
	p := do.partition
	raw, err := json.Marshal(its)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	revision, err := c.bucket.Update(ctx, holdingPrefix+strconv.Itoa(int(p)), raw, do.behind)
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

// errTaken means that the known entry of a partition is old.
var errTaken = errors.New("cluster: another node has taken the partition")
