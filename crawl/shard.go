package crawl

import (
	"fmt"
	"slices"
	"time"

	"freshet/crawl/discovery"
	"freshet/crawl/keepfresh"
	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/weburl"
)

// A Shard makes all decisions about the pages of a crawl, see the package. It is not safe for concurrent use.
type Shard struct {
	settings Settings
	rules    *rulebook
	rows     Rows
	seen     Links

	front   *frontier.Frontier
	book    *robots.Book
	finder  *discovery.Finder
	widened map[weburl.Site]bool // sites that have a seed, perhaps without a row here that shows it
	fresh   *fresh               // nil: each page is fetched once
	places  *places              // nil: the ordering does not rank
	obeys   obedience
	pings   *keepfresh.Pacer

	unstored map[weburl.Site]unstored // rules that the rows have not yet

	away away

	turns  map[Turn]*turn
	last   Turn // the last turn handed out
	asking int  // turns that are not Ended
	room   int  // the maximum of asking

	appends appends
	changes []func() error // waiting changes, in order
	offers  offers
	walks   map[weburl.Partition]int // number of walks under way

	tenures  []tenure    // by partition
	since    []uint64    // by partition: number of the record by which it was taken
	taken    []time.Time // by partition: when taken from an owner that may have been requesting; zero: it was not
	exchange exchange
	moves    moves

	rescope rescoping

	ready  bool // caught up with the records
	begun  bool
	until  time.Time            // when settings.For is over; zero: never
	paused bool                 // by an operator: nothing is handed out
	rests  map[weburl.Site]bool // sites that an operator has paused
	next   time.Time            // when a page may be fetched, if none may be now; zero: not known
	lost   bool                 // a request was abandoned: its host's gate does not include it
	met    bool                 // a site answered, or may have, in this run or an earlier one
	nobody int                  // sites where the first request of this run found no server
	ending Stop                 // why no more turns are handed out; "": they are
	over   bool

	counts Counts

	now time.Time
	out Work // result of this Step
}

// Step applies events and returns the work that follows. If now is earlier than at a previous Step, the latest time is
// used instead. An error is a fault of the rows, after which the shard is unusable.
func (s *Shard) Step(now time.Time, events ...Event) (Work, error) {
	if now.After(s.now) {
		s.now = now
	}
	s.out = Work{}
	for _, event := range events {
		if err := s.take(event); err != nil {
			return Work{}, err
		}
	}
	if err := s.advance(); err != nil {
		return Work{}, err
	}
	return s.out, nil
}

// take applies one event.
func (s *Shard) take(event Event) error {
	switch e := event.(type) {
	case Begin:
		s.begin()
	case End:
		s.end(e.Reason)
	case Room:
		s.room = e.Turns
	case Resolved:
		return s.resolved(e)
	case Ended:
		return s.ended(e)
	case Processed:
		return s.processed(e)
	case Appended:
		return s.appended(e)
	case Decided:
		s.decided(e)
	case Kept:
		s.kept()
	case Rebuilt:
		s.filled()
	case Ordered:
		s.ordered(e)
	case Weighed:
		s.fresh.weighed(e.Ranks)
	case Reweighed:
		s.fresh.reweighed(e)
	case Arriving:
		s.arriving(e.Parcel)
	case Received:
		s.received(e.Receipt)
	case Resend:
		if e.Lost {
			s.resendLost(e.To)
		} else {
			s.resend(e.To)
		}
	case RobotsTold:
		return s.robotsTold(e)
	case Widen:
		for _, seed := range e.Seeds {
			s.finder.Bounds().Scope.AddSeed(seed)
		}
		for _, site := range e.Sites {
			s.widened[site] = true
			s.finder.Bounds().Scope.AddSite(site)
		}
	case Budget:
		if s.fresh != nil {
			s.fresh.setBudget(e.Requests, s.settings.Delay, s.now)
			s.fresh.setPlanned(e.Part)
			s.front.SetDiscoveryShare(e.Discovery)
		}
	case Sorted:
		s.sorted(e.Places)
	default:
		panic(fmt.Sprintf("crawl: no such event: %T", event))
	}
	return nil
}

// advance continues all work that can continue.
func (s *Shard) advance() error {
	for _, part := range [...]func() error{s.handOver, s.change, s.keepFresh, s.obey, s.offer, s.handOut, s.drainIfDue} {
		if err := part(); err != nil {
			return err
		}
	}
	s.sort()
	if err := s.ship(); err != nil {
		return err
	}
	s.appendGroup()
	s.finish()
	return nil
}

// begin allows turns to be handed out.
func (s *Shard) begin() {
	s.begun = true
	if s.settings.For > 0 {
		s.until = s.now.Add(s.settings.For)
	}
	s.beginRescope(slices.Collect(s.owned())...)
	for p := range s.owned() {
		s.askAgain(p)
	}
	s.beginPlaces()
}

// end stops turns from being handed out. The first reason counts.
func (s *Shard) end(reason Stop) {
	if s.ending == "" {
		s.ending = reason
	}
}

// finish reports the end of the crawl when nothing is under way any more.
func (s *Shard) finish() {
	s.out.Ready = s.ready
	if s.canMove() {
		s.wakeAt(s.now)
	}
	idle := len(s.turns) == 0 && len(s.changes) == 0 && !s.appends.busy() && s.offers.idle() && !s.moves.busy()
	if s.ending != "" && !s.over && idle {
		s.over = true
		s.out.Over = s.ending
	}
}

// wakeAt asks for a Step at a time or earlier. A zero time has no effect.
func (s *Shard) wakeAt(at time.Time) {
	s.out.Wake = keepfresh.Earliest(s.out.Wake, at)
}

// of converts a machine time to the crawl's time.
func (s *Shard) of(part time.Duration) time.Duration {
	return time.Duration(float64(part) * s.settings.Second.Seconds())
}

func (s *Shard) home(site weburl.Site) weburl.Partition { return s.rows.Home(site) }

// key returns the key of a page that the frontier hands out.
func (s *Shard) key(page frontier.Page) PageKey { return PageKey{s.home(page.Site), page.Fingerprint} }

// change makes the next change. A change has the rows to itself: no record is in progress, and its own records are
// durable before the next change.
func (s *Shard) change() error {
	if len(s.changes) == 0 || s.appends.flies() || s.appends.changes > 0 {
		return nil
	}
	do := s.changes[0]
	s.changes[0] = nil
	s.changes = s.changes[1:]
	if err := do(); err != nil {
		return err
	}
	if len(s.changes) > 0 && s.appends.changes == 0 {
		s.wakeAt(s.now)
	}
	return nil
}

// whenFree makes a change when its turn comes.
func (s *Shard) whenFree(do func() error) { s.changes = append(s.changes, do) }
