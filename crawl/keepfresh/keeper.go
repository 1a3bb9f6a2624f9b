package keepfresh

import (
	"container/list"
	"math"
	"time"

	"freshet/refresh"
	"freshet/weburl"
)

// Hosts knows when sites may be requested. A Keeper and its policy call it only within Pick.
type Hosts interface {
	// Opens returns the earliest time at which a page of the site may be requested: now, if it may be requested at
	// once. If that does not depend on time alone, at is zero; busy is then when the request in flight for which the
	// site waits began, or zero.
	Opens(site weburl.Site, now time.Time) (at, busy time.Time)
	// Rate returns about how many pages of the site may be requested per second in the long run, +Inf without a limit.
	Rate(site weburl.Site) float64
}

// A Valuer is a policy that can compare the worth of a visit now with that of visits to other pages.
type Valuer interface {
	Value(id refresh.ID, now float64) float64
}

// A Pick is a page to put into its site's due queue.
type Pick struct {
	ID  refresh.ID
	Due time.Time
}

// A Keeper decides which pages are requested next, see the package. It is not safe for concurrent use. Times must not
// decrease.
type Keeper struct {
	hosts  Hosts
	pace   Pace
	policy refresh.Policy
	told   []refresh.Policy // policies that events are reported to, with the one that picks

	pages  []page                       // by refresh.ID
	waits  map[refresh.ID]*list.Element // of parked pages, in their sites' parked
	sites  map[weburl.Site]*site
	shelf  []*site       // by number; nil: free
	free   []refresh.ID  // unused numbers
	open   list.List     // of *site: those with placed picks that could be requested at the last look
	shut   refresh.Queue // the other sites with placed picks, by number: when to look again
	turns  list.List     // of *site: those with a parked pick and a free place in their queue
	ahead  int           // placed picks of open sites
	placed int           // all placed picks
	parked int
	stale  time.Time // when a request that was expected to end soon is late; zero: there is none
	slot   time.Time // of the last pick that counted
}

// page is the site and the state of a page that is kept fresh: 4(n+1) plus the state, where n is the number of the
// site. 0 means no page.
type page uint32

func pageOf(s *site, is state) page { return page(s.number+1)<<2 | page(is) }

func (p page) state() state { return state(p & 3) }

// state is where a page is.
type state uint8

const (
	kept     state = iota // at the policy
	parked                // it waits for a place in its site's queue
	placed                // it is in its site's queue, or is being requested
	retrying              // its visit failed, and it will be requested again
)

// site is a site with pages that are kept fresh.
type site struct {
	name   weburl.Site
	number refresh.ID
	pages  int
	placed int
	parked list.List     // of refresh.ID, those that were compared longest ago first
	open   *list.Element // in Keeper.open
	turn   *list.Element // in Keeper.turns
}

// New returns a Keeper that picks by policy, and reports to others what it reports to policy. A Limited policy asks
// hosts how often a site may be requested.
func New(hosts Hosts, pace Pace, policy refresh.Policy, others ...refresh.Policy) *Keeper {
	if limited, ok := policy.(refresh.Limited); ok {
		limited.Limit(func(site string) float64 { return hosts.Rate(weburl.Site(site)) })
	}
	return &Keeper{hosts: hosts, pace: pace, policy: policy, told: append([]refresh.Policy{policy}, others...),
		sites: map[weburl.Site]*site{}, waits: map[refresh.ID]*list.Element{}}
}

// SetPace sets the budget and the delay. O(sites) if more picks of a site may be placed.
func (k *Keeper) SetPace(p Pace) {
	grew := p.AtSite > k.pace.AtSite
	if k.pace = p; !grew {
		return
	}
	for _, s := range k.shelf { // in a fixed order, which a map does not have
		if s != nil {
			k.queue(s)
		}
	}
}

// Enter adds a page with a copy, as refresh.Policy.Add does.
func (k *Keeper) Enter(id refresh.ID, p refresh.Page) {
	k.pages = refresh.Grown(k.pages, id)
	s := k.site(weburl.Site(p.Site))
	s.pages++
	k.pages[id] = pageOf(s, kept)
	for _, t := range k.told {
		t.Add(id, p)
	}
}

// site returns the site. If it is new, site creates it.
func (k *Keeper) site(name weburl.Site) *site {
	if s := k.sites[name]; s != nil {
		return s
	}
	s := &site{name: name}
	if n := len(k.free); n > 0 {
		s.number, k.free = k.free[n-1], k.free[:n-1]
	} else {
		s.number = refresh.ID(len(k.shelf))
		k.shelf = append(k.shelf, nil)
	}
	k.shelf[s.number], k.sites[name] = s, s
	return s
}

