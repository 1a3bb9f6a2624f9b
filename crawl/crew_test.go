package crawl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// A crew is several shards over one store and one web, each with its own seen set. It does what the nodes of a cluster
// do: it knows the owner of each partition, passes links on and has partitions handed over.
type crew struct {
	t       testing.TB
	fs      *vfs.MemFS
	store   *store.Store
	web     map[string]*page
	set     Settings
	now     time.Time
	members []*world
	owner   []*world // by partition; nil: it has no owner
	replies map[order]func(Reply)
	lines   []string
	servers map[string]*server
	wire    *rand.Rand // loses, repeats and delays messages between shards; nil: it does not
	disk    *rand.Rand // makes appends take long; nil: they do not
	plant   string     // a planted fault, whose effects the crew notes; "": none, and any fault fails the test
	faults  []string
	exact   bool   // the seen sets hold no cash back
	lost    *world // nothing reaches this member or leaves it; nil: none
	astray  bool   // each member's clock is wrong by its own ahead; a member owns only the partitions that it takes
	moved   int    // hand-overs that are complete
	sent    int64  // links that stopped shards have sent, resent ones once
	held    int64  // links that stopped shards have held back
	parcels int
	led     int              // answers for a robots.txt that another member has given
	shut    map[string]Order // by host: the order that was acknowledged, by which nothing is to be asked of it
	toggled map[string]bool  // hosts with an order to shut or open them that has no reply
	calm    bool             // all is to be open from now on
}

// order names an order that the crew gave to a member.
type order struct {
	w      *world
	number uint64
}

// server is a host as it sees the crawl's manners.
type server struct {
	end, opens time.Time // of the last answer, and when the crawl may ask again
	by         *world    // the member that may ask it until end
}

func newCrew(t *testing.T, names ...string) *crew { return crewOf(newWorld(t), names...) }

// crewOf returns a crew that crawls a world's web with its settings.
func crewOf(alone *world, names ...string) *crew {
	t := alone.t
	c := &crew{t: t, fs: vfs.NewCrashableMem(), web: alone.web, set: alone.settings, now: begin, replies: map[order]func(Reply){}, servers: map[string]*server{}, shut: map[string]Order{}, toggled: map[string]bool{}}
	c.set.Wait = true
	c.owner = make([]*world, c.set.Partitions)
	for _, name := range names {
		w := &world{t: t, fs: c.fs, web: c.web, turns: map[Turn]Fetch{}, crew: c}
		w.settings.Name = name
		c.members = append(c.members, w)
	}
	t.Cleanup(c.close)
	return c
}

// fault notes that something does not hold.
func (c *crew) fault(format string, args ...any) {
	c.t.Helper()
	text := fmt.Sprintf(format, args...)
	c.faults = append(c.faults, text)
	if c.plant == "" {
		c.t.Error(text)
	}
}

func (c *crew) log(text string) {
	c.lines = append(c.lines, fmt.Sprintf("%s %s", c.now.Sub(begin).Round(time.Millisecond), text))
}

// command carries out a line of a transcript: one of a world, or of
//
//	hand SITE NAME   the owner hands the site's partition to that shard; if it is cut off, the shard takes it
//	cut NAME         the shard is cut off
//	back NAME        it starts again with its partitions
//	lose NAME        the wire loses everything to and from the shard, until found
//	found NAME       the wire works again, and everything is sent again
//
// An order goes to the owner of its site, or to all.
func (c *crew) command(w *world, name string, args []string) {
	switch name {
	case "page", "robots", "later", "change", "set":
		w.command(name, args)
		c.set = w.settings
		c.set.Wait = true
	case "start":
		c.set.Seeds = nil
		for _, seed := range args {
			c.set.Seeds = append(c.set.Seeds, w.url(seed))
		}
		for p := range c.owner {
			c.owner[p] = c.members[0]
		}
		c.openStore()
		for _, member := range c.members {
			c.start(member, false)
		}
	case "run":
		c.run(w.duration(args[0]))
	case "hand":
		c.hand(c.store.Home(w.url(args[0]).Site()), c.member(args[1]))
	case "cut":
		c.stop(c.member(args[0]))
	case "back":
		c.start(c.member(args[0]), true)
	case "waits":
		owner := c.owner[c.store.Home(w.url(args[0]).Site())]
		owner.now = c.time(owner)
		owner.command(name, args)
	case "lose":
		c.lost = c.member(args[0])
	case "found":
		c.lost = nil
		for p := range c.owner {
			c.resend(weburl.Partition(p))
		}
	case "rows":
		w.store = c.store
		before := len(w.lines)
		w.rows()
		c.lines = append(c.lines, w.lines[before:]...)
		w.lines = w.lines[:before]
	default:
		o := w.orderOf(name, args)
		if len(args) > 0 {
			c.order(c.owner[c.store.Home(w.url(args[0]).Site())], o, nil)
			return
		}
		for _, member := range c.members {
			c.order(member, o, nil)
		}
	}
}

