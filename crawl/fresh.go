package crawl

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

// fresh keeps the stored pages fresh. It reports the outcomes of visits to a Keeper, and plans visits to the pages that
// the Keeper picks. It learns in bounded pieces, one per look. A nil fresh keeps no page.
type fresh struct {
	asked  Refresh
	second time.Duration // as Settings have it
	pacer  *keepfresh.Pacer
	policy refresh.Policy
	belief *refresh.Index // beliefs about pages; the policy itself if that is an Index
	keeper *keepfresh.Keeper

	rows  pageRows
	table table

	past    *past    // stored visits still to be learned; nil: all are learned
	waiting []func() // to be called after it

	study func() (struct{}, bool) // does the next piece of learning; nil: there is none
	stop  func()                  // ends the learning
	last  time.Time               // time of the last look
	wake  time.Time               // time of the next look
	told  bool                    // an outcome or a claim has come since the last look
	stuck bool                    // picks are on their way to the due queues

	calibration calibration
	sums        Beliefs
	wanted      bool      // new sums are requested
	rest        time.Time // no new sums until then
	known       *Freshness

	ranking    ranking
	reweighing reweighing
}

// pageRows are the rows of the pages.
type pageRows interface {
	Page(weburl.Partition, weburl.Fingerprint) (store.Page, error)
}

// The time between looks, in machine time.
const (
	soonLooks = 100 * time.Millisecond // after an outcome or a claim
	restLooks = time.Second            // otherwise
)

func newFresh(asked Refresh, rows pageRows, hosts keepfresh.Hosts, delay, second time.Duration, now time.Time) (*fresh, error) {
	policy, err := asked.newPolicy()
	if err != nil {
		return nil, err
	}
	f := &fresh{
		asked: asked, second: second, policy: policy, pacer: keepfresh.NewPacer(asked.Budget, asked.Interval, now),
		rows: rows, table: newTable(),
	}
	if index, ok := policy.(*refresh.Index); ok {
		f.belief = index
		f.keeper = keepfresh.New(hosts, f.pace(delay), ranked{index})
		return f, nil
	}
	f.belief = refresh.NewIndex(refresh.Default())
	f.keeper = keepfresh.New(hosts, f.pace(delay), policy, f.belief)
	return f, nil
}

// pace returns how far ahead pages are picked.
func (f *fresh) pace(delay time.Duration) keepfresh.Pace {
	return keepfresh.NewPace(f.asked.Budget, f.asked.Interval, f.of(keepfresh.LookAhead), delay)
}

// of converts a machine time to the crawl's time.
func (f *fresh) of(part time.Duration) time.Duration {
	return time.Duration(float64(part) * f.second.Seconds())
}

// setBudget changes the budget and the delay of the crawl.
func (f *fresh) setBudget(budget int64, delay time.Duration, now time.Time) {
	if budget != f.asked.Budget {
		f.asked.Budget = budget
		f.pacer.SetBudget(budget, now)
	}
	f.keeper.SetPace(f.pace(delay))
}

// ranked picks the pages that an Index has ranked, because the Index learns apart from its picks.
type ranked struct{ *refresh.Index }

// Next implements refresh.Policy.
func (p ranked) Next(now float64) (refresh.ID, float64, bool) { return p.Pick(now) }

// hosts reads from the frontier when a site may be requested.
type hosts struct{ shard *Shard }

// enter adds a page to the table and the keeper.
func (f *fresh) enter(key PageKey, u weburl.URL, apart bool, at float64) refresh.ID {
	weight := f.weightOf(u)
	id := f.table.add(key, apart, weight)
	path := u.Path()
	if u.Query() != "" {
		path += "?" // because /a/b?q is in the folder /a/b, which has the name of the page /a/b
	}
	f.keeper.Enter(id, refresh.Page{Site: string(u.Site()), Path: path, Weight: weight, Fresh: at, Apart: apart})
	return id
}

// at returns a function that finds the page with a path, if it is kept fresh. home returns the partition of a site.
func (f *fresh) at(home func(weburl.Site) weburl.Partition) func(site, path string) (refresh.ID, bool) {
	return func(site, path string) (refresh.ID, bool) {
		u, err := weburl.Site(site).Root().Parse(path)
		if err != nil {
			return 0, false
		}
		return f.table.find(PageKey{home(u.Site()), u.Fingerprint()})
	}
}

// forget removes a page.
func (f *fresh) forget(id refresh.ID, now time.Time) {
	f.keeper.Forget(id, now)
	f.table.remove(id)
}

