package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"

	"freshet/allocate"
	"freshet/crawl/share"
	"freshet/refresh"
)

// The limits of the whole crawl (requests, pages, bandwidth) are divided among the nodes at intervals, and soon after a
// node took a partition. The node with the first name divides. It asks all nodes what they want. Then it asks for their
// visits at one threshold after another, until these match the budget (share.Divide). The division is an entry of the
// bucket, written behind the last one. So even two nodes that both divide never give away more than there is.

const divisionKey = "DIVISION"

// division is the entry: what each node has, and which of its runs.
type division map[string]granted

type granted struct {
	Run string `json:"run"`
	share.Grant
}

// question is put to a node. It asks for a report, or for what the node's pages ask for at a threshold.
type question struct {
	Number    uint64  `json:"number"` // of the division: the answers of one come from the same beliefs
	Asker     string  `json:"asker"`
	Horizon   float64 `json:"horizon_s,omitempty"` // 0: a report is wanted
	Threshold uint64  `json:"threshold,omitempty"` // its bits: infinite ones are asked for, too
}

type answer struct {
	Report share.Report    `json:"report,omitzero"`
	Demand allocate.Demand `json:"demand,omitzero"`
}

// sharing is a node's part in divisions.
type sharing struct {
	mu       sync.Mutex
	division division      // the last that is known
	revision uint64        // of its entry; 0: there is none
	obeyed   uint64        // the last that the node was told
	number   uint64        // of the last that this node began
	wanted   chan struct{} // a token: divide soon

	of  question    // the division that bid is for
	bid refresh.Bid // of the node
}

func (c *Cluster) shareSubject(node string) string { return c.options.Cluster + ".share." + node }

// answerShares answers the node that divides.
func (c *Cluster) answerShares(m *nats.Msg) {
	var q question
	if err := json.Unmarshal(m.Data, &q); err != nil {
		c.options.Logger.Error("a question of another node cannot be read", "error", err)
		return
	}
	raw, err := json.Marshal(c.answer(q))
	if err == nil {
		err = c.wire.Publish(m.Reply, raw)
	}
	if err != nil {
		c.options.Logger.Warn("the node that divides the budget is not answered, and will ask again", "error", err)
	}
}

// answer returns what this node wants.
func (c *Cluster) answer(q question) answer {
	if q.Horizon == 0 {
		return answer{Report: c.node.Report()}
	}
	s := &c.sharing
	threshold := q.Threshold
	q.Threshold = 0
	s.mu.Lock()
	bid := s.bid
	if s.of != q {
		bid = nil
	}
	s.mu.Unlock()
	if bid == nil {
		bid = c.node.Bid(q.Horizon)
		s.mu.Lock()
		s.of, s.bid = q, bid
		s.mu.Unlock()
	}
	return answer{Demand: bid(math.Float64frombits(threshold))}
}

// ask puts a question to some nodes, and returns their answers in the same order.
func (c *Cluster) ask(ctx context.Context, nodes []string, q question) ([]answer, error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	answers, errs := make([]answer, len(nodes)), make([]error, len(nodes))
	var all sync.WaitGroup
	for i, name := range nodes {
		if name == c.options.Node {
			answers[i] = c.answer(q)
			continue
		}
		all.Go(func() {
			if err := c.askOne(ctx, name, raw, &answers[i]); err != nil {
				errs[i] = fmt.Errorf("cluster: ask %s for its part of the budget: %w", name, err)
			}
		})
	}
	all.Wait()
	return answers, errors.Join(errs...)
}

// askOne asks a node until it answers or ctx ends. Questions are idempotent.
func (c *Cluster) askOne(ctx context.Context, node string, question []byte, a *answer) error {
	for {
		within, cancel := context.WithTimeout(ctx, c.options.Lease/20)
		m, err := c.wire.RequestWithContext(within, c.shareSubject(node), question)
		cancel()
		if err == nil {
			return json.Unmarshal(m.Data, a)
		}
		if wait := c.options.Clock.Sleep(ctx, tryAgain); wait != nil {
			return err
		}
	}
}

// divideInTurn divides at intervals, and soon after wantDivision. It waits a little then, because a node seldom takes
// one partition alone.
func (c *Cluster) divideInTurn() {
	for c.life.Err() == nil {
		c.divide()
		within, cancel := context.WithTimeout(c.life, c.options.Clock.Machine(c.options.Lease/2))
		select {
		case <-c.sharing.wanted:
			_ = c.options.Clock.Sleep(c.life, c.options.Lease/20)
		case <-within.Done():
		}
		cancel()
	}
}

// wantDivision has this node divide soon, if it is the one that divides.
func (c *Cluster) wantDivision() {
	select {
	case c.sharing.wanted <- struct{}{}:
	default:
	}
}

