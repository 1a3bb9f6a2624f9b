package cluster

import (
	"maps"
	"slices"
	"time"

	"freshet/crawl/share"
	"freshet/weburl"
)

// State is what a node says of itself in its lease's entry.
type State struct {
	Node     string `json:"node"`
	Instance string `json:"instance"` // of the data directory: two that have one name are told apart by it
	Run      string `json:"run"`      // of the node: each has another
	Beat     uint64 `json:"beat"`     // counts the entries of a run
	Version  string `json:"version"`
	// Ended says that the run is over: the node has stopped in order, or another declared it dead.
	Ended      bool               `json:"ended,omitempty"`
	Partitions []weburl.Partition `json:"partitions"`
	Known      []int64            `json:"known"`            // pages that each of its shards knows
	Obeyed     uint64             `json:"obeyed,omitempty"` // the last entry about a pause that it has obeyed
	Vitals     share.Vitals       `json:"vitals"`
}

// Seen is the last entry of another node, and since when it is known here that it is the last.
type Seen struct {
	State
	Revision uint64
	Since    time.Time
}

// holding is a partition's entry: which run of which node has it, or is about to take it.
type holding struct {
	Node string `json:"node,omitempty"` // empty: none has
	Run  string `json:"run,omitempty"`
}

// knownHolding is the last known entry of a partition. What is known may be old, but never becomes wrong: a run that is
// over has nothing any more, and an entry is written behind the one that was known, or not at all.
type knownHolding struct {
	holding
	revision uint64
}

// members is what a node knows of all nodes. It is told the time, and decides; it does nothing itself.
type members struct {
	self, run string
	lease     time.Duration
	others    map[string]Seen
	holdings  []knownHolding            // by partition
	had       map[weburl.Partition]bool // the node crawls these
	layout    knownLayout
	changed   time.Time // when the nodes that count changed last
	counted   []string
}

// steady is the part of a lease for which the nodes that count must have been the same before partitions move: so that
// those who start together do not take all first and then give.
const steady = 3

func newMembers(self, run string, partitions int, lease time.Duration, now time.Time) *members {
	return &members{
		self: self, run: run, lease: lease, others: map[string]Seen{}, holdings: make([]knownHolding, partitions),
		had: map[weburl.Partition]bool{}, changed: now,
	}
}

// see takes note of a node's entry. One that is not newer is passed over.
func (m *members) see(s State, revision uint64, now time.Time) {
	if s.Node == m.self || revision <= m.others[s.Node].Revision {
		return
	}
	m.others[s.Node] = Seen{s, revision, now}
}

// seeHolding takes note of a partition's entry.
func (m *members) seeHolding(p weburl.Partition, c holding, revision uint64) {
	if int(p) < len(m.holdings) && revision > m.holdings[p].revision {
		m.holdings[p] = knownHolding{c, revision}
	}
}

// free reports whether nobody has a partition of that entry: the run that had it is over.
func (m *members) free(c knownHolding) bool {
	switch c.Node {
	case "", m.self: // another run of this node, or this one after a take that failed
		return true
	}
	holder, known := m.others[c.Node]
	return known && (holder.Run != c.Run && holder.Revision > c.revision || holder.Run == c.Run && holder.Ended)
}

// plan is what a node is to do.
type plan struct {
	expire  []Seen // declare these dead: their leases have run out
	give    []step // other nodes should have these
	release []step // these were given, and their entries still say that the node has them
	take    []step // nobody has these, and this node should
}

// step is what is to be done with a partition, as long as its entry is still the one that this was decided by.
type step struct {
	partition weburl.Partition
	behind    uint64 // revision of that entry
}

// plan decides what is to be done now. Nodes count that have not ended: also one whose lease has run out, until it is
// declared dead.
func (m *members) plan(now time.Time) (p plan) {
	counted := []string{m.self}
	for _, name := range slices.Sorted(maps.Keys(m.others)) {
		other := m.others[name]
		if other.Ended {
			continue
		}
		counted = append(counted, name)
		if now.Sub(other.Since) >= m.lease {
			p.expire = append(p.expire, other)
		}
	}
	if !slices.Equal(counted, m.counted) {
		m.counted, m.changed = counted, now
	}
	if now.Sub(m.changed) < m.lease/steady {
		return p
	}
	for i, owner := range m.layout.owners(len(m.holdings), counted) {
		do := step{weburl.Partition(i), m.holdings[i].revision}
		mine, has := owner == m.self, m.had[do.partition]
		switch {
		case has && !mine:
			p.give = append(p.give, do)
		case !has && !mine && m.holdings[i].Run == m.run:
			p.release = append(p.release, do)
		case !has && mine && m.free(m.holdings[i]):
			p.take = append(p.take, do)
		}
	}
	return p
}

// partitions returns those that the node has, sorted.
func (m *members) partitions() []weburl.Partition { return slices.Sorted(maps.Keys(m.had)) }