// drop removes a page if it is kept fresh.
func (f *fresh) drop(key PageKey, now time.Time) {
	if f == nil {
		return
	}
	f.then(func() {
		if id, known := f.table.find(key); known {
			f.forget(id, now)
		}
	})
}

// withdrawn removes the pages that records withdraw, because no one requests them any more.
func (f *fresh) withdrawn(records []store.Record, now time.Time) {
	if f == nil {
		return
	}
	for _, r := range records {
		if w, ok := r.(*store.Withdrawn); ok {
			f.drop(PageKey{w.Partition, w.Fingerprint}, now)
		}
	}
}

// dropAll removes the pages for which unwanted returns true. O(pages).
func (f *fresh) dropAll(unwanted func(id refresh.ID, site weburl.Site) bool, now time.Time) {
	if f == nil {
		return
	}
	f.then(func() {
		for id := range f.table.end() {
			if site, kept := f.keeper.Site(id); kept && unwanted(id, site) {
				f.forget(id, now)
			}
		}
	})
}

// claimed records a claim that a page has changed at a time, in a policy's seconds.
func (f *fresh) claimed(page PageKey, source refresh.Source, at float64) {
	if f == nil {
		return
	}
	f.then(func() {
		if id, known := f.table.find(page); known {
			f.told = true
			f.belief.Claim(id, source, at)
		}
	})
}

// claimant returns the source of a claim that the page has changed, or 0 if there is none.
func (f *fresh) claimant(page PageKey) refresh.Source {
	if f == nil {
		return 0
	}
	if id, known := f.table.find(page); known {
		return f.belief.Claimed(id)
	}
	return 0
}

// A visit is the outcome of a page's turn.
type visit struct {
	page    PageKey
	url     weburl.URL
	at      time.Time
	outcome refresh.Outcome
	fresh   bool // the visit saw the whole page
	gone    bool // it is no longer kept fresh
	again   bool // the visit failed and will be retried

	apart bool
}

// visited records the outcome of a turn and calls OnVisit.
func (f *fresh) visited(v visit, now time.Time) {
	f.then(func() { f.tell(v, now) })
	if !v.again {
		f.asked.OnVisit(v.url, v.at, v.fresh, !v.gone)
	}
}

// tell reports the outcome of a turn to the keeper.
func (f *fresh) tell(v visit, now time.Time) {
	f.told = true
	id, known := f.table.find(v.page)
	switch {
	case v.gone && known:
		f.forget(id, now)
	case v.gone:
	case !known && v.fresh:
		f.enter(v.page, v.url, v.apart, keepfresh.Seconds(v.at))
	case known && v.again:
		f.keeper.Retrying(id, v.at)
	case known:
		seen := refresh.Visit{At: keepfresh.Seconds(v.at), Outcome: v.outcome}
		if v.outcome != refresh.Unknown {
			f.calibration.add(f.belief.Copy(id, seen.At).Stale, v.outcome == refresh.Changed)
		}
		f.keeper.Visited(id, seen)
	}
}

// learn does the next piece of learning, and reports whether there is more.
func (f *fresh) learn(now time.Time) (more bool) {
	if f.study == nil {
		pieces := f.belief.Study(keepfresh.Seconds(now))
		f.study, f.stop = iter.Pull(func(yield func(struct{}) bool) {
			for range pieces {
				if !yield(struct{}{}) {
					return
				}
			}
		})
	}
	if _, more = f.study(); !more {
		f.close()
	}
	return more
}

// close ends the learning under way.
func (f *fresh) close() {
	if f != nil && f.stop != nil {
		f.stop()
		f.study, f.stop = nil, nil
	}
}

// pick returns records that plan the next visits, and when to pick again.
func (f *fresh) pick(now time.Time) (records []store.Record, wake time.Time) {
	picks, wake := f.keeper.Pick(nil, keepfresh.PicksAtOnce, now)
	for _, pick := range picks {
		page := &f.table.pages[pick.ID]
		page.planned()
		records = append(records, &store.Planned{
			Partition: page.partition, Fingerprint: page.fingerprint, Due: pick.Due.UnixNano(),
		})
	}
	return records, wake
}

// Opens implements keepfresh.Hosts.
func (h hosts) Opens(site weburl.Site, now time.Time) (at, busy time.Time) {
	return h.shard.front.Opens(site, now)
}

// Rate implements keepfresh.Hosts.
func (h hosts) Rate(site weburl.Site) float64 { return h.shard.front.Rate(site) }

