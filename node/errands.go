package node

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	"freshet/crawl"
	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// One goroutine does the disk work of a shard's seen test, in the order of the shard's requests. A damaged set is
// rebuilt from the page table at once, without involving the shard.

// mostErrands is the maximum number of errands that wait.
const mostErrands = 4

// openSeen opens the shard's seen test.
func (l *loop) openSeen() (*seen.Test, error) {
	_, pays := l.opt.ordering.(frontier.Payer)
	return seen.Open(l.opt.FS.PathJoin(l.opt.Dir, "seen", l.seenName()), seen.Options{
		FS: l.opt.FS, Partitions: l.store.Partitions(), Home: l.store.Home, DrainLinks: drainLinks,
		CacheEntries: l.cacheEntries(), BufferBytes: l.plan.waiting / int64(l.opt.Shards),
		Logger: l.opt.Logger, Cash: pays,
	})
}

// drainLinks is the number of possibly new links that one drain decides if few of them repeat. The new ones are one
// batch of the database. While the batch is applied, each takes about 1,000 bytes as link, verdict, decoded row and
// move. A larger batch saves no processor time. Above half a write buffer the database would keep it as another buffer.
const drainLinks = 2048

// runErrands does errands until there are no more.
func (l *loop) runErrands() {
	for do := range l.errands {
		if !l.broken() {
			do()
		}
	}
}

// drain drains the seen test.
func (l *loop) drain() {
	verdicts, marks, err := l.seen.Drain(nil)
	if errors.Is(err, seen.ErrDamaged) {
		if err = l.mendSeen(); err == nil {
			verdicts, marks, err = l.seen.Drain(nil)
		}
	}
	if err != nil {
		l.fail(fmt.Errorf("crawl: seen test: %w", err))
		return
	}
	l.mail.put(letter{event: crawl.Decided{Verdicts: verdicts, Marks: marks, Durable: l.seen.Marks()}})
}

// keepSeen makes verdicts durable. Their records are stored already, so a damaged set can be rebuilt from the page
// table instead.
func (l *loop) keepSeen() {
	err := l.seen.Keep()
	if errors.Is(err, seen.ErrDamaged) {
		err = l.mendSeen()
	}
	if err != nil {
		l.fail(fmt.Errorf("crawl: keep the seen set: %w", err))
		return
	}
	l.mail.put(letter{event: crawl.Kept{}})
}

// mendSeen rebuilds a damaged set as of the present verdicts.
func (l *loop) mendSeen() error {
	var known crawl.Rebuild
	if !l.ask(func(s *crawl.Shard, _ time.Time) { known = s.Known() }) {
		return errClosed
	}
	l.warnOfRebuild(false)
	return l.fillSeen(known)
}

var errClosed = errors.New("crawl: it is closed")

// rebuild rebuilds the set at the shard's request: at the start, or because the scope has changed.
func (l *loop) rebuild(known crawl.Rebuild, again bool) {
	l.warnOfRebuild(again)
	if err := l.fillSeen(known); err != nil {
		l.fail(err)
		return
	}
	l.mail.put(letter{event: crawl.Rebuilt{}})
}

// warnOfRebuild logs why the set is rebuilt, which takes time.
func (n *Node) warnOfRebuild(scopeChanged bool) {
	switch total, err := n.store.Total(); {
	case n.store.Start().Fresh:
	case scopeChanged && err == nil:
		if pages := total.States[store.StateLive]; pages > 0 {
			n.opt.Logger.Warn(fmt.Sprintf("scope changed: offering the links of %d stored pages again", pages))
		}
	default:
		n.opt.Logger.Warn("the set of seen URLs is lost or behind: it is rebuilt from the page table")
	}
}

// fillSeen rebuilds the set from the page table. It returns the memory that the rebuild took to the system at once;
// otherwise the crawl would hold it for minutes.
func (l *loop) fillSeen(known crawl.Rebuild) error {
	if !l.store.Start().Fresh {
		defer debug.FreeOSMemory()
	}
	marks := make([]seen.Mark, len(known.Partitions))
	for i, p := range known.Partitions {
		marks[i] = seen.Mark{Partition: p, Record: known.Linked[p]}
	}
	var fault error
	if err := l.seen.Rebuild(l.knownPages(known.Partitions, &fault), marks); err != nil {
		return fmt.Errorf("crawl: rebuild the seen set: %w", err)
	}
	return fault
}

// knownPages iterates over all pages of some partitions, as links to them.
func (l *loop) knownPages(of []weburl.Partition, fault *error) iter.Seq[weburl.Link] {
	return func(yield func(weburl.Link) bool) {
		for _, p := range of {
			for row, err := range l.store.Pages(p) {
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
