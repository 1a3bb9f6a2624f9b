package crawl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/refresh/policies"
	"freshet/store"
	"freshet/weburl"
)

// Refresh says how a crawl keeps its copy fresh.
type Refresh struct {
	// Budget is how many pages are asked for in an interval, at most: new pages, visits, redirect hops,
	// answers 304 and failures alike; not robots.txt. Required.
	Budget   int64
	Interval time.Duration // default 24 h
	Policy   string        // one of policies.Names; default policies.Default
	// Weight is what a second of a page's freshness is worth beside that of others; nil: all alike.
	Weight func(weburl.URL) float64
	// Rank weighs the pages by their importance instead: half of a page's weight is its PageRank over the
	// links that are stored, in the mean over all, half the same for each; a new page weighs as the mean.
	// Ranks are computed anew after so long, and when the pages have doubled. 0: not.
	Rank time.Duration
	// OnVisit hears of every visit to a page that is kept fresh, the first among them: whether the copy is
	// as the page was then, and whether the page is kept fresh further on. It is called from one goroutine.
	OnVisit func(u weburl.URL, at time.Time, copied, kept bool)
}

// withDefaults returns r with its zero fields set.
func (r Refresh) withDefaults() (Refresh, error) {
	setDefault(&r.Interval, 24*time.Hour)
	setDefault(&r.Policy, policies.Default)
	setDefault(&r.Policy, "default")
	if r.Weight == nil {
		r.Weight = func(weburl.URL) float64 { return 1 }
	}
	if r.OnVisit == nil {
		r.OnVisit = func(weburl.URL, time.Time, bool, bool) {}
	}
	if r.Budget < 1 {
		return r, fmt.Errorf("crawl: budget %d: want at least a request an interval", r.Budget)
	}
	if r.Interval < 0 {
		return r, fmt.Errorf("crawl: interval %v is negative", r.Interval)
	}
	if r.Rank < 0 {
		return r, fmt.Errorf("crawl: pages ranked every %v: want a positive duration", r.Rank)
	}
	if _, err := r.newPolicy(); err != nil {
		return r, fmt.Errorf("crawl: %w", err)
	}
	return r, nil
}

func (r Refresh) perSecond() float64 { return float64(r.Budget) / r.Interval.Seconds() }

// newPolicy returns the policy, without pages.
func (r Refresh) newPolicy() (refresh.Policy, error) {
	return policies.New(r.Policy, policies.Setting{
		Budget: r.perSecond(), Interval: r.Interval.Seconds(), Random: rand.New(rand.NewPCG(1, 2)),
	})
}

// A refresher keeps the stored pages fresh: it tells a Keeper what comes of visits, and puts the pages that it
// picks into the due queues. All that takes time (a policy's planning, its learning) happens in its own
// goroutine: the committer only leaves notes. Learning goes in bounded pieces: between two the lock is free,
// notes are read, and pages are picked by what is believed so far.
type refresher struct {
	engine *Engine
	asked  Refresh
	meter  *meter
	notes  chan []note

	// turn guards the policy, where that is not the belief: one that plans all at once holds up who would
	// tell it something, but not who looks. It is taken before mu, and both before Engine.mu.
	turn   sync.Mutex
	policy refresh.Policy

	mu     sync.Mutex        // guards what follows
	belief *refresh.Index    // what is believed of pages; the policy itself where that is an Index
	keeper *keepfresh.Keeper // changed only with turn in hand too
	ids    map[pageKey]refresh.ID
	pages  []refreshed  // by ID
	free   []refresh.ID // of no page

	calibration calibration

	sweep sweep
	known atomic.Pointer[Freshness]
}

// pageKey names a page's row.
type pageKey struct {
	partition   weburl.Partition
	fingerprint weburl.Fingerprint
}

// refreshed is a page that is kept fresh.
type refreshed struct {
	key    pageKey
	url    weburl.URL
	weight float64
	visits int32 // that were planned
}

// A note tells the refresher what came of a page.
type note struct {
	key     pageKey
	row     store.Page // as it is now
	at      time.Time  // of the visit
	outcome refresh.Outcome
	fresh   bool // it was seen complete
	gone    bool // it is no longer kept fresh
	again   bool // its visit failed, and it is asked for again
	claims  []claim
}

// notesKept is how many groups of pages may be committed while the policy plans, before commits wait.
const notesKept = 1024

