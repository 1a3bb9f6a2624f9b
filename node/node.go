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
	"freshet/memory"
	"freshet/store"
)

// Node runs a crawl. It does what shards decide. Make one with Open, call Run once, then Close.
type Node struct {
	opt       Options                 // as given to Open; those that may change are in inForce
	inForce   atomic.Pointer[current] // the current options
	reloading sync.Mutex              // held during a change of options

	store    *store.Store
	fetcher  *fetch.Fetcher
	in, out  *fetch.Pace // limits on what all fetches together read and write
	log      *crawlLog
	inFlight *inFlight
	fleet    *fleetGate
	tally    *tally
	silence  *silence
	keeper   keeper

	plan   plan
	budget *memory.Budget
	bodies *memory.Account // of responses, until they are processed
	pages  *memory.Account // of processed pages, until they are stored

	loops  []*loop        // one per shard
	owners []atomic.Int32 // by partition: index of its shard's loop, or nobody
	shares shares
	moving sync.RWMutex             // locked while a partition is handed over; orders hold a read lock
	orders atomic.Uint64            // number of the last order
	ticks  int                      // so far; used by tick
	grant  atomic.Pointer[granting] // limits of a node of a cluster; nil: none yet
	shared *granting                // last grant given to the shards; used by tick

	fetched chan *visit   // fetched, to be processed; the loops send
	backlog chan struct{} // a token for each processed visit that is not over
	groups  chan *group   // to be stored; the loops send

	fetches sync.WaitGroup
	jobs    sync.WaitGroup // rankings, and questions to other shards
	hands   sync.WaitGroup // workers, committer, errands

	life     context.Context // ends with the crawl's first fault, and with Close
	kill     context.CancelFunc
	fetching context.Context // ends with life, and when work under way is canceled
	giveUp   context.CancelFunc

	visiting atomic.Int64  // visits whose records are not durable yet
	awaited  atomic.Int32  // orders that are waited for
	hurry    chan struct{} // one token: an order is waited for
	quit     chan struct{} // closed by Close: the loops end
	started  bool          // the loops were started
	ran      atomic.Bool   // Run has been called

	fault  sync.Once
	err    error         // why the crawl ended early; set before failed is closed
	failed chan struct{} // closed after a fault: nothing more may be written
	short  atomic.Bool   // there is too little disk space to continue
	alive  atomic.Int64  // time of the last heartbeat in unix nanoseconds, 0 before the first
}

// ErrNothing is returned by Open if there is neither a seed nor a crawl to continue.
var ErrNothing = crawl.ErrNothing

// Open opens the data directory and restores the crawl in it, or begins one. It returns an error if an option is
// wrong or if there is nothing to crawl, and the errors of store.Open.
func Open(opt Options) (*Node, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &Node{
		opt:     opt,
		in:      fetch.Uncapped(),
		out:     fetch.Uncapped(),
		tally:   newTally(),
		keeper:  keeper{purge: make(chan struct{}, 1)},
		backlog: make(chan struct{}, mostBacklog),
		groups:  make(chan *group, opt.Shards),
		hurry:   make(chan struct{}, 1),
		quit:    make(chan struct{}),
		failed:  make(chan struct{}),
	}
	n.silence = newSilence(n.opt.Clock, n.opt.Logger)
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

// mostBacklog is the maximum number of processed visits that wait for the disk; beyond it workers wait. So a slow disk
// delays only workers and fetches.
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
	if n.opt.Cluster != nil {
		asked.MaySend = n.opt.Cluster.Leased
	}
	n.fetcher, err = fetch.New(asked)
	if err != nil {
		return err
	}
	n.store, err = store.Open(n.opt.Dir, store.Options{
		FS: n.opt.FS, Crawl: n.opt.Crawl, Partitions: n.opt.Partitions, Clock: n.opt.Clock, Logger: n.opt.Logger,
		OnRecord: n.opt.OnRecord, OnPurge: n.forget, Suffixes: n.opt.Suffixes, Log: n.clusterLog(), Partial: n.opt.Partial, Segments: n.opt.Segments,
		WARC: store.WARCOptions{MaxBytes: n.opt.WARCSize, Info: [][2]string{
			{"software", "Freshet " + n.opt.Version}, {"format", "WARC File Format 1.1"},
			{"http-header-user-agent", n.opt.UserAgent}, {"robots", "obey"},
		}},
	})
	if err != nil {
		return err
	}
	if err := n.store.CheckAlone(); err != nil {
		return err
	}
	if n.log, err = openLog(n.opt.FS, n.opt.Dir); err != nil {
		return err
	}
	if n.inFlight, err = openInFlight(n.opt.FS, n.opt.Dir, n.opt.Crawl, n.opt.Logger); err != nil {
		return err
	}
	return n.start()
}

// maxSessions is the maximum number of TLS sessions kept for resumption, if there is memory for them.
const maxSessions = 4096

// idlePerFetch is the number of open connections that may wait for their host's next request, per fetch that may be
// under way. With an interval of a second, most hosts of a large crawl wait.
const idlePerFetch = 8

