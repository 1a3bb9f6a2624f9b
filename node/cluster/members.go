package cluster

import (
	"maps"
	"slices"
	"time"

	"freshet/crawl/share"
	"freshet/weburl"
)

// State is what a node reports about itself in its lease entry.
type State struct {
	Node     string `json:"node"`
	Instance string `json:"instance"` // of the data directory: distinguishes two nodes with the same name
	Run      string `json:"run"`      // unique to each run of the node
	Beat     uint64 `json:"beat"`     // counts the entries of a run
	Version  string `json:"version"`
	// Ended means that the run is over: the node stopped cleanly, or another declared it dead.
	Ended      bool               `json:"ended,omitempty"`
	Partitions []weburl.Partition `json:"partitions"`
	Followed   []weburl.Partition `json:"followed,omitempty"` // of others: their logs are applied to the end, or were
	Lacking    []Lack             `json:"lacking,omitempty"`
	Late       []Lack             `json:"late,omitempty"`   // partitions whose log takes no entries of the node
	Known      []int64            `json:"known"`            // pages that each of its shards knows
	Obeyed     uint64             `json:"obeyed,omitempty"` // the last entry about a pause that it has obeyed
	Vitals     share.Vitals       `json:"vitals"`
}

// Lack is a partition, and why a node waits for its log, or cannot have it: the log begins after what the node has, and
// it can load no snapshot.
type Lack struct {
	Partition weburl.Partition `json:"partition"`
	Why       string           `json:"why"`
}

// Seen is the last entry of another node, with the time at which this node first saw it.
type Seen struct {
	State
	Revision uint64
	Since    time.Time
}

// holding is a partition's entry: which run of which node has it or is taking it.
type holding struct {
	Node string `json:"node,omitempty"` // empty: no node has it
	Run  string `json:"run,omitempty"`
	// Began is the revision of the run's first lease. A later lease of the node belongs to this run, or the run is
	// over.
	Began uint64 `json:"began,omitempty"`
}

// knownHolding is the last known entry of a partition. It may be old, but acting on it is safe: a run that is over
// never has the partition again, and a write succeeds only behind the known entry.
type knownHolding struct {
	holding
	revision uint64
}

// members is what a node knows about all nodes. It only decides: it does no I/O, and time is an argument.
type members struct {
	self, run string
	began     uint64 // the revision of its first lease
	lease     time.Duration
	copies    int // of each partition; 0: every node has one
	others    map[string]Seen
	holdings  []knownHolding            // by partition
	had       map[weburl.Partition]bool // the node crawls these
	followed  map[weburl.Partition]bool // … and can take these
	lacking   map[weburl.Partition]lack
	late      []Lack
	layout    knownLayout
	changed   time.Time // when the counting nodes last changed
	counted   []string
	turn      weburl.Partition // the last one whose log was looked at for news
}

// lack is why a partition cannot be loaded, and when to try again.
type lack struct {
	why   string
	wait  time.Duration
	again time.Time
}

// The first and the longest wait before a failed load of a snapshot is tried again. Each wait is twice the one
// before.
const firstWait, longestWait = 5 * time.Second, time.Minute

// steady is the part of a lease for which the counting nodes must be unchanged before partitions move. So the first
// of several nodes that start together does not take all partitions and then give them away.
const steady = 3

func newMembers(self, run string, partitions, copies int, lease time.Duration, now time.Time) *members {
	return &members{
		self: self, run: run, lease: lease, copies: copies, others: map[string]Seen{}, holdings: make([]knownHolding, partitions),
		had: map[weburl.Partition]bool{}, followed: map[weburl.Partition]bool{}, lacking: map[weburl.Partition]lack{}, changed: now,
	}
}

// see stores a node's entry if it is newer.
func (m *members) see(s State, revision uint64, now time.Time) {
	if s.Node == m.self || revision <= m.others[s.Node].Revision {
		return
	}
	m.others[s.Node] = Seen{s, revision, now}
}

// seeHolding stores a partition's entry.
func (m *members) seeHolding(p weburl.Partition, c holding, revision uint64) {
	if int(p) < len(m.holdings) && revision > m.holdings[p].revision {
		m.holdings[p] = knownHolding{c, revision}
	}
}

// free reports whether no node has the partition of an entry: the run that had it is over.
func (m *members) free(c knownHolding) bool {
	switch c.Node {
	case "", m.self: // another run of this node, or this one after a take that failed
		return true
	}
	holder, known := m.others[c.Node]
	return known && (holder.Run != c.Run && holder.Revision > c.Began || holder.Run == c.Run && holder.Ended)
}

// follows records that a partition's log is applied to its end.
func (m *members) follows(p weburl.Partition) {
	m.followed[p] = true
	delete(m.lacking, p)
}

// lacks records that a partition cannot be loaded.
func (m *members) lacks(p weburl.Partition, why error, now time.Time) {
	wait := min(max(firstWait, 2*m.lacking[p].wait), longestWait)
	m.lacking[p] = lack{why.Error(), wait, now.Add(wait)}
	delete(m.followed, p)
}

// can reports whether a node has a partition or could take it at once.
func (m *members) can(name string, p weburl.Partition) bool {
	if name == m.self {
		return m.had[p] || m.followed[p]
	}
	other := m.others[name]
	return slices.Contains(other.Partitions, p) || slices.Contains(other.Followed, p)
}