func newRefresher(e *Engine, asked Refresh) (*refresher, error) {
	policy, err := asked.newPolicy()
	if err != nil {
		return nil, err
	}
	r := &refresher{
		engine: e, asked: asked, policy: policy, notes: make(chan []note, notesKept),
		meter: newMeter(asked.Budget, asked.Interval, e.opt.Clock.Now()),
		ids:   map[pageKey]refresh.ID{},
	}
	if index, ok := policy.(*refresh.Index); ok {
		r.belief = index
		r.keeper = keepfresh.New(gates{e}, r.pace(), ranked{index})
		return r, nil
	}
	r.belief = refresh.NewIndex(refresh.Default())
	r.keeper = keepfresh.New(gates{e}, r.pace(), planned{policy, &r.mu}, r.belief)
	return r, nil
}

// pace returns how far ahead pages are picked.
func (r *refresher) pace() keepfresh.Pace {
	e := r.engine
	return keepfresh.NewPace(r.asked.Budget, r.asked.Interval, e.opt.Clock.Span(lookAhead), e.current().Delay)
}

// ranked asks an Index for what it has ranked: it studies apart from its picks.
type ranked struct{ *refresh.Index }

// Next implements refresh.Policy.
func (p ranked) Next(now float64) (refresh.ID, float64, bool) { return p.Pick(now) }

// planned lets others at what mu guards while a policy plans.
type planned struct {
	refresh.Policy
	mu *sync.Mutex
}

// Next implements refresh.Policy.
func (p planned) Next(now float64) (refresh.ID, float64, bool) {
	p.mu.Unlock()
	defer p.mu.Lock()
	return p.Policy.Next(now)
}

// Limit implements refresh.Limited for a policy that does.
func (p planned) Limit(of func(site string) float64) {
	if limited, ok := p.Policy.(refresh.Limited); ok {
		limited.Limit(of)
	}
}

// gates tells from the frontier when sites may be asked.
type gates struct{ engine *Engine }

// Opens implements keepfresh.Hosts.
func (g gates) Opens(site weburl.Site, now time.Time) (at, busy time.Time) {
	g.engine.mu.Lock()
	defer g.engine.mu.Unlock()
	return g.engine.front.Opens(site, now)
}

// Rate implements keepfresh.Hosts.
func (g gates) Rate(site weburl.Site) float64 {
	g.engine.mu.Lock()
	defer g.engine.mu.Unlock()
	return g.engine.front.Rate(site)
}

// run keeps the pages fresh until ctx ends.
func (r *refresher) run(ctx context.Context) {
	clock := r.engine.opt.Clock
	timer := clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case notes := <-r.notes:
			r.read(notes)
		case <-timer.C:
		}
		r.readAll()
		wake := r.plan()
		clock.Reset(timer, wake)
	}
}

// readAll reads the notes that wait.
func (r *refresher) readAll() {
	for range len(r.notes) {
		r.read(<-r.notes)
	}
}

// leave leaves notes for the refresher. Nothing that it needs may be held: it waits while a thousand
// others are unread.
func (r *refresher) leave(ctx context.Context, notes []note) {
	if r == nil || len(notes) == 0 {
		return
	}
	select {
	case r.notes <- notes:
	case <-ctx.Done():
	}
}

// read tells the policy.
func (r *refresher) read(notes []note) {
	r.turn.Lock()
	r.mu.Lock()
	for i := range notes {
		r.tell(&notes[i])
		r.believe(notes[i].claims)
	}
	r.mu.Unlock()
	r.turn.Unlock()
	for _, n := range notes {
		if n.again {
			continue
		}
		r.asked.OnVisit(n.row.URL, n.at, n.fresh, !n.gone)
	}
}

func (r *refresher) tell(n *note) {
	id, known := r.ids[n.key]
	switch {
	case n.gone && known:
		r.forget(id)
	case n.gone:
	case !known && n.fresh:
		r.enter(n.key, n.row.URL, keepfresh.Seconds(n.at))
	case known && n.again:
		r.keeper.Retrying(id, n.at)
	case known:
		visit := refresh.Visit{At: keepfresh.Seconds(n.at), Outcome: n.outcome}
		if n.outcome != refresh.Unknown {
			r.calibration.add(r.belief.Copy(id, visit.At).Stale, n.outcome == refresh.Changed)
		}
		r.keeper.Visited(id, visit)
	}
}

// enter takes a page in.
func (r *refresher) enter(key pageKey, u weburl.URL, fresh float64) refresh.ID {
	var id refresh.ID
	if n := len(r.free); n > 0 {
		id, r.free = r.free[n-1], r.free[:n-1]
	} else {
		id = refresh.ID(len(r.pages))
		r.pages = append(r.pages, refreshed{})
	}
	weight := math.Max(0, r.asked.Weight(u))
	r.pages[id] = refreshed{key: key, url: u, weight: weight}
	r.ids[key] = id
	page := refresh.Page{Site: string(u.Site()), Path: u.Path(), Weight: weight, Fresh: fresh}
	r.keeper.Enter(id, page)
	return id
}