func (c *crew) member(name string) *world {
	for _, w := range c.members {
		if w.settings.Name == name {
			return w
		}
	}
	c.t.Fatalf("no shard %s", name)
	return nil
}

// openStore opens the store that all members share.
func (c *crew) openStore() {
	var err error
	c.store, err = store.Open("data", store.Options{
		FS: c.fs, Partitions: c.set.Partitions, CacheBytes: 1 << 20, Clock: clock.New(c.now, 1),
		WARC: store.WARCOptions{Host: "test"},
	})
	check(c.t, err)
	check(c.t, c.store.Heartbeat(c.now))
}

func (c *crew) close() {
	for _, w := range c.members {
		c.stop(w)
	}
	if c.store != nil {
		check(c.t, c.store.Close())
		c.store = nil
	}
}

// start starts a member with its own partitions. CutOff says that the member, or an earlier owner of its partitions,
// may have been asking for pages when it was cut off.
func (c *crew) start(w *world, cutOff bool) {
	w.store, w.now, w.over, w.fs = c.store, c.time(w), "", c.fs
	name := w.settings.Name
	w.settings = c.set
	w.settings.Name = name
	w.settings.Owned = []weburl.Partition{}
	if name == "" {
		w.settings.Owned = nil
	}
	for p, owner := range c.owner {
		if owner == w && name != "" && !c.astray {
			w.settings.Owned = append(w.settings.Owned, weburl.Partition(p))
		}
	}
	set, err := seen.Open("data/seen/"+name, seen.Options{
		FS: c.fs, Partitions: c.set.Partitions, Home: c.store.Home, CacheEntries: 1000, BufferLinks: 30, Cash: !c.exact,
	})
	check(c.t, err)
	w.seen = set
	if c.exact {
		w.seen = &exactSet{Test: set, pending: map[weburl.Fingerprint]weburl.Link{}}
	}
	rows := Rows(c.store)
	if cutOff {
		rows = cutOffRows{c.store}
	}
	switch c.plant {
	case "gates-forgotten":
		rows = gatelessRows{rows}
	case "pauses-forgotten":
		rows = pauselessRows{rows}
	}
	w.shard, err = New(rows, w.seen, w.settings, w.now)
	check(c.t, err)
	w.wake = w.now
	for p, owner := range c.owner {
		if owner == w && c.astray {
			c.take(weburl.Partition(p), w, false)
		}
	}
}

// time returns a member's time by its clock.
func (c *crew) time(w *world) time.Time { return c.now.Add(w.ahead) }

// cutOffRows are the rows of a store that another member goes on using for other partitions.
type cutOffRows struct{ *store.Store }

func (r cutOffRows) Start() store.Start { return store.Start{} }

// gatelessRows forget how long hosts must wait.
type gatelessRows struct{ Rows }

func (gatelessRows) Gate(weburl.Partition, string) (store.Gate, error) { return store.Gate{}, nil }

// pauselessRows forget which sites are paused.
type pauselessRows struct{ Rows }

func (r pauselessRows) Site(site weburl.Site) (store.SiteRow, error) {
	row, err := r.Rows.Site(site)
	row.Paused = 0
	return row, err
}

// stop cuts a member off. Its requests end at once.
func (c *crew) stop(w *world) {
	if w.shard == nil {
		return
	}
	for _, f := range w.turns {
		if host := c.servers[f.URL.Site().Host()]; host != nil && host.by == w {
			if host.end.After(c.now) {
				host.end = c.now
			}
			host.opens = host.end // nobody knows its answer
		}
	}
	for o := range c.replies {
		if o.w == w {
			delete(c.replies, o)
		}
	}
	w.later, w.turns = nil, map[Turn]Fetch{}
	counts := w.shard.Counts()
	c.sent, c.held = c.sent+counts.LinksSent, c.held+counts.LinksHeld
	w.shard.Close()
	w.shard, w.sender = nil, nil
	check(c.t, w.seen.Close())
}

// crash cuts the power. Some of the unsynced data is lost.
func (c *crew) crash(rng *rand.Rand) {
	left := c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
	c.close()
	c.fs = left
	c.openStore()
	for _, w := range c.members {
		c.start(w, true)
	}
}

