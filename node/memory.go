package node

import (
	"fmt"
	"runtime"
	"time"

	"freshet/crawl"
	"freshet/extract"
	"freshet/fetch"
	"freshet/memory"
	"freshet/seen"
	"freshet/store"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// The maximum memory of parts of the crawl, in bytes. A connection takes its response's account, its goroutine and,
// with TLS, buffers. A worker takes what its parser and encoder keep from page to page.
const (
	databaseBytes    = 20 * mib // cache, write buffers and compactions
	workerBytes      = 4 * mib
	connectionBytes  = 96 * kib
	idleBytes        = 32 * kib
	nameBytes        = 768
	sessionBytes     = 32 * kib // parsed
	entryBytes       = 18       // with cash, in the caches of the seen test and of sent links
	drainFactor      = 12       // bytes that a drain takes, with two buffers, for each byte that may wait
	fewestFetches    = 8        // with fewer, a crawl is not worth starting
	leastCommon      = 4 * mib
	perWorker        = 64 * mib // of the whole budget; a worker that must wait for memory is of no use
	defaultMemory    = 1 << 30
	recordCopies     = 3 // of a record's links: its own, encoded, and in a batch of the database
	linkBytes        = 72
	membersPerByte   = 2 // the maximum that a response's capture takes while it is compressed
	unpackedSitemaps = 3 // copies of a sitemap while it is unpacked and converted
)

// plan is how a budget is divided.
type plan struct {
	connections int // as requested, or as many as there is memory for
	workers     int // the same

	// One page: its decoded body, the sitemap that it unpacks to, its links.
	document, unpacked, links int64

	waiting int64 // bytes of links that may wait for the seen test
	group   int   // maximum bytes of a commit group

	idle, names int   // connections and look-ups
	sessions    int   // of TLS
	robots      int64 // bytes of cached rules

	body, page    int64 // maximum of one response and of one page
	bodies, pages int64 // maximum of all together

	fixed []fixedPart
}

// fixedPart is a part of the budget that does not depend on what servers send.
type fixedPart struct {
	name  string
	bytes int64
}

// planMemory divides size bytes. If there is too little for all connections, it plans fewer. If there is too little for
// fewestFetches, it returns an error that names the smallest sufficient budget.
func planMemory(size int64, opt Options, workers int) (plan, error) {
	p, ok := split(size, opt, workers)
	if ok {
		return p, nil
	}
	least := size
	for ; !ok; least += mib {
		_, ok = split(least, opt, workers)
	}
	least = (least - 1) / mib * mib
	return p, fmt.Errorf("crawl: %d MiB of memory are too few: set --memory to at least %d MiB, or --max-body below %d MiB", size/mib, least/mib, opt.MaxBody/mib)
}

// split does the work of planMemory. ok is false if there is too little memory.
func split(size int64, opt Options, workers int) (p plan, ok bool) {
	p.workers = int(clamp(size/perWorker, 1, int64(workers)))
	p.document = clamp(size/32, 4*mib, max(opt.MaxBody, mib))
	p.unpacked = clamp(size/32, 4*mib, extract.DefaultMaxUnpacked)
	p.links = clamp((size-96*mib)/10, 6*mib, 24*mib)
	p.group = int(clamp(size/64, 2*mib, groupBytes))
	p.idle = int(max(size/32, mib) / idleBytes)
	p.names = int(clamp(size/128, mib, 48*mib) / nameBytes)
	p.sessions = int(clamp(size/64, mib, 128*mib) / sessionBytes)
	p.robots = clamp(size/48, 3*mib, 48*mib)
	p.body = fetchLimits(opt).MostHeld()
	p.page = max(fetch.DecodeHeld(p.document), 2*p.document+unpackedSitemaps*p.unpacked+p.links,
		2*p.links+membersPerByte*(opt.MaxBody+mib))

	p.fixed = []fixedPart{
		{"collector", size / 8}, {"program", clamp(size/10, 16*mib, 32*mib)}, {"database", databaseBytes + 2*int64(p.group)},
		{"workers", int64(p.workers) * workerBytes}, {"idle connections", int64(p.idle) * idleBytes},
		{"TLS sessions", int64(p.sessions) * sessionBytes}, {"names", int64(p.names) * nameBytes},
		// with the sites to which they redirect, and those being checked again
		{"robots rules", p.robots + p.robots/8 + p.robots/4},
	}
	rest := size
	for _, part := range p.fixed {
		rest -= part.bytes
	}
	seenShare := clamp(size/16, 8*mib, 256*mib)
	p.waiting = seenShare / drainFactor
	rest -= seenShare + p.body + p.page + leastCommon
	caches := 1
	if opt.several() {
		caches = 2 // one of them for sent links
	}
	each := int64(connectionBytes + caches*seen.CacheEntries(opt.Connections)*entryBytes/opt.Connections)
	p.connections = int(min(int64(opt.Connections), max(rest, 0)/each))
	rest -= int64(p.connections)*each - leastCommon
	p.fixed = append(p.fixed, fixedPart{"connections", int64(p.connections) * connectionBytes},
		fixedPart{"seen", seenShare + int64(p.connections)*(each-connectionBytes)})
	p.bodies, p.pages = p.body+max(rest, 0)/3, p.page+max(rest, 0)*2/3
	return p, p.connections >= min(fewestFetches, opt.Connections)
}

func clamp(n, low, high int64) int64 { return min(max(n, low), max(low, high)) }

// fetchLimits returns the fetcher's options that limit the size of a response.
func fetchLimits(opt Options) fetch.Options {
	limits := opt.Fetch
	limits.MaxBody = opt.MaxBody
	return limits
}

// divide opens the budget's accounts. It logs if there is room for fewer fetches than requested.
func (n *Node) divide() (err error) {
	if n.plan, err = planMemory(n.opt.Memory, n.opt, runtime.GOMAXPROCS(0)); err != nil {
		return err
	}
	if n.plan.connections < n.opt.Connections {
		n.opt.Logger.Warn("fewer connections than --connections: there is too little memory for more", "asked", n.opt.Connections,
			"connections", n.plan.connections, "memory_bytes", n.opt.Memory)
		n.opt.Connections = n.plan.connections
	}
	limit, asked := descriptors(), n.opt.Connections
	n.opt.Connections, n.plan.idle = withinDescriptors(limit, asked, min(idlePerFetch*asked, n.plan.idle))
	if n.opt.Connections < asked {
		n.opt.Logger.Warn("fewer connections than asked for: "+
			"the process may open too few files; raise its limit (ulimit -Hn)",
			"asked", asked, "connections", n.opt.Connections, "files", limit)
	}
	n.budget = memory.New(n.opt.Memory)
	if n.bodies, err = n.budget.Open("bodies", n.plan.bodies, n.plan.body); err != nil {
		return err
	}
	if n.pages, err = n.budget.Open("pages", n.plan.pages, n.plan.page); err != nil {
		return err
	}
	used := n.holders()
	for _, part := range n.plan.fixed {
		tells, ok := used[part.name]
		if !ok {
			tells = func() int64 { return part.bytes }
		}
		if err := n.budget.Bound(part.name, part.bytes, tells); err != nil {
			return err
		}
	}
	n.budget.Count("sites", func() int64 { return int64(n.held().Sites) * siteBytes })
	n.budget.Count("beliefs", func() int64 { return int64(n.held().Kept) * beliefBytes })
	n.budget.Count("known URLs", func() int64 { return n.held().Known * knownBytes })
	return nil
}

// holders returns functions that measure the memory of those parts that may hold less than their share.
func (n *Node) holders() map[string]func() int64 {
	return map[string]func() int64{
		"collector":        func() int64 { return 0 },
		"connections":      func() int64 { return int64(n.fleet.status().Active) * connectionBytes },
		"idle connections": func() int64 { return int64(n.fetcher.Idle()) * idleBytes },
		"names":            func() int64 { return int64(n.fetcher.Names()) * nameBytes },
		"robots rules":     func() int64 { return n.held().RobotsBytes },
		"seen":             func() int64 { return n.seenHeld() },
	}
}

// What grows with the known part of the web: the frontier's state of a site, with its host, its address and the windows
// of its two queues; the beliefs about a page that is kept fresh; the seen test's entry for a URL on disk.
const (
	siteBytes   = 1500
	beliefBytes = 400
	knownBytes  = 2
)

// held returns what the shards hold.
func (n *Node) held() (sum crawl.Held) {
	n.each(func(s *crawl.Shard, _ time.Time) { sum = sum.And(s.Held()) })
	return sum
}

// seenHeld returns the memory that the seen tests hold.
func (n *Node) seenHeld() (bytes int64) {
	for _, l := range n.loops {
		bytes += l.seen.Held()
	}
	return bytes
}

// NoMemory returns the usage of a crawl that does not run: every part holds nothing.
func NoMemory() memory.Usage {
	u := memory.Usage{By: map[string]int64{"bodies": 0, "pages": 0, "sites": 0, "beliefs": 0, "known URLs": 0}}
	p, _ := split(defaultMemory, Options{Connections: 1}, 1)
	for _, part := range p.fixed {
		u.By[part.name] = 0
	}
	return u
}

// Memory returns the budget of the crawl, in which other parts of the process may open accounts.
func (n *Node) Memory() *memory.Budget { return n.budget }

// heldLinks returns the memory that a page's links take until they are decided: as they are offered, and as the page's
// record has them, with the copies that the store makes of it.
func heldLinks(v *visit, record *store.Fetched) (bytes int64) {
	for i := range v.links {
		bytes += linkBytes + int64(len(v.links[i].URL.String()))
	}
	if record != nil {
		bytes += recordCopies * int64(len(record.Links))
	}
	if robots := v.process.Robots; robots != nil {
		bytes += recordCopies * int64(len(robots.Body))
	}
	return bytes
}
