package crawl

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"freshet/crawl/robots"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// fetch carries out one turn that the frontier gave: a page or a site's robots.txt. Every path ends
// by giving the turn back to the frontier (Done, Drop, Return or a refused Bind), and by sending a
// visit on or settling it.
func (e *Engine) fetch(ctx context.Context, page frontier.Page) {
	if page.Robots {
		e.fetchRobots(ctx, page)
		return
	}
	row, err := e.store.Page(e.partition(page.Site), page.Fingerprint)
	if err != nil {
		e.giveBack(page)
		e.fail(fmt.Errorf("crawl: page %s queued at %s: %w", page.Fingerprint, page.Site, err))
		return
	}
	v := &visit{page: page, url: row.URL, row: row}
	rules, err := e.robots.of(page.Site)
	if err != nil {
		e.giveBack(page)
		e.fail(err)
		return
	}
	if reason := e.refusal(row, rules); reason != "" {
		v.record = &store.Refused{URL: row.URL, At: e.opt.Clock.Now().UnixNano(), Reason: reason}
		e.refund()
		e.done <- v // before other rules of the site can be had, so that those are looked at after it
		e.drop(page)
		return
	}
	if e.robots.skipped(page.Site) {
		e.unskipRobots(page)
		return
	}
	request := e.request(row.URL)
	_, slow := rules.Rules.CrawlDelay()
	request.Once = request.Once || slow
	request.Wanted = e.current().rules.of(page.Site).wanted()
	if row.State == store.StateLive && (row.ETag != "" || row.LastModified != "") {
		if v.audit, err = e.audits(page, &row); err != nil {
			e.giveBack(page)
			e.fail(err)
			return
		}
		if !v.audit {
			request.ETag, request.LastModified = row.ETag, row.LastModified
		}
	}
	result, gate, ok := e.ask(ctx, page, request, nil)
	if !ok {
		e.refund()
		e.handedOut.Add(-1)
		return
	}
	v.result, v.gate = result, gate
	e.hand(v)
}

// auditEvery is how many visits of a page that has validators go to one that does not use them.
const auditEvery = 16

// audits tells whether a page is asked for without the validators of its copy: its site's have been found
// wrong, or it is its turn to be looked at. A site that backs off is not asked for more than it has to send.
func (e *Engine) audits(page frontier.Page, row *store.Page) (bool, error) {
	site, err := e.store.Site(page.Site)
	if err != nil {
		return false, fmt.Errorf("crawl: site of %s: %w", row.URL, err)
	}
	if !site.Validators.Trusted(e.opt.Clock.Now().UnixNano()) {
		return true, nil
	}
	if (uint64(page.Fingerprint)+uint64(row.Visits))%auditEvery != 0 || row.FailedInRow > 0 {
		return false, nil
	}
	gate, err := e.store.Gate(e.partition(page.Site), page.Site.Host())
	if err != nil {
		return false, fmt.Errorf("crawl: gate of %s: %w", page.Site, err)
	}
	return gate.Failures == 0, nil
}

// refusal returns why a page whose turn has come is not asked for, or "".
func (e *Engine) refusal(page store.Page, standing robots.Standing) string {
	if page.Strikes >= MaxStrikes {
		return reasonCrashes
	}
	if reason, ok := e.admits(page); !ok {
		return reason.String()
	}
	if !standing.Allowed(page.URL) {
		return standing.Reason()
	}
	return ""
}

// request returns the request for a URL as the rules of its site have it.
func (e *Engine) request(u weburl.URL) fetch.Request {
	now := e.current()
	rule := now.rules.of(u.Site())
	delay := now.Delay
	if rule.Manners.Delay != nil {
		delay = *rule.Manners.Delay
	}
	return fetch.Request{URL: u, KeepAlive: e.keepsConnections(delay), Once: delay > 0, Header: rule.Header, Route: rule.Route, In: rule.In, Out: rule.Out}
}