// asked notes that a member asks a host, and fails if that is too soon.
func (c *crew) asked(w *world, name string, e Ended) {
	host := c.servers[name]
	if host == nil {
		host = &server{}
		c.servers[name] = host
	}
	switch {
	case c.shut[name] != nil:
		c.fault("%s: %s asks %s in spite of the order %+v", c.now.Sub(begin), w.settings.Name, name, c.shut[name])
	case host.end.After(c.now):
		c.fault("%s: %s asks %s while another request is under way until %s", c.now.Sub(begin), w.settings.Name, name, host.end.Sub(begin))
	case !host.end.IsZero() && c.now.Before(host.end.Add(c.set.Delay)), c.now.Before(host.opens):
		c.fault("%s: %s asks %s, which had its last answer at %s and opens at %s", c.now.Sub(begin), w.settings.Name, name,
			host.end.Sub(begin), host.opens.Sub(begin))
	}
	end := e.At.Add(-w.ahead)
	*host = server{end: end, opens: end.Add(max(e.RetryAfter, 0)), by: w}
}

// run lets a length of time pass.
func (c *crew) run(d time.Duration) {
	end := c.now.Add(d)
	for steps := 0; ; steps++ {
		if steps > 200_000 {
			c.t.Fatalf("%s: more than 200,000 steps\n%s", c.now.Sub(begin), strings.Join(c.lines[max(0, len(c.lines)-60):], "\n"))
		}
		w, at := c.next()
		if w == nil || !at.Before(end) {
			break
		}
		if at.After(c.now) {
			c.now = at
		}
		c.step(w, true)
	}
	c.now = end
}

// next returns the member that has something to do first, and when.
func (c *crew) next() (first *world, at time.Time) {
	for _, w := range c.members {
		if w.shard == nil {
			continue
		}
		if len(w.later) > 0 && (first == nil || w.later[0].at.Add(-w.ahead).Before(at)) {
			first, at = w, w.later[0].at.Add(-w.ahead)
		}
		if !w.wake.IsZero() && (first == nil || w.wake.Add(-w.ahead).Before(at)) {
			first, at = w, w.wake.Add(-w.ahead)
		}
	}
	return first, at
}

// step tells a member's shard the events up to now. If does is set, it also does what the shard asks for.
func (c *crew) step(w *world, does bool) {
	w.now = c.time(w)
	var events []Event
	for len(w.later) > 0 && !w.later[0].at.After(w.now) {
		events = append(events, w.later[0].event())
		w.later = w.later[1:]
	}
	if c.plant == "one-cache" { // all partitions share one memory of sent links
		if w.sender == nil {
			w.sender = seen.NewSender(64, false)
		}
		for p := range w.shard.owned() {
			w.shard.exchange.out[p].sender = w.sender
		}
	}
	work, err := w.shard.Step(w.now, events...)
	check(c.t, err)
	w.wake = work.Wake
	if !does {
		return
	}
	w.do(work)
	if work.Ready && !w.shard.begun {
		w.tell(Begin{})
		w.tell(Room{4})
	}
}

// checkMarks holds that a record counts as sent only if its links are decided. Until then the next owner may have to
// send links that this member was to decide itself.
func (c *crew) checkMarks() {
	for p := range weburl.Partition(c.set.Partitions) {
		marks, err := c.store.Marks(p)
		check(c.t, err)
		of := map[string]uint64{}
		for _, m := range marks {
			of[m.Consumer] = m.Record
		}
		if of[sentConsumer] > of["links"] {
			c.fault("partition %d: links of records up to %d count as sent, and are decided up to %d", p, of[sentConsumer], of["links"])
		}
	}
}

