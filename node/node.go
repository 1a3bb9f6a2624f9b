package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"freshet/crawl"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/memory"
	"freshet/seen"
	"freshet/store"
)

// Node runs a crawl: it does what a shard decides. Make one with Open, call Run once, then Close.
type Node struct {
	opt       Options                 // as Open had them; those that may change are in inForce
	inForce   atomic.Pointer[current] // the options of now
	reloading sync.Mutex              // held by who puts others in force

	store    *store.Store
	seen     *seen.Test
	fetcher  *fetch.Fetcher
	in, out  *fetch.Pace // what all fetches together may read and write
	log      *crawlLog
	inFlight *inFlight
	fleet    *fleetGate
	tally    *tally
	keeper   keeper

	plan   plan
	budget *memory.Budget
	bodies *memory.Account // of responses, until they are processed
	pages  *memory.Account // of what becomes of them, until it is stored

	mail      mailbox       // to the loop
	questions chan question // to the loop
	orders    atomic.Uint64 // the number of the last one

	fetched chan *visit   // fetched, to be processed; the loop sends
	backlog chan struct{} // a token for each visit that is processed and not over
	groups  chan *group   // to be stored; the loop sends
	errands chan func()   // the seen test's work on disk, in order; the loop sends

	fetches sync.WaitGroup
	jobs    sync.WaitGroup // rankings
	weights []float64      // that the last weighing came to: its
	ranked  ranked         // what the last sorting came to: its
	hands   sync.WaitGroup // workers, committer, errands

	life     context.Context // ends with the crawl's first fault, and with Close
	kill     context.CancelFunc
	fetching context.Context // ends with life, and when what is under way is given up
	giveUp   context.CancelFunc

	ready   chan struct{} // closed when the shard has caught up
	over    chan struct{} // closed when nothing is under way any more
	stop    crawl.Stop    // why; set before over
	quit    chan struct{} // closed by Close: the loop ends
	ended   chan struct{} // closed when it has
	started bool          // the loop was
	ran     atomic.Bool   // Run has been called

	fault  sync.Once
	err    error         // what ended the crawl early; set before failed is closed
	failed chan struct{} // closed then: nothing more may be written
	short  atomic.Bool   // there is too little disk space to go on
	alive  atomic.Int64  // time of the last heartbeat in unix nanoseconds, 0 before the first
}

// ErrNothing is returned by Open where there is neither a seed nor a crawl to go on with.
var ErrNothing = crawl.ErrNothing

