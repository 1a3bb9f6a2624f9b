package discovery

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"freshet/frontier"
	"freshet/sim/event"
	"freshet/weburl"
)

// Crawl crawls the web from the homes of its sites until nothing is left or a limit of the options is reached. It
// fails if the options are invalid, if the web has no home, or when ctx ends. It takes some 25 bytes a page and 40
// more for each page that waits.
func Crawl(ctx context.Context, web Web, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	c, err := newCrawl(web, o)
	if err != nil {
		return Result{}, err
	}
	if err := c.run(ctx); err != nil {
		return Result{}, err
	}
	return c.result, nil
}

// epoch is the frontier's time at the start of a crawl.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// crawl is a running crawl.
type crawl struct {
	options  Options
	web      Web
	frontier *frontier.Frontier
	queues   frontier.MemoryQueues
	events   event.Queue[happening]
	names    []weburl.Site // of the sites

	pages   []page
	arrived uint64 // pages that became known
	free    int    // fetchers
	wake    float64
	stirred bool // something has happened since the fetchers looked for work
	waiting waiting
	result  Result

	ranking   *ranking   // nil unless the ordering asks for one
	processor *processor // nil unless the options ask for it, as below
	refresher *refresher

	links   []uint32         // reused
	entered []enteredPage    // reused
	entries []frontier.Entry // reused
}

// page is what a crawl knows about a page.
type page struct {
	order   uint64       // of its key in the queue
	arrival uint32       // 0: not known
	cash    weburl.Purse // its place in the queue depends on the told part
	depth   uint16
	fetched bool // or being fetched
	read    bool // its links are known
	ranked  bool // known at the last ranking: no more cash comes to it
}

type enteredPage struct {
	site  uint32
	entry frontier.Entry
}

// happening is an event of a crawl.
type happening struct {
	kind  kind
	fetch Fetch
	page  frontier.Page
	look  int // its number
}

type kind uint8

const (
	fetched  kind = iota // an answer ends
	looked               // links that wait may have waited long enough
	woken                // a site may get a request again
	worked               // a worker has processed a page
	measured             // the fleet's controller reads its counters
	slotted              // pages may be picked again
	sampled              // the freshness of the copies is sampled
)

func newCrawl(web Web, o Options) (*crawl, error) {
	c := &crawl{
		options: o, web: web,
		names: make([]weburl.Site, web.Sites()), pages: make([]page, web.Pages()),
		free: max(1, o.Connections), wake: math.Inf(1),
	}
	c.waiting.longest = o.Wait
	if c.options.Ordering == nil {
		c.options.Ordering = frontier.Length{}
	}
	if len(c.pages) > math.MaxUint32-1 {
		return nil, fmt.Errorf("discovery: %d pages: want less than 2³²", len(c.pages))
	}
	var err error
	if c.frontier, err = frontier.New(c.options.frontier(), &c.queues); err != nil {
		return nil, err
	}
	if c.processor, err = newProcessor(o); err != nil {
		return nil, err
	}
	if c.refresher = newRefresher(o, c.frontier, len(c.pages)); c.refresher != nil {
		if c.refresher.Sampled != nil {
			c.events.Push(c.refresher.Every.Seconds(), happening{kind: sampled})
		}
	}
	if c.processor != nil {
		c.events.Push(1, happening{kind: measured})
	}
	if ranked, ok := c.options.Ordering.(frontier.Ranked); ok {
		c.ranking = &ranking{ordering: ranked}
	}
	cash := frontier.Pay(c.options.Ordering, 1, 1)
	for i := range c.names {
		c.names[i] = weburl.Site(fmt.Sprintf("http://%09d.test", i)) // in order of their numbers
		if home, ok := web.Home(uint32(i)); ok {
			c.know(0, home, 0, cash)
		}
	}
	c.tell(0)
	if c.arrived == 0 {
		return nil, errors.New("discovery: the web has no page to start from")
	}
	return c, nil
}

// run handles one event after the other. What happens at one time is handled before the fetchers look
// for work.
func (c *crawl) run(ctx context.Context) error {
	if c.ranking != nil {
		if err := c.rank(0); err != nil {
			return err
		}
	}
	if err := c.work(0); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if n%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if c.options.Progress != nil {
				c.options.Progress(c.result.Fetched, c.result.Known)
			}
		}
		now, e, ok := c.events.Pop()
		if !ok || c.enough(now) {
			c.result.Fleet = c.processor.result(c.result.Duration)
			return c.frontier.Err()
		}
		if err := c.handle(now, e); err != nil {
			return err
		}
		if next, ok := c.events.Next(); c.stirred && (!ok || next > now) {
			c.stirred = false
			if err := c.work(now); err != nil {
				return err
			}
		}
	}
}

