package node

import (
	"fmt"
	"strconv"
	"time"

	"freshet/crawl"
	"freshet/seen"
	"freshet/store"
)

// group is a group of a shard's records that become durable together, with their visits and the result.
type group struct {
	mail    *mailbox // of the loop whose records they are
	appends []crawl.Append
	visits  []*visit // nil for records without a visit
	done    crawl.Appended
}

// groupBytes is the maximum size of a group if memory allows.
const groupBytes = 32 << 20

// commit makes all waiting groups durable together. After a fault it only empties its queue.
func (n *Node) commit() {
	var last time.Time // when shards were last told that groups are durable
	for g := range n.groups {
		groups := n.waiting(g)
		if n.broken() {
			continue
		}
		if err := n.keepGroups(groups); err != nil {
			n.fail(err)
			continue
		}
		n.gather(groups, last)
		last = n.opt.Clock.Now()
		for _, g := range groups {
			for i := range g.appends {
				n.logAppend(&g.appends[i], g.visits[i])
			}
			g.mail.put(letter{event: g.done})
		}
	}
}

// In a cluster a group costs messages between servers, a sync on each and a batch of each follower's database, for
// every partition in it, however small it is. A shard gathers the next group until it is told that the last one is
// durable. So it is told at most once in groupPace of machine time, unless it has enough for a group before.
const (
	groupPace = 100 * time.Millisecond
	enough    = 128 // records of a group
)

// gather waits until groupPace has passed since the shards were last told of durable groups. It does not wait after
// groups without a visit or with many records, if no other visit is under way, or while somebody waits for an order.
func (n *Node) gather(groups []*group, last time.Time) {
	visits, records := int64(0), 0
	for _, g := range groups {
		for i, a := range g.appends {
			records += len(a.Records)
			if g.visits[i] != nil {
				visits++
			}
		}
	}
	wait := n.opt.Clock.Span(groupPace) - n.opt.Clock.Now().Sub(last)
	switch {
	case n.opt.Cluster == nil, visits == 0, records >= enough, n.visiting.Load() <= visits, wait <= 0, n.awaited.Load() > 0:
		return
	}
	timer := n.opt.Clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-n.hurry:
	case <-n.quit:
	}
}

// waiting returns the first group, and those that wait behind it.
func (n *Node) waiting(first *group) []*group {
	groups := []*group{first}
	for {
		select {
		case g, open := <-n.groups:
			if !open {
				return groups
			}
			groups = append(groups, g)
		default:
			return groups
		}
	}
}

// keepGroups makes groups durable: first fetches, then other records of turns, then records of changes.
func (n *Node) keepGroups(groups []*group) error {
	var fetches []store.Fetch
	var marks []*seen.Mark // of the fetches
	var turns, changes []store.Record
	for _, g := range groups {
		g.done.At = make([]seen.Mark, len(g.appends))
		for i := range g.appends {
			a := &g.appends[i]
			rest := a.Records
			if a.Turn == 0 {
				changes = append(changes, rest...)
				continue
			}
			if a.Refused == nil {
				fetch := store.Fetch{Record: rest[0], Owes: a.Owes}
				if v := g.visits[i]; v != nil { // else another shard made the request
					fetch.Members, fetch.Main, fetch.ID = v.members, v.main, v.id
				}
				fetches = append(fetches, fetch)
				marks = append(marks, &g.done.At[i])
				rest = rest[1:]
			}
			turns = append(turns, rest...)
		}
	}
	if len(fetches) > 0 {
		moves, err := n.store.CommitPages(fetches)
		if err != nil {
			return fmt.Errorf("crawl: commit %d pages: %w", len(fetches), err)
		}
		n.share(groups, moves, func(g *group) *[]store.Move { return &g.done.Turns })
	}
	for i, f := range fetches {
		*marks[i] = seen.Mark{Partition: f.Partition, Record: f.Number}
	}
	moves, err := n.apply(turns)
	if err != nil {
		return err
	}
	n.share(groups, moves, func(g *group) *[]store.Move { return &g.done.Turns })
	if moves, err = n.apply(changes); err != nil {
		return err
	}
	n.share(groups, moves, func(g *group) *[]store.Move { return &g.done.Others })
	for _, g := range groups {
		if err := n.purgeOf(g); err != nil {
			return err
		}
	}
	return nil
}

