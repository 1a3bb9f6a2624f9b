package scheduler

import (
	"fmt"
	"math"
	"slices"
)

// MaxPages is the most pages that a chunk may have: what clients lack of it is kept in one word, of which
// no chunk needs every bit.
const MaxPages = 63

// unwanted is what all who want a chunk lack of it, if nobody wants it.
const unwanted = ^uint64(0)

// A Chunk is a run of pages of one site that is sent as one.
type Chunk struct {
	Pages  int     // 1 … MaxPages
	Weight float64 // of one page, in metrics and keys; 0 is 1
	// Bytes is what sending the chunk takes whatever it carries, > 0. Any unit will do if Sizes is nil.
	Bytes float64
	// Sizes, if given, are the bytes of the pages' current versions: of them only those are sent, and
	// counted, that a ready client may lack. Demand.Resize changes them.
	Sizes []int32
}

// A Page names one page of a chunk.
type Page struct{ Chunk, Page int32 }

// A Client is who listens.
type Client struct {
	Weight float64 // in metrics and keys; 0 is 1
	Rate   float64 // bytes/s that it can take in; 0 is any number
	// Downloader is set for one that wants each chunk once, in any version, and then leaves. Else it is a
	// subscriber, who stays and wants every change.
	Downloader bool
	Waited     float64 // s that a downloader has waited elsewhere already
}

// A Want says that a client wants a chunk, and what it lacks of it.
type Want struct {
	Chunk int
	// Missing has a bit for each page of which the client lacks the current version, page 0 lowest. A
	// downloader lacks the whole chunk, whatever this says.
	Missing uint64
	// Since and Taken are for a client whose history is known, one that comes from another facility, say:
	// when each missing page went stale, by page, and when the copies were taken. If Since is nil, the
	// missing pages are stale from now on, and counted as if they had been fresh for Options.Interval.
	Since []float64
	Taken float64
}

// Options are what a Demand has to be told. The zero value is good.
type Options struct {
	// Interval is the time between changes that is expected of a page that nobody has seen change, in
	// seconds; 0 is 30 days. It also counts as the fresh life of what a client never had.
	Interval float64
	// Backlog is how far, in seconds of its own rate, a client with a Rate may fall behind before it is
	// passed over until it has caught up; 0 is a minute.
	Backlog float64
	// Copies says that every receiver of a chunk gets a copy of its own, as over HTTP: then sending takes
	// the bytes of the chunk that many times. Else one copy serves all.
	Copies bool
}

// A Demand is the state that schedulers decide by: the clients, the chunks, and who lacks which pages
// since when. It tells its scheduler of everything that changes and keeps the metrics.
//
// All who held the same version of a chunk when it was last sent hold the same still, so what they lack
// is one mask, a group. A chunk has one group of subscribers and one of waiting downloaders; further ones
// for those who joined with something else or were passed over end with the next sending.
//
// Not for concurrent use. Wrong numbers of chunks, pages or clients panic.
type Demand struct {
	options Options
	policy  Scheduler
	pairs   PairFollower
	changes ChangeFollower

	chunks  []chunk
	marks   []mark   // by chunk
	seen    []uint16 // by page: its changes, as far as 65,535; nil unless the scheduler asks, see countChanges
	clients []client
	free    []int32 // numbers of clients that left
	behind  ranking // clients passed over for their rate, by -busy
	slowed  []int32 // scratch of Sent
	altered []Page  // scratch of warm
	warmed  uint64  // the sum of what it reads for the reading's sake

	meter meter
}

// A chunk is 192 bytes, three lines of a processor's cache: a change needs them, and one more of since.
type chunk struct {
	head group // the first of its groups, mostly the only one; nobody is in it if nobody wants the chunk
	Chunk
	added float64
}

// A mark is all of a chunk that a change needs which alters nothing.
type mark struct {
	lacked uint64 // the pages that all its groups lack, whose changes alter nothing; or unwanted
	first  int32  // the place in seen of its first page
}

type client struct {
	Client
	chunks []int32 // by slot; -1 once a downloader has it
	pages  float64 // weight of all it wants: N
	lacks  int32   // chunks of which it lacks something
	paused bool
	gone   bool
	joined float64
	stale  float64 // since when it lacks anything
	busy   float64 // until when what was sent keeps it busy
}

// NewDemand returns an empty demand that tells policy of all that comes.
func NewDemand(policy Scheduler, options Options) *Demand {
	if options.Interval == 0 {
		options.Interval = 30 * 86400
	}
	if options.Backlog == 0 {
		options.Backlog = 60
	}
	d := &Demand{options: options, policy: policy}
	d.pairs, _ = policy.(PairFollower)
	d.changes, _ = policy.(ChangeFollower)
	policy.Attach(d)
	return d
}

