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

// Robots.txt, as RFC 9309 has it: fetched before the first page of a site and again each day; up to
// five redirects; an answer of 4xx allows all, one of 5xx or none at all forbids all until it can be
// had. Here a site whose robots.txt stays out of reach is tried as often as a page is, and after that
// its pages are refused for the day.
const (
	robotsLife      = 24 * time.Hour
	robotsRedirects = 5
	robotsCached    = 10_000 // sites whose rules are kept in memory
)

// siteRules are the rules of one site.
type siteRules struct {
	rules       *robots.Rules
	unreachable bool // robots.txt could not be had: everything is forbidden
}

func (r siteRules) allowed(u weburl.URL) bool {
	return !r.unreachable && r.rules.Allowed(u)
}

// Why a page was refused on its turn.
const (
	reasonRobots      = "robots"
	reasonUnreachable = "robots-unreachable"
)

func (r siteRules) reason() string {
	if r.unreachable {
		return reasonUnreachable
	}
	return reasonRobots
}

// robotsRules keeps the rules of the sites that are being crawled, reading those of others back from
// the store. Safe for concurrent use.
type robotsRules struct {
	agent string
	store *store.Store

	mu    sync.Mutex
	sites map[weburl.Site]siteRules
	tries map[weburl.Site]robotsTry // sites whose robots.txt is being looked for
}

// robotsTry is how far the search for a robots.txt has come.
type robotsTry struct {
	at        weburl.URL // where a redirect led; zero: at the site's root
	redirects int
	failures  int
	skipped   bool // its owner has opted out: it is not asked for
}

func newRobotsRules(agent string, s *store.Store) *robotsRules {
	return &robotsRules{agent: agent, store: s, sites: map[weburl.Site]siteRules{}, tries: map[weburl.Site]robotsTry{}}
}

// of returns the rules of a site.
func (r *robotsRules) of(site weburl.Site) (siteRules, error) {
	r.mu.Lock()
	rules, ok := r.sites[site]
	r.mu.Unlock()
	if ok {
		return rules, nil
	}
	rules, err := r.read(site)
	if err != nil {
		return rules, fmt.Errorf("crawl: rules of %s: %w", site, err)
	}
	r.keep(site, rules)
	return rules, nil
}

// holds tells whether the rules of a site are in memory.
func (r *robotsRules) holds(site weburl.Site) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.sites[site]
	return ok
}

// read brings the rules of a site back from the store. A site whose robots.txt was never fetched has
// none.
func (r *robotsRules) read(site weburl.Site) (siteRules, error) {
	body, err := r.store.RobotsBody(site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return siteRules{}, err
	}
	row, err := r.store.Site(site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return siteRules{}, err
	}
	return siteRules{rules: robots.Parse(body, r.agent), unreachable: row.Robots.Fetched != 0 && row.Robots.Kept == 0}, nil
}

// last returns the rules that go on when a site's robots.txt is out of reach: those that were had
// last, or else none but that everything is forbidden.
func (r *robotsRules) last(site weburl.Site) siteRules {
	rules, err := r.read(site)
	row, siteErr := r.store.Site(site)
	if err != nil || siteErr != nil || row.Robots.Kept == 0 {
		return siteRules{rules: &robots.Rules{}, unreachable: true}
	}
	return rules
}

func (r *robotsRules) keep(site weburl.Site, rules siteRules) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sites) >= robotsCached {
		for other := range r.sites { // any one will do: it can be read back
			delete(r.sites, other)
			break
		}
	}
	r.sites[site] = rules
}

func (r *robotsRules) try(site weburl.Site) robotsTry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tries[site]
}

func (r *robotsRules) setTry(site weburl.Site, t robotsTry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t == (robotsTry{}) {
		delete(r.tries, site)
		return
	}
	r.tries[site] = t
}

// robotsURL returns where a site's robots.txt lies.
func robotsURL(site weburl.Site) weburl.URL {
	u, err := site.Root().Parse("/robots.txt")
	if err != nil {
		panic(fmt.Sprintf("crawl: robots.txt of %s: %v", site, err)) // a site is canonical
	}
	return u
}

// robotsVerdict is what an answer to a request for robots.txt means for its site. Exactly one of until,
// retry and next is set.
type robotsVerdict struct {
	rules siteRules
	body  []byte     // that the rules were read from; nil if they are older, or none
	until time.Time  // the rules hold until then
	retry time.Time  // out of reach: to be asked for again then
	next  weburl.URL // it lies elsewhere
}

