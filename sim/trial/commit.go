package trial

import (
	"context"
	"slices"
	"time"

	"freshet/crawl"
	"freshet/seen"
	"freshet/store"
	"freshet/store/retain"
)

// append makes a group of records durable.
func (n *node) append(group []crawl.Append) {
	if n.appending {
		n.fail("turns", "a group is to be appended while another is")
	}
	n.appending = true
	for _, a := range group {
		n.trace("< append %s", recordsOf(a))
		n.watch.proposed(n, a)
	}
	if n.plant == "early-ack" && n.crashesSoon() {
		n.disk.lag()
	}
	n.soon(n.took("write"), func() {
		done := n.commit(group)
		n.soon(n.took("written"), func() {
			n.appending = false
			n.watch.acknowledged(n, group)
			n.tell(done)
		})
	})
}

// crashesSoon reports whether a crash is near. Only then is the disk copied, which takes long.
func (n *node) crashesSoon() bool {
	return slices.ContainsFunc(n.c.Faults, func(f Fault) bool {
		return f.Kind == crash && f.At >= n.now && f.At < n.now+time.Hour
	})
}

// commit makes the records of a group durable: first those of fetches, then those of turns without a fetch, then
// others.
func (n *node) commit(group []crawl.Append) (done crawl.Appended) {
	done.At = make([]seen.Mark, len(group))
	var fetches []store.Fetch
	var whose []int
	var turns []store.Record
	for i, a := range group {
		rest := a.Records
		if a.Turn != 0 && a.Refused == nil {
			f := store.Fetch{Record: rest[0], Owes: a.Owes}
			if members := n.members(n.turns[a.Turn]); members != nil {
				f.Members = members
			}
			if n.plant == "cash-twice" && a.Owes != nil {
				f.Owes = func(cash, _ float64) float64 { return cash }
			}
			fetches, whose, rest = append(fetches, f), append(whose, i), rest[1:]
		}
		if a.Turn != 0 {
			turns = append(turns, rest...)
		}
	}
	if len(fetches) > 0 {
		moves, err := n.store.CommitPages(fetches)
		n.must(err)
		done.Turns = moves
		for i := range fetches {
			done.At[whose[i]] = seen.Mark{Partition: fetches[i].Partition, Record: fetches[i].Number}
		}
	}
	if len(turns) > 0 {
		moves, err := n.store.Apply(turns...)
		n.must(err)
		done.Turns = append(done.Turns, moves...)
	}
	for _, a := range group {
		switch {
		case a.Turn != 0:
		case a.Purge != nil:
			n.purge(*a.Purge, &done)
		case n.plant == "pause-not-stored" && is[*store.Paused](a.Records[0]):
		case n.plant == "pace-not-stored" && is[*store.Paced](a.Records[0]):
		default:
			moves, err := n.store.Apply(a.Records...)
			n.must(err)
			done.Others = append(done.Others, moves...)
		}
	}
	if n.plant == "place-kept" {
		done.Others = slices.DeleteFunc(done.Others, func(m store.Move) bool {
			return m.To == store.DueQueue && n.draw("kept", int(m.Fingerprint)) < 0.1
		})
	}
	return done
}

func is[R store.Record](r store.Record) bool {
	_, is := r.(R)
	return is
}

// purge takes a target down in the database, and deletes its bytes from disk later.
func (n *node) purge(target store.Target, done *crawl.Appended) {
	before, err := n.store.Total()
	n.must(err)
	if n.plant == "purge-misses" && target.URL.IsZero() {
		target.URL = target.Site.Root() // and no more of it
	}
	moves, err := n.store.BeginPurge(n.clock(), target)
	n.must(err)
	after, err := n.store.Total()
	n.must(err)
	done.Others = append(done.Others, moves...)
	done.Purged += after.States[store.StatePurged] - before.States[store.StatePurged]
	n.soon(10*time.Second, n.finishPurges)
}

// finishPurges deletes the bytes of what was purged from disk.
func (n *node) finishPurges() {
	report, err := retain.FinishPurges(context.Background(), n.store)
	n.must(err)
	if len(report.Targets) > 0 {
		n.trace("purged %v", report.Targets)
		n.watch.bodiesGone(n)
	}
}
