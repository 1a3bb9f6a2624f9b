package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"freshet/log"
	"freshet/weburl"
)

// A page that was taken down is still in the log and in older snapshots. So the owner of its partition soon takes a
// snapshot, truncates the log below it, and removes the older snapshots. An entry of the bucket says that this is to be
// done. It is written before the take-down itself, so that the next owner finds it if this one ends.

const downPrefix = "TAKEDOWN."

// takeDown is the entry.
type takeDown struct {
	// Pending is the lowest sequence that the log may begin with once the pages are gone from it. 0: they are gone.
	Pending uint64 `json:"pending,omitempty"`
}

// knownTakeDown is the last known entry of a partition.
type knownTakeDown struct {
	takeDown
	revision uint64
	since    time.Time // when this node first saw it
}

// downWait is how long a snapshot is put off after a take-down. The other nodes read the end of the log meanwhile, and
// a site is taken down in many groups of records.
const downWait = time.Minute

// noteTakeDown records that pages of a partition are taken down behind a place in its log.
func (c *Cluster) noteTakeDown(p weburl.Partition, behind log.Place) error {
	var its takeDown
	revision, err := c.replace(c.life, downKey(p), func(last []byte) ([]byte, error) {
		its = takeDown{}
		if last != nil {
			if err := json.Unmarshal(last, &its); err != nil {
				return nil, err
			}
		}
		its.Pending = max(its.Pending, behind.Seq+1)
		return json.Marshal(its)
	})
	if err != nil {
		return fmt.Errorf("cluster: note the take-down in partition %d: %w", p, err)
	}
	c.seeTakeDown(p, its, revision)
	return nil
}

// writeTakeDown writes the entry of a partition behind a revision.
func (c *Cluster) writeTakeDown(ctx context.Context, p weburl.Partition, its takeDown, behind uint64) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	raw, err := json.Marshal(its)
	if err == nil {
		var revision uint64
		if revision, err = c.bucket.Update(ctx, downKey(p), raw, behind); err == nil {
			c.seeTakeDown(p, its, revision)
			return nil
		}
	}
	return fmt.Errorf("cluster: write the take-downs of partition %d: %w", p, err)
}

func downKey(p weburl.Partition) string { return downPrefix + strconv.Itoa(int(p)) }

// seeTakeDown stores an entry if it is newer than the known one.
func (c *Cluster) seeTakeDown(p weburl.Partition, its takeDown, revision uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if revision > c.downs[p].revision {
		c.downs[p] = knownTakeDown{its, revision, c.options.Clock.Now()}
	}
}

func (c *Cluster) takeDownOf(p weburl.Partition) knownTakeDown {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.downs[p]
}

// takenDown reports whether a partition should have a snapshot now because of a take-down.
func (c *Cluster) takenDown(p weburl.Partition) bool {
	its := c.takeDownOf(p)
	return its.Pending > 0 && c.options.Clock.Now().Sub(its.since) >= downWait
}
