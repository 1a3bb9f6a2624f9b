package discovery

// waiting are the links that wait for the seen test, as in a live crawl: they come page by page, and are decided
// together. That is when those which came first have waited for Options.Wait, as far as somebody looks: after
// every answer, and Options.Look after the last look; or as soon as a fetcher is idle and no page is queued.
type waiting struct {
	offerings []offering
	decided   []offering // reused
	since     float64    // when the first of them came
	looks     int
}

// offering are the links of a page: for the first time, or with cash that came to the page after that.
type offering struct {
	page  uint32
	first bool
	cash  float64 // unless first
}

// offer lets links wait.
func (c *crawl) offer(now float64, o offering) {
	w := &c.waiting
	if len(w.offerings) == 0 {
		w.since = now
	}
	w.offerings = append(w.offerings, o)
}

// look lets what has waited for long enough be decided, and looks again after a while if there is more.
func (c *crawl) look(now float64) {
	const instant = 1e-9 // s
	w := &c.waiting
	for len(w.offerings) > 0 && now-w.since > c.options.Wait.Seconds()-instant {
		c.drain(now)
	}
	if w.looks++; len(w.offerings) > 0 {
		c.events.Push(now+c.options.Look.Seconds(), happening{kind: looked, look: w.looks})
	}
}

// hungry says whether a fetcher is idle while links wait and no page is queued.
func (c *crawl) hungry() bool {
	queued := c.frontier.Stats()
	return len(c.waiting.offerings) > 0 && c.free > 0 && c.processor.open() && queued.QueuedNew+queued.QueuedDue == 0
}

// drain decides all links that wait. What the pages behind them hand on waits from now on.
func (c *crawl) drain(now float64) {
	w := &c.waiting
	w.offerings, w.decided = w.decided[:0], w.offerings
	for _, o := range w.decided {
		if o.first {
			c.reveal(now, o.page)
		} else {
			c.follow(now, o.page, o.cash)
		}
	}
	c.tell(now)
}