// AddChunk adds a chunk that nobody wants yet and returns its number, which counts from 0. Its changes
// are known from now on.
func (d *Demand) AddChunk(c Chunk, now float64) int {
	if c.Pages < 1 || c.Pages > MaxPages || !(c.Bytes > 0) || c.Weight < 0 || c.Sizes != nil && len(c.Sizes) != c.Pages {
		panic(fmt.Sprintf("scheduler: no chunk: %+v", c))
	}
	if c.Weight == 0 {
		c.Weight = 1
	}
	d.chunks = append(d.chunks, chunk{Chunk: c, added: now})
	d.marks = append(d.marks, mark{lacked: unwanted, first: int32(len(d.seen))})
	if d.seen != nil {
		d.seen = append(d.seen, make([]uint16, c.Pages)...)
	}
	return len(d.chunks) - 1
}

// Resize says how large the current version of a page is. Of a chunk without Sizes it changes nothing.
func (d *Demand) Resize(i, page int, bytes int32, now float64) {
	if d.chunks[i].Sizes != nil {
		d.chunks[i].Sizes[page] = bytes
		d.policy.Touch(i, now)
	}
}

// Join lets a client in and returns its number, which is free again once it has left: a downloader
// leaves with its last chunk. A chunk may be wanted once only. O(log n) a want.
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

// Extend lets a subscriber want more. O(chunks of the client).
func (d *Demand) Extend(k int, wants []Want, now float64) {
	if d.clients[k].Downloader {
		panic("scheduler: a downloader says all it wants when it joins")
	}
	d.enter(k, wants, now)
}

// enter adds wants of a client that is in already.
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

// reshare counts again what a subscriber's pages are worth to it, now that it wants more than before.
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

// Leave lets a client go, whatever it lacks. O(chunks of the client), and in each the clients that want
// it.
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

// Pause passes a client over: it lacks what it lacks, but no chunk is sent for its sake, and it gets
// none. O(chunks of the client · log n).
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

// Pick lets in again who has caught up by now, and returns the scheduler's choice.
func (d *Demand) Pick(now float64) (chunk int, ok bool) {
	for {
		slow, some := d.behind.top()
		if !some || -slow.key > now {
			return d.policy.Pick(now)
		}
		d.Resume(int(slow.id), now)
	}
}

// countChanges lets d count the changes of each page from now on, and tell by them how long groups take to
// lack what they do (see group.lives). A scheduler asks for it when it is attached.
func (d *Demand) countChanges() { d.seen = []uint16{} }

// changesOf returns how often each page of a chunk was seen to change; nil if that is not counted.
func (d *Demand) changesOf(i int) []uint16 {
	if d.seen == nil {
		return nil
	}
	first := int(d.marks[i].first)
	return d.seen[first : first+d.chunks[i].Pages]
}

// known returns for how long the changes of a chunk's pages were counted until then, in seconds, with the
// Interval before, in which each is taken to have changed once.
func (d *Demand) known(i int, until float64) float64 {
	return d.options.Interval + max(0, until-d.chunks[i].added)
}

// Change says that a page has a new version. Nothing changes for those who lack the page already.
// O(1) apart from what the scheduler does, and if a group lacked nothing of the chunk, a step for each of
// its clients.
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

// Changes says that pages have new versions, all at now: the same as Change for each, in order. What a change
// needs lies anywhere in memory. Here the processor fetches it for many changes at a time, where it would
// wait for each alone: first what tells those that alter nothing, then what the others alter, which is
// read just so that it is there when they are taken in.
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

// warm reads a word of each cache line of the chunks of those pages that not all lack.
func (d *Demand) warm(pages []Page) {
	d.altered = slices.Grow(d.altered[:0], len(pages))[:len(pages)]
	n := 0
	for _, p := range pages {
		d.altered[n] = p // the next takes its place if all lack it; a branch here would be guessed wrong
		n += int(^d.marks[p.Chunk].lacked >> p.Page & 1)
	}
	for _, p := range d.altered[:n] {
		c := &d.chunks[p.Chunk]
		d.warmed += c.head.missing + uint64(len(c.head.members)) + uint64(c.Pages)
	}
}

// count notes that a page was seen to change. When its changes have doubled, those who lack it are reckoned
// again: it went missing when less was known of it.
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

// alter takes in a change of a page that not all lack.
func (d *Demand) alter(i, page int, now float64) {
	d.marks[i].lacked |= 1 << page
	for g := &d.chunks[i].head; g != nil; g = g.next {
		if g.missing>>page&1 == 0 {
			d.spoil(i, g, page, now)
		}
	}
	d.policy.Touch(i, now)
}

// spoil notes that a page which a group had is stale.
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

// Sent says that the chunk, in the versions of now, has gone out to all who are ready. A step for each
// of them.
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

// receive lets all members of a group have the current version of a chunk.
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

// finish lets a downloader go that has all it wanted.
func (d *Demand) finish(k int, now float64) {
	c := &d.clients[k]
	d.meter.waiting--
	d.meter.arrivals -= c.joined
	d.meter.served++
	d.meter.servedAfter += now - c.joined
	d.forget(k)
}
