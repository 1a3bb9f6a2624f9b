package scheduler

import (
	"fmt"
	"math"
	"slices"
)

// MaxPages is the most pages that a chunk may have. One word holds what clients lack of a chunk, and no chunk needs
// every bit of it.
const MaxPages = 63

// unwanted is the value of mark.lacked for a chunk that nobody wants.
const unwanted = ^uint64(0)

// A Chunk is a run of pages of one site. It is sent as a whole.
type Chunk struct {
	Pages  int     // 1 … MaxPages
	Weight float64 // of one page, in metrics and keys; 0 is 1
	// Bytes is the fixed cost of sending the chunk, > 0. Any unit will do if Sizes is nil.
	Bytes float64
	// Sizes, if given, are the bytes of the pages' current versions. Only pages that a ready client may lack are
	// sent and counted. Demand.Resize changes a size.
	Sizes []int32
}

// A Page names one page of a chunk.
type Page struct{ Chunk, Page int32 }

// A Client receives the feed.
type Client struct {
	Weight float64 // in metrics and keys; 0 is 1
	Rate   float64 // bytes/s that it can take in; 0 is any number
	// Downloader marks a client that wants each chunk once, in any version, and then leaves. Other clients are
	// subscribers: they stay and want every change.
	Downloader bool
	Waited     float64 // s that a downloader has waited elsewhere already
}

// A Want is a chunk that a client wants, and what the client lacks of it.
type Want struct {
	Chunk int
	// Missing has a bit for each page whose current version the client lacks. Page 0 is the lowest bit. It is
	// ignored for a downloader, which lacks the whole chunk.
	Missing uint64
	// Since and Taken are the history of a client, if it is known: for example, of a client that another facility
	// served before. Since is when each missing page went stale. Taken is when the copies were taken. If Since is
	// nil, the missing pages are stale from now on, and count as if they had been fresh for Options.Interval.
	Since []float64
	Taken float64
}

// Options configure a Demand. The zero value is ready to use.
type Options struct {
	// Interval is the expected time between changes of a page that has not been seen to change, in seconds; 0 is 30
	// days. It is also taken as the fresh life of pages that a client never had.
	Interval float64
	// Backlog is how far a client with a Rate may fall behind, in seconds of that rate; 0 is a minute. A client
	// beyond it is passed over until it has caught up.
	Backlog float64
	// Copies means that every receiver of a chunk gets a copy of its own, as over HTTP. Sending a chunk then costs its
	// bytes times its receivers. Otherwise one copy serves all.
	Copies bool
}

// A Demand is the state that schedulers decide by: the clients, the chunks, and which client lacks which pages since
// when. It reports every change to its scheduler and keeps the metrics.
//
// Clients that held the same version of a chunk when it was last sent still hold the same. They are a group, and one
// mask has what they lack. A chunk has one group of subscribers and one of waiting downloaders. Clients that joined
// with another version, or were passed over, form further groups until the chunk is sent again.
//
// Not for concurrent use. Wrong numbers of chunks, pages or clients panic.
type Demand struct {
	options Options
	policy  Scheduler
	pairs   PairFollower
	changes ChangeFollower

	chunks  []chunk
	bytes   float64      // of all chunks
	marks   []mark       // by chunk
	seen    []uint16     // by page: its changes, up to 65,535; nil unless the scheduler asks, see countChanges
	held    map[int]bool // chunks that are passed over
	clients []client
	free    []int32 // numbers of clients that have left
	behind  ranking // clients passed over for their rate, by -busy
	slowed  []int32 // scratch of Sent
	altered []Page  // scratch of warm
	warmed  uint64  // the sum of what warm reads, so that the compiler keeps the reads

	meter meter
}

// A chunk is 192 bytes, three lines of a processor's cache: a change needs them, and one more of since.
type chunk struct {
	head group // the first of its groups, mostly the only one; nobody is in it if nobody wants the chunk
	Chunk
	added float64
}

// A mark is what a change needs to know of a chunk if the change alters nothing.
type mark struct {
	lacked uint64 // the pages that all its groups lack: their changes alter nothing; or unwanted
	first  int32  // the place in seen of its first page
}

type client struct {
	Client
	chunks []int32 // by slot; -1 once a downloader has the chunk
	pages  float64 // weight of all it wants: N
	lacks  int32   // chunks that it does not have whole
	paused bool
	gone   bool
	joined float64
	stale  float64 // since when it has lacked anything
	busy   float64 // until when it is busy with what was sent
}

