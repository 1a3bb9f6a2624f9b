package node

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	"freshet/crawl"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// What the seen test does on disk is done by one goroutine, in the order in which the shard asks for it. A set that
// turns out to be damaged is made again from the page table at once: the shard does not hear of it.

// mostErrands is how many errands the shard may ask for beforehand.
const mostErrands = 4

// runErrands does errands until there are no more.
func (n *Node) runErrands() {
	for do := range n.errands {
		if !n.broken() {
			do()
		}
	}
}

// drain has the seen test decide.
func (n *Node) drain() {
	verdicts, marks, err := n.seen.Drain(nil)
	if errors.Is(err, seen.ErrDamaged) {
		if err = n.mendSeen(); err == nil {
			verdicts, marks, err = n.seen.Drain(nil)
		}
	}
	if err != nil {
		n.fail(fmt.Errorf("crawl: seen test: %w", err))
		return
	}
	n.mail.put(letter{event: crawl.Decided{Verdicts: verdicts, Marks: marks, Durable: n.seen.Marks()}})
}

// keepSeen makes durable what was decided. All of that is stored, so that a set which turns out to be
// damaged may be made again from the page table instead.
func (n *Node) keepSeen() {
	err := n.seen.Keep()
	if errors.Is(err, seen.ErrDamaged) {
		err = n.mendSeen()
	}
	if err != nil {
		n.fail(fmt.Errorf("crawl: keep the seen set: %w", err))
		return
	}
	n.mail.put(letter{event: crawl.Kept{}})
}

// mendSeen makes a damaged set again, as of what is decided now.
func (n *Node) mendSeen() error {
	var linked []uint64
	if !n.ask(func(s *crawl.Shard, _ time.Time) { linked = s.Linked() }) {
		return errClosed
	}
	n.warnOfRebuild(false)
	return n.fillSeen(linked)
}

var errClosed = errors.New("crawl: it is closed")

// rebuild makes the set anew as the shard asks for it: again, because the scope has changed, or at the start.
func (n *Node) rebuild(linked []uint64, again bool) {
	n.warnOfRebuild(again)
	if err := n.fillSeen(linked); err != nil {
		n.fail(err)
		return
	}
	n.mail.put(letter{event: crawl.Rebuilt{}})
}

// warnOfRebuild says why the set is made anew, which takes time.
func (n *Node) warnOfRebuild(scopeChanged bool) {
	switch total, err := n.store.Total(); {
	case n.store.Start().Fresh:
	case scopeChanged && err == nil:
		pages := total.States[store.StateLive]
		n.opt.Logger.Warn(fmt.Sprintf("scope changed: offering the links of %d stored pages again", pages))
	default:
		n.opt.Logger.Warn("the set of seen URLs is lost or behind: it is rebuilt from the page table")
	}
}

// fillSeen makes the set anew from the page table. What memory that has taken goes back to the system: the
// crawl would hold it for minutes.
func (n *Node) fillSeen(linked []uint64) error {
	if !n.store.Start().Fresh {
		defer debug.FreeOSMemory()
	}
	marks := make([]seen.Mark, len(linked))
	for p, record := range linked {
		marks[p] = seen.Mark{Partition: weburl.Partition(p), Record: record}
	}
	var fault error
	if err := n.seen.Rebuild(n.knownPages(&fault), marks); err != nil {
		return fmt.Errorf("crawl: rebuild the seen set: %w", err)
	}
	return fault
}

// knownPages iterates over all pages, as links to them.
func (n *Node) knownPages(fault *error) iter.Seq[weburl.Link] {
	return func(yield func(weburl.Link) bool) {
		for p := range n.store.Partitions() {
			for row, err := range n.store.Pages(weburl.Partition(p)) {
				if err != nil {
					*fault = fmt.Errorf("crawl: page table: %w", err)
					return
				}
				if !yield(weburl.Link{URL: row.URL, Fingerprint: row.URL.Fingerprint(), Depth: row.Depth}) {
					return
				}
			}
		}
	}
}
