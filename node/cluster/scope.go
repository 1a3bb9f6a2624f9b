package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"freshet/weburl"
)

// Seeds that are added to a running crawl widen its scope by their sites. A node that does not follow a partition's
// log cannot read them there. So the partition's node writes them to an entry of the bucket.

const scopePrefix = "SEEDS."

// mostScope is the maximum size of an entry, in bytes: a server accepts a MiB.
const mostScope = 1<<20 - 64<<10

// scope holds the known entries.
type scope struct {
	mu    sync.Mutex
	news  map[weburl.Partition]bool // seeds were added, or the partition was taken
	known map[weburl.Partition]knownScope
}

type knownScope struct {
	sites    []weburl.Site
	revision uint64
}

// grows records that one of the node's partitions may have seeds that its entry lacks.
func (s *scope) grows(p weburl.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news[p] = true
}

// see stores an entry if it is newer than the known one, and reports whether it is.
func (s *scope) see(p weburl.Partition, sites []weburl.Site, revision uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision <= s.known[p].revision {
		return false
	}
	s.known[p] = knownScope{sites, revision}
	return true
}

// changed returns the partitions with news, and clears the list.
func (s *scope) changed() (all []weburl.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.news {
		all = append(all, p)
	}
	clear(s.news)
	return all
}

func (s *scope) last(p weburl.Partition) knownScope {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[p]
}

// seeScope stores an entry, even one that this node has written, because the node may forget the partition.
func (c *Cluster) seeScope(p weburl.Partition, sites []weburl.Site, revision uint64) {
	if c.scope.see(p, sites, revision) {
		c.node.Widen(sites)
	}
}

// tellScope writes the seeds of the node's partitions to their entries.
func (c *Cluster) tellScope(ctx context.Context) error {
	for _, p := range c.scope.changed() {
		if !c.has(p) {
			continue
		}
		if err := c.writeScope(ctx, p); err != nil {
			c.scope.grows(p)
			return err
		}
	}
	return nil
}

func (c *Cluster) writeScope(ctx context.Context, p weburl.Partition) error {
	sites, err := c.node.Seeded(p)
	last := c.scope.last(p)
	if err != nil || slices.Equal(sites, last.sites) {
		return err
	}
	raw, err := json.Marshal(sites)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if len(raw) > mostScope {
		c.options.Logger.Error("the sites of added seeds are too many to tell the other nodes: give them with --seeds", "partition", p, "sites", len(sites))
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	revision, err := c.bucket.Update(ctx, scopePrefix+strconv.Itoa(int(p)), raw, last.revision)
	if isOccupied(err) {
		c.scope.grows(p) // what is there will be seen
		return nil
	} else if err != nil {
		return fmt.Errorf("cluster: write the seeds of partition %d: %w", p, err)
	}
	c.seeScope(p, sites, revision)
	return nil
}
