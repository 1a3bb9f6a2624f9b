package trial

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"freshet/crawl"
	"freshet/crawl/robots"
	"freshet/store"
)

// errand is a turn in progress.
type errand struct {
	crawl.Fetch
	started   time.Duration
	ends      time.Duration
	asked     bool // the request was sent
	ended     bool
	answer    answer
	failed    string // why there was no answer
	unheard   bool   // the connection had been closed
	process   crawl.Process
	inProcess bool
	processed bool
	appended  bool
	signals   string // that its site was last heard to say
}

// heard reports whether the server receives the request.
func (e *errand) heard() bool { return e.failed != "no name" && !e.unheard }

// fetch begins a request.
func (n *node) fetch(f crawl.Fetch) {
	if n.turns[f.Turn] != nil {
		n.fail("turns", "turn %d is handed out twice", f.Turn)
	}
	e := &errand{Fetch: f}
	n.turns[f.Turn] = e
	n.trace("< fetch %d %s robots=%v etag=%s", f.Turn, f.URL, f.Robots, f.ETag)
	n.watch.handedOut(n, e)
	n.pay(e, 1)
	n.soon(n.some(20*time.Millisecond, "name", int(f.Turn)), func() {
		if !f.AskLeave || n.watch.at(noName, f.URL.Site()) {
			n.request(e)
			return
		}
		n.tell(crawl.Resolved{Turn: f.Turn, Address: n.watch.address(f.URL.Site())})
	})
}

// leave continues or drops a request, as the shard decided.
func (n *node) leave(l crawl.Leave) {
	e := n.turns[l.Turn]
	if e == nil || e.asked {
		n.fail("turns", "turn %d is given leave and does not wait for it", l.Turn)
	}
	n.trace("< leave %d %v", l.Turn, l.Granted)
	if n.plant == "leave-ignored" && !l.Granted {
		n.watch.started(e) // counted as if it was made
		n.watch.ended(n, e)
	}
	if l.Granted {
		n.soon(0, func() { n.request(e) })
	} else {
		n.pay(e, -1)
	}
}

// pay counts what the budget has to pay for: requests for pages that are made.
func (n *node) pay(e *errand, requests int) {
	if !e.Robots {
		n.paid += requests
	}
}

// request makes a request.
func (n *node) request(e *errand) {
	e.asked, e.started = true, n.now
	site := e.URL.Site()
	took := n.some(n.watch.site(site).Took, "answer", int(e.Turn)+1000*n.life)
	e.answer, e.failed = n.answerTo(e)
	switch e.failed {
	case "silent":
		took = 45 * time.Second
	case "no name":
		took = time.Second
	}
	e.unheard = e.KeepAlive && e.failed == "" && n.draw("unheard", int(e.Turn)) < 0.05
	if !e.Robots {
		n.watch.paid(site)
	}
	if e.heard() {
		n.watch.started(e)
	}
	e.ends = n.now + took
	n.soon(took, func() { n.answered(e) })
}

// answerTo returns the answer to a request, or why there is none.
func (n *node) answerTo(e *errand) (a answer, failed string) {
	site := e.URL.Site()
	for _, trouble := range []faultKind{noName, refusing, silent} {
		if n.watch.at(trouble, site) {
			return a, map[faultKind]string{noName: "no name", refusing: "refused", silent: "silent"}[trouble]
		}
	}
	if n.watch.at(overloaded, site) {
		a.status = http.StatusServiceUnavailable
		if n.draw("retry-after", int(e.Turn)) < 0.6 {
			a.retryAfter = time.Duration(n.draw("retry-after long", int(e.Turn)) * float64(90*time.Minute)).Round(time.Second)
		}
		return a, ""
	}
	if n.watch.at(failing, site) || e.Robots && n.watch.at(noRobots, site) {
		return answer{status: http.StatusInternalServerError}, ""
	}
	switch path := e.URL.Path(); {
	case path == "/robots.txt":
		return n.web.robots(n.watch.index(site), n.now), ""
	case e.Robots && path == tdmrepPath:
		return n.web.tdmrep(n.watch.index(site), n.now), ""
	}
	return n.web.says(e.URL, e.ETag, n.now, epoch), ""
}

// answered reports the outcome of a request to the shard.
func (n *node) answered(e *errand) {
	if e.ended {
		return // it was canceled
	}
	e.ended = true
	a := &e.answer
	if e.heard() {
		n.watch.ended(n, e)
	} else if e.Robots && !e.unheard {
		n.watch.told(n, e)
	}
	event := crawl.Ended{
		Turn: e.Turn, Started: n.timeOf(e.started), At: n.clock(), Bytes: 100, RetryAfter: a.retryAfter,
		Kept:   e.KeepAlive && e.failed == "" && n.watch.site(e.URL.Site()).Keeps,
		Failed: e.failed != "" || a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests,
	}
	switch n.plant {
	case "interval-from-start":
		event.At = event.Started
	case "retry-after-ignored":
		event.RetryAfter = 0
	}
	if e.unheard {
		event.Given = crawl.Unheard
		n.pay(e, -1)
		n.tell(event)
		return
	}
	if e.Robots {
		event.Robots = n.robotsAnswer(e)
	}
	n.tell(event)
}

func (n *node) outcome(e *errand) store.Outcome {
	if e.failed != "" {
		return store.OutcomeFailed
	}
	return store.OutcomeOf(e.answer.status)
}

func (n *node) robotsAnswer(e *errand) *crawl.RobotsAnswer {
	a := &e.answer
	r := &crawl.RobotsAnswer{Record: &store.Robots{
		Site: e.Page.Site(), At: n.timeOf(e.started).UnixNano(), End: n.clock().UnixNano(), Outcome: n.outcome(e),
		Status: a.status, Reason: e.failed,
	}}
	reached := e.failed == "" && a.status < 500
	r.Answer = robots.Answer{Redirect: a.redirect, Reached: reached}
	if a.status == http.StatusOK {
		r.Body = []byte(a.body)
	}
	if n.plant == "outage-allows" && !reached {
		r.Reached = true
	}
	return r
}

// cancel cancels the requests in flight.
func (n *node) cancel() {
	for _, turn := range slices.Sorted(maps.Keys(n.turns)) {
		e := n.turns[turn]
		if e == nil || e.ended || !e.asked {
			continue
		}
		if e.heard() {
			n.watch.canceled(n, e)
		}
		e.ended = true
		n.pay(e, -1)
		n.tell(crawl.Ended{Turn: turn, Started: n.timeOf(e.started), At: n.clock(), Given: crawl.Nothing})
		if n.trial.node != n {
			return
		}
	}
}