// owner returns which node is to have a partition: the one that should, as soon as it can. Until then the present
// owner keeps it. If there is none, or it is drained, the first node that can gets it. If none can, the present
// owner stays; "": there is none.
func (m *members) owner(p weburl.Partition, should string, working []string) string {
	has := ""
	if its := m.holdings[p]; m.had[p] || !m.free(its) && m.can(its.Node, p) {
		has = its.Node
	}
	fit := func(name string) bool { return slices.Contains(working, name) && m.can(name, p) }
	if fit(should) {
		return should
	}
	if fit(has) {
		return has
	}
	for _, name := range byScore(p, working) {
		if fit(name) {
			return name
		}
	}
	return has
}

// plan is what a node must do.
type plan struct {
	expire  []Seen // declare these nodes dead: their leases have run out
	give    []step // other nodes should have these
	release []step // these were given, and their entries still say that the node has them
	take    []step // nobody has these, and this node should
	follow  []weburl.Partition
	forget  []weburl.Partition // enough other nodes have these
}

// step is an action on a partition. It is valid while the partition's entry is the one that it was decided by.
type step struct {
	partition weburl.Partition
	behind    uint64 // revision of that entry
}

// plan decides what to do now. Nodes that have not ended count, even one whose lease has run out, until it is
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
	owners := m.layout.owners(len(m.holdings), counted)
	working := m.layout.working(counted)
	settled := now.Sub(m.changed) >= m.lease/steady
	if settled || m.copies == 0 {
		p.follow, p.forget = m.toFollow(owners, working, now)
	}
	if !settled {
		return p
	}
	for i, should := range owners {
		do := step{weburl.Partition(i), m.holdings[i].revision}
		mine, has := m.owner(do.partition, should, working) == m.self, m.had[do.partition]
		switch {
		case has && !mine:
			p.give = append(p.give, do)
		case !has && !mine && m.holdings[i].Run == m.run:
			p.release = append(p.release, do)
		case !has && mine && m.free(m.holdings[i]):
			p.take = append(p.take, do)
			p.forget = slices.DeleteFunc(p.forget, func(q weburl.Partition) bool { return q == do.partition })
		}
	}
	return p
}

// toFollow returns the partitions whose logs to follow now, those that the node should have first, and the
// partitions to forget. The node follows others that it has until enough nodes have them. owners are the nodes that
// should have the partitions, among the working nodes.
func (m *members) toFollow(owners, working []string, now time.Time) (follow, forget []weburl.Partition) {
	keepers := m.keepers(now)
	later := m.layout.owners(len(m.holdings), keepers)
	var others []weburl.Partition
	for p := range weburl.Partition(len(m.holdings)) {
		can := func(name string) bool { return m.can(name, p) }
		cannot := func(name string) bool { return !m.can(name, p) }
		copies := keepers
		if m.copies > 0 {
			copies = m.keepersOf(p, later[p], keepers)
		}
		should := owners[p] == m.self
		switch {
		case m.had[p]:
		case m.copies == 0 || slices.Contains(copies, m.self) || should && !slices.ContainsFunc(working, can):
			if now.Before(m.lacking[p].again) {
				continue
			}
			if should {
				follow = append(follow, p)
			} else {
				others = append(others, p)
			}
		case !slices.ContainsFunc(copies, cannot):
			forget = append(forget, p)
		case m.followed[p]:
			others = append(others, p)
		}
	}
	return append(follow, others...), forget
}

// mostAsked is the number of fully followed logs that a node checks for news at once. So a node asks the servers
// equally often, however many partitions it follows.
const mostAsked = 64

// inTurn returns which of some partitions to follow now: all whose logs it has not followed to their ends yet, and
// those of the others whose turn it is.
func (m *members) inTurn(all []weburl.Partition) (now []weburl.Partition) {
	var atEnd []weburl.Partition
	for _, p := range all {
		if m.followed[p] {
			atEnd = append(atEnd, p)
		} else {
			now = append(now, p)
		}
	}
	slices.Sort(atEnd)
	next, _ := slices.BinarySearch(atEnd, m.turn+1)
	for i := range min(mostAsked, len(atEnd)) {
		m.turn = atEnd[(next+i)%len(atEnd)]
		now = append(now, m.turn)
	}
	return now
}

// keepers returns the nodes that may have copies. One that has just ended counts, because it may only be
// restarting.
func (m *members) keepers(now time.Time) []string {
	all := []string{m.self}
	for name, other := range m.others {
		if !other.Ended || now.Sub(other.Since) < restart*m.lease {
			all = append(all, name)
		}
	}
	return m.layout.working(all)
}

// restart is how many leases other nodes wait for an ended node before they copy what it has.
const restart = 6

// keepersOf returns the nodes that must have a partition: the one that should crawl it, and those with the highest
// scores. A node that cannot load the partition is replaced by another.
func (m *members) keepersOf(p weburl.Partition, should string, keepers []string) []string {
	of := []string{should}
	for _, name := range byScore(p, keepers) {
		if name != should {
			of = append(of, name)
		}
	}
	lacks := func(l Lack) bool { return l.Partition == p }
	for i, wanted := 0, m.copies; i < len(of); i++ {
		if !slices.ContainsFunc(m.others[of[i]].Lacking, lacks) {
			wanted--
		}
		if wanted == 0 {
			return of[:i+1]
		}
	}
	return of
}

// partitions returns the partitions that the node has, sorted.
func (m *members) partitions() []weburl.Partition { return slices.Sorted(maps.Keys(m.had)) }

// tell sets in a state which partitions the node has, follows and lacks.
func (m *members) tell(s *State) {
	s.Partitions, s.Followed, s.Lacking, s.Late = m.partitions(), nil, nil, m.late
	for _, p := range slices.Sorted(maps.Keys(m.followed)) {
		if !m.had[p] {
			s.Followed = append(s.Followed, p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(m.lacking)) {
		s.Lacking = append(s.Lacking, Lack{p, m.lacking[p].why})
	}
}
