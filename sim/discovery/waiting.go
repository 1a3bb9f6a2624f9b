package discovery

// waiting are the links that wait for the seen test, as in a live crawl: they come page by page, and are decided
// together. That is when those which came first have waited for Options.Wait, as far as somebody looks: after
// every answer, and Options.Look after the last look; or as soon as a fetcher is idle and no page is queued.
type waiting struct {
	pages   []uint32 // whose links wait
	decided []uint32 // reused
	since   float64  // when the first of them came
	looks   int
}

// offer lets the links of a page wait.
func (c *crawl) offer(now float64, page uint32) {
	w := &c.waiting
	if len(w.pages) == 0 {
		w.since = now
	}
	w.pages = append(w.pages, page)
}

// look lets what has waited for long enough be decided, and looks again after a while if there is more.
func (c *crawl) look(now float64) {
	const instant = 1e-9 // s
	w := &c.waiting
	for len(w.pages) > 0 && now-w.since > c.options.Wait.Seconds()-instant {
		c.drain(now)
	}
	if w.looks++; len(w.pages) > 0 {
		c.events.Push(now+c.options.Look.Seconds(), happening{kind: looked, look: w.looks})
	}
}

// hungry says whether a fetcher is idle while links wait and no page is queued.
func (c *crawl) hungry() bool {
	queued := c.frontier.Stats()
	return len(c.waiting.pages) > 0 && c.free > 0 && c.processor.open() && queued.QueuedNew+queued.QueuedDue == 0
}

// drain decides all links that wait.
func (c *crawl) drain(now float64) {
	w := &c.waiting
	w.pages, w.decided = w.decided[:0], w.pages
	for _, page := range w.decided {
		c.reveal(now, page)
	}
	c.tell(now)
}