// fetchRobots fetches a site's robots.txt, or takes the next step of a redirect towards it.
func (e *Engine) fetchRobots(ctx context.Context, page frontier.Page) {
	try := e.robots.try(page.Site)
	v := &visit{page: page, url: robotsURL(page.Site)}
	if reason, refused := e.current().rules.urls.Refuse(page.Site.Root()); refused && reason == frontier.OptedOut {
		e.skipRobots(page) // no request at all: its pages are refused, each on its turn
		return
	}
	target := v.url
	if !try.at.IsZero() {
		target = try.at
	}
	request := e.request(target)
	request.Once, request.MaxBody = true, robots.MaxBytes
	var verdict robotsVerdict
	judge := func(r *fetch.Result, now time.Time) func() {
		verdict = e.judgeRobots(page.Site, r, try, now)
		return func() { e.tellRobots(page.Site, verdict, now) }
	}
	turn := page
	if request.URL.Host() != page.Site.Host() {
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
	v.gateHost = turn.Site.Host()
	v.record = robotsRecord(v, verdict)
	e.hand(v)
}

// skipRobots lets the pages of a site have their turns as if its robots.txt had just been fetched.
func (e *Engine) skipRobots(page frontier.Page) {
	now := e.opt.Clock.Now()
	e.robots.setTry(page.Site, robotsTry{skipped: true})
	e.mu.Lock()
	e.front.RobotsDone(page.Site, now.Add(robotsLife), 0, now)
	e.front.Drop(page, now)
	e.mu.Unlock()
	e.handedOut.Add(-1)
	signal(e.wake)
}

// unskipRobots gives back a page of a site that opted out no longer: robots.txt comes first.
func (e *Engine) unskipRobots(page frontier.Page) {
	now := e.opt.Clock.Now()
	e.robots.setTry(page.Site, robotsTry{})
	e.mu.Lock()
	e.front.RobotsUnreachable(page.Site, now, now)
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
		e.front.RobotsUnreachable(page.Site, free, now)
		e.front.Drop(page, now)
	}
	return turn, ok
}

// judgeRobots says what an answer means, and notes it for the pages that come after.
func (e *Engine) judgeRobots(site weburl.Site, r *fetch.Result, try robotsTry, now time.Time) robotsVerdict {
	answered := r.Outcome == fetch.Answered || r.Outcome == fetch.Cut && r.Truncated == fetch.TruncatedLength
	if target, _, ok := r.Redirect(); answered && ok && try.redirects < robotsRedirects {
		e.robots.setTry(site, robotsTry{at: target, redirects: try.redirects + 1, failures: try.failures})
		return robotsVerdict{next: target}
	}
	body, readable := robotsBody(r)
	reached := answered && readable && r.Status < 500 && r.Status != http.StatusTooManyRequests
	if !reached && try.failures < e.current().Retries && r.Outcome != fetch.Refused {
		e.robots.setTry(site, robotsTry{failures: try.failures + 1})
		return robotsVerdict{retry: fromUnix(e.retryAt(robotsURL(site), try.failures, now))}
	}
	verdict := robotsVerdict{until: now.Add(robotsLife)}
	if reached {
		verdict.body, verdict.rules.rules = slices.Clone(body), robots.Parse(body, e.opt.Agent)
	} else {
		verdict.rules = e.robots.last(site)
	}
	e.robots.setTry(site, robotsTry{})
	e.robots.keep(site, verdict.rules)
	return verdict
}

// tellRobots passes a verdict to the frontier. The engine's lock is held.
func (e *Engine) tellRobots(site weburl.Site, v robotsVerdict, now time.Time) {
	switch {
	case !v.retry.IsZero():
		e.front.RobotsUnreachable(site, v.retry, now)
	case !v.until.IsZero():
		delay, _ := v.rules.rules.CrawlDelay()
		e.front.RobotsDone(site, v.until, delay, now)
	}
}

// robotsBody returns the decoded beginning of a robots.txt, empty unless the answer is a 2xx: any other
// says that there are no rules. It is not ok if nothing of it can be decoded.
func robotsBody(r *fetch.Result) (body []byte, ok bool) {
	if r.Status < 200 || r.Status > 299 {
		return []byte{}, true
	}
	body, _, err := fetch.Decode(r.Header, r.Body(nil), robots.MaxBytes)
	if body == nil {
		body = []byte{}
	}
	return body, err == nil || len(body) > 0
}

// robotsRecord returns the record of a fetch of robots.txt.
func robotsRecord(v *visit, verdict robotsVerdict) *store.Robots {
	r := v.result
	record := &store.Robots{Site: v.page.Site, At: r.Started.UnixNano(), End: r.Ended.UnixNano(), Outcome: outcomeOf(r), Status: r.Status,
		Expires: unix(verdict.until), Keep: verdict.body != nil, Body: verdict.body}
	if r.Address.IsValid() {
		record.Address = r.Address.String()
	}
	if r.Err != nil {
		record.Reason = r.Err.Error()
	}
	if v.gateHost == v.page.Site.Host() {
		record.Gate = storedGate(v.gate)
	}
	return record
}