// forget lets a page go.
func (r *refresher) forget(id refresh.ID) {
	r.keeper.Forget(id, r.engine.opt.Clock.Now())
	delete(r.ids, r.pages[id].key)
	r.pages[id] = refreshed{}
	r.free = append(r.free, id)
}

// takenDown forgets the page or the site that was purged.
func (r *refresher) takenDown(target store.Target) {
	r.turn.Lock()
	defer r.turn.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.pages {
		u := r.pages[id].url
		if !u.IsZero() && (u == target.URL || target.URL.IsZero() && u.Site() == target.Site) {
			r.forget(refresh.ID(id))
		}
	}
}

const (
	lookAhead = 250 * time.Millisecond // of the machine's time: what is picked beforehand
	perStep   = 256                    // picks that are stored at once, at most
	restStep  = 100 * time.Millisecond // of the machine's time: the longest between two looks
)

// plan picks pages, gives them their slots, and returns when to be called again.
func (r *refresher) plan() time.Duration {
	clock := r.engine.opt.Clock
	now := clock.Now()
	rest := clock.Span(restStep)
	if r.engine.broken.Load() || r.engine.paused.Load() {
		return rest
	}
	r.study(now)
	wake := r.give(now)
	r.estimate(now)
	return min(rest, max(wake, 1))
}

// study has the belief take stock of what it was told. In the meantime the crawl goes on.
func (r *refresher) study(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range r.belief.Study(keepfresh.Seconds(now)) {
		r.mu.Unlock()
		r.readAll()
		r.give(r.engine.opt.Clock.Now())
		r.mu.Lock()
	}
}

// breathe lets others at what the lock guards.
func (r *refresher) breathe() {
	r.mu.Unlock()
	r.mu.Lock()
}

// give gives pages their slots, and returns when it can give more.
func (r *refresher) give(now time.Time) time.Duration {
	records, wake := r.pick(now)
	if len(records) == 0 {
		return wake
	}
	err := r.engine.order(func(now time.Time) error { return r.engine.apply(now, records...) })
	if err != nil && !r.engine.broken.Load() {
		r.engine.fail(fmt.Errorf("crawl: refresh: %w", err))
	}
	return wake
}

// pick returns the records of the pages that are to be visited next, and when to pick again.
func (r *refresher) pick(now time.Time) (records []store.Record, wake time.Duration) {
	r.turn.Lock()
	defer r.turn.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keeper.SetPace(r.pace())
	picks, again := r.keeper.Pick(nil, perStep, now)
	for _, pick := range picks {
		page := &r.pages[pick.ID]
		page.visits++
		records = append(records, &store.Planned{
			Partition: page.key.partition, Fingerprint: page.key.fingerprint, Due: pick.Due.UnixNano(),
		})
	}
	if again.IsZero() {
		return records, time.Hour
	}
	return records, again.Sub(now)
}

// noteOf returns what the refresher is told of a visit that was committed, if anything.
func (e *Engine) noteOf(v *visit) (n note, ok bool, err error) {
	n.key = pageKey{e.partition(v.page.Site), v.page.Fingerprint}
	if v.page.Robots {
		return n, false, nil
	}
	if n.row, err = e.store.Page(n.key.partition, n.key.fingerprint); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return n, false, nil
		}
		return n, false, fmt.Errorf("crawl: refresh: page %s: %w", v.page.Fingerprint, err)
	}
	n.at = e.opt.Clock.Now()
	n.claims = e.claimsOf(v.page.Site, v.links, n.at)
	record, fetched := v.record.(*store.Fetched)
	if !fetched || !e.refreshes(&n.row) {
		n.gone = true
		return n, true, nil
	}
	n.at = time.Unix(0, record.At)
	n.fresh = record.Outcome == store.OutcomeNotModified || record.Outcome == store.OutcomeStored && record.Truncated == "" && !record.SoftError
	switch {
	case !n.fresh && record.RetryAt != 0:
		n.again = true
	case n.fresh && n.row.LastChanged == record.At:
		n.outcome = refresh.Changed
	case n.fresh:
		n.outcome = refresh.Unchanged
	}
	return n, true, nil
}

// refreshes tells whether a page is kept fresh: it has a copy that may be served, is of a type that the rules
// refresh, and was not set aside.
func (e *Engine) refreshes(row *store.Page) bool {
	return row.State == store.StateLive && row.Strikes < MaxStrikes && e.current().rules.of(row.URL.Site()).Refresh.Has(row.ContentType)
}