// carry passes on a member's parcels, receipts and replies.
func (c *crew) carry(w *world, work Work) {
	c.parcels += len(work.Parcels)
	for _, parcel := range work.Parcels {
		switch c.plant {
		case "link-dropped":
			parcel.Parts = slices.Clone(parcel.Parts)
			parcel.Parts[0].Links = parcel.Parts[0].Links[1:]
		case "receipt-early":
			c.send(c.owner[parcel.To], parcel.From, Received{Receipt{parcel.From, parcel.To, parcel.Parts[len(parcel.Parts)-1].Record}})
		}
		c.send(w, parcel.To, Arriving{parcel})
		if c.plant == "links-twice" { // the target forgets which records it took in
			again := parcel.Parts[len(parcel.Parts)-1]
			again.Record++
			c.send(w, parcel.To, Arriving{Parcel{From: parcel.From, To: parcel.To, Parts: []Part{again}}})
		}
	}
	for _, u := range work.AskRobots {
		told := func(r Reply) {
			if r.Robots != nil {
				c.led++
			}
			if w.shard != nil {
				w.now = c.time(w)
				w.tell(RobotsTold{u, r.Robots, r.Wait})
			}
		}
		if owner := c.owner[c.store.Home(u.Site())]; owner != nil && owner.shard != nil {
			c.order(owner, AskRobots{u}, told)
		} else {
			told(Reply{})
		}
	}
	for _, receipt := range work.Receipts {
		c.send(w, receipt.From, Received{receipt})
	}
	for _, r := range work.Replies {
		if done := c.replies[order{w, r.Number}]; done != nil {
			delete(c.replies, order{w, r.Number})
			done(r)
			continue
		}
		text := fmt.Sprintf("reply %d", r.Count)
		if r.Err != nil {
			text = r.Err.Error()
		}
		w.log(text)
	}
}

// send sends something to the owner of a partition.
func (c *crew) send(from *world, p weburl.Partition, e Event) {
	const takes = 5 * time.Millisecond
	times, delay := 1, takes
	if c.wire != nil {
		times = []int{0, 1, 1, 1, 1, 2}[c.wire.IntN(6)]
	}
	for range times {
		if c.wire != nil {
			delay = time.Duration(c.wire.IntN(500)) * time.Millisecond
		}
		if to := c.owner[p]; to != nil && to.shard != nil && c.lost != to && c.lost != from {
			to.now = c.time(to)
			to.after(delay, e)
		}
	}
}

// order gives a member an order.
func (c *crew) order(w *world, o Order, done func(Reply)) {
	w.orders++
	if done != nil {
		c.replies[order{w, w.orders}] = done
	}
	w.now = c.time(w)
	w.tell(Ordered{w.orders, o})
}

// hand has a partition handed to a member: by its owner, or by nobody if the owner was cut off.
func (c *crew) hand(p weburl.Partition, to *world) {
	from := c.owner[p]
	if from == to {
		return
	}
	if from == nil || from.shard == nil {
		c.take(p, to, false)
		return
	}
	c.order(from, Give{p}, func(r Reply) {
		if r.Err != nil {
			return // a hand-over is under way
		}
		c.log(fmt.Sprintf("%s gave %d", from.settings.Name, p))
		c.owner[p] = nil
		if to.shard == nil {
			to = from
		}
		c.take(p, to, !c.astray)
	})
}

func (c *crew) take(p weburl.Partition, to *world, clean bool) {
	c.owner[p] = to
	c.order(to, Take{p, clean || c.plant == "cut-off-as-clean"}, func(r Reply) {
		check(c.t, r.Err)
		c.log(fmt.Sprintf("%s took %d", to.settings.Name, p))
		c.moved++
		c.resend(p)
	})
}

// resend has all members send everything for a partition again.
func (c *crew) resend(p weburl.Partition) {
	for _, w := range c.members {
		if w.shard != nil {
			w.now = c.time(w)
			w.tell(Resend{To: p})
		}
	}
}

// exactSet is a seen set that holds no cash back.
type exactSet struct {
	*seen.Test
	pending map[weburl.Fingerprint]weburl.Link
}

func (e *exactSet) Offer(mark seen.Mark, links []weburl.Link, now time.Time) error {
	bare := slices.Clone(links)
	for i := range bare {
		bare[i].Cash = 0
	}
	if err := e.Test.Offer(mark, bare, now); err != nil {
		return err
	}
	for _, link := range links {
		if link.Cash > 0 {
			link.Cash += e.pending[link.Fingerprint].Cash
			e.pending[link.Fingerprint] = link
		}
	}
	return nil
}

func (e *exactSet) Drain(dst []seen.Verdict) ([]seen.Verdict, []seen.Mark, error) {
	verdicts, marks, err := e.Test.Drain(dst)
	for i := range verdicts {
		link := &verdicts[i].Link
		link.Cash = e.pending[link.Fingerprint].Cash
		delete(e.pending, link.Fingerprint)
	}
	var left []weburl.Fingerprint
	for fp := range e.pending {
		left = append(left, fp)
	}
	slices.Sort(left)
	for _, fp := range left {
		verdicts = append(verdicts, seen.Verdict{Link: e.pending[fp]})
	}
	clear(e.pending)
	return verdicts, marks, err
}

func (e *exactSet) Collect(weburl.Link) float64        { return 0 }
func (e *exactSet) Recall(weburl.Fingerprint, float64) {}
