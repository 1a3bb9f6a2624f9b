package keepfresh

import (
	"container/list"
	"math"
	"time"

	"freshet/refresh"
	"freshet/weburl"
)

// Hosts says when sites may be asked. A Keeper, and its policy, call it from within Pick.
type Hosts interface {
	// Opens returns from when on a page of the site may be asked for: now, if it may be now. Where time alone does
	// not tell, at is zero, and busy is when the request began that the site waits for, or zero.
	Opens(site weburl.Site, now time.Time) (at, busy time.Time)
	// Rate returns about how many pages of the site may be asked for a second in the long run, +Inf for any number.
	Rate(site weburl.Site) float64
}

// A Valuer is a policy that tells what a visit now is worth, beside visits to its other pages.
type Valuer interface {
	Value(id refresh.ID, now float64) float64
}

// A Pick is a page to put into its site's due queue.
type Pick struct {
	ID  refresh.ID
	Due time.Time
}

// A Keeper decides which pages are asked for next, see the package. It is not safe for concurrent use. Times
// should not go back.
type Keeper struct {
	hosts  Hosts
	pace   Pace
	policy refresh.Policy
	told   []refresh.Policy // what the policy is told, the policy among them

	pages  []page                       // by refresh.ID
	waits  map[refresh.ID]*list.Element // of parked pages, in their sites' parked
	sites  map[weburl.Site]*site
	shelf  []*site       // by number; nil: free
	free   []refresh.ID  // numbers of no site
	open   list.List     // of *site: those with placed picks that could be asked when they were last looked at
	shut   refresh.Queue // the other sites with placed picks, by number: when to look again
	turns  list.List     // of *site: those with a parked pick and a free place in their queue
	ahead  int           // placed picks of open sites
	placed int           // all placed picks
	parked int
	stale  time.Time // when a request that is taken for one that ends soon no longer is; zero: there is none
	slot   time.Time // of the last pick that counted
}

// page is a page that is kept fresh: four times one more than its site's number, and its state. 0: there is none of
// this ID.
type page uint32

func pageOf(s *site, is state) page { return page(s.number+1)<<2 | page(is) }

func (p page) state() state { return state(p & 3) }

// state says in whose hands a page is.
type state uint8

const (
	kept     state = iota // the policy's
	parked                // it waits for a place in its site's queue
	placed                // it stands in its site's queue, or is being asked for
	retrying              // its visit failed, and it is asked for again
)

// site is a site with pages that are kept fresh.
type site struct {
	name   weburl.Site
	number refresh.ID
	pages  int
	placed int
	parked list.List     // of refresh.ID, those first that were compared longest ago
	open   *list.Element // in Keeper.open
	turn   *list.Element // in Keeper.turns
}

// New returns a Keeper that asks the policy, and tells the others what it tells the policy. A Limited policy asks hosts
// how often a site may be asked.
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
	for _, s := range k.shelf { // not the map: it has no order
		if s != nil {
			k.queue(s)
		}
	}
}

// Enter tells of a page with a copy. As refresh.Policy.Add.
func (k *Keeper) Enter(id refresh.ID, p refresh.Page) {
	k.pages = refresh.Grown(k.pages, id)
	s := k.site(weburl.Site(p.Site))
	s.pages++
	k.pages[id] = pageOf(s, kept)
	for _, t := range k.told {
		t.Add(id, p)
	}
}

// site returns the site, made if it is new.
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

// siteOf returns the site of a page that is there.
func (k *Keeper) siteOf(id refresh.ID) *site { return k.shelf[k.pages[id]>>2-1] }

// Site returns a page's site; ok is false if there is no such page.
func (k *Keeper) Site(id refresh.ID) (_ weburl.Site, ok bool) {
	if int(id) >= len(k.pages) || k.pages[id] == 0 {
		return "", false
	}
	return k.siteOf(id).name, true
}

// Forget tells that a page is gone.
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

// Weigh tells a page's new weight.
func (k *Keeper) Weigh(id refresh.ID, weight float64) {
	for _, t := range k.told {
		t.Weigh(id, weight)
	}
}

// Visited tells how a visit ended, whether the page was picked or not. v.At is as Seconds has it.
func (k *Keeper) Visited(id refresh.ID, v refresh.Visit) {
	k.settle(id, kept, v.At)
	for _, t := range k.told {
		t.Visited(id, v)
	}
}

// Retrying tells that a page's visit failed, and that it is asked for again without being picked. Until it is
// Visited the policy holds it out, but it takes no place.
func (k *Keeper) Retrying(id refresh.ID, now time.Time) {
	if k.pages[id].state() == placed {
		k.settle(id, retrying, Seconds(now))
	}
}

// settle takes a page from where its pick stands, if it was picked.
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
			k.shut.Set(s.number, now) // what was heard of the site may have opened it
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

// setOpen puts a site among the open ones or takes it out.
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

// lookAgain is how long a site is taken for shut that nobody can tell the time of. If it opens before, the
// Keeper picks a little further ahead than it has to.
const lookAgain = time.Minute

// ask asks whether a site may be asked when the budget pays for the next request, and returns when it may be: now,
// if nobody knows. A request that began less than a slot ago is taken for one that ends soon.
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

// look asks for the sites that may have opened, and for open ones until enough picks can be asked for.
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

// Pick appends to dst the pages to put into the due queues now, and returns when to pick again. A zero wake
// means that only being told something can help. It goes through at most most pages; if there may be more of
// them, wake is now. Parked picks whose site has a place for them come first, one of each site after another.
// O(log pages) a page, and Pace.Ahead questions to Hosts.
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

// park lets a pick wait for a place in its site's queue.
func (k *Keeper) park(id refresh.ID) {
	s := k.siteOf(id)
	k.pages[id], k.waits[id] = pageOf(s, parked), s.parked.PushBack(id)
	k.parked++
}

// compared is how many parked picks of a site compete for a place: the best of them is among the best few in a hundred
// of all, and it takes microseconds however many there are.
const compared = 64

// unpark returns the parked pick of a site that is worth most now. Where the policy does not say, that is the first.
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

// place gives a pick a place in its site's queue: at the next slot of the budget, if the site may be asked.
// Else at the time at which it may be, and the slot goes to the next pick.
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

// nextSlot returns when the budget pays for the next request after those that are placed. One slot that nobody could
// use may lie behind.
func (k *Keeper) nextSlot(now time.Time) time.Time {
	next, last := k.slot.Add(k.pace.Gap), now.Add(-k.pace.Gap)
	if next.Before(last) {
		return last
	}
	return next
}

// Counts returns how many picks can be asked for now, and how many wait for their site, in its queue or parked.
func (k *Keeper) Counts() (ahead, waiting int) { return k.ahead, k.parked + k.placed - k.ahead }
