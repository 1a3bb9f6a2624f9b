package trial

import (
	"errors"
	"time"

	"freshet/crawl"
	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/store/warc"
	"freshet/weburl"
)

// node does what a shard orders, in one life.
type node struct {
	*trial
	store    *store.Store
	seen     *seen.Test
	shard    *crawl.Shard
	settings crawl.Settings
	life     int

	inbox []crawl.Event
	wakes bool
	wake  time.Duration
	steps int
	dieAt int // the life ends at that step; 0: it does not

	turns     map[crawl.Turn]*errand
	begun     bool
	over      crawl.Stop
	ending    func() // called when the life is over
	appending bool
	draining  bool
	ranking   int // Sort and Weigh that are under way
	orders    map[uint64]crawl.Order
	number    uint64
	waiting   []*errand // to be processed
	working   int
	full      bool // too many answers wait
	alone     bool // an answer that must be processed alone is being processed
	paid      int  // requests that the budget has not paid for yet
	encoder   *warc.Encoder
}

func newNode(t *trial) *node {
	n := &node{trial: t, life: t.result.Lives, turns: map[crawl.Turn]*errand{}, orders: map[uint64]crawl.Order{}}
	n.encoder = warc.NewEncoder(0)
	return n
}

// soon calls do after a time, in this life.
func (n *node) soon(d time.Duration, do func()) {
	n.after(d, func() {
		if n.trial.node == n {
			do()
		}
	})
}

// open opens the directory and steps the shard until it is ready.
func (n *node) open() {
	n.trace("life %d begins, clock %v", n.life, n.skew)
	var err error
	c := n.watch.crawl
	n.store, err = store.Open("data", store.Options{
		FS: n.disk.fs, Partitions: c.Partitions, CacheBytes: 64 << 10, WARC: store.WARCOptions{Host: "trial"},
	})
	n.must(err)
	n.settings = n.settingsOf(c)
	_, pays := n.settings.Ordering.(frontier.Payer)
	n.seen, err = seen.Open("data/seen", seen.Options{
		FS: n.disk.fs, Partitions: c.Partitions, Home: n.store.Home, CacheEntries: c.CacheEntries,
		BufferLinks: c.BufferLinks, Cash: pays, MaxWait: 100 * time.Millisecond,
	})
	n.must(err)
	n.watch.opened(n)
	n.heartbeat()
	n.shard, err = crawl.New(n.rows(), n.links(), n.settings, n.clock())
	n.must(err)
	n.step()
}

// heartbeat notes from time to time that the crawl is alive. Only its existence matters.
func (n *node) heartbeat() {
	n.must(n.store.Heartbeat(n.clock()))
	n.soon(time.Hour, n.heartbeat)
}

// tell passes an event to the shard. Events that come close together are sometimes passed together.
func (n *node) tell(e crawl.Event) {
	n.inbox = append(n.inbox, e)
	if n.draw("together", n.result.Steps) < 0.2 {
		n.soon(time.Duration(n.draw("later", n.result.Steps)*float64(50*time.Millisecond)), func() {
			if len(n.inbox) > 0 {
				n.step()
			}
		})
		return
	}
	n.step()
}

// step calls the shard and carries out its work.
func (n *node) step() {
	n.steps++
	n.result.Steps++
	if n.steps == n.dieAt {
		n.trace("crash while it starts")
		n.crash(time.Second)
		return
	}
	events := n.inbox
	n.inbox = nil
	for _, e := range events {
		n.trace("> %s", described(e))
	}
	work, err := n.shard.Step(n.clock(), events...)
	n.must(err)
	n.wakes = !work.Wake.IsZero()
	n.wake = work.Wake.Sub(epoch) - n.skew
	n.do(work)
	if n.trial.node == n {
		n.watch.stepped(n)
	}
}

// do carries out work. Its results reach the shard later.
func (n *node) do(w crawl.Work) {
	for _, r := range w.Replies {
		n.replied(r)
	}
	for _, l := range w.Leaves {
		n.leave(l)
	}
	for _, f := range w.Fetches {
		n.fetch(f)
	}
	for _, p := range w.Process {
		n.process(p)
	}
	if len(w.Append) > 0 {
		n.append(w.Append)
	}
	if w.Drain {
		n.drain()
	}
	if w.Keep {
		n.trace("< keep")
		n.soon(n.took("keep"), func() {
			n.must(n.seen.Keep())
			n.soon(n.took("kept"), func() { n.draining = false; n.tell(crawl.Kept{}) })
		})
	}
	if w.Rebuild != nil {
		n.rebuild(w.Rebuild)
	}
	if len(w.Weigh) > 0 {
		n.weigh(w.Weigh)
	}
	if w.Sort {
		n.sort()
	}
	for _, turn := range w.Done {
		n.done(turn)
	}
	if w.Ready && !n.begun {
		n.begin()
	}
	if w.Over != "" {
		n.end(w.Over)
	}
}

