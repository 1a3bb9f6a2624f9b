package cluster

import (
	"maps"
	"slices"
	"time"

	"freshet/weburl"
)

// State is what a node says of itself in its lease's entry.
type State struct {
	Node     string `json:"node"`
	Instance string `json:"instance"` // of the data directory: two that have one name are told apart by it
	Beat     uint64 `json:"beat"`     // counts the entries of a run
	Version  string `json:"version"`
	// Ended says that the node has no partition any more: it has stopped in order, or another declared it dead.
	Ended bool `json:"ended,omitempty"`
	// Partitions are those that it has or is about to take.
	Partitions []weburl.Partition `json:"partitions"`
	Known      []int64            `json:"known"` // pages that each of its shards knows
}

// Seen is the last entry of another node, and since when it is known here that it is the last.
type Seen struct {
	State
	Revision uint64
	Since    time.Time
}

// members is what a node knows of all nodes. It is told the time, and decides; it does nothing itself.
type members struct {
	self       string
	partitions int
	lease      time.Duration
	others     map[string]Seen
	had        map[weburl.Partition]bool // the node has these, or is about to take them
	changed    time.Time                 // when the nodes that count changed last
	counted    []string
}

// steady is the part of a lease for which the nodes that count must have been the same before partitions move: so that
// those who start together do not take all first and then give.
const steady = 3

func newMembers(self string, partitions int, lease time.Duration, now time.Time) *members {
	return &members{self: self, partitions: partitions, lease: lease, others: map[string]Seen{}, had: map[weburl.Partition]bool{}, changed: now}
}

// see takes note of an entry. One that is not newer is passed over.
func (m *members) see(s State, revision uint64, now time.Time) {
	if s.Node == m.self || revision <= m.others[s.Node].Revision {
		return
	}
	m.others[s.Node] = Seen{s, revision, now}
}

// Plan is what a node is to do.
type Plan struct {
	Expire []Seen             // declare these dead: their leases have run out
	Give   []weburl.Partition // other nodes should have these
	Take   []weburl.Partition // nobody has these, and this node should
}

// plan decides what is to be done now. Nodes count that have not ended: also one whose lease has run out, until it is
// declared dead.
func (m *members) plan(now time.Time) (p Plan) {
	counted := []string{m.self}
	claimed := map[weburl.Partition]bool{}
	for _, name := range slices.Sorted(maps.Keys(m.others)) {
		other := m.others[name]
		if other.Ended {
			continue
		}
		counted = append(counted, name)
		for _, partition := range other.Partitions {
			claimed[partition] = true
		}
		if now.Sub(other.Since) >= m.lease {
			p.Expire = append(p.Expire, other)
		}
	}
	if !slices.Equal(counted, m.counted) {
		m.counted, m.changed = counted, now
	}
	calm := now.Sub(m.changed) >= m.lease/steady
	for i, owner := range Assign(m.partitions, counted) {
		partition := weburl.Partition(i)
		switch mine := m.had[partition]; {
		case mine && owner != m.self && calm:
			p.Give = append(p.Give, partition)
		case !mine && owner == m.self && calm && !claimed[partition]:
			p.Take = append(p.Take, partition)
		}
	}
	return p
}

// state returns what the node says of itself, but for its name and beat.
func (m *members) state() State {
	return State{Node: m.self, Partitions: slices.Sorted(maps.Keys(m.had))}
}

// known returns how many pages the shards of all other nodes know.
func (m *members) known() (pages []int64) {
	for _, name := range slices.Sorted(maps.Keys(m.others)) {
		if other := m.others[name]; !other.Ended {
			pages = append(pages, other.Known...)
		}
	}
	return pages
}
