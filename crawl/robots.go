package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"freshet/crawl/robots"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// robotsRules keeps the rules of the sites that are being crawled, reading those of others back from
// the store. Safe for concurrent use.
type robotsRules struct {
	store *store.Store

	mu   sync.Mutex
	book *robots.Book
}

// newRobotsRules returns rules of which at most so many bytes are kept in memory. Others are read back from the store.
func newRobotsRules(agent string, s *store.Store, bytes int64) *robotsRules {
	return &robotsRules{store: s, book: robots.NewBook(agent, bytes)}
}

// held returns the bytes that are kept in memory.
func (r *robotsRules) held() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.book.Bytes()
}

// of returns the rules of a site.
func (r *robotsRules) of(site weburl.Site) (robots.Standing, error) {
	r.mu.Lock()
	standing, ok := r.book.Standing(site)
	r.mu.Unlock()
	if ok {
		return standing, nil
	}
	standing, err := r.read(site)
	if err != nil {
		return standing, fmt.Errorf("crawl: rules of %s: %w", site, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.book.Keep(site, standing)
	return standing, nil
}

// holds tells whether the rules of a site are in memory.
func (r *robotsRules) holds(site weburl.Site) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.book.Standing(site)
	return ok
}

// read brings the rules of a site back from the store. A site whose robots.txt was never fetched has
// none.
func (r *robotsRules) read(site weburl.Site) (robots.Standing, error) {
	body, err := r.store.RobotsBody(site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return robots.Standing{}, err
	}
	row, err := r.store.Site(site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return robots.Standing{}, err
	}
	return r.book.Read(body, row.Robots.Fetched != 0, row.Robots.Kept != 0), nil
}

// older returns the rules that were had last of a site, nil if none were.
func (r *robotsRules) older(site weburl.Site) *robots.Rules {
	standing, err := r.read(site)
	row, siteErr := r.store.Site(site)
	if err != nil || siteErr != nil || row.Robots.Kept == 0 {
		return nil
	}
	return standing.Rules
}

// judge says what an answer to a request for a site's robots.txt means.
func (r *robotsRules) judge(site weburl.Site, a robots.Answer, failures int, patience robots.Patience, now time.Time) robots.Verdict {
	var older *robots.Rules
	if !a.Reached && a.Redirect.IsZero() {
		older = r.older(site)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.book.Judge(site, a, older, failures, patience, now)
}

// where returns where a site's robots.txt is asked for next.
func (r *robotsRules) where(site weburl.Site) weburl.URL {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.book.Where(site)
}

// skip notes that a site's robots.txt is not asked for, or is again.
func (r *robotsRules) skip(site weburl.Site, skipped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.book.Skip(site, skipped)
}

// skipped tells whether a site's robots.txt was not asked for.
func (r *robotsRules) skipped(site weburl.Site) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.book.Skipped(site)
}

// fetchRobots fetches a site's robots.txt, or takes the next step of a redirect towards it.
func (e *Engine) fetchRobots(ctx context.Context, page frontier.Page) {
	v := &visit{page: page, url: robots.At(page.Site)}
	if reason, refused := e.current().rules.urls.Refuse(page.Site.Root()); refused && reason == frontier.OptedOut {
		e.skipRobots(page) // no request at all: its pages are refused, each on its turn
		return
	}
	request := e.request(e.robots.where(page.Site))
	request.Once, request.MaxBody = true, robots.MaxBytes
	var verdict robots.Verdict
	judge := func(r *fetch.Result, now time.Time) func() {
		c := e.current()
		patience := robots.Patience{First: c.RetryDelay, Tries: max(0, c.Retries)}
		verdict = e.robots.judge(page.Site, e.robotsAnswer(r), page.Failures, patience, now)
		return func() { e.tellRobots(page.Site, verdict, now) }
	}
	turn := page
	if request.URL.Site().Name() != page.Site.Name() {
		var ok bool
		if turn, ok = e.claim(page, request.URL.Site()); !ok {
			e.handedOut.Add(-1)
			return
		}
		defer e.drop(page) // its own host was not asked
	}
	var ok bool
	if v.result, v.gate, ok = e.ask(ctx, turn, request, judge); !ok {
		e.handedOut.Add(-1)
		return
	}
	v.gateHost = turn.Site.Name()
	v.record = e.robotsRecord(v, verdict)
	e.hand(v)
}

// skipRobots lets the pages of a site have their turns as if its robots.txt had just been fetched.
func (e *Engine) skipRobots(page frontier.Page) {
	now := e.opt.Clock.Now()
	e.robots.skip(page.Site, true)
	e.mu.Lock()
	e.front.RobotsDone(page.Site, now.Add(robots.Life), 0, now)
	e.front.Drop(page, now)
	e.mu.Unlock()
	e.handedOut.Add(-1)
	signal(e.wake)
}

// unskipRobots gives back a page of a site that opted out no longer: robots.txt comes first.
func (e *Engine) unskipRobots(page frontier.Page) {
	now := e.opt.Clock.Now()
	e.robots.skip(page.Site, false)
	e.mu.Lock()
	e.front.AskRobots(page.Site, now, now)
	e.mu.Unlock()
	e.giveBack(page)
}

// claim books the host that a redirected robots.txt lies on, which is another than the page's. If that
// host may not be asked yet the page is given back and tried again later.
func (e *Engine) claim(page frontier.Page, site weburl.Site) (turn frontier.Page, ok bool) {
	now := e.opt.Clock.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	turn, free, ok := e.front.Claim(site, now)
	if !ok {
		e.front.AskRobots(page.Site, free, now)
		e.front.Drop(page, now)
	}
	return turn, ok
}

// tellRobots passes a verdict to the frontier. The engine's lock is held.
func (e *Engine) tellRobots(site weburl.Site, v robots.Verdict, now time.Time) {
	switch {
	case !v.Retry.IsZero():
		e.front.RobotsUnreachable(site, v.Retry, v.Shelved, now)
	case !v.Until.IsZero():
		delay, _ := v.Standing.Rules.CrawlDelay()
		e.front.RobotsDone(site, v.Until, delay, now)
	}
}

// robotsAnswer tells what came of a request for a robots.txt.
func (e *Engine) robotsAnswer(r *fetch.Result) (a robots.Answer) {
	a.Barred = r.Outcome == fetch.Refused
	if r.Outcome != fetch.Answered && !(r.Outcome == fetch.Cut && r.Truncated == fetch.TruncatedLength) {
		return a
	}
	if target, _, ok := r.Redirect(); ok {
		a.Redirect = target
	}
	body, readable := e.robotsBody(r)
	a.Reached = readable && r.Status < 500 && r.Status != http.StatusTooManyRequests
	a.Body = body
	return a
}

// robotsBody returns the decoded beginning of a robots.txt, empty unless the answer is a 2xx: any other
// says that there are no rules. It is not ok if nothing of it can be decoded. All fetches may decode one at a time, so
// that is charged as a page's is.
func (e *Engine) robotsBody(r *fetch.Result) (body []byte, ok bool) {
	if r.Status < 200 || r.Status > 299 {
		return nil, true
	}
	decoding := e.pages.Hold()
	defer decoding.Release()
	room := func(bytes int64) error { return decoding.Grow(context.Background(), bytes) }
	body, _, err := r.Decode(robots.MaxBytes, new([]byte), room)
	return body, err == nil || len(body) > 0
}

// robotsRecord returns the record of a fetch of robots.txt.
func (e *Engine) robotsRecord(v *visit, verdict robots.Verdict) *store.Robots {
	r := v.result
	record := &store.Robots{Site: v.page.Site, At: r.Started.UnixNano(), End: r.Ended.UnixNano(), Outcome: outcomeOf(r), Status: r.Status,
		Expires: unix(verdict.Until)}
	if verdict.Fresh {
		body, _ := e.robotsBody(r)
		record.Keep, record.Body, record.Rules = true, slices.Clone(body), verdict.Standing.Rules.Digest()
	}
	if r.Address.IsValid() {
		record.Address = r.Address.String()
	}
	if r.Err != nil {
		record.Reason = r.Err.Error()
	}
	if v.gateHost == v.page.Site.Name() {
		record.Gate = storedGate(v.gate)
	}
	return record
}