// siteOf returns the site of an existing page.
func (k *Keeper) siteOf(id refresh.ID) *site { return k.shelf[k.pages[id]>>2-1] }

// Site returns a page's site. ok is false if there is no such page.
func (k *Keeper) Site(id refresh.ID) (_ weburl.Site, ok bool) {
	if int(id) >= len(k.pages) || k.pages[id] == 0 {
		return "", false
	}
	return k.siteOf(id).name, true
}

// Forget removes a page.
func (k *Keeper) Forget(id refresh.ID, now time.Time) {
	s := k.siteOf(id)
	k.settle(id, kept, Seconds(now))
	for _, t := range k.told {
		t.Remove(id)
	}
	k.pages[id] = 0
	if s.pages--; s.pages == 0 {
		delete(k.sites, s.name)
		k.shelf[s.number] = nil
		k.free = append(k.free, s.number)
	}
}

// Weigh changes a page's weight.
func (k *Keeper) Weigh(id refresh.ID, weight float64) {
	for _, t := range k.told {
		t.Weigh(id, weight)
	}
}

// Visited reports the outcome of a visit, whether the page was picked or not. v.At is a time in Seconds.
func (k *Keeper) Visited(id refresh.ID, v refresh.Visit) {
	k.settle(id, kept, v.At)
	for _, t := range k.told {
		t.Visited(id, v)
	}
}

// Retrying reports that a page's visit failed and that the page will be requested again without a pick. Until it is
// Visited the policy holds it out, and it takes no place.
func (k *Keeper) Retrying(id refresh.ID, now time.Time) {
	if k.pages[id].state() == placed {
		k.settle(id, retrying, Seconds(now))
	}
}

// settle removes the pick of a page from its place, if it was picked.
func (k *Keeper) settle(id refresh.ID, to state, now float64) {
	s := k.siteOf(id)
	switch k.pages[id].state() {
	case parked:
		s.parked.Remove(k.waits[id])
		delete(k.waits, id)
		k.parked--
		k.queue(s)
	case placed:
		k.placed--
		s.placed--
		if s.open != nil {
			k.ahead--
		}
		switch {
		case s.placed == 0:
			k.setOpen(s, false)
			k.shut.Drop(s.number)
		case s.open == nil:
			k.shut.Set(s.number, now) // the end of the visit may have opened it
		}
		k.queue(s)
	}
	k.pages[id] = pageOf(s, to)
}

// queue gives the site a turn to place a parked pick, if it has one and a place for it.
func (k *Keeper) queue(s *site) {
	wants := s.parked.Len() > 0 && s.placed < k.pace.AtSite
	switch {
	case wants && s.turn == nil:
		s.turn = k.turns.PushBack(s)
	case !wants && s.turn != nil:
		k.turns.Remove(s.turn)
		s.turn = nil
	}
}

// setOpen adds a site to the open ones, or removes it.
func (k *Keeper) setOpen(s *site, open bool) {
	if open {
		k.shut.Drop(s.number)
	}
	switch {
	case open && s.open == nil:
		s.open = k.open.PushBack(s)
		k.ahead += s.placed
	case !open && s.open != nil:
		k.open.Remove(s.open)
		s.open = nil
		k.ahead -= s.placed
	}
}

// lookAgain is how long a site counts as shut if its opening time is unknown. If it opens earlier, the Keeper picks
// slightly further ahead than necessary.
const lookAgain = time.Minute

// ask determines whether a site may be requested when the budget pays for the next request. It returns when the site
// may be requested, or now if that is unknown. A request that began less than a slot ago is expected to end soon.
func (k *Keeper) ask(s *site, now time.Time) (opens time.Time) {
	at, busy := k.hosts.Opens(s.name, now)
	again := now.Add(lookAgain)
	if !at.IsZero() {
		again = at.Add(-k.pace.Gap)
	}
	ends := busy.Add(k.pace.Gap)
	switch {
	case !at.IsZero() && !again.After(now):
		k.setOpen(s, true)
		return at
	case !busy.IsZero() && ends.After(now):
		k.setOpen(s, true)
		k.stale = Earliest(k.stale, ends)
		return now
	}
	k.setOpen(s, false)
	const finest = 1e-3 // s: coarser than the rounding of Seconds
	k.shut.Set(s.number, math.Max(Seconds(again), Seconds(now)+finest))
	if at.IsZero() {
		return now
	}
	return at
}

