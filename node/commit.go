package node

import (
	"fmt"
	"strconv"
	"time"

	"freshet/crawl"
	"freshet/seen"
	"freshet/store"
)

// group is some records that are made durable at once, and the visits of those that are of one.
type group struct {
	mail    *mailbox // of whose records they are
	appends []crawl.Append
	visits  []*visit // nil: of none
}

// groupBytes is how many bytes a group may have, where there is memory.
const groupBytes = 32 << 20

// commit makes groups durable. After a fault it only empties its queue.
func (n *Node) commit() {
	for g := range n.groups {
		if n.broken() {
			continue
		}
		done, err := n.keepGroup(g)
		if err != nil {
			n.fail(err)
			continue
		}
		for i := range g.appends {
			n.logAppend(&g.appends[i], g.visits[i])
		}
		g.mail.put(letter{event: done})
	}
}

// keepGroup makes a group durable: first what was fetched, then the other records of turns, then those of changes.
func (n *Node) keepGroup(g *group) (done crawl.Appended, err error) {
	done.At = make([]seen.Mark, len(g.appends))
	var fetches []store.Fetch
	var whose []int
	var turns, changes []store.Record
	for i := range g.appends {
		a := &g.appends[i]
		rest := a.Records
		if a.Turn == 0 {
			changes = append(changes, rest...)
			continue
		}
		if a.Refused == nil {
			v := g.visits[i]
			fetches = append(fetches, store.Fetch{Record: rest[0], Members: v.members, Main: v.main, ID: v.id, Owes: a.Owes})
			whose = append(whose, i)
			rest = rest[1:]
		}
		turns = append(turns, rest...)
	}
	if len(fetches) > 0 {
		if done.Turns, err = n.store.CommitPages(fetches); err != nil {
			return done, fmt.Errorf("crawl: commit %d pages: %w", len(fetches), err)
		}
	}
	for i, f := range fetches {
		done.At[whose[i]] = seen.Mark{Partition: f.Partition, Record: f.Number}
	}
	if done.Turns, err = n.apply(done.Turns, turns); err != nil {
		return done, err
	}
	if done.Others, err = n.apply(nil, changes); err != nil {
		return done, err
	}
	for i := range g.appends {
		if target := g.appends[i].Purge; target != nil {
			moves, pages, err := n.takeDown(*target)
			if err != nil {
				return done, err
			}
			done.Others = append(done.Others, moves...)
			done.Purged += pages
		}
	}
	return done, nil
}

// apply stores records without captures, and appends what they did to moves.
func (n *Node) apply(moves []store.Move, records []store.Record) ([]store.Move, error) {
	if len(records) == 0 {
		return moves, nil
	}
	more, err := n.store.Apply(records...)
	if err != nil {
		return moves, fmt.Errorf("crawl: store %d records: %w", len(records), err)
	}
	return append(moves, more...), nil
}

// takeDown purges in the database, and leaves the files to the keeper. It returns how many pages it took down.
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

// logAppend logs what was stored of a turn.
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

// ofPage fills in what the record of a page says.
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