// NewDemand returns an empty demand that tells policy about every change.
func NewDemand(policy Scheduler, options Options) *Demand {
	if options.Interval == 0 {
		options.Interval = 30 * 86400
	}
	if options.Backlog == 0 {
		options.Backlog = 60
	}
	d := &Demand{options: options, policy: policy, held: map[int]bool{}}
	d.pairs, _ = policy.(PairFollower)
	d.changes, _ = policy.(ChangeFollower)
	policy.Attach(d)
	return d
}

// AddChunk adds a chunk that nobody wants yet and returns its number. Numbers count from 0. The chunk's changes are
// known from now on.
func (d *Demand) AddChunk(c Chunk, now float64) int {
	if c.Pages < 1 || c.Pages > MaxPages || !(c.Bytes > 0) || c.Weight < 0 || c.Sizes != nil && len(c.Sizes) != c.Pages {
		panic(fmt.Sprintf("scheduler: no chunk: %+v", c))
	}
	if c.Weight == 0 {
		c.Weight = 1
	}
	d.chunks = append(d.chunks, chunk{Chunk: c, added: now})
	d.bytes += c.Bytes
	for _, size := range c.Sizes {
		d.bytes += float64(size)
	}
	d.marks = append(d.marks, mark{lacked: unwanted, first: int32(len(d.seen))})
	if d.seen != nil {
		d.seen = append(d.seen, make([]uint16, c.Pages)...)
	}
	return len(d.chunks) - 1
}

// Resize sets the size of a page's current version. It does nothing for a chunk without Sizes.
func (d *Demand) Resize(i, page int, bytes int32, now float64) {
	if d.chunks[i].Sizes != nil {
		d.bytes += float64(bytes - d.chunks[i].Sizes[page])
		d.chunks[i].Sizes[page] = bytes
		d.policy.Touch(i, now)
	}
}

// Hold passes a chunk over, or ends that. Clients lack its pages all the same, but it is not picked.
func (d *Demand) Hold(i int, held bool, now float64) {
	if delete(d.held, i); held {
		d.held[i] = true
	}
	d.policy.Touch(i, now)
}

// Join adds a client and returns its number. The number is reused once the client has left; a downloader leaves
// with its last chunk. Each chunk may be wanted only once. O(log n) a want.
func (d *Demand) Join(c Client, wants []Want, now float64) int {
	if c.Weight == 0 {
		c.Weight = 1
	}
	k := len(d.clients)
	if n := len(d.free); n > 0 {
		k = int(d.free[n-1])
		d.free = d.free[:n-1]
	} else {
		d.clients = append(d.clients, client{})
	}
	d.clients[k] = client{Client: c, joined: now - c.Waited}
	d.enter(k, wants, now)
	if c.Downloader {
		d.meter.waiting++
		d.meter.arrivals += d.clients[k].joined
		if d.clients[k].lacks == 0 {
			d.finish(k, now)
		}
	} else {
		d.meter.weight += c.Weight
	}
	return k
}

// Extend adds wants to a subscriber. O(chunks of the client).
func (d *Demand) Extend(k int, wants []Want, now float64) {
	if d.clients[k].Downloader {
		panic("scheduler: a downloader says all it wants when it joins")
	}
	d.enter(k, wants, now)
}

// enter adds wants of a client that has joined.
func (d *Demand) enter(k int, wants []Want, now float64) {
	c := &d.clients[k]
	before := c.pages
	for _, want := range wants {
		chunk := &d.chunks[want.Chunk]
		c.pages += chunk.Weight * float64(chunk.Pages)
		if c.Downloader || want.Missing != 0 {
			c.lack(now)
		}
	}
	if !c.Downloader {
		d.meter.pages += c.Weight * (c.pages - before)
		d.reshare(k, before, now)
	}
	for _, want := range wants {
		slot := len(c.chunks)
		c.chunks = append(c.chunks, int32(want.Chunk))
		d.admit(want.Chunk, d.groupFor(want, c, now), member{int32(k), int32(slot)}, now)
		d.policy.Touch(want.Chunk, now)
	}
}

