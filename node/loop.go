package node

import (
	"sync"
	"time"

	"freshet/crawl"
	"freshet/seen"
)

// A letter reports an event to the loop.
type letter struct {
	event crawl.Event
	reply chan<- crawl.Reply // for the reply to an order; it has room
}

// mailbox holds letters until the loop takes them. put never waits.
type mailbox struct {
	stirred chan struct{} // one token: there may be something to do

	mu      sync.Mutex
	letters []letter
}

func newMailbox() mailbox { return mailbox{stirred: make(chan struct{}, 1)} }

// put adds a letter.
func (m *mailbox) put(l letter) {
	m.mu.Lock()
	m.letters = append(m.letters, l)
	m.mu.Unlock()
	m.stir()
}

// stir wakes the loop without a letter.
func (m *mailbox) stir() { signal(m.stirred) }

// take removes and returns all letters, in order.
func (m *mailbox) take() []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.letters
	m.letters = nil
	return all
}

// A question is put to the shard between two steps. It must be short, because the crawl waits.
type question struct {
	ask      func(s *crawl.Shard, now time.Time)
	answered chan struct{} // closed after the answer
}

// ask puts a question to the shard and waits for the answer. It reports whether there was one; after Close there is
// none.
func (l *loop) ask(do func(s *crawl.Shard, now time.Time)) bool {
	q := question{do, make(chan struct{})}
	select {
	case l.questions <- q:
		<-q.answered
		return true
	case <-l.ended:
		return false
	}
}

// A loop steps a shard and starts the work that it decides. The rest of the node reaches the shard only by letters
// and questions. A loop runs from Open to Close.
type loop struct {
	*Node
	number int // its index among the loops
	shard  *crawl.Shard
	seen   *seen.Test

	mail      mailbox
	questions chan question
	errands   chan func() // the seen test's disk work, in order

	ready chan struct{} // closed when the shard has caught up
	over  chan struct{} // closed when nothing is under way
	stop  crawl.Stop    // why; set before over
	ended chan struct{} // closed when the loop has ended

	visits  map[crawl.Turn]*visit         // of turns with a request
	leaves  map[crawl.Turn]chan<- bool    // for the answers to Resolved
	replies map[uint64]chan<- crawl.Reply // to orders
	waiting []*visit                      // to be processed, while the queue is full
	asking  int                           // requests that have not ended
	room    int                           // last Room reported to the shard
	wake    time.Time                     // when to step if nothing happens; zero: never
	caught  bool                          // up with the records
	done    bool                          // nothing is under way

	weights []float64 // result of the last weighing
	ranked  ranked    // result of the last sorting
}

func newLoop(n *Node, number int) *loop {
	return &loop{
		Node: n, number: number, mail: newMailbox(), questions: make(chan question), errands: make(chan func(), mostErrands),
		ready: make(chan struct{}), over: make(chan struct{}), ended: make(chan struct{}),
		visits: map[crawl.Turn]*visit{}, leaves: map[crawl.Turn]chan<- bool{}, replies: map[uint64]chan<- crawl.Reply{},
	}
}

// open opens the seen test and makes the shard.
func (l *loop) open() (err error) {
	if l.seen, err = l.openSeen(); err != nil {
		return err
	}
	l.shard, err = crawl.New(l.store, l.seen, l.settings(), l.opt.Clock.Now())
	return err
}

// run steps the shard after events and at the times that the shard set, until quit.
func (l *loop) run() {
	defer close(l.ended)
	defer l.end()
	timer := l.opt.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.step()
		wait := time.Hour
		if !l.wake.IsZero() {
			wait = max(0, l.wake.Sub(l.opt.Clock.Now()))
		}
		l.opt.Clock.Reset(timer, wait)
		if !l.rest(timer.C) {
			return
		}
	}
}

// rest waits for the next step. Meanwhile it answers questions and hands waiting visits to workers. It returns
// false if the loop must end.
func (l *loop) rest(timer <-chan time.Time) bool {
	for {
		var workers chan<- *visit
		var next *visit
		if len(l.waiting) > 0 {
			workers, next = l.fetched, l.waiting[0]
		}
		select {
		case <-l.mail.stirred:
			return true
		case <-timer:
			return true
		case q := <-l.questions:
			q.ask(l.shard, l.opt.Clock.Now())
			close(q.answered)
		case workers <- next:
			l.waiting = l.waiting[1:]
		case <-l.quit:
			return false
		}
	}
}

// end ends the work that belongs to the loop alone.
func (l *loop) end() {
	l.shard.Close()
	close(l.errands)
}

