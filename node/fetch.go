package node

import (
	"errors"
	"net/http"
	"syscall"

	"freshet/crawl"
	"freshet/crawl/robots"
	"freshet/fetch"
	"freshet/memory"
	"freshet/store/warc"
	"freshet/weburl"
)

// visit is a turn with a request. One goroutine at a time owns it: the fetch, a worker, the committer, and the loop
// in between.
type visit struct {
	mail    *mailbox // of the turn's loop
	fetch   crawl.Fetch
	process crawl.Process // set by the answer
	asking  bool          // the request has not ended; used by the loop

	result *fetch.Result
	hold   *memory.Holding // memory of its record, members and links, until it is over
	mark   mark            // from the start of processing to the end

	processed bool
	links     []weburl.Link
	members   [][]byte
	main      int
	id        warc.ID
	bytes     int64 // of the answer
}

// fetch makes the request of a turn and reports the result. leave receives whether the request may go to the host's
// address.
func (n *Node) fetch(v *visit, leave <-chan bool) {
	request := n.request(&v.fetch)
	site := request.URL.Site()
	crash := contain(func() { request.Resolved = n.fetcher.Resolve(n.fetching, site.Host(), site.Port()) })
	if v.fetch.AskLeave && request.Resolved.Outcome == fetch.Answered {
		if !n.mayAsk(v, request.Resolved, leave) {
			n.fleet.ended()
			return
		}
		request.Resolved.Others = nil // there is no leave for them
	}
	started := n.opt.Clock.Now()
	var result *fetch.Result
	if crash == nil {
		crash = contain(func() { result = n.fetcher.Fetch(n.fetching, request) })
	}
	now := n.opt.Clock.Now()
	if crash != nil {
		result = &fetch.Result{URL: request.URL, Started: started, Ended: now}
		n.crashed(result, crash)
	}
	n.silence.ended(site.Host(), result)
	ended := crawl.Ended{Turn: v.fetch.Turn, Started: started, At: now}
	switch {
	case result.Outcome == fetch.Canceled:
		ended.Given = crawl.Nothing
	case result.Unheard():
		ended.Given = crawl.Unheard
	}
	if ended.Given != crawl.Answer {
		result.Drop()
		n.fleet.ended()
		v.mail.put(letter{event: ended})
		return
	}
	ended.Bytes, ended.Kept, ended.Failed = int64(len(result.ResponseBytes)), result.Kept, backsOff(result)
	if ended.Failed {
		ended.RetryAfter, _ = result.RetryAfter(now)
	}
	if v.fetch.Robots {
		ended.Robots = n.robotsAnswer(v.fetch.Page.Site(), result)
		ended.Robots.Nobody = errors.Is(result.Err, fetch.ErrNoHost) || errors.Is(result.Err, syscall.ECONNREFUSED) && !v.fetch.AskLeave
	}
	v.result = result
	n.fleet.fetched()
	v.mail.put(letter{event: ended})
}

// mayAsk asks the shard whether a request may go to an address. After a fault it may not.
func (n *Node) mayAsk(v *visit, where fetch.Resolution, leave <-chan bool) bool {
	v.mail.put(letter{event: crawl.Resolved{Turn: v.fetch.Turn, Address: where.Address.Addr()}})
	select {
	case granted := <-leave:
		return granted
	case <-n.failed:
		v.mail.put(letter{event: crawl.Ended{Turn: v.fetch.Turn, Given: crawl.Nothing}})
		return false
	}
}

// request returns a turn's request under the rules of its site.
func (n *Node) request(f *crawl.Fetch) fetch.Request {
	rule := n.current().rules.of(f.URL.Site())
	request := fetch.Request{
		URL: f.URL, ETag: f.ETag, LastModified: f.LastModified, KeepAlive: f.KeepAlive, Once: f.Once, MaxBody: f.MaxBody,
		Header: rule.Header, Route: rule.Route, In: rule.In, Out: rule.Out,
	}
	if len(f.Wanted) > 0 {
		request.Wanted = f.Wanted.Has
	}
	return request
}

// backsOff reports whether a result calls for longer intervals: an overloaded server, or no answer. A host without
// an address backs off too, so that it does not use up the budget of others.
func backsOff(r *fetch.Result) bool {
	switch r.Outcome {
	case fetch.Answered, fetch.Cut:
		return r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable
	case fetch.DNSFailed, fetch.ConnectFailed, fetch.TimedOut, fetch.Disconnected:
		return true
	}
	return false
}

// robotsAnswer returns the result of a request for a site's robots.txt.
func (n *Node) robotsAnswer(site weburl.Site, r *fetch.Result) *crawl.RobotsAnswer {
	answer := &crawl.RobotsAnswer{}
	if crash := contain(func() { answer.Answer = n.readRobots(r) }); crash != nil {
		n.crashed(r, crash)
		answer.Answer = robots.Answer{}
	}
	answer.Record = robotsRecord(site, r)
	return answer
}

func (n *Node) readRobots(r *fetch.Result) (a robots.Answer) {
	a.Barred = r.Outcome == fetch.Refused
	if r.Outcome != fetch.Answered && !(r.Outcome == fetch.Cut && r.Truncated == fetch.TruncatedLength) {
		return a
	}
	if target, _, ok := r.Redirect(); ok {
		a.Redirect = target
	}
	body, readable := n.robotsBody(r)
	a.Reached = readable && r.Status < 500 && r.Status != http.StatusTooManyRequests
	a.Body = body
	return a
}

// robotsBody returns the decoded beginning of a robots.txt. It is empty unless the answer is a 2xx: other answers
// mean that there are no rules. ok is false if nothing can be decoded. Memory is charged as for a page, because all
// fetches may decode at the same time.
func (n *Node) robotsBody(r *fetch.Result) (body []byte, ok bool) {
	if r.Status < 200 || r.Status > 299 {
		return nil, true
	}
	decoding := n.pages.Hold()
	defer decoding.Release()
	room := func(bytes int64) error { return decoding.Grow(n.life, bytes) }
	body, _, err := r.Decode(robots.MaxBytes, new([]byte), room)
	return body, err == nil || len(body) > 0
}