// keepFresh looks after the pages that are kept fresh, if it is time: it learns, picks, and sums up.
func (s *Shard) keepFresh() error {
	f := s.fresh
	if f == nil || s.ending != "" {
		return nil
	}
	if f.past != nil {
		s.wakeAt(s.now)
		return s.rememberSome()
	}
	if !s.begun {
		return nil
	}
	s.rank()
	s.reweigh()
	if soon := f.last.Add(f.of(soonLooks)); f.told && soon.Before(f.wake) {
		f.wake = soon
	}
	if s.paused { // until the order to go on
		return nil
	}
	if s.now.Before(f.wake) {
		s.wakeAt(f.wake)
		return nil
	}
	f.wake, f.last, f.told = s.now.Add(f.of(restLooks)), s.now, false
	if f.learn(s.now) {
		f.wake = s.now
	}
	again, err := s.pick()
	if err != nil {
		return err
	}
	if !again.IsZero() && again.Before(f.wake) {
		f.wake = again
	}
	f.estimate(s.now)
	if least := s.now.Add(time.Millisecond); f.wake.Before(least) && f.study == nil {
		f.wake = least
	}
	s.wakeAt(f.wake)
	return nil
}

// pick proposes the next picks, unless the last ones are not durable yet, and returns when to pick again.
func (s *Shard) pick() (again time.Time, err error) {
	f := s.fresh
	if f.stuck || s.paused || !s.begun {
		return again, nil
	}
	records, again := f.pick(s.now)
	f.stuck = true
	return again, s.propose(records, func() error {
		f.stuck = false
		return nil
	})
}

// learned reports the outcome of a committed turn to the keeper. record is nil if there was no request.
func (s *Shard) learned(t *turn, record *store.Fetched, links []weburl.Link) error {
	f := s.fresh
	if f == nil {
		return nil
	}
	key := s.key(t.page)
	row, err := s.rows.Page(key.Partition, key.Fingerprint)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("crawl: refresh: page %s: %w", t.page.Fingerprint, err)
	}
	f.visited(s.visit(key, &row, record), s.now)
	s.takeClaims(t.page.Site, links)
	return nil
}

// visit returns the outcome of a page's turn. row is the page's row after it.
func (s *Shard) visit(key PageKey, row *store.Page, record *store.Fetched) visit {
	v := visit{page: key, url: row.URL, at: s.now, apart: apart(row)}
	if record == nil || !s.refreshes(row) {
		v.gone = true
		return v
	}
	v.at = time.Unix(0, record.At)
	v.fresh = record.Outcome == store.OutcomeNotModified ||
		record.Outcome == store.OutcomeStored && record.Truncated == "" && !record.SoftError
	switch {
	case !v.fresh && record.RetryAt != 0:
		v.again = true
	case v.fresh && row.LastChanged == record.At:
		v.outcome = refresh.Changed
	case v.fresh:
		v.outcome = refresh.Unchanged
	}
	return v
}

// refreshes reports whether a page is kept fresh: it has a copy that may be served, the rules refresh its type, and it
// was not set aside.
func (s *Shard) refreshes(row *store.Page) bool {
	return row.State == store.StateLive && row.Strikes < MaxStrikes && s.rules.of(row.URL.Site()).Refresh.Has(row.ContentType)
}

// apart reports whether a page is not for people to read: a requisite, a sitemap or a feed.
func apart(row *store.Page) bool {
	list := row.Rel == weburl.RelSitemap || row.Rel == weburl.RelFeed
	kind := row.ContentType
	return row.Requisite() || list && !strings.Contains(kind, "html") && (strings.Contains(kind, "xml") || strings.Contains(kind, "gzip"))
}

// takeClaims records claims that pages of a site have changed, from the site's own sitemaps and feeds. It ignores dates
// in the future.
func (s *Shard) takeClaims(site weburl.Site, links []weburl.Link) {
	for i := range links {
		link := &links[i]
		var source refresh.Source
		switch link.Rel {
		case weburl.RelSitemap:
			source = refresh.Sitemap
		case weburl.RelFeed:
			source = refresh.Feed
		default:
			continue
		}
		if link.LastMod <= 0 || link.LastMod > s.now.UnixNano() || link.URL.Site() != site {
			continue
		}
		s.fresh.claimed(PageKey{s.home(site), link.Fingerprint}, source, keepfresh.Seconds(time.Unix(0, link.LastMod)))
	}
}