// start starts the shards and their goroutines, and waits until they have caught up with their records.
func (n *Node) start() error {
	if err := n.divideShards(); err != nil {
		return err
	}
	for _, l := range n.loops {
		if err := l.open(); err != nil {
			return err
		}
	}
	for range n.fleet.control.Workers {
		n.hands.Go(n.process)
	}
	n.hands.Go(n.commit)
	n.started = true
	for _, l := range n.loops {
		n.hands.Go(l.runErrands)
		go l.run()
	}
	if err := n.strike(); err != nil {
		return err
	}
	for _, l := range n.loops {
		select {
		case <-l.ready:
		case <-n.failed:
			return n.err
		}
	}
	if n.opt.Shards > 1 && n.opt.Cluster == nil {
		if err := n.join(); err != nil {
			return err
		}
	}
	if start := n.store.Start(); !start.Fresh {
		counts := n.counts()
		n.opt.Logger.Info("goes on", "pages", counts.Known, "sites", counts.Sites, "clean", start.Clean,
			"last_alive", start.LastAlive, "mended", start.Truncated)
	}
	return nil
}

// current is the options in force and what is derived from them. It is never changed: Reload replaces it.
type current struct {
	Options
	rules *rulebook
}

func newCurrent(opt Options) *current { return &current{opt, newRulebook(opt.Rules)} }

func (n *Node) current() *current { return n.inForce.Load() }

// Close releases what Open took. It first finishes purges if Run was not called. The next Open continues the crawl.
func (n *Node) Close() error {
	var faults []error
	if n.store != nil && !n.ran.Load() && !n.broken() {
		faults = append(faults, n.finishPurges(context.Background()))
	}
	n.kill()
	close(n.quit)
	if n.started {
		for _, l := range n.loops {
			<-l.ended
		}
		close(n.fetched)
		close(n.groups)
	}
	n.fetches.Wait()
	n.jobs.Wait()
	n.hands.Wait()
	for _, l := range n.loops {
		if l.seen != nil {
			faults = append(faults, l.seen.Close())
		}
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

// Run crawls until nothing is left to discover, a limit is reached, or ctx ends. Then it waits for the fetches in
// flight and makes them durable. If hard ends too, it cancels them; nothing is lost, because those pages are still
// queued. An error comes from the disk or the database; failures of sites are counted, not returned. The summary is
// valid in any case.
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
	signal(n.keeper.purge) // purges that the last run did not finish
	background.Go(func() { n.keep(keeping) })
	defer context.AfterFunc(hard, n.giveUp)()

	n.watchDisk() // before the first request
	n.tell(crawl.Begin{})
	defer context.AfterFunc(ctx, func() { n.tell(crawl.End{Reason: crawl.Signal}) })()
	for _, l := range n.loops {
		<-l.over
	}

	n.giveUp()
	close(stopTicking)
	stopKeeping()
	background.Wait()
	n.jobs.Wait()
	if !n.broken() {
		_ = n.inBackground(hard, "purge", func() error { return n.finishPurges(hard) })
	}
	stop := n.loops[0].stop
	if n.broken() {
		stop = crawl.Failed
		if errors.Is(n.err, store.ErrDiskFull) {
			stop = crawl.DiskFull
		}
	} else {
		clean := true
		n.each(func(s *crawl.Shard, now time.Time) { clean = clean && s.MayStopClean(now) })
		if clean {
			n.store.Settle()
		}
	}
	status := n.Status()
	status.StoppedBy = stop
	if !n.broken() && status.Pages+status.Requisites == 0 {
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
		n.stir()
	})
}

// broken reports whether writing is no longer allowed.
func (n *Node) broken() bool {
	select {
	case <-n.failed:
		return true
	default:
		return false
	}
}

// everySecond calls do one second after the last call has ended, until stop.
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

// tick writes a heartbeat and reads the counters.
func (n *Node) tick() {
	now := n.opt.Clock.Now()
	n.heartbeat(now)
	n.tally.tick(now, n.look())
	n.shareBudget()
	n.sendAgain()
	n.watchDisk()
	n.silence.look()
	n.log.flush()
}

func (n *Node) heartbeat(now time.Time) {
	if err := n.store.Heartbeat(now); err != nil {
		n.fail(fmt.Errorf("crawl: heartbeat: %w", err))
		return
	}
	n.alive.Store(now.UnixNano())
}

// readyFor is the greatest age of the last heartbeat at which a crawl counts as ready.
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
		if n.opt.Cluster != nil {
			if _, err := n.opt.Cluster.Late(); err != nil {
				return err
			}
		}
		if age := n.opt.Clock.Now().Sub(time.Unix(0, alive)); age > n.opt.Clock.Span(readyFor) {
			return fmt.Errorf("crawl: the last heartbeat was %s ago: the disk hangs, or the crawl has ended",
				age.Round(time.Second))
		}
	}
	return nil
}

// signal puts a token into a channel of capacity one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