// reshare updates what a page is worth to a subscriber that now wants more pages.
func (d *Demand) reshare(k int, before, now float64) {
	c := &d.clients[k]
	for _, i := range c.chunks {
		chunk := &d.chunks[i]
		g, _ := chunk.find(k)
		d.meter.count(chunk, g, -1)
		g.share += c.Weight/c.pages - c.Weight/before
		d.meter.count(chunk, g, 1)
		d.policy.Touch(int(i), now)
	}
}

// Leave removes a client, whatever it lacks. O(clients of each chunk that it wants).
func (d *Demand) Leave(k int, now float64) {
	d.Pause(k, now)
	c := &d.clients[k]
	for _, i := range c.chunks {
		if i >= 0 {
			g, at := d.chunks[i].find(k)
			d.expel(int(i), g, at)
		}
	}
	if c.Downloader {
		d.meter.waiting--
		d.meter.arrivals -= c.joined
		d.meter.gaveUp++
		d.meter.gaveUpAfter += now - c.joined
	} else {
		d.meter.weight -= c.Weight
		d.meter.pages -= c.Weight * c.pages
	}
	d.forget(k)
}

func (d *Demand) forget(k int) {
	d.clients[k] = client{gone: true}
	d.behind.remove(int32(k))
	d.free = append(d.free, int32(k))
}

// Pause passes a client over until Resume. It still lacks pages, but no chunk is sent for it, and it receives none.
// O(chunks of the client · log n).
func (d *Demand) Pause(k int, now float64) { d.turn(k, true, now) }

// Resume ends a pause.
func (d *Demand) Resume(k int, now float64) { d.turn(k, false, now) }

func (d *Demand) turn(k int, paused bool, now float64) {
	c := &d.clients[k]
	d.behind.remove(int32(k))
	if c.paused == paused {
		return
	}
	c.paused = paused
	for slot, i := range c.chunks {
		if i < 0 {
			continue
		}
		chunk := &d.chunks[i]
		g, at := chunk.find(k)
		like := g.empty()
		like.paused = paused
		who := g.members[at]
		d.expel(int(i), g, at)
		if like.missing != 0 && paused && d.pairs != nil {
			d.pairs.Drop(k, slot, int(i), now)
		}
		d.admit(int(i), like, who, now)
		d.policy.Touch(int(i), now)
	}
}

// Pick resumes the clients that have caught up by now, and returns the scheduler's choice.
func (d *Demand) Pick(now float64) (chunk int, ok bool) {
	for {
		slow, some := d.behind.top()
		if !some || -slow.key > now {
			return d.policy.Pick(now)
		}
		d.Resume(int(slow.id), now)
	}
}

// countChanges makes d count the changes of each page from now on. group.lives is computed from the counts. A
// scheduler calls it when it is attached.
func (d *Demand) countChanges() { d.seen = []uint16{} }

// changesOf returns how often each page of a chunk was seen to change; nil if changes are not counted.
func (d *Demand) changesOf(i int) []uint16 {
	if d.seen == nil {
		return nil
	}
	first := int(d.marks[i].first)
	return d.seen[first : first+d.chunks[i].Pages]
}

// known returns for how long the changes of a chunk's pages were counted until then, in seconds. It includes the
// Interval before: each page is assumed to have changed once in it.
func (d *Demand) known(i int, until float64) float64 {
	return d.options.Interval + max(0, until-d.chunks[i].added)
}

// Change reports that a page has a new version. It changes nothing for clients that already lack the page. O(1) apart
// from the scheduler's work, and a step for each client of a group that lacked nothing of the chunk.
func (d *Demand) Change(i, page int, now float64) {
	lacked := d.marks[i].lacked
	if d.changes != nil && lacked != unwanted {
		d.changes.Change(i, page, now)
	}
	if lacked>>page&1 == 0 {
		d.alter(i, page, now)
	}
	d.count(i, page, now)
}

// Changes reports that pages have new versions, all at now. It has the same effect as Change for each page, in order,
// but is faster. The state of a page may be anywhere in memory, and Change waits for each cache miss alone. Changes
// reads the state of many pages first, so that the processor loads it for all of them at once.
func (d *Demand) Changes(pages []Page, now float64) {
	if d.changes != nil {
		for _, p := range pages {
			d.Change(int(p.Chunk), int(p.Page), now)
		}
		return
	}
	d.warm(pages)
	for _, p := range pages {
		if d.marks[p.Chunk].lacked>>p.Page&1 == 0 {
			d.alter(int(p.Chunk), int(p.Page), now)
		}
		d.count(int(p.Chunk), int(p.Page), now)
	}
}

