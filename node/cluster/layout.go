package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/crawl/share"
	"freshet/weburl"
)

// The nodes' names decide which node should have which partition, unless an operator decides otherwise. An entry of
// the bucket has the drained nodes, and the partitions that were divided by their pages.

const layoutKey = "LAYOUT"

// layout is the entry.
type layout struct {
	// Drained nodes have no partition and take none, unless all are drained: then each counts as if it were not.
	Drained []string `json:"drained,omitempty"`
	// Owners are the owners of all partitions while Nodes are the nodes that may have some. If a node comes or
	// goes, Owners no longer count.
	Nodes  []string `json:"nodes,omitempty"`
	Owners []string `json:"owners,omitempty"`
}

// knownLayout is the last known entry.
type knownLayout struct {
	layout
	revision uint64
}

func (m *members) seeLayout(l layout, revision uint64) {
	if revision > m.layout.revision {
		m.layout = knownLayout{l, revision}
	}
}

// owners returns which node should have each partition.
func (l layout) owners(partitions int, nodes []string) []string {
	nodes = l.working(nodes)
	if slices.Equal(nodes, l.Nodes) && len(l.Owners) == partitions {
		return l.Owners
	}
	return Assign(partitions, nodes)
}

// working returns the nodes that are not drained, sorted. If the last of these has ended it returns all: partitions
// must not rest because of a drain.
func (l layout) working(nodes []string) []string {
	working := l.undrained(nodes)
	if len(working) == 0 {
		working = slices.Clone(nodes)
	}
	slices.Sort(working)
	return working
}

func (l layout) undrained(nodes []string) []string {
	return slices.DeleteFunc(slices.Clone(nodes), func(name string) bool { return slices.Contains(l.Drained, name) })
}

// Balance moves partitions from nodes with many pages to nodes with few, while that makes the largest part smaller.
// pages are the pages of each partition, owners the nodes that have them now. It returns the new owners.
func Balance(pages []int64, owners, nodes []string) []string {
	next := slices.Clone(owners)
	load := map[string]int64{}
	for p, name := range next {
		load[name] += pages[p] + 1 // an empty partition counts too
	}
	for p, name := range next {
		if !slices.Contains(nodes, name) {
			next[p] = slices.MinFunc(nodes, func(a, b string) int { return cmp.Compare(load[a], load[b]) })
			load[next[p]] += pages[p] + 1
		}
	}
	for range len(pages) * len(pages) {
		most, least := nodes[0], nodes[0]
		for _, name := range nodes {
			if load[name] > load[most] {
				most = name
			}
			if load[name] < load[least] {
				least = name
			}
		}
		best, gap := -1, load[most]-load[least]
		for p, name := range next { // the one that brings the two closest together
			size := pages[p] + 1
			if name == most && size < load[most]-load[least] {
				if left := max(load[most]-size, load[least]+size) - min(load[most]-size, load[least]+size); left < gap {
					best, gap = p, left
				}
			}
		}
		if best < 0 {
			break
		}
		size := pages[best] + 1
		load[most], load[least], next[best] = load[most]-size, load[least]+size, least
	}
	return next
}

// Operator changes the layout of a cluster's partitions.
type Operator struct {
	wire    wire
	bucket  bucket
	cluster string
}

// Operate opens a cluster for an operator.
func Operate(ctx context.Context, conn *nats.Conn, cluster string) (*Operator, error) {
	bucket, err := openBucket(ctx, conn, cluster)
	if err != nil {
		return nil, err
	}
	return &Operator{connection{conn}, bucket, cluster}, nil
}

// change replaces the layout.
func (o *Operator) change(ctx context.Context, do func(*layout) error) error {
	for {
		var l layout
		behind := uint64(0)
		entry, err := o.bucket.Get(ctx, layoutKey)
		switch {
		case err == nil:
			behind = entry.Revision()
			if err := json.Unmarshal(entry.Value(), &l); err != nil {
				return fmt.Errorf("cluster: layout: %w", err)
			}
		case !errors.Is(err, jetstream.ErrKeyNotFound):
			return fmt.Errorf("cluster: layout: %w", err)
		}
		if err := do(&l); err != nil {
			return err
		}
		raw, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
		if _, err = o.bucket.Update(ctx, layoutKey, raw, behind); err == nil {
			return nil
		} else if !isOccupied(err) {
			return fmt.Errorf("cluster: layout: %w", err)
		}
	}
}

// alive returns the names of the nodes that have not ended.
func (o *Operator) alive(ctx context.Context) (names []string, err error) {
	all, err := nodes(ctx, o.bucket)
	for _, m := range all {
		if !m.Ended {
			names = append(names, m.Node)
		}
	}
	return names, err
}

// Drain makes a node give away its partitions and take none. With undo the node gets its share again.
func (o *Operator) Drain(ctx context.Context, node string, undo bool) error {
	nodes, err := o.alive(ctx)
	if err != nil {
		return err
	}
	if !undo && !slices.Contains(nodes, node) {
		return fmt.Errorf("cluster: no node %q is running: freshet cluster status lists the nodes", node)
	}
	return o.change(ctx, func(l *layout) error {
		l.Drained = slices.DeleteFunc(l.Drained, func(name string) bool { return name == node })
		if undo {
			return nil
		}
		l.Drained = append(l.Drained, node)
		if len(l.undrained(nodes)) == 0 {
			return fmt.Errorf("cluster: %s is the last node that has partitions: start another one first", node)
		}
		return nil
	})
}

// Rebalance divides the partitions among the nodes by their pages, and returns the number of partitions that move.
func (o *Operator) Rebalance(ctx context.Context) (moved int, err error) {
	nodes, err := o.alive(ctx)
	if err != nil {
		return 0, err
	}
	owners, pages, err := o.holdings(ctx, nodes)
	if err != nil {
		return 0, err
	}
	err = o.change(ctx, func(l *layout) error {
		l.Nodes = l.working(nodes)
		l.Owners = Balance(pages, owners, l.Nodes)
		moved = 0
		for p, owner := range l.Owners {
			if owner != owners[p] {
				moved++
			}
		}
		return nil
	})
	return moved, err
}

// holdings asks the nodes which partitions they have, and how many pages these have.
func (o *Operator) holdings(ctx context.Context, nodes []string) (owners []string, pages []int64, err error) {
	question, err := json.Marshal(question{Asker: "operator"})
	if err != nil {
		return nil, nil, fmt.Errorf("cluster: %w", err)
	}
	of := map[weburl.Partition]string{}
	stored := map[weburl.Partition]int64{}
	for _, name := range nodes {
		var a answer
		m, err := o.wire.RequestWithContext(ctx, o.cluster+".share."+name, question)
		if err == nil {
			err = json.Unmarshal(m.Data, &a)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("cluster: %s does not say what it has: try again when freshet cluster status calls it alive: %w", name, err)
		}
		takeReport(name, a.Report, of, stored)
	}
	var has charter
	entry, err := o.bucket.Get(ctx, charterKey)
	if err == nil {
		err = json.Unmarshal(entry.Value(), &has)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cluster: how many partitions there are: %w", err)
	}
	for p := range weburl.Partition(has.Partitions) {
		if of[p] == "" {
			return nil, nil, errors.New("cluster: partitions are moving: try again in some seconds")
		}
		owners, pages = append(owners, of[p]), append(pages, stored[p])
	}
	return owners, pages, nil
}

func takeReport(name string, r share.Report, of map[weburl.Partition]string, stored map[weburl.Partition]int64) {
	for p, pages := range r.Stored {
		of[p], stored[p] = name, pages
	}
}