// work gives idle fetchers pages, and ranks the pages when it is time. A live crawl ranks in the background.
func (c *crawl) work(now float64) error {
	for {
		c.dispatch(now)
		switch {
		case c.drainIfDue(now):
		case c.ranking.due() && len(c.waiting.pages) == 0:
			if err := c.rank(now); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func (c *crawl) enough(now float64) bool {
	return c.options.MaxPages > 0 && c.result.Fetched >= c.options.MaxPages || c.refresher != nil && now > c.refresher.For.Seconds()
}

func (c *crawl) handle(now float64, e happening) error {
	if e.kind == looked && e.look != c.waiting.looks {
		return nil // the links were decided since
	}
	c.stirred = true
	switch e.kind {
	case fetched:
		c.finish(now, e)
	case woken:
		if now >= c.wake {
			c.wake = math.Inf(1)
		}
	case worked:
		c.leave(now)
		c.offer(now, e.fetch.Page)
	case measured:
		return c.measure(now)
	case slotted:
		if now >= c.refresher.wake {
			c.refresher.wake = math.Inf(1)
			c.pick(now)
		}
	case sampled:
		c.sample(now)
	}
	return nil
}

// dispatch gives idle fetchers pages of the frontier.
func (c *crawl) dispatch(now float64) {
	for c.free > 0 && c.processor.open() {
		p, wake, ok := c.frontier.NextWithin(c.refresher.budget(), instant(now))
		if !ok {
			c.waiting.timing.Asked(false, c.frontier.Stats().Open() > 0)
			c.wakeAt(wake)
			return
		}
		c.waiting.timing.Asked(true, true)
		c.start(now, p)
	}
}

// wakeAt makes the fetchers look for work at a time, unless it is zero.
func (c *crawl) wakeAt(wake time.Time) {
	if at := seconds(wake); !wake.IsZero() && at < c.wake {
		c.wake = at
		c.events.Push(at, happening{kind: woken})
	}
}

// start sends a fetcher for a page.
func (c *crawl) start(now float64, p frontier.Page) {
	c.free--
	c.processor.started(now)
	site := c.siteOf(p)
	server := c.web.Server(site)
	f := Fetch{Site: site, Start: now}
	size := float64(RobotsBytes)
	if !p.Robots {
		f.Page = number(p.Fingerprint)
		c.pages[f.Page].fetched = true
		size = c.web.Bytes(f.Page)
	}
	f.End = now
	if !p.Continues {
		f.End += server.Latency
	}
	f.End += size / c.rate(server)
	f.End = seconds(instant(f.End)) // the frontier's nanoseconds
	c.events.Push(f.End, happening{kind: fetched, fetch: f, page: p})
}

// rate returns the bytes/s of a transfer that starts now. Its own fetcher counts as active.
func (c *crawl) rate(server Server) float64 {
	rate := math.Inf(1)
	if server.Rate > 0 {
		rate = server.Rate
	}
	if c.options.Bandwidth > 0 {
		active := max(1, c.options.Connections) - c.free
		rate = min(rate, c.options.Bandwidth/float64(active))
	}
	return rate
}

// finish handles an answer.
func (c *crawl) finish(now float64, e happening) {
	f, t := e.fetch, instant(now)
	c.result.Duration = now
	c.result.Busy += f.End - f.Start
	if e.page.Robots {
		c.frontier.RobotsDone(e.page.Site, t.Add(24*time.Hour), 0, t)
	}
	c.frontier.Done(e.page, frontier.Answer{Took: instant(f.End).Sub(instant(f.Start)), Kept: true}, t)
	if e.page.Robots {
		c.ended(now)
		return
	}
	c.queues.Remove(e.page.Site, e.page.Kind, e.page.Key)
	c.frontier.Committed(e.page)
	if c.options.Fetched != nil {
		c.options.Fetched(f)
	}
	c.ranking.fetched(e.page.Kind)
	again := c.refresher != nil && c.visited(now, f)
	if c.refresher != nil {
		c.pick(now)
	}
	if again {
		c.result.Revisits++
		c.ended(now)
		return
	}
	c.result.Fetched++
	c.result.Bytes += c.web.Bytes(f.Page)
	c.take(now, f)
}

// take handles the first fetch of a page.
func (c *crawl) take(now float64, f Fetch) {
	if c.processor != nil {
		c.queued(now, f)
		return
	}
	c.ended(now)
	c.offer(now, f.Page)
}

// due puts a page into its site's due queue, at a time.
func (c *crawl) due(n uint32, at, now time.Time) {
	site := c.names[c.web.SiteOf(n)]
	e := frontier.Entry{Key: frontier.Key{Order: uint64(at.UnixNano()), Arrival: uint64(c.pages[n].arrival)}, Fingerprint: fingerprint(n)}
	c.queues.Add(site, frontier.KindDue, e)
	c.frontier.Planned(site, e, now)
}

// reveal makes a page's links known. They share all of its cash.
func (c *crawl) reveal(now float64, n uint32) {
	p := &c.pages[n]
	p.read = true
	c.ranking.read(p)
	p.cash.Empty()
	c.result.Links += int64(c.follow(now, n, p.cash.Told()))
	c.tell(now)
}

// follow hands cash of a page on to its links, and returns their number. New pages enter the queues of their sites.
// Waiting pages may get a lower depth and more cash, fetched pages only cash.
func (c *crawl) follow(now float64, n uint32, cash float64) (links int) {
	c.links = c.web.AppendLinks(c.links[:0], n)
	depth := c.pages[n].depth
	if depth < math.MaxUint16 {
		depth++
	}
	cash = frontier.Pay(c.options.Ordering, cash, len(c.links)+c.web.Outside(n))
	for _, to := range c.links {
		switch p := &c.pages[to]; {
		case p.arrival == 0:
			c.know(now, to, depth, cash)
		case !p.fetched:
			c.again(now, to, depth, cash)
		default:
			c.later(to, cash)
		}
	}
	return len(c.links)
}

// later adds cash to a page that is being fetched. The page passes it on when its links are known. A page whose
// links are known hands nothing on.
func (c *crawl) later(n uint32, cash float64) {
	if p := &c.pages[n]; !p.ranked && !p.read {
		p.cash.Add(cash)
	}
}

// know notes a page that was not known.
func (c *crawl) know(now float64, n uint32, depth uint16, cash float64) {
	c.arrived++
	c.result.Known++
	p := &c.pages[n]
	c.ranking.known(n)
	p.arrival, p.depth = uint32(c.arrived), depth
	p.cash.Add(cash)
	p.order = c.options.Ordering.PageOrder(p.link(n))
	c.entered = append(c.entered, enteredPage{c.web.SiteOf(n), p.entry(n)})
	if c.options.Known != nil {
		c.options.Known(n, Arrival{now, int(depth)})
	}
}

// tell gives the pages noted to the queues and the frontier, site by site.
func (c *crawl) tell(now float64) {
	slices.SortStableFunc(c.entered, func(a, b enteredPage) int { return int(a.site) - int(b.site) })
	for i := 0; i < len(c.entered); {
		site := c.entered[i].site
		name := c.names[site]
		c.entries = c.entries[:0]
		for ; i < len(c.entered) && c.entered[i].site == site; i++ {
			c.queues.Add(name, frontier.KindNew, c.entered[i].entry)
			c.entries = append(c.entries, c.entered[i].entry)
		}
		if !c.options.Robots && !c.frontier.Known(name) {
			c.frontier.RobotsDone(name, time.Unix(math.MaxInt32<<2, 0), 0, instant(now))
		}
		c.frontier.Discovered(name, c.entries, instant(now))
	}
	c.entered = c.entered[:0]
}

// again adds the depth and cash of one more link to a waiting page.
func (c *crawl) again(now float64, n uint32, depth uint16, cash float64) {
	p := &c.pages[n]
	if p.ranked {
		return
	}
	old := p.entry(n)
	if lot := p.cash.Add(cash); lot == 0 && depth >= p.depth {
		return
	}
	p.depth = min(p.depth, depth)
	p.order = c.options.Ordering.PageOrder(p.link(n))
	c.move(now, n, old)
}

// move reports to the frontier that a waiting page has changed, and its former place.
func (c *crawl) move(now float64, n uint32, old frontier.Entry) {
	e := c.pages[n].entry(n)
	if e == old {
		return
	}
	name := c.names[c.web.SiteOf(n)]
	if e.Key != old.Key {
		c.queues.Remove(name, frontier.KindNew, old.Key)
	}
	c.queues.Add(name, frontier.KindNew, e)
	c.frontier.Moved(name, frontier.KindNew, old, e, instant(now))
}

// link returns the page as an ordering sees it.
func (p *page) link(n uint32) weburl.Link {
	return weburl.Link{Fingerprint: fingerprint(n), Depth: p.depth, Cash: p.cash.Told()}
}

func (p *page) entry(n uint32) frontier.Entry {
	return frontier.Entry{Key: frontier.Key{Order: p.order, Arrival: uint64(p.arrival)}, Fingerprint: fingerprint(n), Cash: p.cash.Told()}
}