// warm reads a word of each cache line of the pages' chunks. It skips pages that all clients lack.
func (d *Demand) warm(pages []Page) {
	d.altered = slices.Grow(d.altered[:0], len(pages))[:len(pages)]
	n := 0
	for _, p := range pages {
		d.altered[n] = p // the next overwrites it if all lack it: a branch would be mispredicted
		n += int(^d.marks[p.Chunk].lacked >> p.Page & 1)
	}
	for _, p := range d.altered[:n] {
		c := &d.chunks[p.Chunk]
		d.warmed += c.head.missing + uint64(len(c.head.members)) + uint64(c.Pages)
	}
}

// count notes that a page was seen to change. Whenever its changes have doubled, count computes the groups that
// lack it again: the page went missing when less was known about it.
func (d *Demand) count(i, page int, now float64) {
	if d.seen == nil {
		return
	}
	n := &d.seen[int(d.marks[i].first)+page]
	if *n == math.MaxUint16 {
		return
	}
	if *n++; *n&(*n+1) != 0 {
		return
	}
	for g := &d.chunks[i].head; g != nil; g = g.next {
		if g.missing>>page&1 == 1 && !g.downloads {
			g.reckon(d, i, now)
		}
	}
	d.policy.Touch(i, now)
}

// alter applies a change of a page that some client has.
func (d *Demand) alter(i, page int, now float64) {
	d.marks[i].lacked |= 1 << page
	for g := &d.chunks[i].head; g != nil; g = g.next {
		if g.missing>>page&1 == 0 {
			d.spoil(i, g, page, now)
		}
	}
	d.policy.Touch(i, now)
}

// spoil notes that a group's copy of a page is stale.
func (d *Demand) spoil(i int, g *group, page int, now float64) {
	c := &d.chunks[i]
	first := g.missing == 0
	g.miss(d, i, page, now)
	d.meter.spoil(c, g, now)
	if !first {
		return
	}
	for _, who := range g.members {
		d.clients[who.client].lack(now)
		if d.pairs != nil && !g.paused {
			d.pairs.Need(int(who.client), int(who.slot), i, now)
		}
	}
}

func (c *client) lack(now float64) {
	if c.lacks == 0 {
		c.stale = now
	}
	c.lacks++
}

// Sent reports that the current version of the chunk was sent to all ready clients. It takes a step for each of them.
func (d *Demand) Sent(i int, now float64) {
	c := &d.chunks[i]
	bytes := c.bytes(1)
	d.slowed = d.slowed[:0]
	for g := &c.head; g != nil; g = g.next {
		if !g.paused && g.missing != 0 {
			d.receive(i, g, bytes, now)
		}
	}
	c.unite()
	d.marks[i].lacked = c.lacked()
	d.policy.Touch(i, now)
	for _, k := range d.slowed {
		d.Pause(int(k), now)
		d.behind.set(entry{key: -d.clients[k].busy, tie: k, id: k})
	}
}

// receive gives all members of a group the current version of a chunk.
func (d *Demand) receive(i int, g *group, bytes, now float64) {
	d.meter.count(&d.chunks[i], g, -1)
	d.meter.items.lag(g, now)
	receivers := g.members
	if g.downloads {
		g.members = nil
	} else {
		g.clear(now, d.changesOf(i))
	}
	for _, who := range receivers {
		k := int(who.client)
		client := &d.clients[k]
		client.lacks--
		if client.Downloader {
			client.chunks[who.slot] = -1
		} else if client.lacks == 0 {
			d.meter.images.Add(now-client.stale, 1)
		}
		if d.pairs != nil {
			d.pairs.Drop(k, int(who.slot), i, now)
		}
		switch {
		case client.Downloader && client.lacks == 0:
			d.finish(k, now)
		case client.Rate > 0:
			client.busy = max(client.busy, now) + bytes/client.Rate
			if client.busy-now > d.options.Backlog {
				d.slowed = append(d.slowed, who.client)
			}
		}
	}
}

// finish removes a downloader that has all it wanted.
func (d *Demand) finish(k int, now float64) {
	c := &d.clients[k]
	d.meter.waiting--
	d.meter.arrivals -= c.joined
	d.meter.served++
	d.meter.servedAfter += now - c.joined
	d.forget(k)
}
