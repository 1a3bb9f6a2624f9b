package scheduler

import (
	"math"
	"math/bits"
)

// A group is the clients of a chunk that hold the same versions of its pages.
type group struct {
	missing uint64
	taken   float64   // when its copies were taken
	first   float64   // since when anything has been missing
	latest  float64   // since when the last of it has been
	sum     float64   // Σ since over the missing
	square  float64   // Σ (since - taken)², of the fresh lives that have ended
	weight  float64   // Σ of the members' weights
	share   float64   // Σ weight/pages: what one page is worth to the members
	since   []float64 // of each missing page, since when; nil of downloaders
	members []member
	next    *group // of the chunk
	// These are set if changes are counted (Demand.countChanges). fresh is Σ(1 + changes seen) over the pages that
	// are not missing; divided by Demand.known it is how many pages go missing a second. wait is the expected time
	// until d pages are missing, Σ_{j<d} t_j, and lives is Σ_{j<d} (d-j)·t_j, both in seconds. See Lifetime.
	fresh       int32
	downloads   bool // its members are downloaders, which lack the whole chunk
	paused      bool
	wait, lives float32
}

// A member is a client in a group; the chunk is its slot-th.
type member struct {
	client, slot int32
}

// miss notes that a page of chunk i, the group's, has been missing since then.
func (g *group) miss(d *Demand, i, page int, since float64) {
	if g.since == nil {
		g.since = make([]float64, d.chunks[i].Pages)
	}
	if g.missing == 0 || since < g.first {
		g.first = since
	}
	if g.missing == 0 || since > g.latest {
		g.latest = since
	}
	g.missing |= 1 << page
	g.since[page] = since
	g.sum += since
	life := since - g.taken
	g.square += life * life
	if d.seen != nil {
		g.wear(d, i, page, since)
	}
}

// wear adds one more missing page to wait and lives, by the changes counted until now. Pages are added in the order
// in which they went missing.
func (g *group) wear(d *Demand, i, page int, now float64) {
	g.wait += float32(d.known(i, now)) / float32(g.fresh)
	g.lives += g.wait
	g.fresh -= 1 + int32(d.changesOf(i)[page])
}

// reckon computes wait and lives again, by the changes counted until now. O(missing²).
func (g *group) reckon(d *Demand, i int, now float64) {
	g.renew(d.changesOf(i))
	for left := g.missing; left != 0; {
		next := -1
		for m := left; m != 0; m &= m - 1 {
			if page := bits.TrailingZeros64(m); next < 0 || g.since[page] < g.since[next] {
				next = page
			}
		}
		g.wear(d, i, next, now)
		left &^= 1 << next
	}
}

// renew notes that no page is missing. seen is the number of changes of each page of the chunk, if they are
// counted.
func (g *group) renew(seen []uint16) {
	g.fresh, g.wait, g.lives = 0, 0, 0
	for _, changes := range seen {
		g.fresh += 1 + int32(changes)
	}
}

// avoidable returns the part of the missing pages' bytes that waiting for more changes would save, 0 to 1. known is
// for how long the changes were counted. See Lifetime.
func (g *group) avoidable(known float64) float64 {
	soon := float64(g.fresh) / known * float64(g.wait) / float64(bits.OnesCount64(g.missing))
	return max(0, 1-soon)
}

// waitFor makes a group of downloaders as old as the member that joined first.
func (g *group) waitFor(c *client) {
	if g.downloads {
		g.first = min(g.first, c.joined)
	}
}

// clear notes that all members have the current version.
func (g *group) clear(now float64, seen []uint16) {
	g.missing, g.sum, g.square = 0, 0, 0
	g.taken = now
	g.renew(seen)
}

// empty returns the same group without its members.
func (g *group) empty() group {
	like := *g
	like.weight, like.share, like.members, like.next = 0, 0, nil, nil
	if g.downloads {
		like.first = math.Inf(1)
	}
	like.since = append([]float64(nil), g.since...)
	return like
}

// groupFor returns a group without members that a client's want belongs to.
func (d *Demand) groupFor(want Want, who *client, now float64) group {
	c := &d.chunks[want.Chunk]
	all := uint64(1)<<c.Pages - 1
	if who.Downloader {
		return group{missing: all, downloads: true, paused: who.paused, taken: now, first: math.Inf(1)}
	}
	g := group{paused: who.paused}
	g.clear(now, d.changesOf(want.Chunk))
	if want.Since != nil {
		g.taken = want.Taken
	} else if want.Missing != 0 {
		g.taken = now - d.options.Interval
	}
	for missing := want.Missing & all; missing != 0; missing &= missing - 1 {
		page, since := bits.TrailingZeros64(missing), now
		if want.Since != nil {
			since = want.Since[page]
		}
		g.miss(d, want.Chunk, page, since)
	}
	return g
}