// step reports events to the shard and starts the work that it decides. After a fault it only waits for work under way,
// and stores nothing.
func (l *loop) step() {
	events := l.read(l.mail.take())
	if l.broken() {
		l.wake, l.waiting = time.Time{}, nil
		if l.asking == 0 {
			l.finish(crawl.Failed)
		}
		return
	}
	if room := l.shares.begin(l.number, l.held(), l.limits()); room != l.room {
		l.room = room
		events = append(events, crawl.Room{Turns: room})
	}
	work, err := l.shard.Step(l.opt.Clock.Now(), events...)
	if err != nil {
		l.fail(err)
		return
	}
	l.carryOut(work)
	l.giveBack()
	l.wake = work.Wake
	l.fleet.look()
	if work.Ready && !l.caught {
		l.caught = true
		close(l.ready)
	}
	if work.Over != "" {
		l.finish(work.Over)
	}
}

// finish reports to Run that nothing is under way.
func (l *loop) finish(why crawl.Stop) {
	if !l.done {
		l.done, l.stop = true, why
		close(l.over)
	}
}

// read returns the events of letters, after recording what concerns the node.
func (l *loop) read(letters []letter) []crawl.Event {
	events := make([]crawl.Event, 0, len(letters)+1)
	for _, letter := range letters {
		switch e := letter.event.(type) {
		case crawl.Ended:
			if v, ok := l.visits[e.Turn]; ok { // after a fault the shard may not have answered
				l.asked(v)
			}
		case crawl.Ordered:
			l.replies[e.Number] = letter.reply
		}
		events = append(events, letter.event)
	}
	return events
}

// asked records the end of a request.
func (l *loop) asked(v *visit) {
	if v.asking {
		v.asking = false
		l.asking--
	}
}

// carryOut starts the work that the shard decided.
func (l *loop) carryOut(work crawl.Work) {
	for _, f := range work.Fetches {
		l.beginFetch(f)
	}
	for _, a := range work.Leaves {
		if !a.Granted {
			l.asked(l.visits[a.Turn])
		}
		l.leaves[a.Turn] <- a.Granted
		delete(l.leaves, a.Turn)
	}
	for _, p := range work.Process {
		v := l.visits[p.Turn]
		v.process = p
		l.waiting = append(l.waiting, v)
	}
	if len(work.Append) > 0 {
		l.groups <- l.groupOf(work.Append)
	}
	if work.Rebuild != nil {
		again := l.caught
		l.errands <- func() { l.rebuild(*work.Rebuild, again) }
	}
	if work.Keep {
		l.errands <- l.keepSeen
	}
	if work.Drain {
		l.errands <- l.drain
	}
	if len(work.Weigh) > 0 {
		l.jobs.Go(func() { l.weigh(work.Weigh) })
	}
	if work.Reweigh {
		l.jobs.Go(l.reweigh)
	}
	if work.Sort {
		l.jobs.Go(l.sort)
	}
	for _, r := range work.Replies {
		l.replies[r.Number] <- r
		delete(l.replies, r.Number)
	}
	for _, u := range work.AskRobots {
		l.jobs.Go(func() { l.askRobots(u) })
	}
	for _, parcel := range work.Parcels {
		l.send(parcel)
	}
	for _, receipt := range work.Receipts {
		l.acknowledge(receipt)
	}
	l.letGo(work.Done)
}

// beginFetch starts a fetch.
func (l *loop) beginFetch(f crawl.Fetch) {
	v := &visit{mail: &l.mail, fetch: f, asking: true}
	l.visits[f.Turn] = v
	l.visiting.Add(1)
	l.asking++
	leave := make(chan bool, 1)
	if f.AskLeave {
		l.leaves[f.Turn] = leave
	}
	l.fleet.started()
	l.fetches.Go(func() { l.fetch(v, leave) })
}

// groupOf returns the records to store, with their captures.
func (l *loop) groupOf(appends []crawl.Append) *group {
	g := &group{mail: &l.mail, appends: appends, visits: make([]*visit, len(appends))}
	for i, a := range appends {
		g.visits[i] = l.visits[a.Turn]
	}
	return g
}

// letGo releases what finished turns hold.
func (l *loop) letGo(turns []crawl.Turn) {
	var marks []mark
	for _, turn := range turns {
		v, ok := l.visits[turn]
		if !ok { // it had no request
			continue
		}
		delete(l.visits, turn)
		l.visiting.Add(-1)
		v.hold.Release()
		marks = append(marks, v.mark)
		if v.processed {
			<-l.backlog
		}
	}
	l.inFlight.end(marks)
}