// divide divides the limits of the crawl if this node is the first.
func (c *Cluster) divide() {
	c.mu.Lock()
	nodes, runs := c.members.working()
	c.mu.Unlock()
	if nodes[0] != c.options.Node {
		return
	}
	if err := c.divideAmong(c.life, nodes, runs); err != nil && c.life.Err() == nil {
		c.options.Logger.Warn("the budget stays divided as it was", "error", err)
	}
}

// divideAmong divides among some nodes.
func (c *Cluster) divideAmong(ctx context.Context, nodes, runs []string) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.Lease)
	defer cancel()
	s := &c.sharing
	s.mu.Lock()
	s.number++
	q := question{Number: s.number, Asker: c.members.run}
	last, revision := s.division, s.revision
	s.mu.Unlock()
	answers, err := c.ask(ctx, nodes, q)
	if err != nil {
		return err
	}
	reports := make([]share.Report, len(nodes))
	for i, a := range answers {
		reports[i] = a.Report
	}
	parts, err := c.agreeOn(ctx, nodes, q, reports)
	if err != nil {
		return err
	}
	next := division{}
	for i, traffic := range share.Traffic(reports) {
		next[nodes[i]] = granted{runs[i], share.Grant{Part: parts[i], Traffic: traffic}}
	}
	c.dividePages(next, last, revision, nodes, runs, reports)
	if maps.Equal(next, last) {
		return nil
	}
	return c.writeDivision(ctx, next, revision)
}

// agreeOn finds the parts of the budget by asking for the visits at one threshold after the other.
func (c *Cluster) agreeOn(ctx context.Context, nodes []string, q question, reports []share.Report) ([]share.Part, error) {
	total := c.node.Total()
	if total.Requests == 0 {
		return make([]share.Part, len(nodes)), nil
	}
	wants, sum := make([]share.Wants, len(nodes)), share.Wants{}
	for i, r := range reports {
		wants[i] = r.Wants
		sum = sum.And(r.Wants)
	}
	total = share.Of(total.Requests, total.Interval, total.Discovery, sum.Pages)
	q.Horizon = total.Horizon
	return share.Divide(total, wants, func(threshold float64) ([]allocate.Demand, error) {
		q := q
		q.Threshold = math.Float64bits(threshold)
		answers, err := c.ask(ctx, nodes, q)
		demands := make([]allocate.Demand, len(answers))
		for i, a := range answers {
			demands[i] = a.Demand
		}
		return demands, err
	})
}

// dividePages sets in a division how many pages each run may store.
func (c *Cluster) dividePages(next, last division, revision uint64, nodes, runs []string, reports []share.Report) {
	most := c.node.MostPages()
	if most == 0 {
		return
	}
	had := make([]int64, len(nodes))
	for i, name := range nodes {
		if g, is := last[name]; is && g.Run == runs[i] {
			had[i] = g.Pages
		}
		if reports[i].Seen == revision || reports[i].Granted > had[i] { // else it may still be told
			had[i] = reports[i].Granted
		}
	}
	pages, over, ok := share.Pages(most, c.options.Partitions, reports, had)
	if !ok { // partitions are on their way
		pages = had
	}
	for i, name := range nodes {
		g := next[name]
		g.Pages, g.Over = pages[i], over
		next[name] = g
	}
}

// writeDivision writes the entry behind the one that the division rests on.
func (c *Cluster) writeDivision(ctx context.Context, d division, behind uint64) error {
	raw, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	revision, err := c.bucket.Update(ctx, divisionKey, raw, behind)
	if isOccupied(err) {
		return nil // another has divided, or an answer was lost: its entry will be seen
	} else if err != nil {
		return fmt.Errorf("cluster: write the division of the budget: %w", err)
	}
	c.seeDivision(d, revision)
	return nil
}

// seeDivision stores the entry.
func (c *Cluster) seeDivision(d division, revision uint64) {
	s := &c.sharing
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision <= s.revision {
		return
	}
	s.division, s.revision = d, revision
}

// obeyDivision passes the node its part in the last division.
func (c *Cluster) obeyDivision() {
	s := &c.sharing
	s.mu.Lock()
	g, is := s.division[c.options.Node]
	revision := s.revision
	news := revision > s.obeyed
	s.obeyed = revision
	s.mu.Unlock()
	if news && is && g.Run == c.members.run {
		c.node.Grant(g.Grant, revision)
	}
}

// working returns the names of the nodes that have not ended, sorted, and their runs.
func (m *members) working() (nodes, runs []string) {
	of := map[string]string{m.self: m.run}
	for name, other := range m.others {
		if !other.Ended {
			of[name] = other.Run
		}
	}
	nodes = slices.Sorted(maps.Keys(of))
	for _, name := range nodes {
		runs = append(runs, of[name])
	}
	return nodes, runs
}