// same reports whether two groups may be merged. If nothing is missing, the age of the copies does not matter: the
// older ones are as good as the newer.
func (g *group) same(other *group) bool {
	return g.missing == other.missing && g.downloads == other.downloads && g.paused == other.paused &&
		(g.missing == 0 || g.downloads || g.taken == other.taken && g.sum == other.sum && g.lives == other.lives)
}

// admit adds a client to the group of a chunk that equals the given one.
func (d *Demand) admit(i int, like group, who member, now float64) {
	c := &d.chunks[i]
	g, found := c.like(&like)
	if !found {
		d.marks[i].lacked &= like.missing
	}
	client := &d.clients[who.client]
	d.meter.count(c, g, -1)
	g.members = append(g.members, who)
	g.waitFor(client)
	g.weight += client.Weight
	g.share += client.Weight / client.pages
	d.meter.count(c, g, 1)
	if g.missing != 0 && !g.paused && d.pairs != nil {
		d.pairs.Need(int(who.client), int(who.slot), i, now)
	}
}

// like returns the group of a chunk that equals the given one, and whether it existed. It adds one if there is
// none.
func (c *chunk) like(like *group) (g *group, found bool) {
	if len(c.head.members) == 0 {
		c.head = *like
		return &c.head, false
	}
	for g = &c.head; !g.same(like); g = g.next {
		if g.next == nil {
			g.next = new(group)
			*g.next = *like
			return g.next, false
		}
	}
	return g, true
}

// expel removes the member at a place from a group.
func (d *Demand) expel(i int, g *group, at int) {
	c := &d.chunks[i]
	client := &d.clients[g.members[at].client]
	d.meter.count(c, g, -1)
	last := len(g.members) - 1
	g.members[at] = g.members[last]
	g.members = g.members[:last]
	if last == 0 {
		c.tidy()
		d.marks[i].lacked = c.lacked()
		return
	}
	g.weight -= client.Weight
	g.share -= client.Weight / client.pages
	d.meter.count(c, g, 1)
	if g.downloads && g.first == client.joined {
		g.first = math.Inf(1)
		for _, who := range g.members {
			g.waitFor(&d.clients[who.client])
		}
	}
}

// find returns the group of a chunk that a client is in, and its place there.
func (c *chunk) find(k int) (g *group, at int) {
	for g = &c.head; g != nil; g = g.next {
		for at, who := range g.members {
			if int(who.client) == k {
				return g, at
			}
		}
	}
	panic("scheduler: the client does not want the chunk")
}

// unite merges the groups that are ready and lack nothing, and drops empty groups.
func (c *chunk) unite() {
	var fresh *group
	for g := &c.head; g != nil; g = g.next {
		if g.paused || g.missing != 0 {
			continue
		}
		if fresh == nil {
			fresh = g
			continue
		}
		fresh.taken = max(fresh.taken, g.taken)
		fresh.weight += g.weight
		fresh.share += g.share
		fresh.members = append(fresh.members, g.members...)
		g.members = nil
	}
	c.tidy()
}

// tidy drops empty groups.
func (c *chunk) tidy() {
	for len(c.head.members) == 0 && c.head.next != nil {
		c.head = *c.head.next
	}
	if len(c.head.members) == 0 {
		c.head = group{}
	}
	for g := &c.head; g.next != nil; {
		if len(g.next.members) == 0 {
			g.next = g.next.next
		} else {
			g = g.next
		}
	}
}

// missing has a bit for each page that a ready client lacks.
func (c *chunk) missing() (pages uint64) {
	for g := &c.head; g != nil; g = g.next {
		if !g.paused {
			pages |= g.missing
		}
	}
	return pages
}

// bytes returns the size of what is sent of a chunk now. The sizes of its pages count times part.
func (c *chunk) bytes(part float64) float64 {
	if c.Sizes == nil {
		return c.Bytes
	}
	pages := 0.0
	for missing := c.missing(); missing != 0; missing &= missing - 1 {
		pages += float64(c.Sizes[bits.TrailingZeros64(missing)])
	}
	return c.Bytes + part*pages
}

// receivers returns how many ready clients lack anything of a chunk.
func (c *chunk) receivers() (clients int) {
	for g := &c.head; g != nil; g = g.next {
		if !g.paused && g.missing != 0 {
			clients += len(g.members)
		}
	}
	return clients
}

// lacked returns the pages that all groups lack. It returns unwanted if nobody wants the chunk.
func (c *chunk) lacked() uint64 {
	all := unwanted
	for g := &c.head; g != nil; g = g.next {
		if len(g.members) > 0 {
			all &= g.missing
		}
	}
	return all
}