// Open opens the data directory and brings back the crawl in it, or begins one. It returns an error if an option
// is wrong, if there is nothing to crawl, and as store.Open does.
func Open(opt Options) (*Node, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &Node{
		opt:       opt,
		in:        fetch.Uncapped(),
		out:       fetch.Uncapped(),
		tally:     newTally(),
		keeper:    keeper{purge: make(chan struct{}, 1)},
		mail:      newMailbox(),
		questions: make(chan question),
		backlog:   make(chan struct{}, mostBacklog),
		groups:    make(chan *group, 1),
		errands:   make(chan func(), mostErrands),
		ready:     make(chan struct{}),
		over:      make(chan struct{}),
		quit:      make(chan struct{}),
		ended:     make(chan struct{}),
		failed:    make(chan struct{}),
	}
	if err := n.divide(); err != nil {
		return nil, err
	}
	if n.fleet, err = newGate(n.opt, n.plan.workers); err != nil {
		return nil, err
	}
	n.fetched = make(chan *visit, n.fleet.places())
	n.life, n.kill = context.WithCancel(context.Background())
	n.fetching, n.giveUp = context.WithCancel(n.life)
	n.inForce.Store(newCurrent(n.opt))
	if err := n.open(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// mostBacklog is how many visits may be processed and not over yet, before workers wait: a slow disk then makes
// fetches wait, and nobody else.
const mostBacklog = 256

func (n *Node) open() (err error) {
	asked := n.opt.Fetch
	asked.Clock, asked.UserAgent, asked.MaxBody = n.opt.Clock, n.opt.UserAgent, n.opt.MaxBody
	asked.Memory, asked.MaxIdle = n.bodies, n.plan.idle
	asked.MaxNames, asked.MaxSessions = n.plan.names, min(maxSessions, n.plan.sessions)
	n.in.Follow(asked.In)
	n.out.Follow(asked.Out)
	asked.In, asked.Out = n.in, n.out
	asked.Resolve, asked.AllowPrivate, asked.TLSConfig = n.opt.Resolve, n.opt.AllowPrivate, n.opt.TLSConfig
	n.fetcher, err = fetch.New(asked)
	if err != nil {
		return err
	}
	n.store, err = store.Open(n.opt.Dir, store.Options{
		FS: n.opt.FS, Crawl: n.opt.Crawl, Partitions: n.opt.Partitions, Clock: n.opt.Clock, Logger: n.opt.Logger,
		OnRecord: n.opt.OnRecord, OnPurge: n.forget, Suffixes: n.opt.Suffixes,
		WARC: store.WARCOptions{MaxBytes: n.opt.WARCSize, Info: [][2]string{
			{"software", "Freshet " + n.opt.Version}, {"format", "WARC File Format 1.1"},
			{"http-header-user-agent", n.opt.UserAgent}, {"robots", "obey"},
		}},
	})
	if err != nil {
		return err
	}
	if n.log, err = openLog(n.opt.FS, n.opt.Dir); err != nil {
		return err
	}
	if n.inFlight, err = openInFlight(n.opt.FS, n.opt.Dir, n.opt.Crawl, n.opt.Logger); err != nil {
		return err
	}
	_, pays := n.opt.ordering.(frontier.Payer)
	n.seen, err = seen.Open(n.opt.FS.PathJoin(n.opt.Dir, "seen", n.opt.Crawl), seen.Options{
		FS: n.opt.FS, Partitions: n.store.Partitions(), Home: n.store.Home, DrainLinks: drainLinks,
		CacheEntries: seen.CacheEntries(n.opt.Connections), BufferBytes: n.plan.waiting,
		Logger: n.opt.Logger, Cash: pays,
	})
	if err != nil {
		return err
	}
	return n.start()
}

// drainLinks is how many links that may be new are decided at once, where few of them repeat. What is new of
// them is one batch of the database, and while it is applied each takes some 1,000 bytes, as link, verdict,
// decoded row and move; a larger batch takes no less of the processor's time, and above half a write buffer
// the database would keep it as one more.
const drainLinks = 2048

// maxSessions is how many TLS sessions are kept for resumption, where there is memory for them.
const maxSessions = 4096

// idlePerFetch is how many open connections may wait for their host's next request, for each fetch that
// may be under way: with an interval of a second, most hosts of a large crawl wait.
const idlePerFetch = 8

// start makes the shard and all that works for it, and waits until it has caught up with its records.
func (n *Node) start() error {
	decides, err := crawl.New(n.store, n.seen, n.settings(), n.opt.Clock.Now())
	if err != nil {
		return err
	}
	for range n.fleet.control.Workers {
		n.hands.Go(n.process)
	}
	n.hands.Go(n.commit)
	n.hands.Go(n.runErrands)
	n.started = true
	go newLoop(n, decides).run()
	if err := n.strike(); err != nil {
		return err
	}
	select {
	case <-n.ready:
	case <-n.failed:
		return n.err
	}
	if start := n.store.Start(); !start.Fresh {
		counts := n.counts()
		n.opt.Logger.Info("goes on", "pages", counts.Known, "sites", counts.Sites, "clean", start.Clean,
			"last_alive", start.LastAlive, "mended", start.Truncated)
	}
	return nil
}

// settings returns what the shard decides by.
func (n *Node) settings() crawl.Settings {
	s := n.opt.settings()
	s.Partitions, s.RobotsBytes = n.store.Partitions(), n.plan.robots
	s.OfferBytes, s.GroupBytes = n.plan.waiting/2, n.plan.group
	s.Recalled, s.Second = seen.CacheEntries(n.opt.Connections), n.opt.Clock.Span(time.Second)
	return s
}

// current are the options in force and what follows from them. It is not changed: Reload puts another in
// its place.
type current struct {
	Options
	rules *rulebook
}

func newCurrent(opt Options) *current { return &current{opt, newRulebook(opt.Rules)} }

func (n *Node) current() *current { return n.inForce.Load() }

// Close gives back what Open took. The crawl goes on from here at the next Open. What was purged without
// a Run it takes off the disk first.
func (n *Node) Close() error {
	var faults []error
	if n.store != nil && !n.ran.Load() && !n.broken() {
		faults = append(faults, n.finishPurges(context.Background()))
	}
	n.kill()
	close(n.quit)
	if n.started {
		<-n.ended
	}
	n.fetches.Wait()
	n.jobs.Wait()
	n.hands.Wait()
	if n.seen != nil {
		faults = append(faults, n.seen.Close())
	}
	if n.store != nil {
		faults = append(faults, n.store.Close())
	}
	if n.fetcher != nil {
		faults = append(faults, n.fetcher.Close())
	}
	if n.inFlight != nil {
		faults = append(faults, n.inFlight.close(!n.broken() || errors.Is(n.err, store.ErrDiskFull)))
	}
	if n.log != nil {
		faults = append(faults, n.log.close())
	}
	return errors.Join(faults...)
}

// Store returns the crawl's store, for reading while it runs.
func (n *Node) Store() *store.Store { return n.store }

// Run crawls until nothing is left to discover, a limit is reached, or ctx ends; then it waits for
// what is in flight and makes it durable. When hard ends too it gives up what is in flight, which
// loses nothing: those pages are still queued. The error is a disk's or a database's; a site's
// failures are counted, not returned. The summary is valid either way.
func (n *Node) Run(ctx, hard context.Context) (Summary, error) {
	n.ran.Store(true)
	n.tally.begin(n.opt.Clock.Now(), n.counts().Known)
	n.heartbeat(n.opt.Clock.Now()) // from the first request on, however short the run
	var background sync.WaitGroup
	stopTicking := make(chan struct{})
	background.Go(func() { n.everySecond(stopTicking, n.tick) })
	background.Go(func() { n.everySecond(stopTicking, n.steerFleet) })
	keeping, stopKeeping := context.WithCancel(hard)
	defer stopKeeping()
	signal(n.keeper.purge) // what the last run has not come to
	background.Go(func() { n.keep(keeping) })
	defer context.AfterFunc(hard, n.giveUp)()

	n.mail.put(letter{event: crawl.Begin{}})
	n.watchDisk()
	defer context.AfterFunc(ctx, func() { n.mail.put(letter{event: crawl.End{Reason: crawl.Signal}}) })()
	<-n.over

	n.giveUp()
	close(stopTicking)
	stopKeeping()
	background.Wait()
	n.jobs.Wait()
	if !n.broken() {
		_ = n.inBackground(hard, "purge", func() error { return n.finishPurges(hard) })
	}
	stop := n.stop
	if n.broken() {
		stop = crawl.Failed
		if errors.Is(n.err, store.ErrDiskFull) {
			stop = crawl.DiskFull
		}
	} else {
		n.ask(func(s *crawl.Shard, now time.Time) {
			if s.MayStopClean(now) {
				n.store.Settle()
			}
		})
	}
	status := n.Status()
	status.StoppedBy = stop
	if !n.broken() && status.Pages == 0 {
		var err error
		if status.Trouble, err = n.Trouble(); err != nil {
			return status.Summary, err
		}
	}
	return status.Summary, n.err
}

// fail ends the crawl because of err.
func (n *Node) fail(err error) {
	n.fault.Do(func() {
		n.err = err
		if n.ran.Load() {
			n.opt.Logger.Error("crawl stops", "error", err)
		}
		close(n.failed)
		n.kill()
		n.mail.stir()
	})
}

// broken tells whether nothing more may be written.
func (n *Node) broken() bool {
	select {
	case <-n.failed:
		return true
	default:
		return false
	}
}

// everySecond does something a second after its last end, until stop.
func (n *Node) everySecond(stop <-chan struct{}, do func()) {
	ticker := n.opt.Clock.NewTimer(n.opt.Clock.Span(time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		do()
		n.opt.Clock.Reset(ticker, n.opt.Clock.Span(time.Second))
	}
}

// tick writes a heartbeat and takes a look at the counters.
func (n *Node) tick() {
	now := n.opt.Clock.Now()
	n.heartbeat(now)
	n.tally.tick(now, n.look())
	n.watchDisk()
	n.log.flush()
}

func (n *Node) heartbeat(now time.Time) {
	if err := n.store.Heartbeat(now); err != nil {
		n.fail(fmt.Errorf("crawl: heartbeat: %w", err))
		return
	}
	n.alive.Store(now.UnixNano())
}

// readyFor is how old the last heartbeat of a crawl may be that is ready.
const readyFor = 15 * time.Second

// Ready returns why the crawl does not work as it should, or nil if it does.
func (n *Node) Ready() error {
	switch alive := n.alive.Load(); {
	case n.broken():
		return n.err
	case n.short.Load():
		return errors.New("crawl: the disk is nearly full: free some of it and start again")
	case alive == 0:
		return errors.New("crawl: not begun yet")
	default:
		if age := n.opt.Clock.Now().Sub(time.Unix(0, alive)); age > n.opt.Clock.Span(readyFor) {
			return fmt.Errorf("crawl: the last heartbeat was %s ago: the disk hangs, or the crawl has ended",
				age.Round(time.Second))
		}
	}
	return nil
}

// signal leaves a token in a channel of one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