// share adds each move to the group whose shard owns the page.
func (n *Node) share(groups []*group, moves []store.Move, to func(*group) *[]store.Move) {
	if len(groups) == 1 {
		all := to(groups[0])
		*all = append(*all, moves...)
		return
	}
	for _, m := range moves {
		owner := &n.owner(m.Site).mail
		for _, g := range groups {
			if g.mail == owner {
				all := to(g)
				*all = append(*all, m)
			}
		}
	}
}

// purgeOf carries out the purges among the group's orders.
func (n *Node) purgeOf(g *group) error {
	for i := range g.appends {
		target := g.appends[i].Purge
		if target == nil {
			continue
		}
		moves, pages, err := n.takeDown(*target)
		if err != nil {
			return err
		}
		g.done.Others = append(g.done.Others, moves...)
		g.done.Purged += pages
	}
	return nil
}

// apply stores records without captures, and returns the moves that they caused.
func (n *Node) apply(records []store.Record) ([]store.Move, error) {
	if len(records) == 0 {
		return nil, nil
	}
	moves, err := n.store.Apply(records...)
	if err != nil {
		return nil, fmt.Errorf("crawl: store %d records: %w", len(records), err)
	}
	return moves, nil
}

// takeDown purges a target in the database and leaves its files to the keeper. It returns the number of pages that it
// took down.
func (n *Node) takeDown(target store.Target) (moves []store.Move, pages int64, err error) {
	before, err := n.store.Total()
	if err != nil {
		return nil, 0, err
	}
	if moves, err = n.store.BeginPurge(n.opt.Clock.Now(), target); err != nil {
		return nil, 0, fmt.Errorf("crawl: purge %s: %w", target, err)
	}
	after, err := n.store.Total()
	return moves, after.States[store.StatePurged] - before.States[store.StatePurged], err
}

// logAppend logs the stored records of a turn.
func (n *Node) logAppend(a *crawl.Append, v *visit) {
	var line logLine
	switch {
	case a.Refused != nil:
		record := a.Records[0].(*store.Refused)
		line = lineOf(a.Refused.URL.String(), a.Refused)
		line.at, line.status = time.Unix(0, record.At), "refused"
		line.annotations = append(line.annotations, record.Reason)
	case v != nil:
		r := v.result
		line = lineOf(v.fetch.Page.String(), &v.process.Row)
		line.at, line.bytes, line.took = r.Started, v.bytes, r.Total
		line.status = strconv.Itoa(r.Status)
		if r.Status == 0 {
			line.status = r.Outcome.String()
		}
		if record, ok := a.Records[0].(*store.Fetched); ok {
			line.ofPage(record, r.Reused)
		} else {
			line.rel = "robots"
		}
	default:
		return
	}
	n.log.write(line)
}

func lineOf(url string, row *store.Page) logLine {
	line := logLine{url: url, depth: int(row.Depth), rel: row.Rel.String()}
	if row.Via != 0 {
		line.via = row.Via.String()
	}
	return line
}

// ofPage fills in the fields from the record of a page.
func (l *logLine) ofPage(record *store.Fetched, reused bool) {
	l.contentType = record.ContentType
	l.digest = fmt.Sprintf("%x", record.BodyDigest[:6])
	annotate := func(when bool, word string) {
		if when {
			l.annotations = append(l.annotations, word)
		}
	}
	annotate(record.Truncated != "", "truncated:"+record.Truncated)
	annotate(record.Revisit, "revisit")
	annotate(record.SoftError, "soft-error")
	annotate(record.RetryAt != 0, "retry")
	annotate(reused, "reused")
}
