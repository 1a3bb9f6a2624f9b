package crawl

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"freshet/fetch"
	"freshet/frontier"
	"freshet/memory"
	"freshet/seen"
	"freshet/store"
	"freshet/store/warc"
	"freshet/weburl"
)

// Engine crawls. Make one with Open, call Run once, then Close.
type Engine struct {
	opt      Options                 // as Open had them; those that may change are in inForce
	inForce  atomic.Pointer[current] // the options of now
	store    *store.Store
	fetcher  *fetch.Fetcher
	in, out  *fetch.Pace // what all fetches together may read and write
	discover discovering
	robots   *robotsRules
	obeys    *obedience
	log      *crawlLog
	inFlight *inFlight
	tally    *tally

	// writing is held by whoever changes the crawl: the committer for a group of pages, an operator's
	// order. It guards discover and drainTook. Where both are held, writing comes before mu.
	writing   sync.Mutex
	drainTook time.Duration // by the clock: the last drain that was due
	mu        sync.Mutex    // guards front
	front     *frontier.Frontier

	wake    chan struct{} // one token: the frontier may have something now
	hungry  chan struct{} // one token: nothing is queued, decide the waiting links now
	fleet   *fleetGate
	plan    plan
	budget  *memory.Budget
	bodies  *memory.Account // of responses, until they are processed
	pages   *memory.Account // of what becomes of them, until it is stored
	fetched chan *visit     // fetched, to be processed
	done    chan *visit     // processed, to be committed

	handedOut atomic.Int64 // pages and robots.txt between Next and their commit
	undecided atomic.Bool  // links wait for the seen test
	starved   atomic.Bool  // no page may be fetched now
	paused    atomic.Bool  // by an operator: nothing is handed out
	short     atomic.Bool  // there is too little disk space to go on
	canceled  atomic.Bool  // a request was given up: its host's gate does not know of it

	keeper     keeper
	refresher  *refresher // nil: pages are fetched once
	reordering *reordering
	pings      *meter
	ran        bool // Run has been called

	fault  sync.Once
	err    error       // what ended the crawl early; set once, before broken
	broken atomic.Bool // nothing more may be written
	cancel context.CancelFunc
	alive  atomic.Int64 // time of the last heartbeat in unix nanoseconds, 0 before the first
}