// Earliest returns the earlier of two times. A zero time means never.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// look checks the sites that may have opened, and open ones until enough picks can be requested.
func (k *Keeper) look(now time.Time) {
	k.stale = time.Time{}
	for k.shut.Len() > 0 {
		number, at := k.shut.First()
		if at > Seconds(now) {
			break
		}
		k.ask(k.shelf[number], now)
	}
	sure := 0
	for e := k.open.Front(); e != nil && sure < k.pace.Ahead; {
		s := e.Value.(*site)
		e = e.Next()
		if k.ask(s, now); s.open != nil {
			sure += s.placed
		}
	}
}

// Pick appends to dst the pages to put into the due queues now, and returns when to pick again. A zero wake means that
// only a reported event can help. Pick handles at most most pages; if there may be more, wake is now. Parked picks come
// first if their site has a place for them, one of each site after another. O(log pages) per page, plus Pace.Ahead
// calls of Hosts.
func (k *Keeper) Pick(dst []Pick, most int, now time.Time) (picks []Pick, wake time.Time) {
	k.look(now)
	for range most {
		if k.ahead >= k.pace.Ahead {
			return dst, Earliest(now.Add(k.pace.Gap), k.stale)
		}
		if near := k.nextSlot(now).Add(-k.pace.Slots); near.After(now) {
			return dst, Earliest(near, k.stale)
		}
		if e := k.turns.Front(); e != nil {
			s := e.Value.(*site)
			id := k.unpark(s, now)
			k.settle(id, kept, Seconds(now))
			dst = append(dst, k.place(id, now))
			if s.turn != nil {
				k.turns.MoveToBack(s.turn)
			}
			continue
		}
		id, again, ok := k.policy.Next(Seconds(now))
		switch {
		case !ok && math.IsInf(again, 1):
			return dst, time.Time{}
		case !ok:
			return dst, now.Add(time.Duration(min(again-Seconds(now), 1e6) * float64(time.Second)))
		case k.siteOf(id).placed >= k.pace.AtSite:
			k.park(id)
		default:
			dst = append(dst, k.place(id, now))
		}
	}
	return dst, now
}

// park makes a pick wait for a place in its site's queue.
func (k *Keeper) park(id refresh.ID) {
	s := k.siteOf(id)
	k.pages[id], k.waits[id] = pageOf(s, parked), s.parked.PushBack(id)
	k.parked++
}

// compared is the number of a site's parked picks that compete for a place. The best of 64 is among the best few in a
// hundred of all, and finding it takes microseconds, however many are parked.
const compared = 64

// unpark returns the parked pick of a site that is worth most now, or the first if the policy is no Valuer.
func (k *Keeper) unpark(s *site, now time.Time) refresh.ID {
	best := s.parked.Front().Value.(refresh.ID)
	valuer, ok := k.policy.(Valuer)
	if !ok {
		return best
	}
	most := math.Inf(-1)
	for range min(compared, s.parked.Len()) {
		e := s.parked.Front()
		if worth := valuer.Value(e.Value.(refresh.ID), Seconds(now)); worth > most {
			best, most = e.Value.(refresh.ID), worth
		}
		s.parked.MoveToBack(e)
	}
	return best
}

// place gives a pick a place in its site's queue, at the next slot of the budget. If the site may not be requested
// then, the place is at the time at which it may be, and the slot goes to the next pick.
func (k *Keeper) place(id refresh.ID, now time.Time) Pick {
	s := k.siteOf(id)
	k.pages[id] = pageOf(s, placed)
	k.placed++
	s.placed++
	if s.open != nil {
		k.ahead++
	}
	k.queue(s)
	opens := k.ask(s, now)
	if s.open == nil {
		return Pick{id, opens}
	}
	if k.slot = k.nextSlot(now); k.slot.Before(now) {
		return Pick{id, now}
	}
	return Pick{id, k.slot}
}

// nextSlot returns when the budget pays for the next request after the placed ones. At most one unused slot may be in
// the past.
func (k *Keeper) nextSlot(now time.Time) time.Time {
	next, last := k.slot.Add(k.pace.Gap), now.Add(-k.pace.Gap)
	if next.Before(last) {
		return last
	}
	return next
}

// Counts returns how many picks can be requested now, and how many wait for their site, in its queue or parked.
func (k *Keeper) Counts() (ahead, waiting int) { return k.ahead, k.parked + k.placed - k.ahead }
