package trial

import (
	"time"

	"freshet/crawl"
)

// connectionKept is how long a server leaves a connection open after an answer.
const connectionKept = 5 * time.Second

// host is what the servers of a host see.
type host struct {
	busy     int
	turn     crawl.Turn // of the last request
	last     time.Duration
	met      bool
	interval time.Duration // required after it
	crawling time.Duration // Crawl-delay
	after    time.Duration // Retry-After
	run      int           // requests on this connection
	kept     bool
	durable  bool          // the effect of the last answer is stored
	floor    time.Duration // no request before this time
}

// place is what an address sees.
type place struct {
	busy int
	last time.Duration
	host string
}

// started checks a request as the server sees it.
func (w *watch) started(e *errand) {
	site := e.URL.Site()
	h := w.host(site)
	w.t.result.Requests++
	if !e.Robots {
		w.t.result.Visits++
		w.asked[site] = w.t.now
	}
	if h.busy > 0 {
		w.fail("politeness", "%s is asked for while %s is busy", e.URL, site.Host())
	}
	continues := w.continues(h)
	wait := h.last + max(h.interval, h.crawling, h.after)
	rested := !h.met || w.t.now >= wait
	if !rested && !continues {
		w.fail("politeness", "%s is asked for %v too early: the last answer ended at %s, interval %v, crawl-delay %v, retry-after %v",
			e.URL, wait-w.t.now, clockOf(h.last), h.interval, h.crawling, h.after)
	}
	if w.t.now < h.floor {
		w.fail("politeness", "%s is asked for %v too early after an unclean stop", e.URL, h.floor-w.t.now)
	}
	if h.run++; rested { // requests on a connection count again after a wait
		h.run = 1
	}
	h.busy++
	h.turn, h.durable = e.Turn, false
	if w.crawl.AddressDelay > 0 {
		a := w.addresses[w.address(site)]
		if a.busy > 0 {
			w.fail("politeness", "%s is asked for while its address is asked for a page of %s", e.URL, a.host)
		}
		if wait := a.last + w.crawl.AddressDelay; a.host != "" && a.host != site.Name() && w.t.now < wait {
			w.fail("politeness", "%s is asked for %v too early for its address", e.URL, wait-w.t.now)
		}
		a.busy++
		a.host = site.Name()
	}
}

// continues reports whether a request may follow the last one at once, on the same connection.
func (w *watch) continues(h *host) bool {
	return h.kept && h.run < w.crawl.PerConnection && w.t.now-h.last <= connectionKept && h.crawling == 0 && h.after == 0
}

// ended notes what the server knows about an answer.
func (w *watch) ended(n *node, e *errand) {
	site := e.URL.Site()
	h := w.host(site)
	h.busy--
	h.met, h.last = true, w.t.now
	h.interval = max(w.delayOf(site), min(time.Duration(w.crawl.Adaptive*float64(w.t.now-e.started)), time.Hour))
	h.after = min(e.answer.retryAfter, 24*time.Hour)
	h.kept = e.KeepAlive && e.failed == "" && w.site(site).Keeps
	if a := w.addresses[w.address(site)]; w.crawl.AddressDelay > 0 {
		a.busy--
		a.last = w.t.now
	}
	if e.Robots && e.ended { // else it was canceled
		w.told(n, e)
	}
	if !e.Robots && e.ended {
		w.spend()
	}
	h.crawling = w.robots[site].delay
}

// canceled notes a canceled request.
func (w *watch) canceled(n *node, e *errand) {
	e.answer = answer{}
	w.ended(n, e)
}

// turned notes that the machine's clock was stepped between two lives.
func (w *watch) turned(by time.Duration) {
	if by <= 0 {
		w.setBack = w.setBack || by < 0
		return
	}
	for _, h := range w.hosts { // the crawl cannot know
		h.last -= by
	}
	for _, a := range w.addresses {
		a.last -= by
	}
}

// unclean notes that the crawl forgets what is not stored.
func (w *watch) unclean() {
	for _, h := range w.hosts {
		if h.busy > 0 {
			h.busy, h.last, h.met = 0, w.t.now, true
		}
		h.kept = false
		if !h.durable {
			h.floor = -1
		}
	}
	for _, a := range w.addresses {
		if a.busy > 0 {
			a.busy, a.last = 0, w.t.now
		}
	}
}