// Open opens the data directory and brings back the crawl in it, or begins one. It errs if an option
// is wrong, if there is nothing to crawl, and as store.Open does.
func Open(opt Options) (*Engine, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		opt:    opt,
		in:     fetch.Uncapped(),
		out:    fetch.Uncapped(),
		tally:  newTally(),
		wake:   make(chan struct{}, 1),
		hungry: make(chan struct{}, 1),
		done:   make(chan *visit, groupPages),
		keeper: keeper{purge: make(chan struct{}, 1)},
		cancel: func() {},
	}
	if err := e.divide(); err != nil {
		return nil, err
	}
	if e.fleet, err = newGate(e.opt, e.plan.workers); err != nil {
		return nil, err
	}
	e.fetched = make(chan *visit, e.fleet.waiting())
	e.inForce.Store(newCurrent(e.opt))
	if err := e.open(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) open() (err error) {
	asked := e.opt.Fetch
	asked.Clock, asked.UserAgent, asked.MaxBody = e.opt.Clock, e.opt.UserAgent, e.opt.MaxBody
	asked.Memory, asked.MaxIdle = e.bodies, e.plan.idle
	asked.MaxNames, asked.MaxSessions = e.plan.names, min(maxSessions, e.plan.sessions)
	e.in.Follow(asked.In)
	e.out.Follow(asked.Out)
	asked.In, asked.Out = e.in, e.out
	asked.Resolve, asked.AllowPrivate, asked.TLSConfig = e.opt.Resolve, e.opt.AllowPrivate, e.opt.TLSConfig
	e.fetcher, err = fetch.New(asked)
	if err != nil {
		return err
	}
	e.store, err = store.Open(e.opt.Dir, store.Options{
		FS: e.opt.FS, Crawl: e.opt.Crawl, Partitions: e.opt.Partitions, Clock: e.opt.Clock, Logger: e.opt.Logger,
		OnRecord: e.opt.OnRecord, OnPurge: e.forget, Suffixes: e.opt.Suffixes,
		WARC: store.WARCOptions{MaxBytes: e.opt.WARCSize, Info: [][2]string{
			{"software", "Freshet " + e.opt.Version}, {"format", "WARC File Format 1.1"},
			{"http-header-user-agent", e.opt.UserAgent}, {"robots", "obey"},
		}},
	})
	if err != nil {
		return err
	}
	e.front, err = e.current().newFrontier(e.store)
	if err != nil {
		return err
	}
	if e.log, err = openLog(e.opt.FS, e.opt.Dir); err != nil {
		return err
	}
	if e.inFlight, err = openInFlight(e.opt.FS, e.opt.Dir, e.opt.Crawl, e.opt.Logger); err != nil {
		return err
	}
	if err := e.strike(); err != nil {
		return err
	}
	set, err := seen.Open(e.opt.FS.PathJoin(e.opt.Dir, "seen", e.opt.Crawl), seen.Options{
		FS: e.opt.FS, Partitions: e.store.Partitions(), Home: e.store.Home, DrainLinks: drainLinks,
		CacheEntries: seen.CacheEntries(e.opt.Connections), BufferBytes: e.plan.waiting,
		Logger: e.opt.Logger, Cash: e.opt.paysCash(),
	})
	if err != nil {
		return err
	}
	e.reordering = newReordering(e)
	e.robots = newRobotsRules(e.opt.Agent, e.store, e.plan.robots)
	e.obeys = newObedience(e)
	if err := e.startDiscovery(set); err != nil {
		return err
	}
	e.pings = newPings(e.opt.Refresh, e.opt.Clock.Now())
	if err := e.restore(); err != nil || e.opt.Refresh == nil {
		return err
	}
	if e.refresher, err = newRefresher(e, *e.opt.Refresh); err != nil {
		return err
	}
	return e.refresher.remember()
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

// current are the options in force and what follows from them. It is not changed: Reload puts another in
// its place.
type current struct {
	Options
	rules *rulebook
}

func newCurrent(opt Options) *current { return &current{opt, newRulebook(opt.Rules)} }

func (e *Engine) current() *current { return e.inForce.Load() }

// Close gives back what Open took. The crawl goes on from here at the next Open. What was purged without
// a Run it takes off the disk first.
func (e *Engine) Close() error {
	var faults []error
	if e.store != nil && !e.ran && !e.broken.Load() {
		faults = append(faults, e.finishPurges(context.Background()))
	}
	if e.discover.seen != nil {
		faults = append(faults, e.discover.seen.Close())
	}
	if e.store != nil {
		faults = append(faults, e.store.Close())
	}
	if e.fetcher != nil {
		faults = append(faults, e.fetcher.Close())
	}
	if e.inFlight != nil {
		faults = append(faults, e.inFlight.close(!e.broken.Load() || errors.Is(e.err, store.ErrDiskFull)))
	}
	if e.log != nil {
		faults = append(faults, e.log.close())
	}
	return errors.Join(faults...)
}

// Store returns the crawl's store, for reading while it runs.
func (e *Engine) Store() *store.Store { return e.store }

// Run crawls until nothing is left to discover, a limit is reached, or ctx ends; then it waits for
// what is in flight and makes it durable. When hard ends too it gives up what is in flight, which
// loses nothing: those pages are still queued. The error is a disk's or a database's; a site's
// failures are counted, not returned. The summary is valid either way.
func (e *Engine) Run(ctx, hard context.Context) (Summary, error) {
	ctx, e.cancel = context.WithCancel(ctx)
	defer e.cancel()
	e.ran = true
	e.tally.begin(e.opt.Clock.Now(), e.discover.pages.Load())
	var background, workers, committer sync.WaitGroup
	stopTicking := make(chan struct{})
	e.heartbeat(e.opt.Clock.Now()) // from the first request on, however short the run
	e.watchDisk()
	background.Go(func() { e.everySecond(stopTicking, e.tick) })
	keeping, stopKeeping := context.WithCancel(hard)
	defer stopKeeping()
	signal(e.keeper.purge) // what the last run has not come to
	background.Go(func() { e.keep(keeping) })
	background.Go(func() { e.everySecond(stopTicking, e.steerFleet) })
	refreshing, stopRefreshing := context.WithCancel(hard)
	defer stopRefreshing()
	background.Go(func() { e.obeys.run(refreshing) })
	if e.refresher != nil {
		background.Go(func() { e.refresher.run(refreshing) })
		if e.opt.Refresh.Rank > 0 {
			ranks := ranking{refresher: e.refresher}
			background.Go(func() { ranks.run(refreshing) })
		}
	}
	if e.reordering != nil {
		e.reordering.begin(ctx)
		background.Go(func() { e.reordering.run(refreshing) })
	}
	for range e.fleet.control.Workers {
		workers.Go(e.process)
	}
	committer.Go(func() { e.commit(refreshing) })

	e.check(e.rescope(ctx))
	stop := e.dispatch(ctx, hard)

	close(e.fetched) // dispatch has waited for all fetches
	workers.Wait()
	close(e.done)
	committer.Wait()
	close(stopTicking)
	stopKeeping()
	stopRefreshing()
	background.Wait()
	if !e.broken.Load() {
		_ = e.inBackground(hard, "purge", func() error { return e.finishPurges(hard) })
	}
	if e.short.Load() {
		stop = DiskFull
	}
	if e.err != nil {
		stop = failed
		if errors.Is(e.err, store.ErrDiskFull) {
			stop = DiskFull
		}
	}
	e.mu.Lock()
	if e.err == nil && !e.canceled.Load() && e.front.MayStopClean(e.opt.Clock.Now()) {
		e.store.Settle()
	}
	e.mu.Unlock()
	status := e.Status()
	status.StoppedBy = stop
	return status.Summary, e.err
}

// fail ends the crawl because of err.
func (e *Engine) fail(err error) {
	e.fault.Do(func() {
		e.err = err
		e.broken.Store(true)
		e.opt.Logger.Error("crawl stops", "error", err)
		e.cancel()
	})
}

// everySecond does something a second after its last end, until stop.
func (e *Engine) everySecond(stop <-chan struct{}, do func()) {
	ticker := e.opt.Clock.NewTimer(e.opt.Clock.Span(time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		do()
		e.opt.Clock.Reset(ticker, e.opt.Clock.Span(time.Second))
	}
}

// tick writes a heartbeat and takes a look at the counters.
func (e *Engine) tick() {
	now := e.opt.Clock.Now()
	e.heartbeat(now)
	e.tally.tick(now, e.discover.pages.Load())
	e.watchDisk()
	e.log.flush()
}

func (e *Engine) heartbeat(now time.Time) {
	if err := e.store.Heartbeat(now); err != nil {
		e.fail(fmt.Errorf("crawl: heartbeat: %w", err))
		return
	}
	e.alive.Store(now.UnixNano())
}

// readyFor is how old the last heartbeat of a crawl may be that is ready.
const readyFor = 15 * time.Second

// Ready returns why the crawl does not work as it should, or nil if it does.
func (e *Engine) Ready() error {
	switch alive := e.alive.Load(); {
	case e.broken.Load():
		return e.err
	case e.short.Load():
		return errors.New("crawl: the disk is nearly full: free some of it and start again")
	case alive == 0:
		return errors.New("crawl: not begun yet")
	default:
		if age := e.opt.Clock.Now().Sub(time.Unix(0, alive)); age > e.opt.Clock.Span(readyFor) {
			return fmt.Errorf("crawl: the last heartbeat was %s ago: the disk hangs, or the crawl has ended", age.Round(time.Second))
		}
	}
	return nil
}

// Status returns what the crawl is doing. It may be called at any time until Close.
func (e *Engine) Status() Status {
	now := e.opt.Clock.Now()
	var s Status
	e.tally.fill(&s, now)
	e.mu.Lock()
	stats := e.front.Stats()
	bound := e.front.LowerBound(now)
	e.mu.Unlock()
	s.State, s.ClockRate = "crawling", e.opt.Clock.Rate()
	if e.paused.Load() {
		s.State = "paused"
	}
	s.Processing = int(e.handedOut.Load())
	s.Fleet = e.fleet.status()
	s.Connections = s.Fleet.Active
	s.SitesReady, s.SitesWaiting = stats.Ready, stats.Waiting
	s.QueuedNew, s.QueuedDue, s.RobotsWaiting = int64(stats.QueuedNew), int64(stats.QueuedDue), int64(stats.Shelved)
	s.LowerBoundS = bound.Seconds()
	s.Memory = e.budget.Usage()
	s.Sites, s.URLsDiscovered = e.discover.sites.Load(), e.discover.pages.Load()
	if e.refresher != nil {
		s.Refresh = e.refresher.freshness(now)
	}
	if usage, err := e.opt.FS.GetDiskUsage(e.opt.Dir); err == nil {
		s.DiskFreeBytes = int64(usage.AvailBytes)
	}
	s.Forecast = forecast(e.tally.past(now, s.URLsDiscovered), s.QueuedNew+s.QueuedDue, s.LowerBoundS, s.DiskFreeBytes)
	return s
}

// signal leaves a token in a channel of one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// newFrontier returns an empty frontier over a store's queues.
func (c *current) newFrontier(s *store.Store) (*frontier.Frontier, error) {
	return frontier.New(c.frontierOptions(), queues{s})
}

func (c *current) frontierOptions() frontier.Options {
	return frontier.Options{
		Ordering: c.ordering, Delay: c.Delay, AdaptiveDelay: c.AdaptiveDelay, AddressDelay: c.AddressDelay,
		PerConnection: c.PerConnection, DiscoveryShare: c.DiscoveryShare, Manners: c.rules.manners,
	}
}

// queues shows the store's queues to the frontier.
type queues struct{ store *store.Store }

func (q queues) Read(dst []frontier.Entry, site weburl.Site, kind frontier.Kind, after frontier.Key, n int) ([]frontier.Entry, error) {
	entries, err := q.store.ReadQueue(nil, site, storedQueue(kind), store.Key(after), n)
	for _, entry := range entries {
		dst = append(dst, frontierEntry(entry))
	}
	return dst, err
}

func storedQueue(kind frontier.Kind) store.Queue {
	if kind == frontier.KindDue {
		return store.DueQueue
	}
	return store.NewQueue
}

func frontierEntry(e store.Entry) frontier.Entry {
	return frontier.Entry{Key: frontier.Key(e.Key), Fingerprint: e.Fingerprint, Cash: e.Cash}
}

// visit is one page, or one robots.txt, on its way from the frontier to the disk.
type visit struct {
	page     frontier.Page
	url      weburl.URL
	row      store.Page // as it was when the page was handed out
	result   *fetch.Result
	hold     *memory.Holding // what its record, members and links take, until they are stored
	gate     frontier.Gate   // of the host that was asked
	gateHost string          // that host, where it may be another than the page's (robots.txt)
	audit    bool            // asked for without the validators of the copy

	record  store.Record
	members [][]byte
	main    int
	id      warc.ID
	bytes   int64         // of the answer
	links   []weburl.Link // to be offered once the record is durable
	mark    mark          // while it is processed and committed
}