// took returns how long the disk takes for an operation.
func (n *node) took(what string) time.Duration {
	d := n.c.Crawl.AppendTook
	if n.watch.slowDisk > 0 {
		d = 20 * time.Second
	}
	return n.some(d, what, n.result.Steps)
}

// begin allows turns to be handed out.
func (n *node) begin() {
	n.begun = true
	n.dieAt = 0
	n.trace("ready")
	n.watch.ready(n)
	if struck := n.watch.struck; len(struck) > 0 {
		n.watch.struck = nil
		n.order(crawl.Strike{Pages: struck})
	}
	n.inbox = append(n.inbox, crawl.Begin{})
	n.tell(crawl.Room{Turns: n.room()})
	n.soon(time.Second, func() {
		n.finishPurges()
		if n.calm {
			n.lift()
		}
	})
}

// end ends the life cleanly.
func (n *node) end(why crawl.Stop) {
	n.trace("over: %s", why)
	n.over = why
	n.watch.over(n, why)
	if n.shard.MayStopClean(n.clock()) {
		n.store.Settle()
		n.watch.stopped(true)
	} else {
		n.watch.stopped(false)
	}
	n.finishPurges()
	after := n.ending
	n.close()
	n.trial.node = nil
	switch {
	case after != nil:
		after()
	case n.rested():
		n.ended = true
	default: // it had nothing more to do: it is started again
		n.trial.after(n.some(4*time.Hour, "idle", n.life), n.trial.start)
	}
}

// close closes what is open.
func (n *node) close() {
	if n.shard != nil {
		n.shard.Close()
		n.shard = nil
	}
	if n.seen != nil {
		err := n.seen.Close()
		n.seen = nil
		n.must(err)
	}
	if n.store != nil {
		err := n.store.Close()
		n.store = nil
		n.must(err)
	}
}

// stop stops the crawl.
func (n *node) stop(after func()) {
	if n.ending != nil {
		then := n.ending
		n.ending = func() { after(); then() }
		return
	}
	n.trace("asked to stop")
	n.ending = after
	if !n.begun { // the program waits until it can stop
		n.soon(time.Second, func() { n.ending = nil; n.stop(after) })
		return
	}
	n.tell(crawl.End{Reason: crawl.Signal})
	if n.c.Crawl.CancelAtStop {
		n.soon(3*time.Second, n.cancel)
	}
	n.soon(patience, func() { n.fail("ends", "asked to stop %v ago, the crawl has not", patience) })
}

// crash ends the life with a crash.
func (n *node) crash(down time.Duration) {
	n.watch.crashed(n)
	n.disk.crash()
	old := *n
	n.trial.node = nil
	func() {
		defer func() { _ = recover() }() // its disk is gone
		old.close()
	}()
	n.trial.after(down, n.trial.start)
}

func (n *node) timeOf(at time.Duration) time.Time { return epoch.Add(at + n.skew) }

// pages returns all rows.
func (n *node) pages() (all []store.PageAt) {
	for p := range weburl.Partition(n.store.Partitions()) {
		for page, err := range n.store.Pages(p) {
			n.must(err)
			all = append(all, page)
		}
	}
	return all
}

// done forgets a turn.
func (n *node) done(turn crawl.Turn) {
	e := n.turns[turn]
	n.trace("< done %d", turn)
	if e != nil && e.process.Turn != 0 && !e.appended {
		n.fail("turns", "turn %d of %s is over and its record is not durable", turn, e.Page)
	}
	delete(n.turns, turn)
}

// order gives the shard an order.
func (n *node) order(o crawl.Order) {
	n.number++
	n.orders[n.number] = o
	n.trace("order %d: %s", n.number, describedOrder(o))
	n.watch.ordered(n, o)
	n.tell(crawl.Ordered{Number: n.number, Order: o})
}

func (n *node) replied(r crawl.Reply) {
	o := n.orders[r.Number]
	if o == nil {
		n.fail("orders", "reply %d answers no order", r.Number)
	}
	delete(n.orders, r.Number)
	n.trace("< reply %d: %d pages, %d refused, %v", r.Number, r.Count, len(r.Refused), r.Err)
	if r.Err != nil && !errors.Is(r.Err, crawl.ErrUnknown) && !errors.Is(r.Err, crawl.ErrOrder) {
		n.must(r.Err)
	}
	n.watch.replied(n, o, r)
}