// ask makes one request in the turn that the frontier gave: it resolves the host, asks leave of its
// address, fetches, and gives the turn back. If there was no request, or it was given up, or went unheard,
// which counts for no attempt, ok is false; the turn is given back all the same. The judge, if any, sees the result before the turn is given
// back, and returns what the frontier is to be told first.
func (e *Engine) ask(ctx context.Context, turn frontier.Page, request fetch.Request, judge func(*fetch.Result, time.Time) (tell func())) (result *fetch.Result, gate frontier.Gate, ok bool) {
	defer signal(e.wake)
	site := request.URL.Site()
	crash := contain(func() { request.Resolved = e.fetcher.Resolve(ctx, site.Host(), site.Port()) })
	if request.Resolved.Outcome == fetch.Answered {
		e.mu.Lock()
		free, _ := e.front.Bind(turn, request.Resolved.Address.Addr(), e.opt.Clock.Now())
		e.mu.Unlock()
		if !free {
			return nil, gate, false
		}
	}
	started := e.opt.Clock.Now()
	if crash == nil {
		crash = contain(func() { result = e.fetcher.Fetch(ctx, request) })
	}
	now := e.opt.Clock.Now()
	if crash != nil {
		result = &fetch.Result{URL: request.URL, Started: started, Ended: now}
		e.crashed(result, crash)
	}
	if result.Outcome == fetch.Canceled {
		result.Drop()
		e.canceled.Store(true)
		e.mu.Lock()
		e.front.Return(turn, now)
		e.mu.Unlock()
		return nil, gate, false
	}
	if result.Unheard() {
		result.Drop()
		e.mu.Lock()
		e.front.Done(turn, frontier.Answer{End: now, Took: now.Sub(started), Unheard: true}, now)
		e.mu.Unlock()
		return nil, gate, false
	}
	e.tally.bytes.Add(int64(len(result.ResponseBytes)))
	answer := frontier.Answer{End: now, Took: now.Sub(started), Kept: result.Kept, Failed: backsOff(result)}
	if answer.Failed {
		answer.RetryAfter, _ = result.RetryAfter(now)
	}
	tell := func() {}
	if judge != nil {
		if crash := contain(func() { tell = judge(result, now) }); crash != nil {
			e.crashed(result, crash)
			tell = judge(result, now)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	tell()
	return result, e.front.Done(turn, answer, now), true
}

// keepsConnections tells whether connections are worth keeping: not if the next request on one comes
// after servers have closed it.
func (e *Engine) keepsConnections(delay time.Duration) bool {
	const serversWait = 5 * time.Second
	return e.opt.PerConnection > 1 || e.opt.Clock.Machine(delay) < serversWait
}

// backsOff tells whether an answer asks for more distance: an overloaded server, or none to be had.
func backsOff(r *fetch.Result) bool {
	switch r.Outcome {
	case fetch.Answered, fetch.Cut:
		return r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable
	case fetch.ConnectFailed, fetch.TimedOut, fetch.Disconnected:
		return true
	}
	return false
}

// giveBack returns a page that was not asked for; it stays in its queue.
func (e *Engine) giveBack(page frontier.Page) {
	if !page.Robots {
		e.refund()
	}
	e.mu.Lock()
	e.front.Return(page, e.opt.Clock.Now())
	e.mu.Unlock()
	e.handedOut.Add(-1)
	signal(e.wake)
}

// drop frees the host of a page that a gate refused.
func (e *Engine) drop(page frontier.Page) {
	e.mu.Lock()
	e.front.Drop(page, e.opt.Clock.Now())
	e.mu.Unlock()
	signal(e.wake)
}

// retryAt returns when a page that failed is tried again, 0 for never: after RetryDelay, doubled with
// each failure in a row and shifted by up to a quarter, so that pages that failed together do not come
// back together.
func (e *Engine) retryAt(url weburl.URL, failures int, now time.Time) int64 {
	c := e.current()
	if failures >= c.Retries {
		return 0
	}
	wait := float64(c.RetryDelay) * math.Exp2(float64(min(failures, 20)))
	wait *= 1 + float64(uint64(url.Fingerprint())%1024)/4096
	return now.Add(time.Duration(min(wait, float64(24*time.Hour)))).UnixNano()
}
